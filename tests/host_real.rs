//! `steady host` on the settings of the machine that runs the tests.

mod steady;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use steady::{copy_steady, output_of, run, scratch, skip, steady};

/// The journal of changed settings.
const JOURNAL: &str = "/var/lib/steady-host/host.json";

/// Held by a test that changes settings of this machine or depends on them, so that only one such test runs at a time.
static REAL: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    REAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The values of real settings, restored on drop.
struct Real {
    files: Vec<(&'static str, String)>,
    _alone: MutexGuard<'static, ()>,
}

impl Real {
    const RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
    const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    const ASLR: &str = "/proc/sys/kernel/randomize_va_space";

    /// Reads the settings. Returns `None`, after reporting a skip, if they must not or cannot be changed.
    fn get(test: &str) -> Option<Self> {
        let alone = alone();
        if !rustix::process::geteuid().is_root() {
            skip(test, "only root may change settings");
            return None;
        }
        if Path::new(JOURNAL).exists() {
            skip(test, "`steady host quiet` is active on this host");
            return None;
        }
        let names = [Real::RATE, Real::THP, Real::ASLR];
        let read = |name: &'static str| Some((name, fs::read_to_string(name).ok()?));
        let files: Option<Vec<_>> = names.into_iter().map(read).collect();
        let writable = |name: &&str| fs::File::options().write(true).open(name).is_ok();
        match files.filter(|_| names.iter().all(writable)) {
            Some(files) => Some(Real { files, _alone: alone }),
            None => {
                skip(test, "the settings do not exist or cannot be written");
                None
            }
        }
    }

