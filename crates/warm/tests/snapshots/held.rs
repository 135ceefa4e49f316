//! Launches by those who must not be trusted, and debuggers.

use std::process::Command;

use super::made::made;
use super::{skip, text};

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
