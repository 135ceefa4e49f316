//! `steady locks`: test programs with known lock counts, real programs, killed processes, and programs that cannot be
//! observed.

mod steady;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard};

use serde_json::Value;
use steady_linux::clock;

use steady::{eventually, output_of, processes_with, run, scratch, seconds, skip, steady, within_a_second};

static KNOWN: LazyLock<PathBuf> = LazyLock::new(|| compiled("known", include_str!("locks/known.c"), &[]));
static STUCK: LazyLock<PathBuf> = LazyLock::new(|| compiled("stuck", include_str!("locks/stuck.c"), &[]));

/// Compiles a C program with debug information and returns its path.
fn compiled(name: &str, source: &str, more: &[&str]) -> PathBuf {
    let (program, file) = (scratch(name), scratch(&format!("{name}.c")));
    fs::write(&file, source).unwrap();
    let output = Command::new("cc").args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(&file).args(more).output();
    let output = output.expect("there is a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Tests that may run concurrently hold it for reading, a test that must run alone for writing.
static CONCURRENT: RwLock<()> = RwLock::new(());

/// Waits until a test may run concurrently with others, and returns the guard. Returns `None`, after reporting a skip,
/// where locks cannot be observed.
fn may_run(test: &str) -> Option<RwLockReadGuard<'static, ()>> {
    let can = cfg!(all(target_arch = "x86_64", target_env = "gnu"));
    if !can {
        skip(test, "locks can be watched only on x86-64 with the GNU C library");
    }
    can.then(|| CONCURRENT.read().unwrap_or_else(PoisonError::into_inner))
}

/// Runs a command under `steady locks`. Returns the exit status, standard output, standard error and the report.
fn run_locks(name: &str, options: &[&str], args: &[&str]) -> (i32, String, String, Value) {
    let file = scratch(&format!("locks-{name}.json"));
    let _ = fs::remove_file(&file);
    let all = [&["locks", "--export-json", file.to_str().unwrap()], options, &["--"], args].concat();
    let (status, stdout, stderr) = run(&all);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let report = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: '{text}' {stderr}"));
    let _ = fs::remove_file(&file);
    (status, stdout, stderr, report)
}

/// Runs the test program `known` under `steady locks`. Returns its standard output and the report.
fn known(name: &str, args: &[&str]) -> (String, Value) {
    let (status, stdout, stderr, report) = run_locks(name, &[], &[&[KNOWN.to_str().unwrap()], args].concat());
    assert_eq!(status, 0, "{stderr}");
    (stdout, report)
}

/// Returns the locks of one kind in a report.
fn locks<'a>(report: &'a Value, kind: &str) -> Vec<&'a Value> {
    let all = report["locks"].as_array().unwrap_or_else(|| panic!("{report}"));
    all.iter().filter(|lock| lock["kind"] == kind).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect()
}

/// Returns whether `value` is within `share` of `expected`.
fn near(value: f64, expected: f64, share: f64) -> bool {
    (value - expected).abs() <= share * expected
}

#[test]
fn counts_are_exact_and_waits_agree_with_those_of_the_program() {
    let Some(_concurrent) = may_run("counts_are_exact_and_waits_agree_with_those_of_the_program") else { return };
    for kind in ["mutex", "rwlock", "spinlock"] {
        let (stdout, report) = known(&format!("counts-{kind}"), &[kind, "3", "200", "300", "100"]);
        let [waited, held, _] = numbers(&stdout)[..] else { panic!("{stdout}") };
        let [lock] = locks(&report, kind)[..] else { panic!("{report}") };
        assert_eq!((&lock["acquisitions"], &lock["threads"]), (&600.into(), &3.into()), "{report}");
        assert!(near(seconds(lock, "wait_seconds"), waited, 0.1), "{kind}: its threads waited {waited} s: {lock}");
        let contended = lock["contended"].as_u64().unwrap();
        // Spinning threads keep others from the CPU, so fewer acquisitions meet a held lock.
        assert!(contended > if kind == "spinlock" { 60 } else { 300 } && contended <= 600, "{lock}");
        if kind != "spinlock" {
            assert!(near(seconds(lock, "hold_seconds"), held, 0.1), "{kind}: its threads held it {held} s: {lock}");
        }
        assert_eq!(report["processes"].as_array().unwrap().len(), 1);
        assert_eq!(report["processes"][0]["threads"], 4);
    }
}

