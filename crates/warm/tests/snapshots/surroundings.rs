//! What is around a launch: limits, personality, streams, arguments and environment of any size.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use super::made::made;
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

#[test]
fn a_process_that_must_not_trust_its_environment_is_the_program_itself() {
    const TEST: &str = "a_process_that_must_not_trust_its_environment_is_the_program_itself";
    let Some((folder, snapshots)) = made(TEST, &[]) else { return };
    let run = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        let output = command.args(words).arg(&snapshots.files()[0]).arg("x").output();
        output.ok().filter(|output| output.status.success()).map(|output| text(&output.stdout).to_owned())
    };
    let Some(usual) = run(&["--no-new-privs"]) else { return skip(TEST, "setpriv is not there") };
    assert!(usual.starts_with(&format!("0 {}\n", snapshots.files()[0].display())), "{usual}");
    // Its real user is another than its effective one.
    let Some(secure) = run(&["--ruid=1", "--keep-groups"]) else { return skip(TEST, "this needs root") };
    assert!(secure.starts_with(&format!("1 {}\n", folder.0.join("made").display())), "{secure}");
}

#[test]
fn a_debugger_finds_the_libraries_and_lets_go() {
    const TEST: &str = "a_debugger_finds_the_libraries_and_lets_go";
    let Some((_folder, snapshots)) = made(TEST, &[]) else { return };
    let mut program = Command::new(&snapshots.files()[0]).arg("wait").spawn().expect("it can be executed");
    let words = ["-q", "-batch", "-nx", "-ex", "bt", "-ex", "info sharedlibrary", "-ex", "detach", "-p"];
    // It may not have come to where it waits.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let output = Command::new("gdb").args(words).arg(program.id().to_string()).env_remove("DEBUGINFOD_URLS").output();
    let alive = program.try_wait().expect("it can be asked for").is_none();
    program.kill().expect("it is there");
    program.wait().expect("it has ended");
    let Ok(output) = output else { return skip(TEST, "gdb is not there") };
    let told = String::from_utf8_lossy(&output.stdout);
    if !told.contains("#0") {
        return skip(TEST, format!("gdb cannot attach here: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    assert!(told.contains("libc.so.6") && told.contains("pause"), "{told}");
    assert!(alive && told.contains("detached"), "{told}");
}
