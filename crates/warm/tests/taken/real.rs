//! Programs of this machine.

use std::path::{Path, PathBuf};

use steady_linux::clock::{monotonic, process_cpu};
use steady_warm::compose::{compose, shows_binding};
use steady_warm::take::{take, unbound};
use steady_warm::taken::{NotTaken, Request, Taken};

use super::{asked, region, request, tell};

/// Those of these programs that are installed here, taken.
fn programs(test: &str, names: &[&str]) -> Vec<(PathBuf, Taken)> {
    let paths = names.iter().map(|name| Path::new("/usr/bin").join(name));
    let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.exists());
    if !missing.is_empty() {
        tell(&format!("skipped: {test}: {missing:?} not installed"));
    }
    let taken = |path: PathBuf| match take(&request(&path)) {
        Ok(taken) => (path, taken),
        Err(why) => panic!("{}: {why}", path.display()),
    };
    there.into_iter().map(taken).collect()
}

#[test]
fn what_is_taken_is_as_the_files_say() {
    for (path, taken) in programs("files", &["true", "cat", "perl", "git", "bash", "python3", "openssl", "ls"]) {
        let name = path.display();
        // Code is never written to by ld.so: what differs from the file would be a breakpoint of ours.
        let code = taken.regions.iter().filter(|region| region.protection.execute);
        let mut compared = 0;
        for region in code {
            let (file, offset) = region.file.as_ref().expect("code comes from files");
            let bytes = std::fs::read(file).unwrap();
            let bytes = &bytes[*offset as usize..];
            let length = bytes.len().min(region.bytes.len());
            assert!(bytes[..length] == region.bytes[..length], "{name}: {} differs", file.display());
            compared += length;
        }
        assert!(compared > 100_000, "{name}: {compared} bytes of code");
        assert!(region(&taken, taken.entry).is_some_and(|region| region.protection.execute), "{name}");
        assert!(region(&taken, taken.at_exit).is_some_and(|region| region.protection.execute), "{name}");
        assert_eq!(asked(&taken, &path), Some(true), "{name}");
        assert_eq!(asked(&taken, Path::new("/etc/ld.so.preload")), Some(Path::new("/etc/ld.so.preload").exists()));
        assert!(taken.files.iter().any(|file| file.found && file.path.ends_with("libc.so.6")), "{name}");
        assert!(taken.regions.windows(2).all(|pair| pair[0].address + pair[0].bytes.len() as u64 <= pair[1].address));
    }
}

#[test]
fn the_thread_and_the_stack_are_told() {
    for (path, taken) in programs("thread", &["true", "bash"]) {
        let thread = taken.thread;
        for address in [thread.pointer, thread.tid_address] {
            assert!(region(&taken, address).is_some_and(|region| region.protection.write), "{}", path.display());
        }
        // What set_tid_address(2) told is kept at the address that it was given.
        let home = region(&taken, thread.tid_address).unwrap();
        let place = (thread.tid_address - home.address) as usize;
        assert_eq!(home.bytes[place..place + 4], thread.tid.to_ne_bytes());
        let stack = &taken.stack;
        assert_eq!(stack.arguments, 7);
        assert_eq!(stack.name.1, path.file_name().unwrap().len() as u64);
        assert_eq!(stack.name_part, stack.name.0);
        assert!((stack.range.0..stack.range.1).contains(&stack.pointer));
        assert_eq!(stack.environment, stack.pointer + 8 * (stack.arguments + 2));
        assert!(stack.auxiliary.1.contains(&(9, taken.entry)));
        assert!(stack.auxiliary.1.contains(&(33, stack.vdso.0)));
        assert_ne!(stack.random, [0; 16]);
        // The canary, which ld.so makes of the random bytes, lies where the thread's pointer says.
        let home = region(&taken, thread.pointer + 0x28).unwrap();
        let place = (thread.pointer + 0x28 - home.address) as usize;
        assert_eq!((home.bytes[place], &home.bytes[place + 1..place + 8]), (0, &stack.random[1..8]));
    }
}

#[test]
fn each_take_is_at_addresses_of_its_own_far_below_any_stack() {
    let path = Path::new("/bin/true");
    let (first, second) = (take(&request(path)).unwrap(), take(&request(path)).unwrap());
    assert_ne!(first.entry, second.entry);
    assert_ne!(first.thread.pointer, second.thread.pointer);
    assert_ne!(first.stack.random, second.stack.random);
    for taken in [first, second] {
        let end = taken.regions.iter().map(|region| region.address + region.bytes.len() as u64).max().unwrap();
        assert!(end < taken.stack.range.0 - (1 << 30), "{end:#x} {:#x}", taken.stack.range.0);
    }
}

