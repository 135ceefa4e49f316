//! Captures programs that are installed on this machine.

use std::path::{Path, PathBuf};

use steady_linux::clock::{monotonic, process_cpu};
use steady_warm::capture::{capture, unbound};
use steady_warm::captured::{Captured, NotCaptured, Request};
use steady_warm::compose::{compose, shows_binding};

use super::{existed, region, request, tell};

/// Captures those of the named programs that are installed.
fn programs(test: &str, names: &[&str]) -> Vec<(PathBuf, Captured)> {
    let paths = names.iter().map(|name| Path::new("/usr/bin").join(name));
    let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.exists());
    if !missing.is_empty() {
        tell(&format!("skipped: {test}: {missing:?} not installed"));
    }
    let captured = |path: PathBuf| match capture(&request(&path)) {
        Ok(captured) => (path, captured),
        Err(why) => panic!("{}: {why}", path.display()),
    };
    there.into_iter().map(captured).collect()
}

#[test]
fn captured_code_equals_the_files() {
    for (path, captured) in programs("files", &["true", "cat", "perl", "git", "bash", "python3", "openssl", "ls"]) {
        let name = path.display();
        // ld.so never writes to code. A difference from the file would be a breakpoint that was not removed.
        let code = captured.regions.iter().filter(|region| region.protection.execute);
        let mut compared = 0;
        for region in code {
            let (file, offset) = region.file.as_ref().expect("code is mapped from files");
            let bytes = std::fs::read(file).unwrap();
            let bytes = &bytes[*offset as usize..];
            let length = bytes.len().min(region.bytes.len());
            assert!(bytes[..length] == region.bytes[..length], "{name}: {} differs", file.display());
            compared += length;
        }
        assert!(compared > 100_000, "{name}: {compared} bytes of code");
        assert!(region(&captured, captured.entry).is_some_and(|region| region.protection.execute), "{name}");
        assert!(region(&captured, captured.at_exit).is_some_and(|region| region.protection.execute), "{name}");
        assert_eq!(existed(&captured, &path), Some(true), "{name}");
        assert_eq!(existed(&captured, Path::new("/etc/ld.so.preload")), Some(Path::new("/etc/ld.so.preload").exists()));
        assert!(captured.files.iter().any(|file| file.found && file.path.ends_with("libc.so.6")), "{name}");
        assert!(
            captured.regions.windows(2).all(|pair| pair[0].address + pair[0].bytes.len() as u64 <= pair[1].address)
        );
    }
}

#[test]
fn the_thread_and_the_stack_are_captured() {
    for (path, captured) in programs("thread", &["true", "bash"]) {
        let thread = captured.thread;
        for address in [thread.pointer, thread.tid_address] {
            assert!(region(&captured, address).is_some_and(|region| region.protection.write), "{}", path.display());
        }
        // The program stores the result of set_tid_address(2) at the address that it passed.
        let home = region(&captured, thread.tid_address).unwrap();
        let place = (thread.tid_address - home.address) as usize;
        assert_eq!(home.bytes[place..place + 4], thread.tid.to_ne_bytes());
        let stack = &captured.stack;
        assert_eq!(stack.arguments, 7);
        assert_eq!(stack.name.1, path.file_name().unwrap().len() as u64);
        assert_eq!(stack.name_part, stack.name.0);
        assert!((stack.range.0..stack.range.1).contains(&stack.pointer));
        assert_eq!(stack.environment, stack.pointer + 8 * (stack.arguments + 2));
        assert!(stack.auxiliary.1.contains(&(9, captured.entry)));
        assert!(stack.auxiliary.1.contains(&(33, stack.vdso.0)));
        assert_ne!(stack.random, [0; 16]);
        // ld.so makes the canary from the random bytes, and stores it relative to the thread pointer.
        let home = region(&captured, thread.pointer + 0x28).unwrap();
        let place = (thread.pointer + 0x28 - home.address) as usize;
        assert_eq!((home.bytes[place], &home.bytes[place + 1..place + 8]), (0, &stack.random[1..8]));
    }
}

#[test]
fn captures_have_different_addresses_far_below_any_stack() {
    let path = Path::new("/bin/true");
    let (first, second) = (capture(&request(path)).unwrap(), capture(&request(path)).unwrap());
    assert_ne!(first.entry, second.entry);
    assert_ne!(first.thread.pointer, second.thread.pointer);
    assert_ne!(first.stack.random, second.stack.random);
    for captured in [first, second] {
        let end = captured.regions.iter().map(|region| region.address + region.bytes.len() as u64).max().unwrap();
        assert!(end < captured.stack.range.0 - (1 << 30), "{end:#x} {:#x}", captured.stack.range.0);
    }
}

