//! `steady warm bench`: the gain from snapshots on this machine, invalid options, interruptions, and that no files are
//! left, in particular in the store of the user.

mod steady;

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use steady::{eventually, output_of, own_duration, processes_with, scratch, skip, steady};

/// A cache directory for one test, accessible to this user only and removed on drop.
struct Cache(PathBuf);

impl Cache {
    fn new(name: &str) -> Self {
        let path = scratch(&format!("warm-bench-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
        Cache(path)
    }

    fn bench(&self, args: &[&str]) -> Command {
        let mut command = steady();
        command.env("XDG_CACHE_HOME", &self.0).args(["warm", "bench"]).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.bench(args).output().expect("steady starts")
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(&self.0).is_ok_and(|mut entries| entries.next().is_none())
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns whether snapshots are available on this machine; reports a skip if not.
fn available(test: &str) -> bool {
    let available = cfg!(all(target_arch = "x86_64", target_env = "gnu"));
    if !available {
        skip(test, "snapshots are available on x86-64 with the GNU C library only");
    }
    available
}

fn json(output: Output) -> Value {
    let (status, stdout, stderr) = output_of(output);
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains(" launches"), "the log names their number: {stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

#[test]
fn every_mode_is_measured_without_the_store_of_the_user() {
    if !available("every_mode_is_measured_without_the_store_of_the_user") {
        return;
    }
    let cache = Cache::new("modes");
    let args = ["--programs", "true,sh -c 'exit 3'", "--runs", "6", "--count", "4", "--pause", "1ms", "--seed", "5"];
    let report = json(cache.run(&[&args[..], &["--format", "json", "--samples"]].concat()));
    assert_eq!(
        (&report["schema"], &report["kind"], &report["seed"]),
        (&"steady.warm/1".into(), &"bench".into(), &"5".into())
    );
    let programs = report["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 2);
    for program in programs {
        let modes = program["modes"].as_array().unwrap_or_else(|| panic!("{program}"));
        let names: Vec<&str> = modes.iter().filter_map(|mode| mode["mode"].as_str()).collect();
        assert_eq!(names, ["normal", "prewarm", "on-demand"]);
        for mode in modes {
            assert!(mode["cpu_seconds"].as_f64().unwrap() > 0.0 && mode["faults"].as_f64().unwrap() > 1.0, "{mode}");
            // The whole session costs more than its launches.
            assert!(mode["all_cpu_seconds"].as_f64() > mode["cpu_seconds"].as_f64(), "{mode}");
            assert_eq!(mode["wall_sessions"], 6);
            assert_eq!(mode["launch_wall_seconds"].as_array().unwrap().len(), 4);
        }
        assert_eq!(modes[0]["warm_ratio"], 0.0);
        let sessions = program["samples"]["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 3 * (6 + 3));
        assert!(sessions.iter().all(|session| session["launches_seconds"].as_array().unwrap().len() == 4));
    }
    let notes = programs[1]["notes"].to_string();
    assert!(notes.contains("it exited with status 3 each time"), "{notes}");
    assert!(cache.is_empty(), "sessions have left files");
    let again = output_of(steady().args(["history", "report", "last"]).output().unwrap());
    assert!(again.0 == 0 && again.1.contains("on-demand") && again.1.contains("Prewarmed"), "{again:?}");
}

#[test]
fn only_launches_of_the_program_itself_count_as_from_a_snapshot() {
    if !available("only_launches_of_the_program_itself_count_as_from_a_snapshot") {
        return;
    }
    let cache = Cache::new("children");
    let args = ["--programs", "sh -c '/bin/true; /bin/true; :'", "--runs", "1", "--count", "40", "--pause", "5ms"];
    let mut bench = cache.bench(&[&args[..], &["--no-history", "--format", "json"]].concat());
    // Cargo sets LD_LIBRARY_PATH for tests, with which programs start as usual.
    let output = bench.env_remove("LD_LIBRARY_PATH").output().expect("steady starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("7 runs or more"), "{output:?}");
    let report = json(output);
    let modes = report["programs"][0]["modes"].as_array().unwrap();
    let ratio = |at: usize| modes[at]["warm_ratio"].as_f64().unwrap();
    assert_eq!((ratio(0), ratio(1)), (0.0, 1.0), "{report}");
    assert!(ratio(2) <= 1.0, "{report}");
}

#[test]
fn data_is_sent_to_disks_before_each_launch() {
    let test = "data_is_sent_to_disks_before_each_launch";
    if !available(test) {
        return;
    }
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return skip(test, "no strace");
    }
    let cache = Cache::new("sync");
    let trace = scratch("warm-bench-trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=sync", "-o"]).arg(&trace).arg(env!("CARGO_BIN_EXE_steady"));
    command.args(["warm", "bench", "--programs", "true", "--runs", "1", "--count", "2", "--sync", "--no-history"]);
    let report = json(command.args(["--format", "json"]).env("XDG_CACHE_HOME", &cache.0).output().unwrap());
    assert_eq!(report["plan"]["sync"], true);
    let calls = fs::read_to_string(&trace).unwrap().matches("sync(").count();
    // One launch to try the program; a timed and three counted sessions of each mode, with two launches each.
    assert_eq!(calls, 1 + 3 * 4 * 2);
    fs::remove_file(trace).unwrap();
}

#[test]
fn a_program_that_exceeds_the_timeout_is_not_measured() {
    if !available("a_program_that_exceeds_the_timeout_is_not_measured") {
        return;
    }
    let cache = Cache::new("endless");
    let sleep = &format!("sleep {}", own_duration("4321."));
    let programs = format!("{sleep},true");
    let args = ["--programs", &programs, "--runs", "1", "--count", "1", "--timeout", "300ms", "--no-history"];
    let report = json(cache.run(&[&args[..], &["--format", "json"]].concat()));
    assert!(report["programs"][0]["modes_absent"].as_str().unwrap().contains("had not ended"), "{report}");
    assert!(report["programs"][1]["modes"].is_array(), "{report}");
    assert!(eventually(|| processes_with(sleep) == 0));
}

#[test]
fn invalid_options_are_usage_errors() {
    if !available("invalid_options_are_usage_errors") {
        return;
    }
    let cache = Cache::new("bad");
    for (args, expected) in [
        (&[][..], "--programs"),
        (&["/nonexistent"], "/nonexistent"),
        (&["/etc/passwd"], "Not a directory"),
        (&["true"], "--programs true"),
        (&["--programs", "no-such-program"], "in PATH"),
        (&["--programs", "true", "--count", "0"], "--count"),
        (&["--programs", "true", "--export-json", "/nonexistent/x"], "--export-json"),
    ] {
        let (status, stdout, stderr) = output_of(cache.run(args));
        assert_eq!((status, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    }
    assert!(cache.is_empty());
}

#[test]
fn the_status_is_3_if_no_program_could_be_measured() {
    if !available("the_status_is_3_if_no_program_could_be_measured") {
        return;
    }
    let cache = Cache::new("unmeasured");
    let args = ["--runs", "1", "--count", "1", "--timeout", "200ms", "--no-history", "--programs"];
    for (programs, expected, last) in [("sleep 7", 3, "no program could be measured"), ("sleep 7,true", 0, "")] {
        let (status, stdout, stderr) = output_of(cache.run(&[&args[..], &[programs]].concat()));
        assert!(stdout.contains("not measured: it had not ended"), "{stdout}");
        assert!(status == expected && stderr.contains(last), "{programs}: {status} {stderr}");
    }
    assert!(cache.is_empty());
}

#[test]
fn nothing_is_left_after_an_interruption_or_a_kill() {
    if !available("nothing_is_left_after_an_interruption_or_a_kill") {
        return;
    }
    for (name, signal) in [("killed", "KILL"), ("interrupted", "INT")] {
        let cache = Cache::new(name);
        let mark = cache.0.to_str().unwrap().to_owned();
        let args = ["--programs", "sleep 0.05", "--count", "1000", "--runs", "1000", "--quiet", "--no-history"];
        let mut bench = cache.bench(&args).spawn().unwrap();
        // The arguments of the driver contain the path of its directory.
        assert!(eventually(|| processes_with(&mark) > 0), "{name}: the bench does not start");
        assert!(Path::new(&mark).exists() && !cache.is_empty());
        let killed = Command::new("kill").args([&format!("-{signal}"), &bench.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let status = bench.wait().unwrap();
        assert!(signal == "KILL" || status.code() == Some(130), "{status:?}");
        assert!(eventually(|| processes_with(&mark) == 0), "{name}: processes are left");
        assert!(eventually(|| cache.is_empty()), "{name}: files are left");
    }
}