    /// Returns the current values.
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
fn real_settings_are_changed_and_restored() {
    let Some(real) = Real::get("real_settings_are_changed_and_restored") else { return };
    let (status, stdout, stderr) = run(&REAL_ONLY);
    assert_eq!(status, 0, "{stdout} {stderr}");
    let now: Vec<String> = real.now().into_iter().map(|(_, text)| text).collect();
    assert_eq!((now[0].as_str(), now[2].as_str()), ("1\n", "0\n"));
    assert!(now[1].contains("[never]"), "{now:?}");
    assert_eq!(run(&REAL_ONLY).0, 0, "a second call fails");
    let cache = scratch("cache-of-snapshots");
    let snapshot = || {
        let mut command = steady();
        command.env("XDG_CACHE_HOME", &cache).env_remove("LD_PRELOAD").env_remove("LD_LIBRARY_PATH");
        output_of(command.args(["warm", "snapshot", "/bin/true"]).output().unwrap())
    };
    let (status, _, stderr) = snapshot();
    if cfg!(target_arch = "x86_64") {
        assert!(status == 125 && stderr.contains("the same addresses each time"), "{status}: {stderr}");
    }
    let (status, stdout, _) = run(&["host", "restore"]);
    assert_eq!((status, real.now()), (0, real.files.clone()), "{stdout}");
    if cfg!(target_arch = "x86_64") {
        let (status, _, stderr) = snapshot();
        assert_eq!(status, 0, "the refusal during the quiet time is remembered: {stderr}");
        fs::remove_dir_all(&cache).unwrap();
    }
}

#[test]
fn effects_are_measured_and_every_setting_is_restored() {
    let test = "effects_are_measured_and_every_setting_is_restored";
    if !steady::at_length() {
        return skip(test, "it sets every knob of this machine repeatedly: ./test --all runs it");
    }
    let Some(real) = Real::get(test) else { return };
    let (status, stdout, stderr) = run(&["host", "status", "--effects", "--seed", "5", "--format", "json"]);
    assert_eq!(status, 0, "{stderr}");
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let names: Vec<&str> =
        report["effects"]["knobs"].as_array().unwrap().iter().map(|effect| effect["name"].as_str().unwrap()).collect();
    for name in ["aslr", "perf-sample-rate", "thp", "caches"] {
        assert_eq!(names.iter().filter(|one| **one == name).count(), 2, "{names:?}");
    }
    assert_eq!(real.now(), real.files);
    // An interruption at some moment also restores everything.
    let mut child = steady().args(["host", "status", "--effects"]).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    assert!(steady::eventually(|| real.now() == real.files && !Path::new(JOURNAL).exists()));
}

#[test]
fn real_settings_are_restored_after_a_kill_at_any_step() {
    let Some(real) = Real::get("real_settings_are_restored_after_a_kill_at_any_step") else { return };
    for at in 0.. {
        let number = at.to_string();
        let output = steady().args(REAL_ONLY).args(["--die-at", &number]).output().unwrap();
        let (status, stdout, stderr) = run(&["host", "restore"]);
        assert_eq!((status, real.now()), (0, real.files.clone()), "at {at}: {stdout} {stderr}");
        if output.status.signal() != Some(9) {
            assert!(at > 8, "too few steps for a journal and three settings: {at}");
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
    assert!(!Path::new(JOURNAL).exists(), "dropping caches writes no journal");
}

#[test]
fn aslr_is_turned_off_for_the_command_only() {
    let _alone = alone();
    let aslr = fs::read_to_string(Real::ASLR).unwrap_or_default();
    if aslr.trim() != "2" {
        return skip("aslr_is_turned_off_for_the_command_only", "address space randomization is off on this host");
    }
    let stack = |args: &[&str]| {
        let (status, stdout, stderr) = run(&[args, &["--", "sh", "-c", "grep stack /proc/self/maps"]].concat());
        assert_eq!(status, 0, "{stderr}");
        stdout
    };
    let fixed = ["host", "quiet", "--only", "aslr"];
    assert_eq!(stack(&fixed), stack(&fixed));
    assert_eq!(fs::read_to_string(Real::ASLR).unwrap(), aslr);
    let nothing = ["host", "quiet", "--only", "swap", "--except", "swap"];
    assert_ne!(stack(&nothing), stack(&nothing), "addresses are fixed without a request");
}

#[test]
fn unprivileged_users_are_shown_the_sudo_command() {
    const TEST: &str = "unprivileged_users_are_shown_the_sudo_command";
    let _alone = alone();
    if !rustix::process::geteuid().is_root() {
        return skip(TEST, "only root can change to another user");
    }
    // The user `nobody` may have no access to the build directory.
    let program = scratch("steady-for-all");
    let program = Path::new("/tmp").join(program.file_name().unwrap());
    copy_steady(&program);
    let _removed = RemovedOnDrop(program.clone());
    let nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program).args(args);
        command.stdin(Stdio::null()).current_dir("/").output()
    };
    let Ok(output) = nobody(&["host", "quiet", "--only", "thp,perf-sample-rate"]) else {
        return skip(TEST, "there is no setpriv");
    };
    let (status, stdout, stderr) = output_of(output);
    assert_eq!(status, 1, "{stdout} {stderr}");
    assert!(stdout.contains("Nothing was set, because only root may set perf-sample-rate and thp."), "{stdout}");
    assert!(stdout.contains("As root: sudo steady host quiet --only thp,perf-sample-rate"), "{stdout}");
    let (status, stdout, stderr) = output_of(nobody(&["host", "quiet", "--", "sh", "-c", "echo ran; exit 3"]).unwrap());
    assert_eq!((status, stdout.as_str()), (3, "ran\n"), "the command does not run: {stderr}");
    let (status, stdout, _) = output_of(nobody(&["host", "restore"]).unwrap());
    assert_eq!((status, stdout.as_str()), (0, "There was nothing to restore.\n"));
    let status = ["host", "status", "--no-rulers", "--format", "json"];
    let knobs = |output: std::process::Output| -> Vec<Value> {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report["busy_ratio"].as_f64().is_some(), "{report}");
        report["knobs"].as_array().unwrap().clone()
    };
    let (by_user, by_root) = (knobs(nobody(&status).unwrap()), knobs(steady().args(status).output().unwrap()));
    for (user, root) in by_user.iter().zip(&by_root) {
        // What root cannot set either has the same reason for all users.
        match root["settable"] == true {
            true => assert_eq!((&user["settable"], &user["reason"]), (&false.into(), &"only root may set it".into())),
            false => assert_eq!((&user["reason"], &user["needs_root"]), (&root["reason"], &false.into())),
        }
    }
}

struct RemovedOnDrop(PathBuf);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
