//! Each interposed function, called from a C program.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use steady_preload::card::Outcome;

use crate::fake::{Fake, compiled, output_text};
use crate::fallbacks::opens_first;
use crate::scripts::script;

pub(crate) static CALLS: LazyLock<PathBuf> =
    LazyLock::new(|| compiled("calls", include_str!("calls.c"), &["-pthread"]));

fn call(fake: &Fake, way: &str, program: &str) -> String {
    output_text(fake.command(&*CALLS).args([way, program]).output().expect("the program starts"))
}

#[test]
fn programs_by_path() {
    let fake = Fake::new();
    let ways =
        ["execl", "execlp", "execle", "execv", "execve", "execvp", "execvpe", "execveat", "execve-no-environment"];
    let spawns = ["spawn", "spawn-null", "spawn-dup2", "spawnp", "spawnp-dup2", "spawn-chdir", "spawnp-chdir"];
    let others = ["fexecve", "execveat-file", "execveat-folder", "vfork"];
    let all = ways.iter().chain(&spawns).chain(&others);
    for (times, way) in (1..).zip(all) {
        assert_eq!(call(&fake, way, fake.tool.to_str().unwrap()), "warm a b\n", "{way}");
        assert_eq!(fake.count(Outcome::Warm), times, "{way}");
    }
    assert_eq!(call(&fake, "execl-many", "bin/tool"), "warm 1 2 3 4 5 6 7 8 9 10 11\n");
    assert_eq!(call(&fake, "execle-many", "./bin/tool"), "warm 1 2 3 4 5 6 7 8\n");
}

#[test]
fn programs_by_name() {
    let fake = Fake::new();
    for (times, way) in (1..).zip(["execlp", "execvp", "execvpe", "spawnp", "spawnp-dup2"]) {
        assert_eq!(call(&fake, way, "tool"), "warm a b\n", "{way}");
        assert_eq!(fake.count(Outcome::Warm), times, "{way}");
    }
}

