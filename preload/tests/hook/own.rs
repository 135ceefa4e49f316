//! The links `/proc/PID/exe` of processes that run from a snapshot with the hook: they lead to the program, not to the
//! snapshot.

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

/// Runs the program from a snapshot, to look at `path`.
fn look(fake: &Fake, way: &str, path: &str) -> String {
    fake.run(&["env", "tool", way, fake.tool.to_str().unwrap(), path])
}

fn with(program: &Path) -> Fake {
    let fake = Fake::empty();
    fake.keep_warm_from(&fake.tool, program, |_| ());
    fake
}

#[test]
fn own_link_leads_to_the_program() {
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
        for way in ["link-fstatat", "link-statx", "link-open"] {
            assert_eq!(look(&fake, way, "/proc/self/exe"), "link\n", "{way}");
        }
    }
}

#[test]
fn a_path_may_be_missing() {
    let shown = look(&with(&OWN), "no-path", "");
    assert!(["0\n", "14\n"].contains(&shown.as_str()), "success, or EFAULT before Linux 6.11: {shown}");
}

/// The callers of a cancelled thread are unwound, through the hook.
#[test]
fn a_thread_that_is_cancelled_while_it_opens_a_file_releases_what_it_holds() {
    let fake = Fake::empty();
    let program = compiled(
        "cancelled",
        r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void released(int *what) { printf("released %d\n", *what); }
static void *opens(void *path) {
    int held __attribute__((cleanup(released))) = 7;
    return (void *)(long)open(path, O_RDONLY);
}
int main(int argc, char **argv) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, opens, argv[1]);
    usleep(100000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    return puts(result == PTHREAD_CANCELED ? "cancelled" : "opened") < 0;
}"#,
        &["-pthread", "-fexceptions"],
    );
    let fifo = fake.folder.join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let output = fake.command(&program).arg(&fifo).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "released 7\ncancelled\n", "{output:?}");
}

#[test]
fn other_paths_are_unchanged() {
    let fake = with(&OWN);
    std::os::unix::fs::symlink("tool", fake.folder.join("bin/link")).unwrap();
    assert_eq!(look(&fake, "readlink", "bin/link"), "4 tool\n");
    assert_eq!(look(&fake, "realpath", "bin/link"), format!("{}\n", fake.tool.display()));
    let other = format!("{}\n", fs::metadata("/proc/version").unwrap().ino());
    for way in BY_NUMBER {
        assert_eq!(look(&fake, way, "/proc/version"), other, "{way}");
    }
    // The link of another process leads to that process's program.
    let shell = format!("env tool readlink {} /proc/$$/exe", fake.tool.display());
    assert_eq!(fake.sh(&format!("{shell}; true")), "13 /usr/bin/bash\n");
    // A file that is created gets the requested mode.
    assert!(look(&fake, "create", "made").ends_with("\n640\n"));
    // A program that does not run from a snapshot gets the real answer.
    let direct = fake.run(&[OWN.to_str().unwrap(), "readlink", "/nothing", "/proc/self/exe"]);
    assert_eq!(direct, format!("{} {}\n", OWN.as_os_str().len(), OWN.display()));
}

#[test]
fn a_program_can_start_itself_by_the_link() {
    let fake = with(&OWN);
    let path = fake.tool.to_str().unwrap();
    for way in ["execv", "execl", "spawn"] {
        let before = fake.count(Outcome::Warm);
        assert_eq!(look(&fake, way, "/proc/self/exe"), format!("{} {path}\n", path.len()), "{way}");
        assert_eq!(fake.count(Outcome::Warm), before + 2, "{way}");
    }
}

/// If no snapshot may be used, the link leads to the program, because the snapshot would be executed without any check.
#[test]
fn a_program_that_starts_itself_without_a_snapshot_executes_its_file() {
    let fake = with(&OWN);
    let path = fake.tool.to_str().unwrap();
    for way in ["execv-bound", "execl-bound", "spawn-bound"] {
        for exe in ["/proc/self/exe", "by number"] {
            let printed = format!("cold readlink {path} /proc/self/exe\n");
            assert_eq!(look(&fake, way, exe), printed, "{way} {exe}");
        }
    }
    // As without the hook, the link also leads to a program whose file was removed.
    for way in ["execv-gone", "execl-gone", "spawn-gone"] {
        let fake = with(&OWN);
        let path = fake.tool.to_str().unwrap();
        assert_eq!(look(&fake, way, "/proc/self/exe"), format!("{} {path}\n", path.len()), "{way}");
    }
}

/// The name by which a program was started may be that of a symbolic link.
#[test]
fn the_own_link_of_a_program_with_another_name_leads_to_the_program() {
    let fake = with(&OWN);
    let other = fake.folder.join("bin/other");
    let shown = format!("{} {}\n", fake.tool.as_os_str().len(), fake.tool.display());
    // The snapshot may be removed or replaced while the program runs.
    for way in ["readlink", "readlink-removed"] {
        assert_eq!(fake.run(&["env", "tool", way, other.to_str().unwrap(), "/proc/self/exe"]), shown, "{way}");
    }
}

/// A program that looks for a running service finds its file by every function.
#[test]
fn links_of_other_processes_lead_to_their_programs() {
    use std::io::Read;
    let fake = with(&OWN);
    let path = fake.tool.to_str().unwrap();
    let mut waits = fake.command("env");
    let mut waits = waits.args(["tool", "wait", path, "x"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    waits
        .stdout
        .as_mut()
        .expect("standard output is a pipe")
        .read_exact(&mut [0; 6])
        .expect("the program reports that it waits");
    let exe = format!("/proc/{}/exe", waits.id());
    let seen = fs::read_link(&exe).unwrap();
    assert!(seen.starts_with(fake.store()), "it does not run from a snapshot: {}", seen.display());
    let inode = format!("{}\n", fs::metadata(path).unwrap().ino());
    let ask = |way: &str| fake.run(&[OWN.to_str().unwrap(), way, "/nothing", &exe]);
    let found = ["readlink", "stat", "fstatat", "open", "realpath"].map(ask);
    let in_folder = ask("in-folder");
    let start = |way: &str| fake.run(&[OWN.to_str().unwrap(), way, path, &exe]);
    let started = ["execv", "spawn", "execv-bound", "spawn-bound"].map(start);
    waits.kill().unwrap();
    waits.wait().unwrap();
    let shown = format!("{} {path}\n", path.len());
    assert_eq!(in_folder, format!("{} {shown}", inode.trim()));
    assert_eq!(found, [shown.clone(), inode.clone(), inode.clone(), inode, format!("{path}\n")]);
    let cold = format!("cold readlink {path} /proc/self/exe\n");
    assert_eq!(started, [shown.clone(), shown, cold.clone(), cold]);
}
