//! `steady load`: rows of real processes, invalid options, interruptions, and limits on the number of processes.

mod steady;

use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use steady::{
    allowed_cpus, data_home, eventually, output_of, own_duration, processes_with, run, scratch, skip, steady,
    within_a_second,
};

/// Runs an experiment and returns its JSON report. Panics if the exit status is not `status`.
fn load(status: i32, args: &[&str]) -> Value {
    let (actual, stdout, stderr) = run(&[&["load", "--no-history", "--format", "json"], args].concat());
    assert_eq!(actual, status, "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

fn rows(report: &Value) -> &Vec<Value> {
    report["rows"].as_array().expect("there are rows")
}

fn procs(report: &Value) -> Vec<u64> {
    rows(report).iter().map(|row| row["procs"].as_u64().unwrap()).collect()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"))
}

/// Returns a text that only the command lines of the workers with this seed contain.
fn mark(seed: u32) -> String {
    format!("\"seed\":{seed},")
}

#[test]
fn the_hash_workload_runs_for_the_requested_cpu_time() {
    let report = load(0, &["--workload", "hash", "--cpu-time", "50ms", "--procs", "1..3", "--samples"]);
    assert_eq!(report["schema"], "steady.load/1");
    assert_eq!(procs(&report), [1, 2, 3]);
    for row in rows(&report) {
        let (cpu, wall, work) = (number(row, "cpu_seconds"), number(row, "wall_seconds"), number(row, "work"));
        assert!(cpu >= 0.05 && wall >= 0.05 && work > 1_000.0, "{row}");
        assert!((number(row, "work_per_cpu_second") / (work / cpu) - 1.0).abs() < 1e-6, "{row}");
        assert!((number(row, "work_per_wall_second") / (work / wall) - 1.0).abs() < 1e-6, "{row}");
        let (median, most) = (number(row, "overshoot_median_seconds"), number(row, "overshoot_max_seconds"));
        assert!(median < 0.005 && median <= most, "{row}");
        let runs = row["runs"].as_array().unwrap();
        assert_eq!(runs.len() as u64, row["procs"].as_u64().unwrap());
        for run in runs {
            let used = number(run, "user_seconds") + number(run, "system_seconds");
            assert!((used - 0.05 - number(run, "overshoot_seconds")).abs() < 1e-6, "{run}");
        }
    }
}

#[test]
fn with_poll_the_overshoot_and_the_cost_are_reported() {
    let report = load(0, &["--cpu-time", "30ms", "--poll", "20ms", "--procs", "1"]);
    let overshoot = number(&rows(&report)[0], "overshoot_median_seconds");
    // On a busy machine the polling thread may wake late.
    assert!((0.0..0.5).contains(&overshoot), "{overshoot}");
    let cost = number(&report, "poll_cost_ratio");
    assert!(cost > 0.0 && cost < 0.1, "{cost}");
    assert_eq!(load(0, &["--cpu-time", "30ms", "--procs", "1"])["poll_cost_ratio"], Value::Null);
}

#[test]
fn the_sum_workload_does_the_requested_work() {
    let report = load(0, &["--workload", "sum", "--work", "1000001", "--procs", "1,2"]);
    assert_eq!(procs(&report), [1, 2]);
    for row in rows(&report) {
        assert_eq!(number(row, "work"), 1_000_001.0);
        assert!(number(row, "cpu_seconds") > 0.0);
        assert_eq!(row["overshoot_median_seconds"], Value::Null);
        assert!(row["overshoot_median_seconds_absent"].as_str().unwrap().contains("limit"), "{row}");
    }
}

#[test]
fn commands_are_repeated_for_the_window() {
    let args = [
        "--window",
        "2s",
        "--procs",
        "1,2",
        "--samples",
        "--",
        "sh",
        "-c",
        "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done",
    ];
    let report = load(0, &args);
    assert_eq!(procs(&report), [1, 2]);
    for row in rows(&report) {
        // On a busy machine, a run of 5 ms of CPU time may wait 70 ms for its CPU. Runs count that end within the window.
        assert!(number(row, "elapsed_seconds") > 1.0, "{row}");
        assert!(number(row, "run_count") > 2.0 * number(row, "procs"), "{row}");
        assert_eq!(number(row, "work"), 1.0);
        assert!(number(row, "cpu_seconds") > 0.0 && number(row, "throughput_per_second") > 0.0);
    }
}

#[test]
fn a_command_longer_than_the_window_runs_once_per_process() {
    let report = load(0, &["--window", "50ms", "--procs", "3", "--", "sleep", "0.2"]);
    let row = &rows(&report)[0];
    assert_eq!(number(row, "run_count"), 3.0);
    assert!(number(row, "wall_seconds") >= 0.2 && number(row, "cpu_seconds") < 0.2, "{row}");
}

#[test]
fn a_row_has_the_activity_of_each_cpu() {
    let first = allowed_cpus()[0];
    let report = load(0, &["--cpu-time", "400ms", "--procs", "2", "--cpus", &first.to_string()]);
    assert_eq!(report["machine"]["allowed"], serde_json::json!([first]));
    let row = &rows(&report)[0];
    let cpus = row["cpus"].as_array().unwrap();
    for cpu in cpus {
        assert!((0.0..=1.0).contains(&number(cpu, "busy_ratio")), "{cpu}");
        let own_share = number(cpu, "ours_ratio");
        assert!(if cpu["cpu"] == first { own_share > 0.5 } else { own_share == 0.0 }, "{cpu}");
    }
    assert!(number(row, "wall_seconds") > 0.7, "two share one CPU: {row}");
    assert!(row["own_cpu_seconds"].as_f64().unwrap() > 0.0);
    assert!(row["others_cpu_seconds"].is_f64(), "{row}");
}

#[test]
fn a_row_shorter_than_a_tick_has_no_cpu_shares() {
    let reports = (0..100).map(|_| load(0, &["--cpu-time", "1ms", "--procs", "1"]));
    // On a busy machine, the process may have to wait for a CPU for longer than a tick.
    let Some(report) = reports.into_iter().find(|report| number(&rows(report)[0], "elapsed_seconds") < 0.005) else {
        return skip("a_row_shorter_than_a_tick_has_no_cpu_shares", "other processes use the CPUs");
    };
    let row = &rows(&report)[0];
    for cpu in row["cpus"].as_array().unwrap() {
        assert_eq!(cpu["busy_ratio"], Value::Null);
        assert!(cpu["busy_ratio_absent"].as_str().unwrap().contains("hundredths"), "{cpu}");
    }
    assert_eq!((&row["others_cpu_seconds"], &row["activity"]["steal_ratio"]), (&Value::Null, &Value::Null));
}

#[test]
fn the_seed_determines_the_order_of_rows() {
    let order = |seed: &str| -> Vec<u64> {
        let report = load(0, &["--cpu-time", "1ms", "--procs", "1..6", "--seed", seed]);
        assert_eq!(report["seed"], seed);
        rows(&report).iter().map(|row| row["order"].as_u64().unwrap()).collect()
    };
    let first = order("7");
    assert_eq!(first, order("7"));
    assert_ne!(first, order("8"));
    assert_ne!(first, [0, 1, 2, 3, 4, 5], "the order is not random");
}

#[test]
fn invalid_options_are_usage_errors() {
    let refused = |args: &[&str], expected: &str| {
        let (status, stdout, stderr) = run(&[&["load", "--no-history"], args].concat());
        assert_eq!((status, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        let first = stderr.lines().next().unwrap_or_default();
        assert!(stderr.contains(expected) && !first.is_empty(), "{args:?}: {stderr}");
    };
    refused(&["--procs", "0"], "begin at 1");
    refused(&["--procs", "8..1"], "1..8");
    refused(&["--procs", ""], "1..32");
    refused(&["--procs", "1..100000"], "rows");
    refused(&["--procs", "4000000"], "allows");
    refused(&["--cpu-time", "0"], "longer than 0 s");
    refused(&["--cpu-time", "0s"], "longer than 0 s");
    refused(&["--cpu-time", "3days"], "a day");
    refused(&["--poll", "0s"], "longer than 0 s");
    refused(&["--work", "0", "--workload", "sum"], "--work");
    refused(&["--work", "5"], "--workload sum");
    refused(&["--workload", "sum", "--cpu-time", "1s"], "--workload hash");
    refused(&["--workload", "sum", "--poll", "1s"], "--workload hash");
    refused(&["--workload", "hash", "--", "true"], "cannot be used with");
    refused(&["--cpu-time", "1s", "--", "true"], "cannot be used with");
    refused(&["--window", "1s"], "required");
    refused(&["--neighbour", "spin"], "--rulers");
    refused(&["--cpus", "9999"], "CPU 9999");
    refused(&["--", "no-such-program"], "in PATH");
    refused(&["--", "/etc/passwd"], "executable");
    refused(&["--samples"], "--export-json");
    refused(&["true"], "unexpected argument");
}

/// Runs `steady` with this standard input. Returns its exit status, standard output and standard error.
fn with_input(args: &[&str], input: &str) -> (i32, String, String) {
    let mut child =
        steady().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    output_of(child.wait_with_output().unwrap())
}

#[test]
fn tables_are_evaluated_like_experiments() {
    let csv = "procs\tcpu_ms\twall_ms\twork\n1\t10\t10\t100\n2\t10\t10\t100\n4\t10\t20\t100\n8\t10\t40\t100\n";
    let file = scratch("table.tsv");
    fs::write(&file, csv).unwrap();
    let name = file.to_str().unwrap();
    let (status, of_file, stderr) = run(&["load", "--table", name]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(of_file.replace("\n  ", " ").contains("work per wall second by a factor of 4.00"), "{of_file}");
    let (status, of_input, _) = with_input(&["load", "--table", "-"], csv);
    assert_eq!((status, of_input), (0, of_file.replace(name, "-")));
    let svg = scratch("table.svg");
    let page = scratch("table.html");
    let exports = ["--export-svg", svg.to_str().unwrap(), "--export-html", page.to_str().unwrap()];
    let (status, json, _) = run(&[&["load", "--published", "hash8", "--format", "json"][..], &exports].concat());
    let table: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &table["schema"], rows(&table).len()), (0, &"steady.load-table/1".into(), 32));
    assert!(
        fs::read_to_string(&svg).unwrap().starts_with("<svg") && fs::read_to_string(&page).unwrap().contains("<svg")
    );
    // The JSON of a table is a table.
    let (status, again, stderr) = with_input(&["load", "--table", "-", "--format", "json"], &json);
    assert_eq!(status, 0, "{stderr}");
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&again["scaling"], &again["cores"]), (&table["scaling"], &8.into()));
    let refused = |args: &[&str], input: &str, expected: &str| {
        let (status, stdout, stderr) = with_input(&[&["load"], args].concat(), input);
        assert!(status == 2 && stdout.is_empty() && stderr.contains(expected), "{args:?}: {status} {stderr}");
    };
    refused(&["--table", "-"], "procs,cpu_ms,wall_ms\n2,1,1\n1,1,1\n", "--table '-': the rows are not sorted");
    let impossible = "procs,cpu_ms,wall_ms,logical_cpus\n1,100,100,2\n8,100,100,2\n";
    refused(&["--table", "-"], impossible, "--table '-': line 3 contradicts itself: procs * CPU time");
    let impossible = "procs,cpu_ms,wall_ms,logical_cpus,cores\n1,1,1,2,4\n2,1,1,2,4\n";
    refused(&["--table", "-"], impossible, "line 2 contradicts itself: cores is 4, but logical_cpus is 2");
    refused(&["--table", "/nonexistent"], "", "--table '/nonexistent': No such file");
    refused(&["--table", "/dev/zero"], "", "it is a device");
    refused(&["--table", "-", "--procs", "1"], "", "cannot be used with");
    refused(&["--published", "hash8", "--rulers"], "", "cannot be used with");
    refused(&["--published", "hash9"], "", "hash8");
    [file, svg, page].iter().for_each(|file| fs::remove_file(file).unwrap());
}

#[test]
fn judge_reads_exports_of_experiments() {
    let file = scratch("again.json");
    let name = file.to_str().unwrap();
    let measured = ["load", "--quiet", "--no-history", "--procs", "1,2", "--cpu-time", "200ms", "--samples"];
    let chart = scratch("measured.svg");
    let exports = ["--export-json", name, "--export-svg", chart.to_str().unwrap()];
    let (status, _, stderr) = run(&[&measured[..], &exports].concat());
    assert_eq!(status, 0, "{stderr}");
    let (status, again, stderr) = run(&["judge", "--samples", "--format", "json", name]);
    assert_eq!((status, again), (0, fs::read_to_string(&file).unwrap()), "{stderr}");
    let (status, text, _) = run(&["judge", name]);
    assert!(status == 0 && text.starts_with("From N = 1 to 2 concurrent processes"), "{text}");
    let again = scratch("again.svg");
    assert_eq!(run(&["judge", "--quiet", "--export-svg", again.to_str().unwrap(), name]), (0, "".into(), "".into()));
    assert_eq!(fs::read_to_string(&again).unwrap(), fs::read_to_string(&chart).unwrap());
    let (status, _, stderr) = run(&["judge", "--fail-if", "slower>1%", name]);
    assert!(status == 2 && stderr.contains("are for comparisons"), "{stderr}");
    // Without samples, the rows of an export are a table.
    let (_, without, _) = run(&["judge", "--format", "json", name]);
    let (status, _, stderr) = with_input(&["judge", "-"], &without);
    assert!(status == 2 && stderr.contains("--samples"), "{stderr}");
    assert!(stderr.contains("or report on its rows with `steady load --table -`"), "{stderr}");
    let (status, table, stderr) = with_input(&["load", "--table", "-", "--format", "json"], &without);
    assert_eq!(status, 0, "{stderr}");
    fs::write(&file, table).unwrap();
    let (status, _, stderr) = run(&["judge", name]);
    let advice = format!("a table has no samples; report on it with `steady load --table {name}`");
    assert!(status == 2 && stderr.contains(&advice), "{stderr}");
    [file, again, chart].iter().for_each(|file| fs::remove_file(file).unwrap());
}

/// Perl's function `times` has a resolution of 10 ms.
#[test]
fn user_and_system_time_are_those_that_a_script_prints() {
    if Command::new("perl").arg("-v").output().is_err() {
        return skip("user_and_system_time_are_those_that_a_script_prints", "no perl");
    }
    let file = scratch("times");
    let script = format!(
        "for (1..60) {{ for (1..200_000) {{ $sum += $_ }} open F, '/dev/zero'; sysread F, $read, 1 << 22 }} \
         @t = times; open F, '>', '{}'; print F \"$t[0] $t[1]\"",
        file.display()
    );
    let report = load(0, &["--procs", "1", "--window", "1ms", "--", "perl", "-e", &script]);
    let row = &rows(&report)[0];
    let printed = fs::read_to_string(&file).unwrap();
    let printed: Vec<f64> = printed.split(' ').map(|seconds| seconds.parse().unwrap()).collect();
    for (name, printed) in ["user_seconds", "system_seconds"].into_iter().zip(printed) {
        let found = number(row, name);
        assert!((found - printed).abs() <= 0.01 * printed + 0.02, "{name}: {found} and {printed}");
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn a_file_that_cannot_be_executed_is_a_usage_error() {
    use std::os::unix::fs::PermissionsExt;
    let file = scratch("no-program-for-load");
    fs::write(&file, "not a program\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let (status, stdout, stderr) = run(&["load", "--no-history", "--procs", "2", "--", file.to_str().unwrap()]);
    fs::remove_file(&file).unwrap();
    assert_eq!((status, stdout.as_str()), (2, ""));
    assert!(stderr.contains("could not be started"), "{stderr}");
}

#[test]
fn an_argument_that_is_not_utf_8_is_a_usage_error() {
    use std::os::unix::ffi::OsStrExt;
    let mut command = steady();
    command.args(["load", "--no-history", "--procs", "1", "--", "echo"]).arg(std::ffi::OsStr::from_bytes(b"a\xff"));
    let (status, stdout, stderr) = output_of(command.output().unwrap());
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains("not UTF-8"), "{stderr}");
}

#[test]
fn a_failing_command_ends_the_experiment_and_complete_rows_are_shown() {
    // The second process fails, which only rows with two processes have.
    let script = "[ $STEADY_RUN = 0 ] || exit 7";
    let seed = (0..).find(|seed| first_row(*seed, 2) == 1).unwrap().to_string();
    let args = ["--procs", "1,2", "--window", "200ms", "--seed", &seed, "--", "sh", "-c", script];
    let (status, stdout, stderr) = run(&[&["load", "--no-history", "--format", "json"], &args[..]].concat());
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("status 7") && stderr.contains("row of 2"), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((procs(&report), &report["ending"]), (vec![1], &"interrupted".into()));
    assert!(report["failure"].as_str().unwrap().contains("status 7"), "{report}");
    let (status, stdout, stderr) = run(&["load", "--no-history", "--procs", "2", "--", "false"]);
    assert_eq!((status, stdout.as_str()), (3, ""), "there is a report without rows");
    assert!(stderr.contains("'false' exited with status 1"), "{stderr}");
}

/// Returns which of the rows 1 to `rows` runs first with this seed.
fn first_row(seed: u32, rows: u32) -> u64 {
    let args = ["--cpu-time", "1ms", "--procs", &format!("1..{rows}"), "--seed", &seed.to_string()];
    let report = load(0, &args);
    let first = rows_by_order(&report).first().map(|row| row["procs"].as_u64().unwrap());
    first.expect("there are rows")
}

fn rows_by_order(report: &Value) -> Vec<&Value> {
    let mut all: Vec<&Value> = rows(report).iter().collect();
    all.sort_by_key(|row| row["order"].as_u64());
    all
}

#[test]
fn after_an_interruption_the_complete_rows_are_reported() {
    let args = ["--cpu-time", "50ms", "--procs", "1..40", "--seed", "770001", "--format", "json"];
    let mut command = steady();
    // A terminal sends the SIGINT of Ctrl-C to the whole process group.
    command.args(["load", "--no-history"]).args(args).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let mut first = None;
    assert!(eventually(|| {
        first = row_of(&mark(770_001));
        first.is_some()
    }));
    assert!(eventually(|| row_of(&mark(770_001)).is_some_and(|row| Some(row) != first)), "no second row starts");
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!((status, stderr.as_str()), (130, ""));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let count = rows(&report).len();
    assert!((1..40).contains(&count), "{count}");
    assert_eq!((&report["ending"], &report["failure"]), (&"interrupted".into(), &Value::Null));
    assert_eq!(processes_with(&mark(770_001)), 0, "processes are left");
}

/// Returns the text after `mark` on a command line: the number of processes in the current row.
fn row_of(mark: &str) -> Option<String> {
    let line = fs::read(format!("/proc/{}/cmdline", pids_with(mark).first()?)).ok()?;
    let line = String::from_utf8_lossy(&line).into_owned();
    Some(line.split_once(mark)?.1.trim_end_matches('\0').to_owned())
}

#[test]
fn an_interruption_during_the_first_row_gives_no_report() {
    let args = ["load", "--no-history", "--cpu-time", "1h", "--procs", "3", "--seed", "770002"];
    let child = steady().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| processes_with(&mark(770_002)) == 3));
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!((status, stdout.as_str()), (143, ""));
    assert!(stderr.contains("interrupted before"), "{stderr}");
    assert_eq!(processes_with(&mark(770_002)), 0);
}

#[test]
fn nothing_is_left_if_steady_is_killed() {
    let args = ["load", "--no-history", "--cpu-time", "1h", "--procs", "4", "--seed", "770003"];
    let mut child = steady().args(args).stdout(Stdio::null()).spawn().unwrap();
    assert!(eventually(|| processes_with(&mark(770_003)) == 4));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert!(within_a_second(|| processes_with(&mark(770_003)) == 0));

    let sleep = &format!("sleep {}", own_duration("7103."));
    let lingers = format!("setsid {sleep} & setsid sh -c '{sleep} & wait' & {sleep}");
    let args = ["load", "--no-history", "--procs", "2", "--", "sh", "-c", &lingers];
    let mut child = steady().args(args).stdout(Stdio::null()).spawn().unwrap();
    assert!(eventually(|| processes_with(sleep) >= 6), "the commands do not start");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within_a_second(|| processes_with(sleep) == 0), "{} left", processes_with(sleep));
}