#[test]
fn programs_without_a_card() {
    let fake = Fake::empty();
    for way in
        ["execl", "execlp", "execle", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat", "spawn", "spawnp"]
    {
        assert_eq!(call(&fake, way, fake.tool.to_str().unwrap()), "cold a b\n", "{way}");
        assert_eq!(fake.requests(), std::slice::from_ref(&fake.tool), "{way}");
        fake.clear_requests();
    }
    assert_eq!(call(&fake, "execl-many", "bin/tool"), "cold 1 2 3 4 5 6 7 8 9 10 11\n");
    assert_eq!(call(&fake, "execle-many", "bin/tool"), "cold 1 2 3 4 5 6 7 8\n");
    // By a descriptor, or relative to a directory's: the request contains the path.
    for way in ["execveat-folder", "execveat-file"] {
        fake.clear_requests();
        assert_eq!(call(&fake, way, "bin/tool"), "cold a b\n", "{way}");
        assert_eq!(fake.requests(), std::slice::from_ref(&fake.tool), "{way}");
    }
}

#[test]
fn unsupported_calls_use_the_real_functions() {
    let fake = Fake::new();
    for way in ["execle-environment", "execveat-nofollow", "execve-no-arguments"] {
        let printed = call(&fake, way, "bin/tool");
        assert!(printed.starts_with("cold"), "{way}: {printed}");
    }
    // File actions may change where the path leads.
    assert_eq!(call(&fake, "spawn-dup2", "bin/tool"), "cold a b\n");
    assert_eq!(call(&fake, "spawn-chdir", "./tool"), "cold a b\n");
    assert_eq!(call(&fake, "spawn-dup2", "/proc/self/cwd/bin/tool"), "cold a b\n");
    assert_eq!(fake.count(Outcome::OtherWay), 4);
    assert_eq!(call(&fake, "spawn", "bin/tool"), "warm a b\n");
    // The kernel fills an empty vector of arguments.
    assert_eq!(call(&fake, "execve-empty-arguments", "bin/tool"), "warm\n");
    assert_eq!(fake.count(Outcome::Warm), 2);
}

#[test]
fn errors_are_those_of_the_real_functions() {
    let fake = Fake::new();
    let without = |way: &str, program: &str| {
        let mut command = fake.command(&*CALLS);
        output_text(command.env_remove("LD_PRELOAD").args([way, program]).output().expect("the program starts"))
    };
    for way in ["execl", "execlp", "execv", "execve", "execvp", "execveat", "fexecve", "spawn", "spawnp-dup2"] {
        for program in
            ["bin/nothing", "nothing", "./bin", "bin", "bin/tool/nothing", "/dev/null", "/proc/self/fd/99", ""]
        {
            let usual = without(way, program);
            assert!(!usual.contains("cold") && !usual.is_empty(), "{way} '{program}': {usual}");
            assert_eq!(call(&fake, way, program), usual, "{way} '{program}'");
        }
    }
    for way in [
        "execve-nowhere",
        "execve-lowest",
        "execve-arguments-nowhere",
        "execve-environment-nowhere",
        "execve-variable-nowhere",
        "execve-endless",
        "execve-unmapped",
        "execve-arguments-endless",
        "execve-argument-endless",
        "execve-argument-nowhere",
        "execve-environment-endless",
        "execve-variable-endless",
        "execveat-nowhere",
        "fexecve-arguments-nowhere",
        "readlink-nowhere",
        "readlink-into-nowhere",
        "open-nowhere",
        "stat-nowhere",
        "stat-into-nowhere",
        "fopen-nowhere",
        "spawn-nowhere",
    ] {
        let usual = without(way, "bin/tool");
        assert!(usual.contains("Bad address"), "{way}: {usual}");
        assert_eq!(call(&fake, way, "bin/tool"), usual, "{way}");
    }
    assert!(call(&fake, "execve", "").contains("No such file or directory"));
    assert!(call(&fake, "execveat-bad", "").contains("Bad file descriptor"));
    assert_eq!(call(&fake, "spawn-wrong", fake.tool.to_str().unwrap()), "Bad file descriptor\n");
    assert_eq!(fake.count(Outcome::Warm), 0);
}

#[test]
fn file_actions_are_performed_once() {
    let fake = Fake::new();
    let program = fake.tool.to_str().unwrap();
    assert_eq!(call(&fake, "spawn-once", program), "warm a b\n");
    fs::remove_file(fake.folder.join("once")).unwrap();
    // They are not performed for a missing snapshot either.
    fs::remove_dir_all(fake.copies(&fake.tool)).unwrap();
    assert_eq!(call(&fake, "spawn-once", program), "cold a b\n");
    assert_eq!((fake.count(Outcome::Warm), fake.count(Outcome::OtherName)), (1, 1));
}

#[test]
fn file_actions_are_not_performed_again_after_one_has_failed() {
    let fake = Fake::new();
    let program = fake.tool.to_str().unwrap();
    assert_eq!(call(&fake, "spawn-once-wrong", program), "Bad file descriptor\n");
    assert!(fake.folder.join("once").exists());
    assert_eq!((fake.count(Outcome::Warm), fake.count(Outcome::NotExecuted)), (0, 1));
    if opens_first() {
        // Snapshots that are open for writing cannot be executed, so the program starts as usual.
        let snapshots = ["0/tool", "1/tool"].map(|copy| fake.copies(&fake.tool).join(copy));
        let open = snapshots.map(|file| fs::File::options().append(true).open(file).unwrap());
        assert_eq!(call(&fake, "spawn-dup2", program), "cold a b\n");
        drop(open);
    }
}

#[test]
fn very_many_arguments() {
    let fake = Fake::new();
    let printed = call(&fake, "huge", "bin/tool");
    assert_eq!((printed.len(), &printed[..6]), (4 + 7999 * 251 + 1, "warm w"));
}

#[test]
fn closed_streams() {
    let fake = Fake::new();
    assert_eq!(call(&fake, "closed", "bin/tool"), "");
    assert_eq!(fake.count(Outcome::Warm), 1);
}

#[test]
fn many_threads_start_programs_concurrently() {
    let fake = Fake::new();
    assert_eq!(call(&fake, "threads", fake.tool.to_str().unwrap()), "warm a b\n".repeat(320));
    assert_eq!(fake.count(Outcome::Warm), 320);
}

/// Creating a thread does not fail with EAGAIN while another thread starts a program.
#[test]
fn new_threads_while_another_spawns() {
    let fake = Fake::new();
    assert_eq!(call(&fake, "threads-besides", fake.tool.to_str().unwrap()), "warm a b\n".repeat(60));
    assert_eq!(fake.count(Outcome::Warm), 60);
}

/// Every way to start a program from a thread works on the smallest stack, and the hook uses little of the stack.
#[test]
fn small_stacks_suffice() {
    const MOST: i64 = 2560;
    let fake = Fake::new();
    let script = script(&fake, "tools", None);
    let without = |way: &str, program: &str| {
        let mut command = fake.command(&*CALLS);
        output_text(command.env_remove("LD_PRELOAD").args([way, program]).output().expect("the program starts"))
    };
    let used = |printed: &str| -> i64 {
        let line = printed.lines().find_map(|line| line.strip_prefix("used "));
        line.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("stack use is not printed: {printed}"))
    };
    let (tool, script) = (fake.tool.to_str().unwrap().to_owned(), script.to_str().unwrap().to_owned());
    let ways =
        ["spawn", "spawnp", "execl", "execlp", "execle", "execv", "execvp", "execvpe", "execve", "execve-variables"];
    let by_path = ways.iter().map(|way| (*way, tool.as_str()));
    let by_name = ["spawnp", "execlp", "execvp", "execvpe"].into_iter().map(|way| (way, "tool"));
    let scripts = ["spawn", "execv", "execlp", "execve-many"].into_iter().map(|way| (way, script.as_str()));
    for (way, program) in by_path.chain(by_name).chain(scripts) {
        // With an environment that does not contain the hook.
        let small = call(&fake, &format!("small-{way}"), program);
        assert!(small.starts_with("warm"), "{way} {program}: {small}");
        let usual = used(&without(&format!("painted-{way}"), program));
        let hooked = used(&call(&fake, &format!("painted-{way}"), program));
        // 200 arguments of a script are copied to the stack.
        let most = if way == "execve-many" { MOST + 2048 } else { MOST };
        assert!(hooked - usual < most, "{way} {program}: {usual} bytes of stack, {hooked} with the hook");
    }
}

#[test]
fn no_mapping_is_leaked() {
    let fake = Fake::new();
    let printed = call(&fake, "leaves-mappings", fake.tool.to_str().unwrap());
    assert!(printed.ends_with("more mappings: 0\n"), "{printed}");
    assert_eq!(fake.count(Outcome::Warm), 21);
}
