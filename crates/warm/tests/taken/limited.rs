//! Where the limit on the stack may not be raised, memory is laid out otherwise, and what is taken is the same.

use std::process::Command;

#[test]
fn programs_are_taken_where_the_stack_is_limited() {
    for limit in ["8192", "65536"] {
        let output = Command::new("/bin/sh")
            .args(["-c", "ulimit -s \"$1\" && exec \"$2\" real:: made::", "sh", limit])
            .arg(std::env::current_exe().unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("13 passed"), "{limit}: {text}");
    }
}
