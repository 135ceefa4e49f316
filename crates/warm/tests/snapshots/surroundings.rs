//! Launches under unusual conditions: limits, personality, closed streams, huge or empty arguments and environments.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use super::made::made;
use super::{Snapshots, found, skip, text};

/// Runs a shell command in which `$0` is the program, then its snapshots, and checks that the results are the same.
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
fn snapshots_work_with_any_stack_limit_and_a_fixed_layout() {
    for script in [
        "ulimit -s 256; $0 /etc/passwd",
        "ulimit -S -s unlimited; $0 /etc/passwd",
        "setarch -R $0 /etc/passwd",
        "setarch -R -L $0 /etc/passwd",
        "(ulimit -S -s unlimited; setarch -R $0 /etc/passwd)",
    ] {
        let Some(usual) = same_in_shell("sort", script) else {
            return skip("snapshots_work_with_any_stack_limit_and_a_fixed_layout", "sort is not installed");
        };
        assert!(usual.status.success(), "{script}: {}", text(&usual.stderr));
    }
}

#[test]
fn snapshots_work_with_closed_streams() {
    for streams in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        for arguments in ["/etc/hostname", "- </dev/null", "/nonexistent"] {
            same_in_shell("cat", &format!("$0 {arguments} {streams}"));
        }
    }
}

#[test]
fn arguments_and_environment_may_be_huge_or_empty() {
    let Some(program) = found("echo") else {
        return skip("arguments_and_environment_may_be_huge_or_empty", "echo is not installed");
    };
    let snapshots = Snapshots::of(&program);
    let words = vec!["x".repeat(100_000); 18];
    let environment = [("FILLER", "y".repeat(100_000))];
    for file in snapshots.files() {
        let output =
            Command::new(file).args(&words).envs(environment.clone()).output().expect("the program can be executed");
        assert_eq!(output.stdout.len(), 18 * 100_001);
        let output =
            Command::new(file).args(vec![""; 50_000]).env_clear().output().expect("the program can be executed");
        assert_eq!(output.stdout, [vec![b' '; 49_999], vec![b'\n']].concat());
        // With an empty argument 0.
        let output = Command::new(file).arg0("").env_clear().output().expect("the program can be executed");
        assert_eq!(output.stdout, b"\n");
    }
}

#[test]
fn a_process_that_must_not_trust_its_environment_executes_the_program() {
    const TEST: &str = "a_process_that_must_not_trust_its_environment_executes_the_program";
    let Some((folder, snapshots)) = made(TEST, &[]) else { return };
    let run = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        let output = command.args(words).arg(&snapshots.files()[0]).arg("x").output();
        output.ok().filter(|output| output.status.success()).map(|output| text(&output.stdout).to_owned())
    };
    let Some(usual) = run(&["--no-new-privs"]) else { return skip(TEST, "setpriv is not installed") };
    assert!(usual.starts_with(&format!("0 {}\n", snapshots.files()[0].display())), "{usual}");
    // The real user differs from the effective one, so the kernel sets AT_SECURE.
    let Some(secure) = run(&["--ruid=1", "--keep-groups"]) else { return skip(TEST, "this needs root") };
    assert!(secure.starts_with(&format!("1 {}\n", folder.0.join("made").display())), "{secure}");
}

#[test]
fn a_debugger_finds_the_libraries_and_detaches() {
    const TEST: &str = "a_debugger_finds_the_libraries_and_detaches";
    let Some((_folder, snapshots)) = made(TEST, &[]) else { return };
    let mut program = Command::new(&snapshots.files()[0]).arg("wait").spawn().expect("the program can be executed");
    let words = ["-q", "-batch", "-nx", "-ex", "bt", "-ex", "info sharedlibrary", "-ex", "detach", "-p"];
    // Give the program time to reach its call of pause.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let output = Command::new("gdb").args(words).arg(program.id().to_string()).env_remove("DEBUGINFOD_URLS").output();
    let alive = program.try_wait().expect("its state can be read").is_none();
    program.kill().expect("it can be killed");
    program.wait().expect("it can be waited for");
    let Ok(output) = output else { return skip(TEST, "gdb is not installed") };
    let output_text = String::from_utf8_lossy(&output.stdout);
    if !output_text.contains("#0") {
        return skip(TEST, format!("gdb cannot attach here: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    assert!(output_text.contains("libc.so.6") && output_text.contains("pause"), "{output_text}");
    assert!(alive && output_text.contains("detached"), "{output_text}");
}
