//! `steady locks`: programs whose answers are known, real ones, ends of all kinds, and what cannot be watched.

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

use steady::{eventually, processes_with, run, scratch, seconds, skip, steady, told, within_a_second};

static KNOWN: LazyLock<PathBuf> = LazyLock::new(|| compiled("known", include_str!("locks/known.c"), &[]));
static STUCK: LazyLock<PathBuf> = LazyLock::new(|| compiled("stuck", include_str!("locks/stuck.c"), &[]));

/// A program in C, with debug information.
fn compiled(name: &str, source: &str, more: &[&str]) -> PathBuf {
    let (program, file) = (scratch(name), scratch(&format!("{name}.c")));
    fs::write(&file, source).unwrap();
    let made = Command::new("cc").args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(&file).args(more).output();
    let made = made.expect("there is a C compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    program
}

/// Tests that may run beside each other read it; one that has to be alone writes.
static BESIDE: RwLock<()> = RwLock::new(());

/// Where programs can be watched on this kind of machine at all: leave to run beside other tests.
fn watches(test: &str) -> Option<RwLockReadGuard<'static, ()>> {
    let can = cfg!(all(target_arch = "x86_64", target_env = "gnu"));
    if !can {
        skip(test, "locks are watched on x86-64 with the GNU C library only");
    }
    can.then(|| BESIDE.read().unwrap_or_else(PoisonError::into_inner))
}

/// Runs a command with its locks watched: status, standard output, standard error, report.
fn watched(name: &str, options: &[&str], words: &[&str]) -> (i32, String, String, Value) {
    let file = scratch(&format!("locks-{name}.json"));
    let _ = fs::remove_file(&file);
    let all = [&["locks", "--export-json", file.to_str().unwrap()], options, &["--"], words].concat();
    let (status, stdout, stderr) = run(&all);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let report = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: '{text}' {stderr}"));
    let _ = fs::remove_file(&file);
    (status, stdout, stderr, report)
}

fn known(name: &str, words: &[&str]) -> (String, Value) {
    let (status, stdout, stderr, report) = watched(name, &[], &[&[KNOWN.to_str().unwrap()], words].concat());
    assert_eq!(status, 0, "{stderr}");
    (stdout, report)
}

fn locks<'a>(report: &'a Value, kind: &str) -> Vec<&'a Value> {
    let all = report["locks"].as_array().unwrap_or_else(|| panic!("{report}"));
    all.iter().filter(|lock| lock["kind"] == kind).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn near(told: f64, truth: f64, share: f64) -> bool {
    (told - truth).abs() <= share * truth
}

#[test]
fn counts_are_exact_and_waits_are_those_that_the_program_sees() {
    let Some(_beside) = watches("counts") else { return };
    for kind in ["mutex", "rwlock", "spinlock"] {
        let (stdout, report) = known(&format!("counts-{kind}"), &[kind, "3", "200", "300", "100"]);
        let [waited, held, _] = numbers(&stdout)[..] else { panic!("{stdout}") };
        let [lock] = locks(&report, kind)[..] else { panic!("{report}") };
        assert_eq!((&lock["acquisitions"], &lock["threads"]), (&600.into(), &3.into()), "{report}");
        assert!(near(seconds(lock, "wait_seconds"), waited, 0.1), "{kind}: it saw {waited} s: {lock}");
        let contended = lock["contended"].as_u64().unwrap();
        // Who spins keeps others from the CPU, so that they come late.
        assert!(contended > if kind == "spinlock" { 60 } else { 300 } && contended <= 600, "{lock}");
        if kind != "spinlock" {
            assert!(near(seconds(lock, "hold_seconds"), held, 0.1), "{kind}: it saw {held} s: {lock}");
        }
        assert_eq!(report["processes"].as_array().unwrap().len(), 1);
        assert_eq!(report["processes"][0]["threads"], 4);
    }
}