#[test]
fn processes_that_a_command_leaves_are_killed() {
    let sleep = &format!("sleep {}", own_duration("7104."));
    let leaves = format!("setsid {sleep} & exit 0");
    let report = load(0, &["--procs", "2", "--window", "50ms", "--", "sh", "-c", &leaves]);
    assert_eq!(procs(&report), [2]);
    let row = &rows(&report)[0];
    assert_eq!(number(row, "left_behind"), number(row, "run_count"), "{row}");
    assert!(within_a_second(|| processes_with(sleep) == 0));
}

#[test]
fn a_killed_worker_ends_the_experiment_with_an_error() {
    let args = ["load", "--no-history", "--cpu-time", "1h", "--procs", "3", "--seed", "770004"];
    let child = steady().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| processes_with(&mark(770_004)) == 3));
    let victim = pids_with(&mark(770_004))[1];
    assert!(Command::new("kill").args(["-KILL", &victim.to_string()]).status().unwrap().success());
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!((status, stdout.as_str()), (3, ""));
    assert!(stderr.contains("one of 3 processes") && stderr.contains("signal 9"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
    assert_eq!(processes_with(&mark(770_004)), 0);
}

fn pids_with(mark: &str) -> Vec<i32> {
    let numbered = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<i32>().ok();
    let marked = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(mark)
    };
    fs::read_dir("/proc").unwrap().filter_map(numbered).filter(marked).collect()
}

