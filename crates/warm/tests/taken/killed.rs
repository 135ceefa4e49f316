//! What is left when whoever takes a program is killed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use steady_warm::take::take;

use super::made::Made;
use super::request;

/// Where a copy of this process finds what to take.
const VICTIM: &str = "STEADY_TEST_TAKES";

#[test]
#[ignore = "is killed by the test below"]
fn takes_what_waits() {
    if let Some(program) = std::env::var_os(VICTIM) {
        let _ = take(&request(Path::new(&program)));
    }
}

/// Processes that execute this file.
fn running(program: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.filter(|process| fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == program)).count()
}

fn until(what: impl Fn() -> bool) -> bool {
    (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        what()
    })
}

#[test]
fn nothing_is_left_when_the_taker_is_killed() {
    let Some(made) = Made::new("killed", "open(HERE \"/pipe\", O_RDONLY);") else { return };
    rustix::fs::mknodat(rustix::fs::CWD, made.0.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let program = made.program();
    let mut taker = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::takes_what_waits", "--include-ignored"])
        .env(VICTIM, &program)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = until(|| running(&program) == 1);
    taker.kill().unwrap();
    taker.wait().unwrap();
    assert!(begun, "it was never seen");
    assert!(until(|| running(&program) == 0), "it is left");
}
