//! `steady agent library`: the rulers as files, and a service in C that is built from what it prints.

mod steady;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use steady::{run, scratch, skip, steady, told};

const NAMES: [&str; 3] = ["libsteady_rulers.so", "steady_rulers.h", "steady_rulers.pc"];

const PROGRAM: &str = "\
#include <stdio.h>
#include <steady_rulers.h>
int main(void) { printf(\"%d\\n\", steady_rulers_version() == 1 && steady_ruler(STEADY_RULER_ALU) > 0); return 0; }
";

/// Builds a program as the help says, and runs it.
fn built_and_run(folder: &Path, place: &Path) -> String {
    let (source, program) = (place.join("service.c"), place.join("service"));
    fs::write(&source, PROGRAM).unwrap();
    let script = "cc \"$1\" -o \"$2\" $(pkg-config --cflags --libs steady_rulers) && \"$2\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args([&source, &program]).env("PKG_CONFIG_PATH", folder);
    let (status, stdout, stderr) = told(shell.output().expect("sh starts"));
    assert_eq!((status, stderr.as_str()), (0, ""));
    stdout
}

fn can_build() -> bool {
    ["cc", "pkg-config"].iter().all(|program| Command::new(program).arg("--version").output().is_ok())
}

#[test]
fn services_are_built_with_what_is_unpacked_and_with_what_is_written() {
    if !can_build() {
        return skip("services_are_built_with_what_is_unpacked_and_with_what_is_written", "no cc, or no pkg-config");
    }
    let place = scratch("library");
    fs::create_dir_all(&place).unwrap();
    let cached =
        |cache: &Path| told(steady().args(["agent", "library"]).env("XDG_CACHE_HOME", cache).output().unwrap());
    let (status, printed, stderr) = cached(&place);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let unpacked = PathBuf::from(printed.trim_end());
    assert_eq!(unpacked.parent(), Some(place.as_path()));
    assert_eq!(built_and_run(&unpacked, &place), "1\n");
    assert_eq!(cached(&place).1, printed, "it is where it was");

    let named = place.join("named/below");
    let (status, printed, stderr) = run(&["agent", "library", named.to_str().unwrap()]);
    assert_eq!((status, printed, stderr.as_str()), (0, format!("{}\n", named.display()), ""));
    assert_eq!(built_and_run(&named, &place), "1\n");
    for name in NAMES {
        assert_eq!(fs::read(named.join(name)).unwrap(), fs::read(unpacked.join(name)).unwrap(), "{name}");
    }
    assert_eq!(fs::read_dir(&named).unwrap().count(), NAMES.len());
    fs::remove_dir_all(&place).unwrap();
}

#[test]
fn where_nothing_can_be_written_it_says_so() {
    let file = scratch("no-folder");
    fs::write(&file, "").unwrap();
    let (status, stdout, stderr) = run(&["agent", "library", file.to_str().unwrap()]);
    assert_eq!((status, stdout.as_str()), (2, ""));
    assert!(stderr.contains(file.to_str().unwrap()), "{stderr}");
    let cache = steady().args(["agent", "library"]).env("XDG_CACHE_HOME", &file).output().unwrap();
    let (status, printed, stderr) = told(cache);
    assert_eq!((status, stderr.as_str()), (0, ""), "another folder will do");
    assert!(!printed.starts_with(file.to_str().unwrap()), "{printed}");
    fs::remove_file(&file).unwrap();
}