#[test]
fn a_million_acquisitions_are_counted_exactly() {
    let Some(_concurrent) = may_run("a_million_acquisitions_are_counted_exactly") else { return };
    let (_, report) = known("many", &["mutex", "4", "250000", "0", "0"]);
    let [lock] = locks(&report, "mutex")[..] else { panic!("{report}") };
    assert_eq!((&lock["acquisitions"], &lock["threads"]), (&1_000_000.into(), &4.into()));
    let sites = lock["sites"].as_array().unwrap();
    let [site] = &sites[..] else { panic!("{lock}") };
    assert_eq!(site["acquisitions"], 1_000_000, "{lock}");
}

#[test]
fn functions_and_lines_are_named() {
    let Some(_concurrent) = may_run("functions_and_lines_are_named") else { return };
    let line = 1 + include_str!("locks/known.c").lines().position(|line| line.contains("taken here")).unwrap();
    let (_, report) = known("names", &["mutex", "2", "50", "100", "0"]);
    let lock = locks(&report, "mutex")[0];
    let site = &lock["sites"][0];
    assert_eq!(site["function"], "take", "{lock}");
    assert!(site["line"].as_str().unwrap().ends_with(&format!("known.c:{line}")), "{lock}");
    let starts: Vec<&Value> = report["threads"].as_array().unwrap().iter().map(|thread| &thread["start"]).collect();
    assert!(starts.iter().filter(|start| start["function"] == "work").count() == 2, "{starts:?}");
}

#[test]
fn the_estimated_gain_is_that_of_removing_the_lock() {
    if may_run("the_estimated_gain_is_that_of_removing_the_lock").is_none() {
        return;
    }
    // The test compares two runs, so no other test may use the CPUs.
    let _alone = CONCURRENT.write().unwrap_or_else(PoisonError::into_inner);
    // Threads that work only with the lock held, as long with it as without it, and longer with it than without it.
    for (index, args) in
        [["4", "60", "2000", "0"], ["3", "60", "1500", "1500"], ["2", "60", "2000", "1000"]].iter().enumerate()
    {
        let undisturbed =
            (0..12).filter_map(|_| if_undisturbed(|| estimated_by_measured_gain(&format!("gain-{index}"), args)));
        let mut ratios: Vec<f64> = undisturbed.take(5).collect();
        if ratios.len() < 5 {
            return skip("the_estimated_gain_is_that_of_removing_the_lock", "other processes use the CPUs");
        }
        ratios.sort_by(f64::total_cmp);
        // The median, because some disturbances are too short to be noticed.
        assert!((0.8..1.2).contains(&ratios[2]), "{args:?}: {ratios:?}");
    }
}

/// Returns the result of `measure`, or `None` if other processes used more than a tenth of the CPUs during it.
fn if_undisturbed<T>(measure: impl Fn() -> T) -> Option<T> {
    let (others, at) = (ticks_of_others(), clock::monotonic());
    let measured = measure();
    let ticks = ticks_of_others().saturating_sub(others) as f64;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    // A tick is a hundredth of a second to user programs (times(2)).
    (ticks / 100.0 < 0.1 * cpus * (clock::monotonic() - at).seconds() + 0.02).then_some(measured)
}

/// Returns the CPU time of other processes since boot, in ticks: not that of this process and its children.
fn ticks_of_others() -> u64 {
    let numbers = |text: &str| text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    // user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)).
    let all = numbers(fs::read_to_string("/proc/stat").unwrap().lines().next().unwrap());
    let busy = all[..8].iter().sum::<u64>() - all[3] - all[4];
    // utime, stime, cutime, cstime: fields 14 to 17 (proc_pid_stat(5)). The first two fields precede the parenthesis.
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let rest: Vec<&str> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
    let own = rest[11..15].iter().map(|word| word.parse::<u64>().unwrap()).sum();
    busy.saturating_sub(own)
}

