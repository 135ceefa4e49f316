//! Sandboxes that forbid system calls of the hook: if a condition cannot be checked, no snapshot is used.

use steady_preload::card::Outcome;

use crate::fake::{Fake, is_installed, output_text};

/// Starts the program with this system call forbidden. Returns its output.
fn without(fake: &Fake, number: u32) -> String {
    let number = number.to_string();
    let mut command = fake.command("python3");
    command.args(["-c", include_str!("../../../tests/steady/without_call.py"), &number, &number]);
    output_text(command.args(["/bin/bash", "-c", "tool a b"]).output().expect("the program starts"))
}

#[test]
fn forbidden_system_calls() {
    if !is_installed("forbidden_system_calls", "python3") {
        return;
    }
    let fake = Fake::new();
    let (faccessat2, getrandom) = (439, 318);
    if without(&fake, getrandom).contains("AssertionError") {
        eprintln!("skipped: forbidden_system_calls: sandboxes are not available here");
        return;
    }
    let fake = Fake::new();
    // faccessat(2) is used instead; without random numbers the first snapshot is selected.
    for number in [faccessat2, getrandom] {
        assert_eq!(without(&fake, number), "warm a b\n", "{number}");
    }
    let (getresuid, getresgid, prlimit64, personality) = (118, 120, 302, 135);
    for number in [getresuid, getresgid, prlimit64, personality] {
        assert_eq!(without(&fake, number), "cold a b\n", "{number}");
    }
    assert_eq!((fake.count(Outcome::Warm), fake.count(Outcome::Limits)), (2, 2));
    let symlink = 88;
    let fake = Fake::empty();
    assert_eq!(without(&fake, symlink), "cold a b\n");
    assert_eq!((fake.count(Outcome::NoCard) > 0, fake.requests().len()), (true, 0));
}
