//! `steady agent library`: the ruler library is written to files, and a C program can be built with them.

mod steady;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use steady::{output_of, run, scratch, skip, steady};

const NAMES: [&str; 3] = ["libsteady_rulers.so", "steady_rulers.h", "steady_rulers.pc"];

const PROGRAM: &str = "\
#include <stdio.h>
#include <steady_rulers.h>
int main(void) { printf(\"%d\\n\", steady_rulers_version() == 1 && steady_ruler(STEADY_RULER_ALU) > 0); return 0; }
";

/// Builds a program as in the help text, runs it and returns its standard output.
fn built_and_run(library: &Path, folder: &Path) -> String {
    let (source, program) = (folder.join("service.c"), folder.join("service"));
    fs::write(&source, PROGRAM).unwrap();
    let script = "cc \"$1\" -o \"$2\" $(pkg-config --cflags --libs steady_rulers) && \"$2\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args([&source, &program]).env("PKG_CONFIG_PATH", library);
    let (status, stdout, stderr) = output_of(shell.output().expect("sh starts"));
    assert_eq!((status, stderr.as_str()), (0, ""));
    stdout
}

fn can_build() -> bool {
    ["cc", "pkg-config"].iter().all(|program| Command::new(program).arg("--version").output().is_ok())
}

#[test]
fn programs_can_be_built_with_the_cached_and_with_the_written_library() {
    if !can_build() {
        return skip("programs_can_be_built_with_the_cached_and_with_the_written_library", "no cc, or no pkg-config");
    }
    let folder = scratch("library");
    fs::create_dir_all(&folder).unwrap();
    let cached =
        |cache: &Path| output_of(steady().args(["agent", "library"]).env("XDG_CACHE_HOME", cache).output().unwrap());
    let (status, printed, stderr) = cached(&folder);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let unpacked = PathBuf::from(printed.trim_end());
    assert_eq!(unpacked.parent(), Some(folder.as_path()));
    assert_eq!(built_and_run(&unpacked, &folder), "1\n");
    assert_eq!(cached(&folder).1, printed, "a second call uses another directory");

    let named = folder.join("named/below");
    let (status, printed, stderr) = run(&["agent", "library", named.to_str().unwrap()]);
    assert_eq!((status, printed, stderr.as_str()), (0, format!("{}\n", named.display()), ""));
    assert_eq!(built_and_run(&named, &folder), "1\n");
    for name in NAMES {
        assert_eq!(fs::read(named.join(name)).unwrap(), fs::read(unpacked.join(name)).unwrap(), "{name}");
    }
    assert_eq!(fs::read_dir(&named).unwrap().count(), NAMES.len());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_in_place_of_the_directory_is_an_error() {
    let file = scratch("no-folder");
    fs::write(&file, "").unwrap();
    let (status, stdout, stderr) = run(&["agent", "library", file.to_str().unwrap()]);
    assert_eq!((status, stdout.as_str()), (2, ""));
    assert!(stderr.contains(file.to_str().unwrap()), "{stderr}");
    let cache = steady().args(["agent", "library"]).env("XDG_CACHE_HOME", &file).output().unwrap();
    let (status, printed, stderr) = output_of(cache);
    assert_eq!((status, stderr.as_str()), (0, ""), "a file in place of the cache directory is an error");
    assert!(!printed.starts_with(file.to_str().unwrap()), "{printed}");
    fs::remove_file(&file).unwrap();
}
