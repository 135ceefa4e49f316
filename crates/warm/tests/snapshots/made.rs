//! A program made to show what it finds.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{Snapshots, skip, text};

const SOURCE: &str = include_str!("program.c");

/// A library that lacks a function which is never called.
const LIBRARY: &str = "int lacking(void); int answer(void) { return 42; } int other(void) { return lacking(); }\n";

/// The program's folder, removed in the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The program, compiled so, and its snapshots; none where there is no compiler, aloud.
pub(crate) fn made(test: &str, how: &[&str]) -> Option<(Folder, Snapshots)> {
    let folder = Folder(std::env::temp_dir().join(format!("steady-made-{}-{test}", std::process::id())));
    fs::create_dir_all(&folder.0).expect("a folder can be made");
    fs::write(folder.0.join("made.c"), SOURCE).expect("there is room");
    fs::write(folder.0.join("library.c"), LIBRARY).expect("there is room");
    let compile = |words: &[&str]| {
        let output = Command::new("cc").args(words).arg("-w").current_dir(&folder.0).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(())
    };
    let words = [how, &["-O1", "-fstack-protector-all", "-pthread", "made.c", "-o", "made"]].concat();
    let compiled = compile(&words).and_then(|()| compile(&["-shared", "-fPIC", "library.c", "-o", "library.so"]));
    if compiled.is_none() {
        skip(test, "there is no C compiler");
    }
    compiled.map(|()| Snapshots::of(&folder.0.join("made"))).map(|snapshots| (folder, snapshots))
}

/// What the program finds is what it finds as usual, compiled so.
fn finds_the_same(test: &str, how: &[&str]) {
    let Some((folder, snapshots)) = made(test, how) else { return };
    let told = snapshots.same(&[("A", "value")], &["any", "words", "of", "number"], "");
    assert!(text(&told.stdout).starts_with("5 ") && text(&told.stdout).contains("\nvalue 1\n"), "{told:?}");
    assert!(text(&told.stdout).contains("errno 0, C\n"), "{told:?}");
    snapshots.same(&[], &[], "");
    assert_eq!(snapshots.same(&[], &["memory"], "").stdout, b"1 0\nbye\n");
    assert!(text(&snapshots.same(&[], &["threads"], "").stdout).starts_with("8 8 8 8 8 8 8 8 5 "));
    let library = folder.0.join("library.so").display().to_string();
    assert_eq!(snapshots.same(&[], &["late", &library], "").stdout, b"42\nbye\n");
    assert_eq!(snapshots.same(&[("LD_BIND_NOW", "1")], &["late", "/nonexistent"], "").status.code(), Some(1));
}

#[test]
fn a_program_finds_what_it_finds_as_usual() {
    finds_the_same("a_program_finds_what_it_finds_as_usual", &[]);
}

#[test]
fn a_program_at_a_fixed_address_does_too() {
    finds_the_same("a_program_at_a_fixed_address_does_too", &["-no-pie", "-fno-pie"]);
}

#[test]
fn stacks_of_threads_follow_the_limit_of_the_launch() {
    let Some((_folder, snapshots)) = made("stacks_of_threads_follow_the_limit_of_the_launch", &[]) else { return };
    for kibibytes in [1024_u32, 4096, 65536, 1 << 20] {
        let limited = |file: &PathBuf| {
            let script = format!("ulimit -Ss {kibibytes}; exec \"$0\" threads");
            let output = Command::new("/bin/sh").args(["-c", &script]).arg(file).output();
            text(&output.expect("there is a shell").stdout).to_owned()
        };
        let usual = limited(&snapshots.program);
        assert!(usual.contains(&format!(" {}\n", u64::from(kibibytes) << 10)), "{usual}");
        for file in snapshots.files() {
            assert_eq!(limited(file), usual, "{kibibytes} KiB");
        }
    }
}

#[test]
fn what_guards_a_process_is_another_at_each_launch() {
    let Some((_folder, snapshots)) = made("what_guards_a_process_is_another_at_each_launch", &[]) else { return };
    let mut seen = vec![BTreeSet::new(); 5];
    for _ in 0..8 {
        for output in &snapshots.outputs(&[], &["secrets"], "")[1..] {
            let line = text(&output.stdout).lines().next().expect("it says what it finds");
            let canary = line.split(' ').next().expect("the canary comes first");
            assert!(canary.ends_with("00"), "{canary}: the lowest byte of a canary ends a string");
            for (seen, word) in seen.iter_mut().zip(line.split(' ')) {
                seen.insert(word.to_owned());
            }
        }
    }
    for (seen, what) in seen.iter().zip(["canary", "pointer guard", "stack", "vdso", "heap"]) {
        assert!(seen.len() >= 15, "{what}: {seen:?}");
    }
}
