//! Runs a program compiled for these tests, which prints its state.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use super::{Snapshots, skip, text};

const SOURCE: &str = include_str!("program.c");

/// A library with an undefined function that is never called.
const LIBRARY: &str = "int lacking(void); int answer(void) { return 42; } int other(void) { return lacking(); }\n";

/// The program's directory, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Compiles the program with these options and captures it. Returns `None` and prints a line if there is no compiler.
pub(crate) fn made(test: &str, how: &[&str]) -> Option<(Folder, Snapshots)> {
    let folder = Folder(std::env::temp_dir().join(format!("steady-made-{}-{test}", std::process::id())));
    fs::create_dir_all(&folder.0).expect("a directory can be created");
    fs::write(folder.0.join("made.c"), SOURCE).expect("the source can be written");
    fs::write(folder.0.join("library.c"), LIBRARY).expect("the source can be written");
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

/// Compiles the program with these options, and checks that it prints the same from snapshots as usual.
fn finds_the_same(test: &str, how: &[&str]) {
    let Some((folder, snapshots)) = made(test, how) else { return };
    let found = snapshots.same(&[("A", "value")], &["any", "words", "of", "number"], "");
    assert!(text(&found.stdout).starts_with("5 ") && text(&found.stdout).contains("\nvalue 1\n"), "{found:?}");
    assert!(text(&found.stdout).contains("errno 0, C\n"), "{found:?}");
    snapshots.same(&[], &[], "");
    assert_eq!(snapshots.same(&[], &["memory"], "").stdout, b"1 0\nbye\n");
    assert!(text(&snapshots.same(&[], &["threads"], "").stdout).starts_with("8 8 8 8 8 8 8 8 5 "));
    let library = folder.0.join("library.so").display().to_string();
    assert_eq!(snapshots.same(&[], &["late", &library], "").stdout, b"42\nbye\n");
    assert_eq!(snapshots.same(&[("LD_BIND_NOW", "1")], &["late", "/nonexistent"], "").status.code(), Some(1));
}

#[test]
fn a_program_has_the_same_state_as_usual() {
    finds_the_same("a_program_has_the_same_state_as_usual", &[]);
}

#[test]
fn a_program_at_a_fixed_address_has_the_same_state_as_usual() {
    finds_the_same("a_program_at_a_fixed_address_has_the_same_state_as_usual", &["-no-pie", "-fno-pie"]);
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

/// The path by which it was executed (AT_EXECFN) is in its directory, with the name of the snapshot's path. Two slashes
/// before that mark a script: then the name is that of argument 0, the interpreter.
#[test]
fn a_program_sees_the_name_by_which_it_was_started() {
    let Some((folder, snapshots)) = made("name", &[]) else { return };
    for file in snapshots.files() {
        let directory = file.parent().expect("a directory").display().to_string();
        symlink("made", format!("{directory}/other")).expect("a link can be created");
        let shown = |script: &str, name: &str| {
            let words = ["-c", script, "sh", &directory, name];
            text(&Command::new("bash").args(words).output().expect("there is a shell").stdout).to_owned()
        };
        let expected = |name: &str| format!("{}\nbye\n", folder.0.join(name).display());
        let by_path = "exec -a \"$2\" \"$1\"/other name";
        assert_eq!(shown(by_path, "any"), expected("other"));
        assert_eq!(shown(by_path, ""), expected("other"));
        assert_eq!(shown("exec -a \"$2\" \"$1\"/made name", "other"), expected("made"));
        assert_eq!(shown("exec -a \"$2\" \"$1\"//other name", "/bin/shell"), expected("shell"));
        assert_eq!(shown("exec -a \"$2\" \"$1\"//other name", "/bin/made"), expected("made"));
        // The new path would be longer than that of the snapshot, which it replaces.
        assert_eq!(shown("cd \"$1\"; ./other name", ""), expected("made"));
    }
}

#[test]
fn random_values_differ_between_launches() {
    let Some((_folder, snapshots)) = made("random_values_differ_between_launches", &[]) else { return };
    let mut seen = vec![BTreeSet::new(); 5];
    for _ in 0..8 {
        for output in &snapshots.outputs(&[], &["secrets"], "")[1..] {
            let line = text(&output.stdout).lines().next().expect("a line of values");
            let canary = line.split(' ').next().expect("the canary comes first");
            assert!(canary.ends_with("00"), "{canary}: the lowest byte of a canary must be zero");
            for (seen, word) in seen.iter_mut().zip(line.split(' ')) {
                seen.insert(word.to_owned());
            }
        }
    }
    for (seen, what) in seen.iter().zip(["canary", "pointer guard", "stack", "vdso", "heap"]) {
        assert!(seen.len() >= 15, "{what}: {seen:?}");
    }
}
