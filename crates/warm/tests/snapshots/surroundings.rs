//! What is around a launch: limits, personality, streams, arguments and environment of any size.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use super::{Snapshots, found, skip, text};

/// Runs a shell's command in which `$0` is the program as usual, and a snapshot of it: the same comes of both.
fn same_in_shell(program: &str, script: &str) -> Option<Output> {
    let program = found(program)?;
    let snapshots = Snapshots::of(&program);
    let run = |file: &Path| Command::new("/bin/sh").args(["-c", script]).arg(file).output().expect("there is a shell");
    let usual = run(&program);
    let without_path = |output: &Output, file: &Path| {
        let texts =
            [&output.stdout, &output.stderr].map(|bytes| text(bytes).replace(&file.display().to_string(), "PROGRAM"));
        (output.status, texts)
    };
    for file in snapshots.files() {
        assert_eq!(without_path(&run(file), file), without_path(&usual, &program), "{script}");
    }
    Some(usual)
}

#[test]
fn limits_on_the_stack_and_a_fixed_layout_are_no_matter() {
    for script in [
        "ulimit -s 256; $0 /etc/passwd",
        "ulimit -S -s unlimited; $0 /etc/passwd",
        "setarch -R $0 /etc/passwd",
        "setarch -R -L $0 /etc/passwd",
        "(ulimit -S -s unlimited; setarch -R $0 /etc/passwd)",
    ] {
        let Some(usual) = same_in_shell("sort", script) else {
            return skip("limits_on_the_stack_and_a_fixed_layout_are_no_matter", "sort is not there");
        };
        assert!(usual.status.success(), "{script}: {}", text(&usual.stderr));
    }
}

#[test]
fn closed_streams_are_no_matter() {
    for streams in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        for arguments in ["/etc/hostname", "- </dev/null", "/nonexistent"] {
            same_in_shell("cat", &format!("$0 {arguments} {streams}"));
        }
    }
}

#[test]
fn arguments_and_environment_may_be_huge_or_empty() {
    let Some(program) = found("echo") else { return skip("arguments_and_environment", "echo is not there") };
    let snapshots = Snapshots::of(&program);
    let words = vec!["x".repeat(100_000); 18];
    let environment = [("FILLER", "y".repeat(100_000))];
    for file in snapshots.files() {
        let output = Command::new(file).args(&words).envs(environment.clone()).output().expect("it can be executed");
        assert_eq!(output.stdout.len(), 18 * 100_001);
        let output = Command::new(file).args(vec![""; 50_000]).env_clear().output().expect("it can be executed");
        assert_eq!(output.stdout, [vec![b' '; 49_999], vec![b'\n']].concat());
        // Called by nothing at all; Linux makes an empty name of that.
        let output = Command::new(file).arg0("").env_clear().output().expect("it can be executed");
        assert_eq!(output.stdout, b"\n");
    }
}