/// Creates a control group for at most `most` processes. The caller removes it.
fn group_of(name: &str, most: u32) -> Option<PathBuf> {
    let group = Path::new("/sys/fs/cgroup/pids").join(format!("steady-load-{}-{name}", std::process::id()));
    fs::create_dir(&group).ok()?;
    fs::write(group.join("pids.max"), most.to_string()).ok()?;
    Some(group)
}

/// Returns a command that enters `group` and then executes `steady`.
fn in_group(group: &Path) -> Command {
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_steady")]).stdin(Stdio::null());
    command.env("XDG_DATA_HOME", data_home());
    command
}

#[test]
fn a_limit_on_processes_is_reported_with_the_complete_rows() {
    let Some(group) = group_of("refused", 40) else {
        return skip("a_limit_on_processes_is_reported_with_the_complete_rows", "no pids control group");
    };
    let seed = (0..).find(|seed| first_row(*seed, 2) == 1).unwrap().to_string();
    let args = ["load", "--no-history", "--cpu-time", "20ms", "--format", "json", "--seed", &seed, "--procs"];
    let outcome = output_of(in_group(&group).args(args).arg("1,40").output().unwrap());
    let beforehand = output_of(in_group(&group).args(args).arg("1,41").output().unwrap());
    assert!(within_a_second(|| fs::remove_dir(&group).is_ok()), "a process is left in the group");
    let (status, stdout, stderr) = outcome;
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("of 40 processes") && stderr.contains("pids.max"), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(procs(&report), [1]);
    let (status, stdout, stderr) = beforehand;
    assert_eq!((status, stdout.as_str()), (2, ""), "more processes than the limit are not a usage error");
    assert!(stderr.contains("41 processes") && stderr.contains("allows 40"), "{stderr}");
}

