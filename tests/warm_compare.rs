//! `steady compare --warm` on real commands: runs from snapshots behave like normal runs, start-up is reported
//! separately, programs without a snapshot are started normally, and no files or processes are left.

mod steady;

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use steady::{eventually, output_of, primary, processes_with, scratch, skip, steady};

/// A directory for temporary files of one test, removed on drop.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str) -> Self {
        let path = scratch(&format!("warm-compare-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
        TestFolder(path)
    }

    fn compare(&self, args: &[&str]) -> Command {
        let mut command = steady();
        // Cargo sets LD_LIBRARY_PATH for tests.
        command.env_remove("LD_LIBRARY_PATH").env("TMPDIR", &self.0);
        command.args(["compare", "--warm", "--format", "json"]).args(args);
        command
    }

    fn json(&self, args: &[&str]) -> Value {
        json(self.compare(args).output().expect("steady starts"))
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns the files that comparisons have left in the directory.
    fn leftovers(&self) -> Vec<String> {
        let folders = fs::read_dir(&self.0).unwrap().filter_map(Result::ok).filter(|entry| entry.path().is_dir());
        let within = folders.flat_map(|folder| fs::read_dir(folder.path()).unwrap().filter_map(Result::ok));
        within.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| name != "lock").collect()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn json(output: Output) -> Value {
    let (status, stdout, stderr) = output_of(output);
    assert_eq!(status, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

/// Returns whether snapshots are available on this machine; reports a skip if not.
fn available(test: &str) -> bool {
    let available = cfg!(all(target_arch = "x86_64", target_env = "gnu"));
    if !available {
        skip(test, "snapshots can be created on x86-64 with the GNU C library only");
    }
    available
}

#[test]
fn a_workspace_that_cannot_be_marked_is_removed() {
    let folder = TestFolder::new("unmarked");
    let mut command = Command::new("prlimit");
    command.args(["--fsize=0", env!("CARGO_BIN_EXE_steady"), "compare", "--warm", "--runs", "6", "--no-history"]);
    let output = command.args(["true", "true"]).env("TMPDIR", &folder.0).output().expect("prlimit (util-linux) starts");
    let base = folder.0.join(format!("steady-{}", rustix::process::geteuid().as_raw()));
    let left: Vec<_> = fs::read_dir(base).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"], "{}", String::from_utf8_lossy(&output.stderr));
}

/// Builds a program that does nothing. Its library has a constructor that takes several milliseconds.
fn slow_to_start(folder: &Path) -> Option<String> {
    let constructor = "void slow(void) {}\n\
                       __attribute__((constructor)) void spin(void) { for (volatile long i = 0; i < 10000000; i++); }\n";
    fs::write(folder.join("slow.c"), constructor).unwrap();
    fs::write(folder.join("program.c"), "void slow(void);\nint main(void) { slow(); return 0; }\n").unwrap();
    let library = ["-shared", "-fPIC", "-o", "libslow.so", "slow.c"];
    let program = ["-o", "slow-to-start", "program.c", "-L.", "-lslow", "-Wl,-rpath,$ORIGIN"];
    let compiles = |words: &[&str]| {
        Command::new("cc").args(words).current_dir(folder).status().is_ok_and(|status| status.success())
    };
    (compiles(&library) && compiles(&program)).then(|| folder.join("slow-to-start").display().to_string())
}

#[test]
fn start_up_is_reported_separately_and_judging_gives_an_identical_report() {
    const TEST: &str = "start_up_is_reported_separately_and_judging_gives_an_identical_report";
    if !available(TEST) {
        return;
    }
    let folder = TestFolder::new("digits");
    let Some(slow) = slow_to_start(&folder.0) else { return skip(TEST, "no C compiler") };
    let report = folder.json(&["--runs", "96", "--samples", "--layout", "turns", &slow, "cat /dev/null"]);
    assert_eq!((&report["pairs"], &report["warm"]["draws"]), (&96.into(), &24.into()), "{}", report["warm"]);
    assert_eq!((&primary(&report)["pairs"], &primary(&report)["unit"]), (&24.into(), &"draw".into()));
    for command in report["commands"].as_array().unwrap() {
        let (startup, cpu) = (&command["startup_seconds"], &command["cpu_seconds"]);
        assert!(command["startup_low_seconds"].as_f64() > Some(50e-6), "{command}");
        // The constructor takes longer than everything else, and a snapshot leaves only the run.
        let is_slow = command["name"].as_str().unwrap().contains("slow-to-start");
        assert!(!is_slow || startup.as_f64() > cpu.as_f64(), "{startup} {cpu}");
        assert!(command["startup_low_seconds"].as_f64() <= startup.as_f64());
        assert_eq!(command["startup_draws"], 24);
    }
    assert_eq!(folder.leftovers(), [""; 0]);
    let file = folder.file("report.json", &report.to_string());
    let again = json(steady().args(["judge", "--format", "json"]).arg(file).output().unwrap());
    for field in ["verdicts", "commands", "warm", "warnings", "plan", "layouts"] {
        assert_eq!(report[field], again[field], "{field}");
    }
}

#[test]
fn every_format_says_that_runs_start_from_snapshots() {
    if !available("every_format_says_that_runs_start_from_snapshots") {
        return;
    }
    let folder = TestFolder::new("forms");
    let list = |name: &str, lines: u32| {
        let text: String = (0..lines).map(|line| format!("{}\n", line * 7919 % lines)).collect();
        folder.file(name, &text).to_str().unwrap().to_owned()
    };
    let (small, large) = (format!("sort {}", list("small", 2_000)), format!("sort {}", list("large", 4_000)));
    let to = |form: &str| folder.0.join(format!("report.{form}")).to_str().unwrap().to_owned();
    let files = ["markdown", "html", "csv"].map(to);
    let exports = ["--export-markdown", &files[0], "--export-html", &files[1], "--export-csv", &files[2]];
    let args = [&["--budget", "10s", &small, &large], &exports[..]].concat();
    let mut plain = steady();
    plain.env_remove("LD_LIBRARY_PATH").env("TMPDIR", &folder.0);
    let output = plain.args(["compare", "--warm"]).args(args).output().unwrap();
    let (status, text, stderr) = output_of(output);
    assert_eq!(status, 0, "{stderr}");
    let read = |file: &String| fs::read_to_string(file).unwrap();
    for form in [text, read(&files[0]), read(&files[1])] {
        let form = form.replace('\u{a0}', " ");
        for phrase in ["of snapshots", "Start-up", "is not part of this"] {
            assert!(form.split_whitespace().collect::<Vec<_>>().join(" ").contains(phrase), "{phrase}: {form}");
        }
    }
    let csv = read(&files[2]);
    let column = |name: &str| csv.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
    let (pair, draw, start) = (column("pair"), column("draw"), column("start"));
    let lines: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(lines.iter().any(|line| line[start] == "snapshot" && !line[pair].is_empty() && line[draw] == "2"));
    assert!(lines.iter().any(|line| line[start] == "usual" && line[pair].is_empty() && line[draw] == "2"));
}

#[test]
fn a_run_from_a_snapshot_has_its_own_name_arguments_variables_and_directory() {
    if !available("a_run_from_a_snapshot_has_its_own_name_arguments_variables_and_directory") {
        return;
    }
    let folder = TestFolder::new("words");
    let seen = folder.0.join("seen");
    let text = format!(
        "#!/bin/sh -e\nexec 3>>'{0}'\necho \"$0|$*|$(cat /proc/$$/comm)|$STEADY_COMMAND|$PWD|${{OWN-none}}\" >&3\n\
         readlink /proc/$$/exe >>'{0}.exe'\n",
        seen.display()
    );
    let script = folder.file("a-script", &text);
    let report =
        folder.json(&["--runs", "24", "--env-new", "OWN=it's own", &format!("'{}' one 'two three'", script.display())]);
    assert_eq!(report["warm"]["draws"], 24, "{}", report["warnings"]);
    let mut lines: Vec<String> = fs::read_to_string(&seen).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    let here = std::env::current_dir().unwrap();
    let expected = |command: u32, own: &str| {
        format!("{}|one two three|a-script|{command}|{}|{own}", script.display(), here.display())
    };
    assert_eq!(lines, [expected(0, "none"), expected(1, "it's own")], "runs from snapshots and normal runs");
    let files = fs::read_to_string(format!("{}.exe", seen.display())).unwrap();
    let snapshots = files.lines().filter(|file| Path::new(file).starts_with(&folder.0)).count();
    assert!(snapshots >= 24 && snapshots < files.lines().count(), "{files}");
}

#[test]
fn programs_without_a_snapshot_are_started_normally_and_reported() {
    if !available("programs_without_a_snapshot_are_started_normally_and_reported") {
        return;
    }
    let folder = TestFolder::new("refused");
    let cold = |args: &[&str], variable: Option<&str>, why: &str| {
        let mut command = folder.compare(args);
        command.envs(variable.iter().map(|name| (name, "1")));
        let report = json(command.output().unwrap());
        let reason = report["warm_absent"].as_str().unwrap_or_default();
        assert!(report["warm"].is_null() && reason.contains(why), "{reason}");
        let warnings = report["warnings"].as_array().unwrap();
        let warning = warnings.iter().find(|warning| warning["kind"] == "cold").expect("there is a warning");
        assert!(warning["message"].as_str().unwrap().contains("started as usual"), "{warning}");
        assert!(primary(&report)["unit"].is_null() && report["commands"][0]["startup_seconds"].is_null());
        assert_eq!(folder.leftovers(), [""; 0]);
        report
    };
    let file = folder.file("of-no-kind", "hello\n");
    let number = |report: Value| report["cold_command"].clone();
    // A shell would run this file as a script; the kernel, and so `steady`, cannot.
    assert_eq!(
        folder.compare(&["--runs", "6", "true", file.to_str().unwrap()]).output().unwrap().status.code(),
        Some(2)
    );
    if Path::new("/sbin/ldconfig").exists() {
        assert_eq!(number(cold(&["--runs", "6", "true", "/sbin/ldconfig -p"], None, "static")), 1);
    } else {
        skip(
            "programs_without_a_snapshot_are_started_normally_and_reported",
            "there is no static program to test with",
        );
    }
    assert_eq!(number(cold(&["--runs", "6", "true", "true"], Some("MALLOC_ARENA_MAX"), "MALLOC_ARENA_MAX")), 0);
    assert_eq!(number(cold(&["--runs", "6", "true", "--env-new", "LD_BIND_NOW=1"], None, "LD_BIND_NOW")), 1);
}

#[test]
fn prepare_scripts_and_shells_work_with_snapshots() {
    if !available("prepare_scripts_and_shells_work_with_snapshots") {
        return;
    }
    let folder = TestFolder::new("around");
    let note = folder.0.join("note");
    let prepare = format!("echo x >>'{}'", note.display());
    let report = folder.json(&["--runs", "12", "--shell", "--prepare", &prepare, "true && true", "true || false"]);
    assert_eq!(report["warm"]["draws"], 12, "{}", report["warnings"]);
    let runs = report["runs"].as_u64().unwrap() + 2 * report["warm"]["usual_pairs"].as_u64().unwrap();
    let prepared = fs::read_to_string(&note).unwrap().lines().count() as u64;
    assert!(prepared >= runs, "{prepared} preparations for {runs} runs, not counting warm-up");
}

#[test]
fn snapshots_are_created_after_the_setup() {
    if !available("snapshots_are_created_after_the_setup") {
        return;
    }
    let folder = TestFolder::new("setup");
    let program = folder.0.join("program");
    fs::copy("/bin/true", &program).unwrap();
    let program = program.display();
    // A snapshot of the program from before the setup would succeed.
    let setup = format!("cp /bin/false '{program}.new' && mv '{program}.new' '{program}'");
    let args = ["--runs", "6", "--setup", &setup, &format!("'{program}'"), "true"];
    let (status, _, stderr) = output_of(folder.compare(&args).output().unwrap());
    assert!(status == 3 && stderr.contains("exited with status 1"), "{status}: {stderr}");
    assert_eq!(folder.leftovers(), [""; 0]);
}

#[test]
fn nothing_is_left_after_an_interruption_or_a_kill() {
    if !available("nothing_is_left_after_an_interruption_or_a_kill") {
        return;
    }
    let folder = TestFolder::new("killed");
    let mark = format!("{}", std::process::id() + 7_000_000);
    let args = ["--budget", "60s", "--resolution", "0.001%", &format!("sort /dev/null -T /{mark}"), "true"];
    let begun = || {
        let child = folder.compare(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let drawn = |name: &String| {
            fs::read_dir(folder.0.join(format!("steady-{}", user())).join(name)).is_ok_and(|all| {
                all.filter_map(Result::ok).any(|entry| entry.file_name().to_string_lossy().starts_with("draw-"))
            })
        };
        assert!(eventually(|| folder.leftovers().iter().any(drawn)), "{:?}", folder.leftovers());
        std::thread::sleep(Duration::from_millis(100));
        child
    };
    // After SIGINT `steady` removes its files and reports. After SIGKILL the launcher removes them.
    for signal in ["INT", "KILL"] {
        let mut child = begun();
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), if signal == "INT" { Some(130) } else { None });
        assert!(eventually(|| folder.leftovers().is_empty()), "{signal}: {:?}", folder.leftovers());
        assert!(eventually(|| processes_with(&mark) == 0), "{signal}");
    }
    // If the launchers are killed too, the next comparison removes the files.
    let mut child = begun();
    let launchers = children(child.id());
    assert!(!launchers.is_empty());
    child.kill().unwrap();
    let all = launchers.iter().map(u32::to_string).collect::<Vec<_>>();
    let _ = Command::new("kill").args(["-s", "KILL"]).args(&all).stderr(Stdio::null()).status();
    child.wait().unwrap();
    assert!(eventually(|| processes_with(&mark) == 0));
    folder.json(&["--runs", "6", "true", "true"]);
    assert_eq!(folder.leftovers(), [""; 0]);
}

#[test]
fn on_a_full_disk_programs_are_started_normally() {
    const TEST: &str = "on_a_full_disk_programs_are_started_normally";
    if !available(TEST) {
        return;
    }
    let folder = TestFolder::new("full");
    let disk = folder.0.join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=400k,mode=700", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return skip(TEST, "no small file system can be mounted");
    }
    let compared = folder.compare(&["--runs", "6", "true", "true"]).env("TMPDIR", &disk).output();
    let left =
        fs::read_dir(&disk).unwrap().filter_map(Result::ok).flat_map(|folder| fs::read_dir(folder.path()).unwrap());
    let left: Vec<_> =
        left.filter_map(Result::ok).map(|entry| entry.file_name()).filter(|name| name != "lock").collect();
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.unwrap().success());
    let report = json(compared.unwrap());
    let reason = report["warm_absent"].as_str().unwrap_or_default();
    assert!(reason.contains("no room") || reason.contains("No space"), "{}", report["warnings"]);
    assert_eq!(left, [""; 0]);
}

fn user() -> u32 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid()
}

/// Returns the children of a process.
fn children(parent: u32) -> Vec<u32> {
    let of = |entry: fs::DirEntry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let after = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        (after == parent).then_some(number)
    };
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter_map(of).collect()
}
