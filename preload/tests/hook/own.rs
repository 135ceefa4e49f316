//! A program's own file, by way of `/proc`: in a snapshot with the hook in it, it is the program's, not the snapshot's.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use steady_preload::card::Outcome;

use crate::fake::{Fake, compiled};

static OWN: LazyLock<PathBuf> = LazyLock::new(|| compiled("own", include_str!("own.c"), &[]));
static CHECKED: LazyLock<PathBuf> =
    LazyLock::new(|| compiled("own", include_str!("own.c"), &["-D_FORTIFY_SOURCE=2", "-O2"]));

const BY_NAME: [&str; 5] = ["readlink", "readlinkat", "realpath", "canonicalize", "readlink-short"];
const BY_NUMBER: [&str; 6] = ["open", "openat", "fopen", "fstatat", "stat", "statx"];

/// Looks from a snapshot.
fn look(fake: &Fake, way: &str, path: &str) -> String {
    fake.run(&["env", "tool", way, fake.tool.to_str().unwrap(), path])
}

fn with(program: &Path) -> Fake {
    let fake = Fake::empty();
    fake.keep_warm_from(&fake.tool, program, |_| ());
    fake
}

#[test]
fn it_is_the_programs_own() {
    for program in [&*OWN, &*CHECKED] {
        let fake = with(program);
        let path = fake.tool.to_str().unwrap();
        let inode = format!("{}\n", fs::metadata(path).unwrap().ino());
        for exe in ["/proc/self/exe", "/proc/thread-self/exe", "by number"] {
            for way in BY_NAME {
                let shown = match way {
                    "readlink" | "readlinkat" => format!("{} {path}\n", path.len()),
                    "readlink-short" => format!("5 {}\n", &path[..5]),
                    _ => format!("{path}\n"),
                };
                assert_eq!(look(&fake, way, exe), shown, "{way} {exe}");
            }
            for way in BY_NUMBER {
                assert_eq!(look(&fake, way, exe), inode, "{way} {exe}");
            }
        }
        assert_eq!(fake.count(Outcome::Warm), 3 * 11);
    }
}

#[test]
fn all_else_is_what_it_is() {
    let fake = with(&OWN);
    std::os::unix::fs::symlink("tool", fake.folder.join("bin/link")).unwrap();
    assert_eq!(look(&fake, "readlink", "bin/link"), "4 tool\n");
    assert_eq!(look(&fake, "realpath", "bin/link"), format!("{}\n", fake.tool.display()));
    let other = format!("{}\n", fs::metadata("/proc/version").unwrap().ino());
    for way in BY_NUMBER {
        assert_eq!(look(&fake, way, "/proc/version"), other, "{way}");
    }
    // Another process's own file is that process's.
    let shell = format!("env tool readlink {} /proc/$$/exe", fake.tool.display());
    assert_eq!(fake.sh(&format!("{shell}; true")), "13 /usr/bin/bash\n");
    // What is created has the rights that it was to have.
    assert!(look(&fake, "create", "made").ends_with("\n640\n"));
    // A program that does not run from a snapshot is shown what there is.
    let direct = fake.run(&[OWN.to_str().unwrap(), "readlink", "/nothing", "/proc/self/exe"]);
    assert_eq!(direct, format!("{} {}\n", OWN.as_os_str().len(), OWN.display()));
}

#[test]
fn it_starts_itself_again() {
    let fake = with(&OWN);
    let path = fake.tool.to_str().unwrap();
    assert_eq!(look(&fake, "execv", "/proc/self/exe"), format!("{} {path}\n", path.len()));
    assert_eq!(fake.count(Outcome::Warm), 2);
}

/// A program that looks for a service finds its file, whichever way it looks, if it has the hook in it.
#[test]
fn other_programs_are_found_by_their_files() {
    use std::io::Read;
    let fake = with(&OWN);
    let path = fake.tool.to_str().unwrap();
    let mut waits = fake.command("env");
    let mut waits = waits.args(["tool", "wait", path, "x"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    waits.stdout.as_mut().expect("it has an output").read_exact(&mut [0; 6]).expect("it says that it waits");
    let exe = format!("/proc/{}/exe", waits.id());
    let seen = fs::read_link(&exe).unwrap();
    assert!(seen.starts_with(fake.store()), "it does not run from a snapshot: {}", seen.display());
    let inode = format!("{}\n", fs::metadata(path).unwrap().ino());
    let ask = |way: &str| fake.run(&[OWN.to_str().unwrap(), way, "/nothing", &exe]);
    let found = ["readlink", "stat", "fstatat", "open", "realpath"].map(ask);
    let in_folder = ask("in-folder");
    waits.kill().unwrap();
    waits.wait().unwrap();
    let shown = format!("{} {path}\n", path.len());
    assert_eq!(in_folder, format!("{} {shown}", inode.trim()));
    assert_eq!(found, [shown, inode.clone(), inode.clone(), inode, format!("{path}\n")]);
}
