//! Programs found in PATH: the snapshot is that of the program that the C library finds.

use std::fs;

use steady_preload::card::Outcome;

use crate::calls::CALLS;
use crate::fake::{COLD, Fake, copy_program, output_text};

/// Starts `tool` with this PATH, with and without the hook. Returns both outputs.
fn found(fake: &Fake, way: &str, path: Option<&str>) -> [String; 2] {
    [true, false].map(|hook| {
        let mut command = fake.command(&*CALLS);
        command.current_dir(fake.folder.join("bin")).args([way, "tool"]);
        match path {
            Some(path) => command.env("PATH", path.replace('@', fake.folder.to_str().unwrap())),
            None => command.env_remove("PATH"),
        };
        if !hook {
            command.env_remove("LD_PRELOAD");
        }
        output_text(command.output().expect("the program starts"))
    })
}

/// Makes a directory that precedes others in PATH, with an entry `tool`.
fn first(fake: &Fake, name: &str, make: impl FnOnce(&std::path::Path)) {
    let folder = fake.folder.join(name);
    fs::create_dir(&folder).unwrap();
    make(&folder.join("tool"));
}

#[test]
fn the_snapshot_is_of_the_program_found() {
    let fake = Fake::new();
    first(&fake, "other", |tool| copy_program(&COLD, tool));
    first(&fake, "empty", |_| ());
    let long = format!("{}:@/bin", "x/".repeat(1000));
    for way in ["execvp", "execvpe", "execlp", "spawnp"] {
        for path in
            ["@/bin", "@/empty:@/bin", "/nothing:@/bin/tool:@/bin", "", ":/nothing", "/nothing::@/other", ".", "../bin"]
        {
            let [with, without] = found(&fake, way, Some(path));
            assert_eq!((with.as_str(), without.as_str()), ("warm a b\n", "cold a b\n"), "{way} {path}");
        }
        // Another program of that name comes first; a path is too long for the hook.
        for path in ["@/other:@/bin", &long] {
            let [with, without] = found(&fake, way, Some(path));
            assert_eq!((with.as_str(), without.as_str()), ("cold a b\n", "cold a b\n"), "{way} {path}");
        }
    }
    assert_eq!(fake.count(Outcome::Warm), 4 * 8);
}

/// File actions may change the directory to which an entry of PATH is relative.
#[test]
fn relative_entries_are_searched_after_the_file_actions() {
    let fake = Fake::new();
    fs::create_dir(fake.folder.join("bin/sub")).unwrap();
    fake.script("sub/tool", "#!/bin/echo other\n");
    let found = |path: &str| {
        let path = path.replace('@', fake.folder.to_str().unwrap());
        [true, false].map(|hook| {
            let mut command = fake.command(&*CALLS);
            command.env("PATH", &path).args(["spawnp-chdir", "tool"]);
            if !hook {
                command.env_remove("LD_PRELOAD");
            }
            output_text(command.output().expect("the program starts"))
        })
    };
    for path in ["sub:@/bin", "/nothing:sub:@/bin", "/proc/self/cwd/sub:@/bin"] {
        let [with, without] = found(path);
        assert!(without.starts_with("other "), "{path}: {without}");
        assert_eq!(with, without, "{path}");
    }
    assert_eq!((fake.count(Outcome::Warm), fake.count(Outcome::OtherWay)), (0, 3));
    assert_eq!(found("/nothing:@/bin:sub"), ["warm a b\n", "cold a b\n"]);
}

#[test]
fn ambiguous_searches_are_left_to_the_c_library() {
    let fake = Fake::new();
    first(&fake, "locked", |tool| fs::write(tool, "not to be executed").unwrap());
    first(&fake, "folder", |tool| fs::create_dir(tool).unwrap());
    for way in ["execvp", "spawnp"] {
        for path in ["@/locked:@/bin", "@/folder:@/bin"] {
            let [with, without] = found(&fake, way, Some(path));
            assert_eq!((with.as_str(), without.as_str()), ("cold a b\n", "cold a b\n"), "{way} {path}");
        }
        for path in [None, Some("/nothing"), Some("@/locked"), Some("@/folder:/nothing")] {
            let [with, without] = found(&fake, way, path);
            assert!(!without.contains("cold"), "{way} {path:?}: {without}");
            assert_eq!(with, without, "{way} {path:?}");
        }
    }
    assert_eq!(fake.count(Outcome::Warm), 0);
}