#[test]
fn a_thousand_times_a_thousand_acquisitions_are_counted_one_by_one() {
    let Some(_beside) = watches("a_thousand_times") else { return };
    let (_, report) = known("many", &["mutex", "4", "250000", "0", "0"]);
    let [lock] = locks(&report, "mutex")[..] else { panic!("{report}") };
    assert_eq!((&lock["acquisitions"], &lock["threads"]), (&1_000_000.into(), &4.into()));
    let sites = lock["sites"].as_array().unwrap();
    let [site] = &sites[..] else { panic!("{lock}") };
    assert_eq!(site["acquisitions"], 1_000_000, "{lock}");
}

#[test]
fn code_has_its_names() {
    let Some(_beside) = watches("code_has_its_names") else { return };
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
fn what_a_free_lock_would_save_is_what_taking_it_away_saves() {
    if watches("what_a_free_lock_would_save").is_none() {
        return;
    }
    // Two runs are held against each other: what takes both CPUs meanwhile would make them differ.
    let _alone = BESIDE.write().unwrap_or_else(PoisonError::into_inner);
    // Threads that do nothing but with the lock; that do as much alone; that do less alone.
    for (index, words) in
        [["4", "60", "2000", "0"], ["3", "60", "1500", "1500"], ["2", "60", "2000", "1000"]].iter().enumerate()
    {
        let calm = (0..12).filter_map(|_| while_calm(|| told_by_saved(&format!("gain-{index}"), words)));
        let mut ratios: Vec<f64> = calm.take(5).collect();
        if ratios.len() < 5 {
            return skip("what_a_free_lock_would_save", "something else uses the CPUs");
        }
        ratios.sort_by(f64::total_cmp);
        // Some neighbours are too brief to be noticed.
        assert!((0.8..1.2).contains(&ratios[2]), "{words:?}: {ratios:?}");
    }
}

/// What `measure` returns, unless other processes used more than a tenth of the CPUs meanwhile.
fn while_calm<T>(measure: impl Fn() -> T) -> Option<T> {
    let (others, at) = (ticks_of_others(), clock::monotonic());
    let measured = measure();
    let ticks = ticks_of_others().saturating_sub(others) as f64;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    // A tick is a hundredth of a second to user programs (times(2)).
    (ticks / 100.0 < 0.1 * cpus * (clock::monotonic() - at).seconds() + 0.02).then_some(measured)
}

/// CPU time in ticks since boot that was not of this process and its children.
fn ticks_of_others() -> u64 {
    let numbers = |text: &str| text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    // user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)).
    let all = numbers(fs::read_to_string("/proc/stat").unwrap().lines().next().unwrap());
    let busy = all[..8].iter().sum::<u64>() - all[3] - all[4];
    // utime, stime, cutime, cstime: fields 14 to 17 (proc_pid_stat(5)); the first two stand before.
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let rest: Vec<&str> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
    let own = rest[11..15].iter().map(|word| word.parse::<u64>().unwrap()).sum();
    busy.saturating_sub(own)
}

/// What was told that a program would save without its lock, by what it saves without it.
fn told_by_saved(name: &str, words: &[&str]) -> f64 {
    let (_, report) = known(name, &[&["mutex"], words].concat());
    let free = Command::new(&*KNOWN).arg("none").args(words).output().unwrap();
    let without = numbers(&String::from_utf8(free.stdout).unwrap())[2];
    seconds(locks(&report, "mutex")[0], "gain_seconds") / (seconds(&report, "wall_seconds") - without)
}

#[test]
fn every_process_is_watched() {
    let Some(_beside) = watches("every_process") else { return };
    let program = KNOWN.to_str().unwrap();
    let script = format!("'{program}' mutex 2 20 100 0 >&2; '{program}' mutex 2 30 100 0 >&2; echo done");
    let (status, stdout, stderr, report) = watched("each", &[], &["sh", "-c", &script]);
    assert_eq!((status, stdout.as_str()), (0, "done\n"), "{stderr}");
    let mut counts: Vec<u64> =
        locks(&report, "mutex").iter().map(|lock| lock["acquisitions"].as_u64().unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [40, 60], "{report}");
    // A script's interpreter is watched.
    let script = scratch("locks-script");
    fs::write(&script, format!("#!{program} mutex\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    // Its words are: mutex, the script, and those that follow.
    let (status, _, stderr, report) = watched("script", &[], &[script.to_str().unwrap(), "3", "4", "5"]);
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(report["processes"].as_array().unwrap().len(), 1, "{report}");
    fs::remove_file(script).unwrap();
}

#[test]
fn a_program_that_is_killed_leaves_what_it_did_until_then() {
    let Some(_beside) = watches("a_program_that_is_killed") else { return };
    let file = scratch("locks-stuck.json");
    let mut command = steady();
    command.args(["locks", "--export-json", file.to_str().unwrap(), "--", STUCK.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "stuck\n");
    std::thread::sleep(std::time::Duration::from_millis(400));
    kill_those_of(STUCK.to_str().unwrap(), child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(9), "it ends as its command did");
    let stderr = String::from_utf8(output.stderr).unwrap();
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let waited_for = locks(&report, "mutex");
    assert_eq!(waited_for.len(), 2, "{report}");
    for lock in waited_for {
        let [waiting] = &lock["waiting"].as_array().unwrap()[..] else { panic!("{lock}") };
        assert_ne!(waiting, &lock["held_by"], "one waits, the other has it: {lock}");
        assert!(lock["held_by"].is_u64(), "{lock}");
        assert!(seconds(lock, "wait_seconds") > 0.3, "{lock}");
    }
    assert!(stderr.contains("eadlock"), "{stderr}");
    // Each hangs in the line of its second lock; the first waits for the others' end.
    for function in ["up", "down", "main"] {
        let line = include_str!("locks/stuck.c").lines().position(|line| line.contains(&format!("{function} hangs")));
        let line = format!("stuck.c:{}", 1 + line.unwrap());
        let all = report["threads"].as_array().unwrap();
        let hangs = all.iter().find(|thread| thread["waits_at"]["function"] == function);
        let hangs = hangs.unwrap_or_else(|| panic!("{function}: {report}"));
        assert!(hangs["waits_at"]["line"].as_str().unwrap().ends_with(&line), "{hangs}");
        let told: Vec<&str> = stderr.split_whitespace().collect();
        assert!(function == "main" || told.join(" ").contains(&format!("at {function}() in")), "{stderr}");
    }
    fs::remove_file(file).unwrap();
}

/// Kills processes by their program's path, but `steady` itself and its guardian.
fn kill_those_of(program: &str, steady: u32) {
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let exe = fs::read_link(entry.path().join("exe")).unwrap_or_default();
        if exe == Path::new(program) && entry.file_name().to_str() != Some(&steady.to_string()) {
            let _ = Command::new("kill").args(["-9", entry.file_name().to_str().unwrap()]).status();
        }
    }
}

#[test]
fn nothing_is_left_whoever_is_killed() {
    let Some(_beside) = watches("nothing_is_left") else { return };
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
fn what_cannot_be_watched_is_refused_with_its_reason() {
    let Some(_beside) = watches("what_cannot_be_watched") else { return };
    let refused = |path: &Path, status: i32, why: &str| {
        let (told, stdout, stderr) = run(&["locks", "--", path.to_str().unwrap(), "mutex", "1", "1", "0", "0"]);
        assert_eq!((told, stdout.as_str()), (status, ""), "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
    };
    refused(Path::new("/nonexistent/program"), 127, "");
    refused(Path::new("/etc/passwd"), 126, "");
    refused(Path::new("no-such-program-anywhere"), 127, "");
    let program = fs::read(&*KNOWN).unwrap();
    let spoiled = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let path = scratch(name);
        let mut bytes = program.clone();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let other = spoiled("other-machine", &|bytes| bytes[18] = 0xb7);
    refused(&other, 125, "another kind of machine");
    let own_rights = spoiled("own-rights", &|_| {});
    if chown(&own_rights, Some(65_534), None).is_ok() {
        fs::set_permissions(&own_rights, fs::Permissions::from_mode(0o4755)).unwrap();
        refused(&own_rights, 125, "rights of its own");
    } else {
        skip("what_cannot_be_watched: setuid", "only root gives files away");
    }
    match Command::new("cc").args(["-static", "-pthread", "-o"]).arg(scratch("static")).arg(scratch("known.c")).output()
    {
        Ok(made) if made.status.success() => refused(&scratch("static"), 125, "static"),
        _ => skip("what_cannot_be_watched: static", "the C library cannot be linked statically here"),
    }
    let script = scratch("without-interpreter");
    fs::write(&script, "#!/nonexistent/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    refused(&script, 127, "interpret");
    assert_eq!(run(&["locks"]).0, 125);
    assert_eq!(run(&["locks", "--sort", "size", "--", "true"]).0, 125);
    for path in [other, own_rights, script, scratch("static")] {
        let _ = fs::remove_file(path);
    }
}

#[test]
fn a_command_has_its_own_streams_and_status() {
    let Some(_beside) = watches("a_command_has_its_own_streams") else { return };
    let (status, stdout, stderr, report) = watched("own", &[], &["sh", "-c", "read a; echo out; echo err >&2; exit 7"]);
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
fn locks_are_sorted_as_asked_and_kept_in_the_history() {
    let Some(_beside) = watches("locks_are_sorted") else { return };
    let program = KNOWN.to_str().unwrap();
    let words = ["sh", "-c", &format!("'{program}' mutex 2 20 2000 0 >&2; '{program}' mutex 1 5000 0 0 >&2")];
    let first = |sort: &str| {
        let (_, _, stderr, report) = watched(&format!("sort-{sort}"), &["--sort", sort], &words);
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
fn the_users_own_library_is_loaded_all_the_same() {
    let Some(_beside) = watches("the_users_own_library") else { return };
    let library = compiled("own.so", "int own(void) { return 7; }", &["-shared", "-fPIC"]);
    let mut command = steady();
    command.args(["locks", "--quiet", "--", "sh", "-c", "cat /proc/self/maps; echo $LD_PRELOAD"]);
    let (status, stdout, stderr) = told(command.env("LD_PRELOAD", &library).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    let last = stdout.lines().last().unwrap();
    assert!(last.ends_with(&format!(":{}", library.display())), "{last}");
    for part in last.split(':') {
        assert!(stdout.lines().any(|line| line.ends_with(part) && !line.starts_with('/')), "{part}: {stdout}");
    }
}

/// Real programs do what they do without it.
#[test]
fn real_programs_do_what_they_do() {
    let Some(_beside) = watches("real_programs") else { return };
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
    for (name, words) in programs {
        let Ok(bare) = Command::new(words[0]).args(&words[1..]).output() else {
            skip("real_programs", &format!("there is no {name}"));
            continue;
        };
        let out = scratch(&format!("real-{name}"));
        let json = scratch(&format!("real-{name}.json"));
        let mut command = steady();
        command.args(["locks", "--export-json", json.to_str().unwrap(), "--"]).args(words);
        let status = command.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), bare.status.code(), "{name}");
        assert!(fs::read(&out).unwrap() == bare.stdout, "{name} has another output");
        let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        assert!(!report["locks"].as_array().unwrap().is_empty(), "{name}: {report}");
        // The first may be a script that finds the program.
        let processes = report["processes"].as_array().unwrap();
        assert!(processes.iter().any(|process| process["threads"].as_u64().unwrap() > 1), "{name}: {report}");
        let _ = (fs::remove_file(out), fs::remove_file(json));
    }
    let _ = (fs::remove_file(file), fs::remove_file(python));
}

/// A program that counts its own waiting is told the same.
#[test]
fn the_lock_of_our_own_allocator_is_told_as_it_tells_itself() {
    let Some(_beside) = watches("the_lock_of_our_own_allocator") else { return };
    let file = scratch("signed");
    let noise = |number: u64| (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    fs::write(&file, (0..2_000_000).map(noise).collect::<Vec<u8>>()).unwrap();
    let own = env!("CARGO_BIN_EXE_steady");
    let words = [own, "signature", "--allocator", "global", "-t", "2", "--format", "json", file.to_str().unwrap()];
    let (status, stdout, stderr, report) = watched("signature", &[], &words);
    assert_eq!(status, 0, "{stderr}");
    let signed: Value = serde_json::from_str(&stdout).unwrap();
    let (signed, lock) = (&signed["files"][0], locks(&report, "mutex")[0]);
    assert_eq!(signed["lock_acquisitions"], lock["acquisitions"], "{lock}");
    let (waited, times) = (seconds(signed, "lock_waited_seconds"), signed["lock_contended"].as_u64().unwrap());
    // It counts what it found taken; by the time that it asks again that may be free.
    assert!(lock["contended"].as_u64().unwrap() <= times, "{signed} {lock}");
    let told = lock["wait_seconds"].as_f64().unwrap_or(0.0);
    // Either clock takes its time, and this one more than once.
    let apart = (told - waited).abs();
    assert!(apart <= 0.1 * waited + 10e-6 * times as f64, "{told} s, and {waited} s by itself: {lock}");
    fs::remove_file(file).unwrap();
}

/// Waits for futexes that belong to nothing watched are told, with whose they are.
fn assert_unseen(report: &Value, waited: f64, why: &str) {
    let futexes = &report["futexes"];
    let (other, off_by) = (seconds(futexes, "other_seconds"), seconds(futexes, "other_off_by_seconds"));
    // Other tests run beside: a wait is longer than it need be, and never shorter.
    assert!(other + 2.0 * off_by > waited && other < 10.0 * waited, "{futexes}");
    let unwatched = futexes["unwatched_programs"].as_array().unwrap();
    assert!(unwatched.iter().any(|line| line.as_str().unwrap().contains(why)), "{futexes}");
}

#[test]
fn locks_of_the_rust_standard_library_are_a_line_of_their_own() {
    let Some(_beside) = watches("locks_of_the_rust_standard_library") else { return };
    let (program, file) = (scratch("sync"), scratch("sync.rs"));
    fs::write(&file, include_str!("locks/sync.rs")).unwrap();
    let made = Command::new("rustc").args(["-O", "--edition=2024", "-o"]).arg(&program).arg(&file).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return skip("locks_of_the_rust_standard_library", "there is no rustc");
    }
    let (status, stdout, stderr, report) = watched("rust", &[], &[program.to_str().unwrap()]);
    assert_eq!((status, stdout.as_str()), (0, "360\n"), "{stderr}");
    // Its threads are joined by what is not watched either. 360 holds of 5 ms, one after the other, with two others waiting; the last ones have none left to wait for.
    assert_unseen(&report, 1.8, "Rust");
}

#[test]
fn go_programs_are_named_with_the_reason() {
    let Some(_beside) = watches("go_programs") else { return };
    let (folder, program) = (scratch("go"), scratch("go/waits"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("main.go"), include_str!("locks/main.go")).unwrap();
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(folder.join("main.go"));
    build.env("CGO_ENABLED", "0").env("GO111MODULE", "off").env("GOCACHE", folder.join("cache"));
    if !build.output().is_ok_and(|made| made.status.success()) {
        return skip("go_programs", "there is no Go compiler");
    }
    let (status, _, stderr) = run(&["locks", "--", program.to_str().unwrap()]);
    assert_eq!(status, 125, "{stderr}");
    assert!(stderr.contains("static"), "{stderr}");
    let script = format!("'{}'; echo", program.display());
    let (status, stdout, stderr, report) = watched("go", &[], &["sh", "-c", &script]);
    assert_eq!((status, stdout.as_str()), (0, "360\n\n"), "{stderr}");
    let unwatched = report["futexes"]["unwatched_programs"].as_array().unwrap_or_else(|| panic!("{report}"));
    assert!(unwatched.iter().any(|line| line.as_str().unwrap().contains("Go program")), "{report}");
    fs::remove_dir_all(folder).unwrap();
}
