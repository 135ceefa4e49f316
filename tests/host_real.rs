//! `steady host` on the knobs that this host has.

mod steady;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use steady::{run, scratch, skip, steady, told};

/// The journal.
const JOURNAL: &str = "/var/lib/steady-host/host.json";

/// The tests that set real knobs, one after the other.
static REAL: Mutex<()> = Mutex::new(());

/// Real files, put back whatever becomes of the test.
struct Real {
    files: Vec<(&'static str, String)>,
    _alone: MutexGuard<'static, ()>,
}

impl Real {
    const RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
    const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    const ASLR: &str = "/proc/sys/kernel/randomize_va_space";

    /// Nothing, said aloud, where this is not to be done here.
    fn get(test: &str) -> Option<Self> {
        let alone = REAL.lock().unwrap_or_else(PoisonError::into_inner);
        if !rustix::process::geteuid().is_root() {
            skip(test, "only root may set knobs");
            return None;
        }
        if Path::new(JOURNAL).exists() {
            skip(test, "somebody has made this host quiet");
            return None;
        }
        let names = [Real::RATE, Real::THP, Real::ASLR];
        let read = |name: &'static str| Some((name, fs::read_to_string(name).ok()?));
        let files: Option<Vec<_>> = names.into_iter().map(read).collect();
        let writable = |name: &&str| fs::File::options().write(true).open(name).is_ok();
        match files.filter(|_| names.iter().all(writable)) {
            Some(files) => Some(Real { files, _alone: alone }),
            None => {
                skip(test, "this kernel does not have them, or they cannot be written here");
                None
            }
        }
    }

    fn now(&self) -> Vec<(&'static str, String)> {
        self.files.iter().map(|(name, _)| (*name, fs::read_to_string(name).unwrap())).collect()
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        for (name, text) in &self.files {
            if fs::read_to_string(name).unwrap_or_default() != *text {
                let word = text
                    .split_once('[')
                    .and_then(|(_, rest)| rest.split_once(']'))
                    .map_or(text.as_str(), |(word, _)| word);
                let _ = fs::write(name, word);
            }
        }
        let _ = fs::remove_file(Path::new(JOURNAL));
    }
}

const REAL_ONLY: [&str; 4] = ["host", "quiet", "--only", "perf-sample-rate,thp,aslr"];

#[test]
fn real_knobs_are_set_and_put_back() {
    let Some(real) = Real::get("real_knobs_are_set_and_put_back") else { return };
    let (status, stdout, stderr) = run(&REAL_ONLY);
    assert_eq!(status, 0, "{stdout} {stderr}");
    let now: Vec<String> = real.now().into_iter().map(|(_, text)| text).collect();
    assert_eq!((now[0].as_str(), now[2].as_str()), ("1\n", "0\n"));
    assert!(now[1].contains("[never]"), "{now:?}");
    assert_eq!(run(&REAL_ONLY).0, 0, "a second time");
    let cache = scratch("cache-of-snapshots");
    let snapshot = || {
        let mut command = steady();
        command.env("XDG_CACHE_HOME", &cache).env_remove("LD_PRELOAD").env_remove("LD_LIBRARY_PATH");
        told(command.args(["warm", "snapshot", "/bin/true"]).output().unwrap())
    };
    let (status, _, stderr) = snapshot();
    if cfg!(target_arch = "x86_64") {
        assert!(status == 125 && stderr.contains("the same addresses each time"), "{status}: {stderr}");
    }
    let (status, stdout, _) = run(&["host", "restore"]);
    assert_eq!((status, real.now()), (0, real.files.clone()), "{stdout}");
    if cfg!(target_arch = "x86_64") {
        let (status, _, stderr) = snapshot();
        assert_eq!(status, 0, "a refusal would be remembered: {stderr}");
        fs::remove_dir_all(&cache).unwrap();
    }
}

#[test]
fn real_knobs_are_put_back_after_a_kill_at_any_step() {
    let Some(real) = Real::get("real_knobs_are_put_back_after_a_kill_at_any_step") else { return };
    for at in 0.. {
        let number = at.to_string();
        let output = steady().args(REAL_ONLY).args(["--die-at", &number]).output().unwrap();
        let (status, stdout, stderr) = run(&["host", "restore"]);
        assert_eq!((status, real.now()), (0, real.files.clone()), "at {at}: {stdout} {stderr}");
        if output.status.signal() != Some(9) {
            assert!(at > 8, "a journal and three knobs: {at}");
            break;
        }
    }
}

#[test]
fn real_caches_are_dropped_before_a_run() {
    let Some(_real) = Real::get("real_caches_are_dropped_before_a_run") else { return };
    let (status, _, stderr) = run(&["host", "quiet", "--only", "caches", "--", "true"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("caches  dropped"), "{stderr}");
    assert!(!Path::new(JOURNAL).exists(), "there is nothing to put back");
}

#[test]
fn addresses_are_fixed_for_the_command_and_not_for_the_host() {
    let aslr = fs::read_to_string(Real::ASLR).unwrap_or_default();
    if aslr.trim() != "2" {
        return skip(
            "addresses_are_fixed_for_the_command_and_not_for_the_host",
            "this host draws no addresses as it is",
        );
    }
    let stack = |words: &[&str]| {
        let (status, stdout, stderr) = run(&[words, &["--", "sh", "-c", "grep stack /proc/self/maps"]].concat());
        assert_eq!(status, 0, "{stderr}");
        stdout
    };
    let fixed = ["host", "quiet", "--only", "aslr"];
    assert_eq!(stack(&fixed), stack(&fixed));
    assert_eq!(fs::read_to_string(Real::ASLR).unwrap(), aslr);
    let nothing = ["host", "quiet", "--only", "swap", "--except", "swap"];
    assert_ne!(stack(&nothing), stack(&nothing), "it was not asked for");
}

#[test]
fn somebody_who_may_not_is_told_what_to_type() {
    const TEST: &str = "somebody_who_may_not_is_told_what_to_type";
    if !rustix::process::geteuid().is_root() {
        return skip(TEST, "only root may become somebody else");
    }
    // A program that nobody else may reach could not be started.
    let program = scratch("steady-for-all");
    let program = Path::new("/tmp").join(program.file_name().unwrap());
    fs::copy(env!("CARGO_BIN_EXE_steady"), &program).unwrap();
    let _gone = Gone(program.clone());
    let nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program).args(words);
        command.stdin(Stdio::null()).current_dir("/").output()
    };
    let Ok(output) = nobody(&["host", "quiet", "--only", "thp,perf-sample-rate"]) else {
        return skip(TEST, "there is no setpriv");
    };
    let (status, stdout, stderr) = told(output);
    assert_eq!(status, 1, "{stdout} {stderr}");
    assert!(stdout.contains("only root may set it"), "{stdout}");
    assert!(stdout.contains("As root: sudo steady host quiet --only thp,perf-sample-rate"), "{stdout}");
    let (status, stdout, stderr) = told(nobody(&["host", "quiet", "--", "sh", "-c", "echo ran; exit 3"]).unwrap());
    assert_eq!((status, stdout.as_str()), (3, "ran\n"), "the command runs all the same: {stderr}");
    let (status, stdout, _) = told(nobody(&["host", "restore"]).unwrap());
    assert_eq!((status, stdout.as_str()), (0, "There was nothing to restore.\n"));
    assert_eq!(told(nobody(&["host", "status", "--no-rulers"]).unwrap()).0, 0);
}

/// A file that is removed at the end.
struct Gone(PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
