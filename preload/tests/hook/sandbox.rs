//! Sandboxes that forbid what the hook asks the kernel: whatever cannot be known speaks against a snapshot.

use steady_preload::card::Outcome;

use crate::fake::{Fake, said, there_is};

/// What is started where this system call is forbidden.
fn without(fake: &Fake, number: u32) -> String {
    let number = number.to_string();
    let mut command = fake.command("python3");
    command.args(["-c", include_str!("../../../tests/steady/without_call.py"), &number, &number]);
    said(command.args(["/bin/bash", "-c", "tool a b"]).output().expect("it starts"))
}

#[test]
fn what_is_forbidden() {
    if !there_is("what_is_forbidden", "python3") {
        return;
    }
    let fake = Fake::new();
    let (faccessat2, getrandom) = (439, 318);
    if without(&fake, getrandom).contains("AssertionError") {
        eprintln!("skipped: what_is_forbidden: a sandbox cannot be had here");
        return;
    }
    let fake = Fake::new();
    // There is another way to ask whether a file may be executed; and any snapshot is as good as another.
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
    assert_eq!((fake.count(Outcome::NoCard) > 0, fake.wishes().len()), (true, 0));
}