/// Returns the estimated gain from removing the lock, divided by the measured one.
fn estimated_by_measured_gain(name: &str, args: &[&str]) -> f64 {
    let (_, report) = known(name, &[&["mutex"], args].concat());
    let free = Command::new(&*KNOWN).arg("none").args(args).output().unwrap();
    let without = numbers(&String::from_utf8(free.stdout).unwrap())[2];
    seconds(locks(&report, "mutex")[0], "gain_seconds") / (seconds(&report, "wall_seconds") - without)
}

#[test]
fn every_process_is_observed() {
    let Some(_concurrent) = may_run("every_process_is_observed") else { return };
    let program = KNOWN.to_str().unwrap();
    let script = format!("'{program}' mutex 2 20 100 0 >&2; '{program}' mutex 2 30 100 0 >&2; echo done");
    let (status, stdout, stderr, report) = run_locks("each", &[], &["sh", "-c", &script]);
    assert_eq!((status, stdout.as_str()), (0, "done\n"), "{stderr}");
    let mut counts: Vec<u64> =
        locks(&report, "mutex").iter().map(|lock| lock["acquisitions"].as_u64().unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [40, 60], "{report}");
    // The interpreter of a script is observed.
    let script = scratch("locks-script");
    fs::write(&script, format!("#!{program} mutex\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    // The arguments of the interpreter are: mutex, the script, 3, 4, 5.
    let (status, _, stderr, report) = run_locks("script", &[], &[script.to_str().unwrap(), "3", "4", "5"]);
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(report["processes"].as_array().unwrap().len(), 1, "{report}");
    fs::remove_file(script).unwrap();
}

#[test]
fn a_killed_program_has_a_report() {
    let Some(_concurrent) = may_run("a_killed_program_has_a_report") else { return };
    let file = scratch("locks-stuck.json");
    let mut command = steady();
    command.args(["locks", "--export-json", file.to_str().unwrap(), "--", STUCK.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "stuck\n");
    // A cycle of threads that have waited for less than half a second is not reported. A hundred checks in sequence take
    // a second at least.
    let (program, mut checks) = (STUCK.to_str().unwrap(), 0);
    assert!(eventually(|| {
        checks = if states_of(program) == ['S'; 3] { checks + 1 } else { 0 };
        checks == 100
    }));
    kill_processes_of(program, child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(9), "steady does not end by the signal of the command");
    let stderr = String::from_utf8(output.stderr).unwrap();
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let deadlocked = locks(&report, "mutex");
    assert_eq!(deadlocked.len(), 2, "{report}");
    for lock in deadlocked {
        let [waiting] = &lock["waiting"].as_array().unwrap()[..] else { panic!("{lock}") };
        assert_ne!(waiting, &lock["held_by"], "the holder waits for its own lock: {lock}");
        assert!(lock["held_by"].is_u64(), "{lock}");
        assert!(seconds(lock, "wait_seconds") > 0.3, "{lock}");
    }
    assert!(stderr.contains("eadlock"), "{stderr}");
    // Two threads hang at their second lock, and the main thread hangs in joining them.
    for function in ["up", "down", "main"] {
        let line = include_str!("locks/stuck.c").lines().position(|line| line.contains(&format!("{function} hangs")));
        let line = format!("stuck.c:{}", 1 + line.unwrap());
        let all = report["threads"].as_array().unwrap();
        let hangs = all.iter().find(|thread| thread["waits_at"]["function"] == function);
        let hangs = hangs.unwrap_or_else(|| panic!("{function}: {report}"));
        assert!(hangs["waits_at"]["line"].as_str().unwrap().ends_with(&line), "{hangs}");
        let text = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(function == "main" || text.contains(&format!("at {function}() in")), "{stderr}");
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn a_thread_that_has_not_acquired_a_free_lock_yet_is_no_deadlock() {
    const TEST: &str = "a_thread_that_has_not_acquired_a_free_lock_yet_is_no_deadlock";
    let Some(_concurrent) = may_run(TEST) else { return };
    let program = compiled("handover", include_str!("locks/handover.c"), &[]);
    // The kernel may let the thread run for a moment (RLIMIT_RTTIME, bandwidth of real-time threads), so retry.
    let attempt = |_| {
        let (status, stdout, stderr, report) = run_locks("handover", &[], &[program.to_str().unwrap()]);
        assert_eq!(status, 0, "{stderr}");
        let is_seen = locks(&report, "mutex").iter().any(|lock| lock["waiting"].as_array().unwrap().len() == 1);
        (!stdout.is_empty() || is_seen).then_some((stdout, stderr, report))
    };
    let Some((stdout, stderr, report)) = (0..5).find_map(attempt) else {
        return skip(TEST, "the thread acquired the lock");
    };
    fs::remove_file(program).unwrap();
    if !stdout.is_empty() {
        return skip(TEST, stdout.trim());
    }
    assert!(!stderr.contains("eadlock"), "{stderr}");
    assert!(locks(&report, "mutex").iter().all(|lock| lock["held_by"].is_null()), "{report}");
}

#[test]
fn a_signal_handler_may_wait_during_a_wait() {
    let Some(_concurrent) = may_run("a_signal_handler_may_wait_during_a_wait") else { return };
    let program = compiled("handler", include_str!("locks/handler.c"), &[]);
    let (status, _, stderr, report) = run_locks("handler", &[], &[program.to_str().unwrap()]);
    assert_eq!(status, 0, "{stderr}");
    let mut waits: Vec<f64> = locks(&report, "mutex").iter().map(|lock| seconds(lock, "wait_seconds")).collect();
    waits.sort_by(f64::total_cmp);
    let [.., inner, outer] = waits[..] else { panic!("{report}") };
    // The outer wait until the signal counts twice: it could have ended there.
    assert!(inner > 0.05 && outer > 0.3 && outer < 2.0 * seconds(&report, "wall_seconds"), "{waits:?} {report}");
    fs::remove_file(program).unwrap();
}

#[test]
fn a_wait_for_another_process_is_no_deadlock() {
    let Some(_concurrent) = may_run("a_wait_for_another_process_is_no_deadlock") else { return };
    let program = compiled("shared", include_str!("locks/shared.c"), &[]);
    let (_, _, stderr, report) = run_locks("shared", &[], &[program.to_str().unwrap()]);
    let waited = |lock: &&Value| !lock["waiting"].as_array().unwrap().is_empty();
    let Some(lock) = locks(&report, "mutex").into_iter().find(waited) else { panic!("{report}") };
    assert!(seconds(lock, "wait_seconds") > 1.0, "{lock}");
    assert!(lock["held_by"].is_null() && lock["held_by_absent"].to_string().contains("another process"), "{lock}");
    assert!(!stderr.contains("eadlock"), "{stderr}");
    fs::remove_file(program).unwrap();
}

/// Returns the directories in `/proc` of the processes that execute `program`.
fn processes_of(program: &str) -> Vec<PathBuf> {
    let is = |path: &PathBuf| fs::read_link(path.join("exe")).is_ok_and(|exe| exe == Path::new(program));
    fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path())).filter(is).collect()
}

/// Kills the processes that execute `program`, except the process `steady`.
fn kill_processes_of(program: &str, steady: u32) {
    for path in processes_of(program) {
        let pid = path.file_name().unwrap().to_str().unwrap();
        if pid != steady.to_string() {
            let _ = Command::new("kill").args(["-9", pid]).status();
        }
    }
}

/// Returns the states of the threads of the processes that execute `program` (proc_pid_stat(5)).
fn states_of(program: &str) -> Vec<char> {
    let threads =
        processes_of(program).into_iter().flat_map(|path| fs::read_dir(path.join("task")).into_iter().flatten());
    let state = |entry: std::io::Result<fs::DirEntry>| {
        let stat = fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    threads.filter_map(state).collect()
}

#[test]
fn nothing_is_left_if_steady_or_its_guardian_is_killed() {
    let Some(_concurrent) = may_run("nothing_is_left_if_steady_or_its_guardian_is_killed") else { return };
    for guardian in [false, true] {
        let mark = format!("77{}{}", std::process::id(), u8::from(guardian));
        let mut command = steady();
        command.args(["locks", "--quiet", "--no-history", "--", KNOWN.to_str().unwrap()]);
        command.args(["mutex", "2", &mark, "1000", "0"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        assert!(eventually(|| processes_with(&format!("mutex 2 {mark}")) == 4));
        let victim = if guardian { child_of(child.id()) } else { child.id() };
        Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap();
        let status = child.wait().unwrap();
        assert!(if guardian { status.code() == Some(125) } else { status.signal() == Some(9) }, "{status}");
        assert!(within_a_second(|| processes_with(&format!("mutex 2 {mark}")) == 0), "guardian: {guardian}");
    }
}

fn child_of(pid: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn programs_that_cannot_be_observed_are_rejected_with_the_reason() {
    let Some(_concurrent) = may_run("programs_that_cannot_be_observed_are_rejected_with_the_reason") else { return };
    let refused = |path: &Path, status: i32, why: &str| {
        let (actual, stdout, stderr) = run(&["locks", "--", path.to_str().unwrap(), "mutex", "1", "1", "0", "0"]);
        assert_eq!((actual, stdout.as_str()), (status, ""), "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
    };
    refused(Path::new("/nonexistent/program"), 127, "");
    refused(Path::new("/etc/passwd"), 126, "");
    refused(Path::new("no-such-program-anywhere"), 127, "");
    let program = fs::read(&*KNOWN).unwrap();
    let modified_copy = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let path = scratch(name);
        let mut bytes = program.clone();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let other = modified_copy("other-machine", &|bytes| bytes[18] = 0xb7);
    refused(&other, 125, "another architecture");
    let setuid = modified_copy("own-rights", &|_| {});
    if chown(&setuid, Some(65_534), None).is_ok() {
        fs::set_permissions(&setuid, fs::Permissions::from_mode(0o4755)).unwrap();
        refused(&setuid, 125, "elevated privileges");
    } else {
        skip(
            "programs_that_cannot_be_observed_are_rejected_with_the_reason",
            "setuid: only root can change the owner of a file",
        );
    }
    match Command::new("cc").args(["-static", "-pthread", "-o"]).arg(scratch("static")).arg(scratch("known.c")).output()
    {
        Ok(output) if output.status.success() => refused(&scratch("static"), 125, "static"),
        _ => skip(
            "programs_that_cannot_be_observed_are_rejected_with_the_reason",
            "static: the C library cannot be linked statically here",
        ),
    }
    let script = scratch("without-interpreter");
    fs::write(&script, "#!/nonexistent/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    refused(&script, 127, "interpret");
    assert_eq!(run(&["locks"]).0, 125);
    assert_eq!(run(&["locks", "--sort", "size", "--", "true"]).0, 125);
    for path in [other, setuid, script, scratch("static")] {
        let _ = fs::remove_file(path);
    }
}

#[test]
fn a_command_has_its_own_streams_and_status() {
    let Some(_concurrent) = may_run("a_command_has_its_own_streams_and_status") else { return };
    let (status, stdout, stderr, report) =
        run_locks("own", &[], &["sh", "-c", "read a; echo out; echo err >&2; exit 7"]);
    assert_eq!((status, stdout.as_str()), (7, "out\n"), "{stderr}");
    assert!(stderr.starts_with("err\nsteady: "), "{stderr}");
    assert!(stderr.lines().all(|line| line.chars().count() <= 80), "{stderr}");
    assert_eq!((&report["schema"], &report["ended"]["exited"]), (&"steady.locks/1".into(), &7.into()));
    assert_eq!(run(&["locks", "--quiet", "--", "true"]), (0, String::new(), String::new()));
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let line = format!("exec \"$0\" locks --quiet -- sh -c 'exit 4' {closed}");
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_steady")]).env("XDG_DATA_HOME", steady::data_home());
        assert_eq!(command.status().unwrap().code(), Some(4), "{closed}");
    }
}

#[test]
fn locks_are_sorted_as_requested_and_stored_in_the_history() {
    let Some(_concurrent) = may_run("locks_are_sorted_as_requested_and_stored_in_the_history") else { return };
    let program = KNOWN.to_str().unwrap();
    let args = ["sh", "-c", &format!("'{program}' mutex 2 20 2000 0 >&2; '{program}' mutex 1 5000 0 0 >&2")];
    let first = |sort: &str| {
        let (_, _, stderr, report) = run_locks(&format!("sort-{sort}"), &["--sort", sort], &args);
        (report["locks"][0]["acquisitions"].as_u64().unwrap(), stderr)
    };
    assert_eq!((first("wait").0, first("contended").0), (40, 40));
    let (acquisitions, stderr) = first("acquisitions");
    assert_eq!(acquisitions, 5_000);
    let id = stderr.lines().find_map(|line| line.strip_prefix("History: ")?.split(' ').next()).unwrap();
    let (status, shown, stderr) = run(&["history", "report", id]);
    assert_eq!(status, 0, "{stderr}");
    assert!(shown.contains("mutex"), "{shown}");
}

#[test]
fn libraries_that_the_user_preloads_are_loaded() {
    let Some(_concurrent) = may_run("libraries_that_the_user_preloads_are_loaded") else { return };
    let library = compiled("own.so", "int own(void) { return 7; }", &["-shared", "-fPIC"]);
    let mut command = steady();
    command.args(["locks", "--quiet", "--", "sh", "-c", "cat /proc/self/maps; echo $LD_PRELOAD"]);
    let (status, stdout, stderr) = output_of(command.env("LD_PRELOAD", &library).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    let last = stdout.lines().last().unwrap();
    assert!(last.ends_with(&format!(":{}", library.display())), "{last}");
    for part in last.split(':') {
        assert!(stdout.lines().any(|line| line.ends_with(part) && !line.starts_with('/')), "{part}: {stdout}");
    }
}

#[test]
fn real_programs_have_the_same_output_and_status() {
    let Some(_concurrent) = may_run("real_programs_have_the_same_output_and_status") else { return };
    let data: String =
        (0..200_000_u64).map(|number| format!("{}\n", number.wrapping_mul(2_654_435_761) % 1_000_003)).collect();
    let file = scratch("numbers");
    fs::write(&file, &data).unwrap();
    let path = file.to_str().unwrap();
    let python = scratch("threads.py");
    fs::write(&python, include_str!("locks/threads.py")).unwrap();
    let programs: [(&str, &[&str]); 3] = [
        ("xz", &["xz", "-T2", "--block-size=200KiB", "-1", "-c", path]),
        ("sort", &["sort", "--parallel=2", "-S", "64M", "-n", path]),
        ("python3", &["python3", python.to_str().unwrap()]),
    ];
    for (name, args) in programs {
        let Ok(bare) = Command::new(args[0]).args(&args[1..]).output() else {
            skip("real_programs_have_the_same_output_and_status", &format!("there is no {name}"));
            continue;
        };
        let out = scratch(&format!("real-{name}"));
        let json = scratch(&format!("real-{name}.json"));
        let mut command = steady();
        command.args(["locks", "--export-json", json.to_str().unwrap(), "--"]).args(args);
        let status = command.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), bare.status.code(), "{name}");
        assert!(fs::read(&out).unwrap() == bare.stdout, "{name}: the output differs");
        let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        assert!(!report["locks"].as_array().unwrap().is_empty(), "{name}: {report}");
        // The first process may be a script that starts the program.
        let processes = report["processes"].as_array().unwrap();
        assert!(processes.iter().any(|process| process["threads"].as_u64().unwrap() > 1), "{name}: {report}");
        let _ = (fs::remove_file(out), fs::remove_file(json));
    }
    let _ = (fs::remove_file(file), fs::remove_file(python));
}

/// `steady signature` measures the waits for the lock of its allocator itself. Both results must agree.
#[test]
fn waits_agree_with_those_that_steady_signature_measures() {
    let Some(_concurrent) = may_run("waits_agree_with_those_that_steady_signature_measures") else { return };
    let file = scratch("signed");
    let noise = |number: u64| (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    fs::write(&file, (0..2_000_000).map(noise).collect::<Vec<u8>>()).unwrap();
    let own = env!("CARGO_BIN_EXE_steady");
    let args = [own, "signature", "--allocator", "global", "-t", "2", "--format", "json", file.to_str().unwrap()];
    let (status, stdout, stderr, report) = run_locks("signature", &[], &args);
    assert_eq!(status, 0, "{stderr}");
    let signed: Value = serde_json::from_str(&stdout).unwrap();
    let (signed, lock) = (&signed["files"][0], locks(&report, "mutex")[0]);
    assert_eq!(signed["lock_acquisitions"], lock["acquisitions"], "{lock}");
    let (waited, times) = (seconds(signed, "lock_waited_seconds"), signed["lock_contended"].as_u64().unwrap());
    // The program counts each failed attempt. The lock may be free again when it then waits for it.
    assert!(lock["contended"].as_u64().unwrap() <= times, "{signed} {lock}");
    let observed = lock["wait_seconds"].as_f64().unwrap_or(0.0);
    // Reading the clocks takes time, which both measurements include differently.
    let difference = (observed - waited).abs();
    assert!(
        difference <= 0.1 * waited + 10e-6 * times as f64,
        "{observed} s observed, {waited} s measured by the program: {lock}"
    );
    fs::remove_file(file).unwrap();
}

#[test]
fn waits_for_rust_mutexes_are_reported_as_unobserved_futexes() {
    let Some(_concurrent) = may_run("waits_for_rust_mutexes_are_reported_as_unobserved_futexes") else { return };
    let (program, file) = (scratch("sync"), scratch("sync.rs"));
    fs::write(&file, include_str!("locks/sync.rs")).unwrap();
    let output = Command::new("rustc").args(["-O", "--edition=2024", "-o"]).arg(&program).arg(&file).output();
    if !output.is_ok_and(|output| output.status.success()) {
        return skip("waits_for_rust_mutexes_are_reported_as_unobserved_futexes", "there is no rustc");
    }
    let (status, stdout, stderr, report) = run_locks("rust", &[], &[program.to_str().unwrap()]);
    assert_eq!((status, stdout.as_str()), (0, "360\n"), "{stderr}");
    let futexes = &report["futexes"];
    let (other, off_by) = (seconds(futexes, "other_seconds"), seconds(futexes, "other_off_by_seconds"));
    // The lock is held 360 times for 5 ms, 1.8 s in total, while up to two threads wait. The main thread waits for all.
    // Three threads may wait in all samples; their intervals and the wall time end at slightly different moments.
    let most = 3.0 * seconds(&report, "wall_seconds") * 1.01;
    assert!(other + 2.0 * off_by > 1.8 && other - 2.0 * off_by < most, "{most} s: {futexes}");
    let unwatched = futexes["unwatched_programs"].as_array().unwrap();
    assert!(unwatched.iter().any(|line| line.as_str().unwrap().contains("Rust")), "{futexes}");
}

#[test]
fn go_programs_are_reported_as_unobserved() {
    let Some(_concurrent) = may_run("go_programs_are_reported_as_unobserved") else { return };
    let (folder, program) = (scratch("go"), scratch("go/waits"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("main.go"), include_str!("locks/main.go")).unwrap();
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(folder.join("main.go"));
    build.env("CGO_ENABLED", "0").env("GO111MODULE", "off").env("GOCACHE", folder.join("cache"));
    if !build.output().is_ok_and(|output| output.status.success()) {
        return skip("go_programs_are_reported_as_unobserved", "there is no Go compiler");
    }
    let (status, _, stderr) = run(&["locks", "--", program.to_str().unwrap()]);
    assert_eq!(status, 125, "{stderr}");
    assert!(stderr.contains("static"), "{stderr}");
    let script = format!("'{}'; echo", program.display());
    let (status, stdout, stderr, report) = run_locks("go", &[], &["sh", "-c", &script]);
    assert_eq!((status, stdout.as_str()), (0, "360\n\n"), "{stderr}");
    let unwatched = report["futexes"]["unwatched_programs"].as_array().unwrap_or_else(|| panic!("{report}"));
    assert!(unwatched.iter().any(|line| line.as_str().unwrap().contains("Go program")), "{report}");
    fs::remove_dir_all(folder).unwrap();
}
