//! The library of rulers, in a C program that is built like those of its users; and the same rulers called directly.
#![allow(clippy::print_stderr, reason = "skipped tests print their reason")]

use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use steady_preload::{RULERS, RULERS_BESIDE, RULERS_NAME, rulers};

/// The output of `tests/rulers.c` on success.
const FOUND: &str = "version 1\nall run 1\nothers 1\nin threads 1\nin a child 1\nwithout streams 1\ndelay 1\nleft open 0\n\
                     without descriptors 1\n";

#[test]
fn a_c_program_runs_the_rulers() {
    if RULERS.is_empty() {
        return eprintln!("skipped: a_c_program_runs_the_rulers: the library could not be linked here");
    }
    if Command::new("cc").arg("--version").output().is_err() {
        return eprintln!("skipped: a_c_program_runs_the_rulers: no C compiler");
    }
    let folder = env::temp_dir().join(format!("steady-rulers-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let files = RULERS_BESIDE.iter().map(|(name, text)| (*name, text.as_bytes()));
    for (name, bytes) in files.chain([(RULERS_NAME, RULERS)]) {
        fs::write(folder.join(name), bytes).expect("files can be written");
    }
    let program = folder.join("program");
    let words = ["-Wall", "-Wextra", "-Werror", "-pthread", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rulers.c")];
    let built = Command::new("cc").args(words).arg("-o").arg(&program).args(flags(&folder)).output().expect("cc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let output = Command::new(&program).output().expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), FOUND, "{}", output.status);
    fs::remove_dir_all(&folder).expect("the directory can be removed");
}

/// Returns the flags that pkg-config prints, or should print if it is not installed.
fn flags(folder: &Path) -> Vec<String> {
    let pkg_config =
        Command::new("pkg-config").args(["--cflags", "--libs"]).arg(folder.join("steady_rulers.pc")).output();
    if let Ok(output) = pkg_config {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect();
    }
    eprintln!("skipped: the output of pkg-config: it is not installed");
    let folder = folder.display();
    ["-I", "-L", "-Wl,-rpath,"]
        .map(|flag| format!("{flag}{folder}"))
        .into_iter()
        .chain(["-lsteady_rulers".into()])
        .collect()
}

#[test]
fn the_same_rulers_run_directly() {
    assert_eq!(rulers::VERSION, 1);
    for (kind, name) in rulers::KINDS.iter().enumerate() {
        let times: Vec<u64> = (0..50).filter_map(|_| rulers::run(kind)).collect();
        assert_eq!(times.len(), 50, "{name}");
        let (first, last) = (times.iter().min(), times.iter().max());
        assert!(first > Some(&1_000) && last < Some(&50_000_000), "{name}: {times:?}");
    }
    assert_eq!(rulers::run(rulers::KINDS.len()), None);
}

#[test]
fn run_delay_never_decreases() {
    let (Some(before), Some(after)) = (rulers::run_delay(), rulers::run_delay()) else {
        return eprintln!("skipped: run_delay_never_decreases: this kernel does not report the run delay");
    };
    assert!(before <= after);
}