#[test]
fn two_takes_differ_in_nothing_but_what_a_launch_makes() {
    for name in ["true", "cat", "perl", "git", "bash", "python3", "openssl", "ls"] {
        let path = Path::new("/usr/bin").join(name);
        if !path.exists() {
            continue;
        }
        let first = request(&path);
        let environment = [first.environment.clone(), vec![("PADDING".into(), "x".repeat(100).into())]].concat();
        let second = Request { name: "//another/name".into(), arguments: 23, environment, ..first.clone() };
        // How memory is laid out is a matter of chance: a take may be comparable with no other, which is no fault, as long as
        // others are.
        let compared = || compose(&take(&first).unwrap(), &take(&second).unwrap(), None);
        if let Err(why) = (0..8).map(|_| compared()).find(Result::is_ok).unwrap_or_else(compared) {
            panic!("{name}: {why}");
        }
    }
}

#[test]
fn how_functions_are_bound_is_seen_before_anything_is_loaded() {
    for name in ["true", "bash", "perl"] {
        let bound = request(&Path::new("/usr/bin").join(name));
        let late = Request { bind_now: false, ..bound.clone() };
        let second =
            Request { name: "//another/name".into(), arguments: 23, stack_limit: Some(4 << 20), ..bound.clone() };
        // A take whose memory is laid out unluckily can be compared with no other.
        let composed = (0..8).find_map(|_| {
            let (first, whole) = (take(&bound).unwrap(), take(&late).unwrap());
            let early = unbound(&late, &first).unwrap();
            assert!(early.regions.len() < 5 && shows_binding(&first, &early), "{name}: {:?}", early.regions.len());
            assert!(!shows_binding(&first, &first), "{name}: the same take tells of no difference");
            let second = take(&second).unwrap();
            let with = |unbound: &Taken| compose(&first, &second, Some(unbound)).ok();
            Some((with(&early)?, with(&whole)?))
        });
        let (by_early, by_whole) = composed.expect("two takes that can be compared");
        assert!(by_early == by_whole, "{name}: they put another word back");
    }
}

#[test]
fn who_takes_is_kept_to_one_cpu_only_meanwhile() {
    let allowed = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap().to_owned()
    };
    let before = allowed();
    take(&request(Path::new("/bin/true"))).unwrap();
    assert_eq!(allowed(), before);
    assert!(take(&request(Path::new("/etc/passwd"))).is_err());
    assert_eq!(allowed(), before);
}

#[test]
fn the_locale_is_loaded_where_it_is_asked_for() {
    let path = Path::new("/bin/cat");
    let with = |locale| take(&Request { locale, ..request(path) }).unwrap();
    let (loaded, plain) = (with(true), with(false));
    let data = |taken: &Taken| taken.files.iter().filter(|file| file.path.starts_with("/usr/lib/locale")).count();
    assert!(data(&loaded) > 0 && data(&plain) == 0);
    // malloc(3) draws its number when it is first called: by then for the locale.
    assert_eq!((loaded.drawn.len(), plain.drawn.len()), (1, 0));
    let number = loaded.drawn[0].to_ne_bytes();
    let holds = |region: &&steady_warm::taken::Region| region.bytes.chunks(8).any(|word| word == number);
    assert!(loaded.regions.iter().any(|region| holds(&region)));
    assert!(loaded.regions.iter().any(|region| region.heap));
    assert_eq!(loaded.variables, plain.variables, "what the locale asks for is asked for again by the program");
}

#[test]
fn what_is_no_program_says_why() {
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
    assert!(matches!(take(&named), Err(NotTaken::Refused(..))));
}

#[test]
#[ignore = "tells how long it takes to take each program of PROGRAMS"]
fn how_long_a_take_is() {
    let named = std::env::var("PROGRAMS").unwrap_or_else(|_| "true cat perl git bash python3 openssl".to_owned());
    for name in named.split_whitespace() {
        let begun = (monotonic(), process_cpu());
        let taken = take(&request(&Path::new("/usr/bin").join(name)));
        let (wall, cpu) = (monotonic() - begun.0, process_cpu() - begun.1);
        let what = match taken {
            Ok(taken) => {
                let bytes: usize = taken.regions.iter().map(|region| region.bytes.len()).sum();
                format!("{} KiB, {} files, variables {:?}", bytes >> 10, taken.files.len(), taken.variables)
            }
            Err(why) => format!("{why:?}"),
        };
        tell(&format!("{name}: {} us, {} us of CPU time in the taker: {what}", wall.0 / 1000, cpu.0 / 1000));
    }
}
