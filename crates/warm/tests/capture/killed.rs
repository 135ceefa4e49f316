//! Kills the process that captures a program, and checks that the program dies too.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use steady_warm::capture::capture;

use super::made::Made;
use super::request;

/// The variable that names the program to capture, for a copy of this test binary.
const VICTIM: &str = "STEADY_TEST_CAPTURES";

#[test]
#[ignore = "the test below starts and kills this one"]
fn captures_a_program_that_waits() {
    if let Some(program) = std::env::var_os(VICTIM) {
        let _ = capture(&request(Path::new(&program)));
    }
}

/// The number of processes that execute this file.
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
fn the_program_dies_with_the_capturing_process() {
    let Some(made) = Made::new("killed", "open(HERE \"/pipe\", O_RDONLY);") else { return };
    rustix::fs::mknodat(rustix::fs::CWD, made.0.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let program = made.program();
    let mut taker = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::captures_a_program_that_waits", "--include-ignored"])
        .env(VICTIM, &program)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = until(|| running(&program) == 1);
    taker.kill().unwrap();
    taker.wait().unwrap();
    assert!(begun, "the program did not start");
    assert!(until(|| running(&program) == 0), "the program still runs");
}