/// The user id of `nobody`.
const NOBODY: &str = "65534";

#[test]
fn the_process_limit_of_the_user_is_reported() {
    let limited = |most: &str, procs: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--clear-groups", "prlimit", &format!("--nproc={most}")]);
        command.args([env!("CARGO_BIN_EXE_steady"), "load", "--no-history", "--cpu-time", "20ms", "--procs", procs]);
        command.env("XDG_DATA_HOME", data_home()).stdin(Stdio::null()).output().ok().map(output_of)
    };
    let Some((0, ..)) = limited("60", "1") else {
        let reason = "the user nobody cannot run the binary";
        return skip("the_process_limit_of_the_user_is_reported", reason);
    };
    let (status, _, stderr) = limited("60", "61").unwrap();
    assert_eq!(status, 2);
    assert!(stderr.contains("RLIMIT_NPROC") && stderr.contains("60"), "{stderr}");
    let (status, _, stderr) = limited("60", "60").unwrap();
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("of 60 processes could be started") && stderr.contains("RLIMIT_NPROC"), "{stderr}");
}

#[test]
fn text_fits_eighty_columns() {
    let (status, stdout, stderr) = run(&["load", "--no-history", "--cpu-time", "20ms", "--procs", "1..4"]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
    assert!(stdout.to_lowercase().contains("hashes"), "{stdout}");
}