#[test]
fn two_captures_differ_only_by_what_a_launch_creates() {
    for name in ["true", "cat", "perl", "git", "bash", "python3", "openssl", "ls"] {
        let path = Path::new("/usr/bin").join(name);
        if !path.exists() {
            continue;
        }
        let first = request(&path);
        let environment = [first.environment.clone(), vec![("PADDING".into(), "x".repeat(100).into())]].concat();
        let second = Request { name: "//another/name".into(), arguments: 23, environment, ..first.clone() };
        // The kernel lays out memory at random. Now and then two captures cannot be compared, and then others can.
        let compared = || compose(&capture(&first).unwrap(), &capture(&second).unwrap(), None);
        if let Err(why) = (0..8).map(|_| compared()).find(Result::is_ok).unwrap_or_else(compared) {
            panic!("{name}: {why}");
        }
    }
}

#[test]
fn the_early_capture_shows_how_functions_are_bound() {
    for name in ["true", "bash", "perl"] {
        let bound = request(&Path::new("/usr/bin").join(name));
        let late = Request { bind_now: false, ..bound.clone() };
        let second =
            Request { name: "//another/name".into(), arguments: 23, stack_limit: Some(4 << 20), ..bound.clone() };
        // Captures with an unusual memory layout cannot be compared, so try several times.
        let composed = (0..8).find_map(|_| {
            let (first, whole) = (capture(&bound).unwrap(), capture(&late).unwrap());
            let early = unbound(&late, &first).unwrap();
            assert!(early.regions.len() < 5 && shows_binding(&first, &early), "{name}: {:?}", early.regions.len());
            assert!(!shows_binding(&first, &first), "{name}: a capture differs from itself");
            let second = capture(&second).unwrap();
            let with = |unbound: &Captured| compose(&first, &second, Some(unbound)).ok();
            Some((with(&early)?, with(&whole)?))
        });
        let (by_early, by_whole) = composed.expect("two captures can be compared");
        assert!(by_early == by_whole, "{name}: the two captures restore different words");
    }
}

#[test]
fn the_capturing_thread_is_bound_to_one_cpu_only_during_the_capture() {
    let allowed = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap().to_owned()
    };
    let before = allowed();
    capture(&request(Path::new("/bin/true"))).unwrap();
    assert_eq!(allowed(), before);
    assert!(capture(&request(Path::new("/etc/passwd"))).is_err());
    assert_eq!(allowed(), before);
}

#[test]
fn the_locale_is_loaded_if_requested() {
    let path = Path::new("/bin/cat");
    let with = |locale| capture(&Request { locale, ..request(path) }).unwrap();
    let (loaded, plain) = (with(true), with(false));
    let data =
        |captured: &Captured| captured.files.iter().filter(|file| file.path.starts_with("/usr/lib/locale")).count();
    assert!(data(&loaded) > 0 && data(&plain) == 0);
    // malloc(3) draws its number at its first call, which is for the locale here.
    assert_eq!((loaded.drawn.len(), plain.drawn.len()), (1, 0));
    let number = loaded.drawn[0].to_ne_bytes();
    let holds = |region: &&steady_warm::captured::Region| region.bytes.chunks(8).any(|word| word == number);
    assert!(loaded.regions.iter().any(|region| holds(&region)));
    assert!(loaded.regions.iter().any(|region| region.heap));
    assert_eq!(loaded.variables, plain.variables, "setlocale reads variables, and the program reads them again");
}

#[test]
fn a_file_that_is_not_a_program_is_refused_with_a_reason() {
    for (path, expected) in [
        ("/usr/bin/no such program", "cannot be executed: No such file"),
        ("/etc/passwd", "cannot be executed: Permission"),
        ("/", "cannot be executed"),
    ] {
        assert!(super::refusal(Path::new(path)).contains(expected), "{path}");
    }
    let script = std::fs::read_dir("/usr/bin")
        .unwrap()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"#!/bin/sh")));
    if let Some(script) = script {
        assert!(super::refusal(&script).contains("script"));
    }
    let named = Request { name: "a\0b".into(), ..request(Path::new("/bin/true")) };
    assert!(matches!(capture(&named), Err(NotCaptured::Refused(..))));
}

#[test]
#[ignore = "prints how long capturing each of PROGRAMS takes"]
fn duration_of_captures() {
    let named = std::env::var("PROGRAMS").unwrap_or_else(|_| "true cat perl git bash python3 openssl".to_owned());
    for name in named.split_whitespace() {
        let begun = (monotonic(), process_cpu());
        let captured = capture(&request(&Path::new("/usr/bin").join(name)));
        let (wall, cpu) = (monotonic() - begun.0, process_cpu() - begun.1);
        let what = match captured {
            Ok(captured) => {
                let bytes: usize = captured.regions.iter().map(|region| region.bytes.len()).sum();
                format!("{} KiB, {} files, variables {:?}", bytes >> 10, captured.files.len(), captured.variables)
            }
            Err(why) => format!("{why:?}"),
        };
        tell(&format!(
            "{name}: {} us, {} us of CPU time of the capturing process: {what}",
            wall.0 / 1000,
            cpu.0 / 1000
        ));
    }
}
