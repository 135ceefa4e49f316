//! The kernel and debuggers find the files of a program that runs from a snapshot.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::STEADY;
use crate::steady::{scratch, skip};
use crate::swapped::{Swapped, within};

/// Compiles the program `bin/shown` and creates its snapshot.
fn program_with_snapshot(test: &str) -> Option<Swapped> {
    let swapped = Swapped::make(&scratch(test), Path::new(STEADY)).map_err(|why| skip(test, &why)).ok()?;
    swapped.cc("shown.c", "bin/shown", &["-g"]).expect("the program compiles");
    let has_snapshot = within(20, || swapped.sandbox.snapshot(Path::new(STEADY), &["bin/shown"]).0 == 0);
    assert!(has_snapshot, "{:?}", swapped.sandbox.programs(Path::new(STEADY)));
    Some(swapped)
}

#[test]
fn proc_files_show_the_program() {
    let Some(swapped) = program_with_snapshot("proc_files_show_the_program") else { return };
    for turn in 0..4 {
        let output = swapped.sh("SHOWN=1 bin/shown");
        assert_eq!(output, "auxiliary 1 headers 1 arguments 1 environment 1 warm\n", "launch {turn}");
    }
    // With an empty environment, the auxiliary vector follows the arguments.
    assert_eq!(
        swapped.sh("env -i SHOWN=1 bin/shown a=1 2>/dev/null; env -i SHOWN=1 bin/shown"),
        "auxiliary 1 headers 1 arguments 1 environment 1 warm\n"
    );
}

#[test]
fn a_core_dump_has_named_frames() {
    let test = "a_core_dump_has_named_frames";
    if Command::new("gdb").arg("--version").output().is_err() {
        return skip(test, "no gdb");
    }
    let Some(swapped) = program_with_snapshot(test) else { return };
    swapped.sh("mkdir cores; cd cores; ulimit -c unlimited; ../bin/shown dump 2>/dev/null; true");
    let cores: Vec<_> =
        fs::read_dir(swapped.path("cores")).expect("the directory exists").filter_map(Result::ok).collect();
    let [core] = &cores[..] else { return skip(test, "cores are not written to the working directory") };
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-ex", "bt"]).arg(swapped.path("bin/shown")).arg(core.path());
    let output = gdb.env("DEBUGINFOD_URLS", "").output().expect("gdb starts");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in ["abort", "innermost_of_shown", "main"] {
        assert!(output.contains(name), "{name} is not among the frames: {output}");
    }
}
