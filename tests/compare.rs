//! `steady compare` and `steady judge` on real commands: verdicts, fields of the JSON report, options, exit statuses.

mod steady;

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use serde_json::Value;
use steady::{allowed_cpus, eventually, json, primary, run, scratch, skip, steady, work};

#[test]
fn more_work_is_slower_and_less_is_faster() {
    let (less, more) = (work(2000), work(4000));
    let slower = json(0, &["--budget", "3s", &less, &more]);
    assert_eq!(primary(&slower)["verdict"], "slower", "{slower}");
    assert!(primary(&slower)["low"].as_f64() > Some(0.05));
    let faster = json(0, &["--budget", "3s", &more, &less]);
    assert_eq!(primary(&faster)["verdict"], "faster", "{faster}");
    assert_eq!(primary(&faster)["metric"], "cpu");
}

#[test]
fn the_json_has_the_documented_fields() {
    let report = json(0, &["--budget", "1s", "--seed", "18446744073709551615", "true", "true"]);
    assert_eq!(report["schema"], "steady.compare/1");
    assert_eq!(report["seed"], "18446744073709551615");
    assert_eq!(report["budget_seconds"], 1.0);
    for field in ["elapsed_seconds", "commands", "host", "layouts", "pairs", "runs", "verdicts", "load", "warnings"] {
        assert!(!report[field].is_null(), "{field}");
    }
    assert_eq!(report["commands"][0]["argv"], serde_json::json!(["true"]));
    let verdict = primary(&report);
    for field in ["metric", "command", "verdict", "within_resolution", "confidence", "pairs"] {
        assert!(!verdict[field].is_null(), "{field}");
    }
    for field in ["change", "low", "high", "verdict_low", "verdict_high"] {
        assert!(verdict[field].is_number() || verdict[format!("{field}_absent")].is_string(), "{field} in {verdict}");
    }
    let metrics: Vec<_> = report["verdicts"].as_array().unwrap().iter().map(|verdict| &verdict["metric"]).collect();
    assert!(metrics.contains(&&Value::from("cpu")), "{metrics:?}");
    assert!(report["samples"].is_null());
    assert_nulls_have_reasons("", &report);
}

/// Panics if a field is null without a reason in the field `NAME_absent`.
fn assert_nulls_have_reasons(path: &str, value: &Value) {
    if let Value::Object(fields) = value {
        for (name, field) in fields {
            let has_reason = fields.contains_key(&format!("{name}_absent"));
            assert!(!field.is_null() || has_reason, "{path}/{name} is null without a reason");
            assert_nulls_have_reasons(&format!("{path}/{name}"), field);
        }
    }
    if let Value::Array(elements) = value {
        elements.iter().for_each(|element| assert_nulls_have_reasons(path, element));
    }
}

#[test]
fn judging_exported_samples_gives_an_identical_report() {
    let (file, again) = (scratch("samples.json"), scratch("again.json"));
    let (file, again) = (file.to_str().unwrap(), again.to_str().unwrap());
    let options = ["compare", "--no-history", "--budget", "1s", "--samples", "--export-json", file];
    let (status, text, stderr) = run(&[&options[..], &["true", "sh -c :", "true"]].concat());
    assert_eq!(status, 0, "{stderr}");
    let (status, text_again, stderr) = run(&["judge", "--samples", "--export-json", again, file]);
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(text, text_again);
    assert_eq!(fs::read_to_string(file).unwrap(), fs::read_to_string(again).unwrap());
    fs::remove_file(file).unwrap();
    fs::remove_file(again).unwrap();
}

/// On a busy machine, the launcher may wait for a CPU while a run is in progress. That does not shorten the run.
#[test]
fn wall_time_is_at_least_cpu_time_and_waiting_on_a_busy_machine() {
    let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let mut spinners: Vec<Child> = (0..4).map(|_| spin()).collect();
    let file = scratch("busy.json");
    let file = file.to_str().unwrap();
    let options = ["compare", "--no-history", "--runs", "150", "--layout", "turns", "--samples", "--export-json", file];
    let (status, _, stderr) = run(&[&options[..], &["true", "sh -c :"]].concat());
    spinners.iter_mut().for_each(|spinner| {
        let _ = (spinner.kill(), spinner.wait());
    });
    assert_eq!(status, 0, "{stderr}");
    let report: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let blocks = report["samples"]["blocks"].as_array().unwrap();
    let runs: Vec<&Value> = blocks.iter().flat_map(|block| block["runs"].as_array().unwrap()).collect();
    assert_eq!(runs.len(), 300);
    for run in runs {
        let seconds = |name: &str| run[name].as_f64().unwrap_or(0.0);
        let least = seconds("user_seconds") + seconds("system_seconds") + seconds("run_delay_seconds");
        // CPU time is in microseconds.
        assert!(seconds("wall_seconds") >= least - 2e-6, "{run}");
    }
}

/// The shell ends the process in the middle, so nobody but the launcher waits for Python.
#[test]
fn everything_that_an_orphan_used_is_counted() {
    let file = scratch("orphan.json");
    let file = file.to_str().unwrap();
    let mark = scratch("orphan.mark").display().to_string();
    // The memory has small pages (PR_SET_THP_DISABLE), each with a fault of its own.
    let small_pages = "ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)";
    let python = format!("import ctypes, sys; {small_pages}; b = bytearray(40000000); open(sys.argv[1], chr(119))");
    let python = format!("python3 -c \"{python}\" {mark}");
    let orphan = format!("sh -c 'rm -f {mark}; ({python} &); until [ -e {mark} ]; do sleep 0.1; done'");
    let options =
        ["compare", "--no-history", "--quiet", "--runs", "2", "--warmup", "1", "--samples", "--export-json", file];
    let (status, _, stderr) = run(&[&options[..], &[&orphan]].concat());
    assert_eq!(status, 0, "{stderr}");
    let report: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    for block in report["samples"]["blocks"].as_array().unwrap() {
        let run = &block["runs"][0];
        assert!(run["minor_faults"].as_u64() > Some(9_000), "{run}");
        assert!(run["peak_memory_bytes"].as_u64() > Some(40_000_000), "{run}");
        assert!(run["system_seconds"].as_f64() > Some(0.001), "{run}");
    }
}

#[test]
fn a_parent_that_ignores_the_end_of_children_changes_nothing() {
    let scratch = scratch("sigchld");
    let script = "$SIG{CHLD} = 'IGNORE'; exec @ARGV";
    let compare = ["compare", "--runs", "6", "--no-history", "--layout", "turns", "true", "true"];
    let steady = env!("CARGO_BIN_EXE_steady");
    let ran = Command::new("perl").args(["-e", script, steady]).args(compare).env("HOME", &scratch).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn files_that_cannot_be_judged_are_rejected_with_the_reason() {
    let file = scratch("no-samples.json");
    let name = file.to_str().unwrap();
    let (status, ..) = run(&["compare", "--quiet", "--runs", "6", "--export-json", name, "true", "true"]);
    assert_eq!(status, 0);
    let (status, _, stderr) = run(&["judge", name]);
    assert_eq!(status, 2);
    assert!(stderr.contains("--samples"), "{stderr}");
    fs::write(&file, "{\"schema\": 7").unwrap();
    assert_eq!(run(&["judge", name]).0, 2);
    fs::remove_file(&file).unwrap();
    let (status, _, stderr) = run(&["judge", name]);
    assert_eq!(status, 2);
    assert!(stderr.contains("No such file"), "{stderr}");
}

#[test]
fn text_fits_eighty_columns_and_has_no_colour_when_piped() {
    let (status, stdout, stderr) = run(&[
        "compare",
        "--budget",
        "1s",
        "true",
        "sh -c 'exit 0; echo a very long command line that needs to be cut'",
    ]);
    assert_eq!((status, stderr.as_str()), (0, ""), "{stderr}");
    assert!(!stdout.contains('\u{1b}'));
    for line in stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn the_requested_number_of_pairs_is_run_in_the_requested_layout() {
    for layout in ["turns", "duet"] {
        if layout == "duet" && allowed_cpus().len() < 2 {
            return skip("the_requested_number_of_pairs_is_run_in_the_requested_layout", "one CPU");
        }
        let report = json(0, &["--runs", "20", "--layout", layout, "true", "true"]);
        let other = if layout == "turns" { "duet" } else { "turns" };
        assert_eq!(report["layouts"][layout]["pairs"], 20, "{report}");
        assert!(report["layouts"][other].is_null() || report["layouts"][other]["pairs"] == 0);
        assert_eq!(report["runs"], 40);
    }
}

#[test]
fn every_run_reads_the_whole_input() {
    let file = scratch("input.txt");
    fs::write(&file, "hello\n").unwrap();
    let reads = "sh -c 'read line; test \"$line\" = hello'";
    let report = json(0, &["--runs", "10", "--input", file.to_str().unwrap(), reads, reads]);
    assert_eq!(report["runs"], 20);
    assert_eq!(run(&["compare", "--runs", "6", "--input", "/", reads, reads]).0, 2);
    assert_eq!(run(&["compare", "--runs", "6", "--input", "/nonexistent", reads, reads]).0, 2);
    fs::remove_file(file).unwrap();
}

#[test]
fn prepare_runs_before_every_run_and_excludes_duets() {
    let file = scratch("prepared");
    let name = file.display();
    let (prepare, consume) = (format!("touch {name}"), format!("rm {name}"));
    let report = json(0, &["--runs", "8", "--prepare", &prepare, &consume, &consume]);
    assert_eq!(report["layouts"]["turns"]["pairs"], 8);
    assert!(report["layouts_left_out"].to_string().contains("--prepare"), "{report}");
    let (status, _, stderr) = run(&["compare", "--prepare", "exit 4", "true", "true"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("status 4"), "{stderr}");
    assert_eq!(run(&["compare", "--prepare", "a", "--prepare", "b", "true", "true", "true"]).0, 2);
}

/// On a busy machine, the two processes use less CPU time than wall time, but both are runnable.
#[test]
fn a_command_with_parallel_processes_excludes_duets() {
    let count = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";
    let parallel = format!("sh -c '({count}) & {count}; wait'");
    let report = json(0, &["--budget", "3s", &parallel, &parallel]);
    assert!(report["layouts_left_out"].to_string().contains("one CPU"), "{report}");
}

#[test]
fn shell_runs_commands_in_the_requested_shell() {
    let report = json(0, &["--runs", "6", "--shell", "true | true", "true && true"]);
    assert_eq!(report["commands"][0]["argv"], serde_json::json!(["sh", "-c", "true | true"]));
    let report = json(0, &["--runs", "6", "--shell=bash", "[[ a == a ]]", "true"]);
    assert_eq!(report["commands"][0]["argv"][0], "bash");
    assert_eq!(run(&["compare", "-N", "--shell", "true", "true"]).0, 2);
}

#[test]
fn a_shell_that_would_be_measured_as_a_command_is_rejected() {
    for option in ["--shell", "-S"] {
        let (status, _, stderr) = run(&["compare", "--no-history", option, "bash", "true", "true"]);
        assert_eq!(status, 2, "{stderr}");
        assert!(stderr.contains("--shell=bash"), "{stderr}");
    }
    let (status, _, stderr) = run(&["compare", "--no-history", "-i", "7", "false", "false"]);
    assert!(status == 2 && stderr.contains("--ignore-failure=7"), "{status} {stderr}");
    let without = ["compare", "--no-history", "--runs", "1", "--quiet", "--shell=none", "true", "true"];
    assert_eq!(run(&without).0, 0);
    for (shell, why) in [("--shell=no-such-shell", "--shell: no program 'no-such-shell'"), ("--shell=", "it is empty")]
    {
        let (status, _, stderr) = run(&["compare", "--no-history", shell, "true", "true"]);
        assert!(status == 2 && stderr.contains(why), "{stderr}");
    }
}

#[test]
fn the_advised_number_of_runs_is_enough() {
    let of = |runs: &str| run(&["compare", "--no-history", "--runs", runs, "--metric", "wall", "true", "true"]).1;
    assert!(of("3").contains("--runs 6"), "{}", of("3"));
    assert!(!of("6").contains("too few to compare"), "{}", of("6"));
}

#[test]
fn elapsed_time_has_a_value_for_each_command() {
    let report = json(0, &["--runs", "6", "--layout", "turns", "true", "true"]);
    for command in report["commands"].as_array().unwrap() {
        let [elapsed, wall] = ["elapsed_seconds", "wall_seconds"].map(|name| command[name].as_f64());
        assert!(command["run_delay_seconds"].is_null() || elapsed <= wall && elapsed > Some(0.0), "{command}");
    }
}

/// Standard output then has only the export.
#[test]
fn exports_may_go_to_standard_output() {
    for file in ["-", "/dev/stdout"] {
        let (status, stdout, stderr) =
            run(&["compare", "--no-history", "--runs", "1", "--export-json", file, "true", "true"]);
        assert_eq!(status, 0, "{stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
        assert_eq!(report["runs"], 2);
    }
}

#[test]
fn output_is_discarded_or_shown_on_standard_error() {
    let (_, stdout, stderr) = run(&["compare", "--runs", "6", "echo said", "echo said"]);
    assert!(!stdout.contains("\nsaid") && stderr.is_empty(), "{stdout}{stderr}");
    let (_, stdout, stderr) = run(&["compare", "--runs", "6", "--show-output", "echo said", "echo said"]);
    assert!(!stdout.contains("\nsaid"));
    assert!(stderr.lines().filter(|line| *line == "said").count() >= 12, "{stderr}");
}

#[test]
fn commands_may_print_twenty_megabytes() {
    let report = json(0, &["--runs", "6", "head -c 20000000 /dev/zero", "head -c 20000000 /dev/zero"]);
    assert_eq!(report["runs"], 12);
}

#[test]
fn fail_if_and_require_verdict_set_the_exit_status() {
    let (less, more) = (work(1000), work(4000));
    for (condition, expected, sentence) in [
        ("slower>5%", 1, "The condition slower>5% holds."),
        ("faster>5%", 0, "The condition faster>5% does not hold."),
        ("slower>5000%", 0, "The condition slower>5000% does not hold."),
    ] {
        let (status, stdout, _) =
            run(&["compare", "--no-history", "--runs", "24", "--fail-if", condition, &less, &more]);
        assert!(status == expected && stdout.replace("\n  ", " ").contains(sentence), "{status} {stdout}");
    }
    json(4, &["--runs", "3", "--require-verdict", &less, &more]);
    json(0, &["--runs", "3", &less, &more]);
    let quiet = ["compare", "--no-history", "--runs", "3", "--require-verdict", "--quiet", &less, &more];
    let (status, stdout, stderr) = run(&quiet);
    assert!(status == 4 && stdout.is_empty() && stderr.contains("Undecided"), "{status} {stdout} {stderr}");
}

#[test]
fn ignored_failures_are_in_the_report() {
    let words = ["compare", "--no-history", "--runs", "8", "--warmup", "1", "--shell=sh"];
    let (status, text, stderr) = run(&[&words[..], &["-i", "exit 3", "true"]].concat());
    assert_eq!(status, 0, "{stderr}");
    let text = text.replace("\n  ", " ");
    assert!(text.contains("8 of 8 runs of 'exit 3' exited with a status other than 0 (the first with 3)"), "{text}");
    let (status, text, stderr) = run(&[&words[..], &["-i", "kill -9 $$", "true"]].concat());
    assert_eq!(status, 3, "{stderr}");
    let text = text.replace("\n  ", " ");
    assert!(text.contains("0 of 8 runs of 'true' failed") && text.contains("8 of 8 runs of 'kill -9 $$'"), "{text}");
}

#[test]
fn memory_can_be_the_metric() {
    let big = "python3 -c 'x = bytearray(100 << 20)'";
    let report = json(0, &["--runs", "12", "--metric", "memory", "python3 -c 'x = 1'", big]);
    let verdict = primary(&report);
    assert_eq!((&verdict["metric"], &verdict["verdict"]), (&"memory".into(), &"slower".into()));
    assert!(report["commands"][1]["peak_memory_bytes"].as_f64().unwrap() > 1e8);
}

#[test]
fn commands_that_mostly_sleep_are_compared_by_elapsed_time() {
    let report = json(0, &["--budget", "4s", "sleep 0.02", "sleep 0.03"]);
    let verdict = primary(&report);
    assert_eq!((&verdict["metric"], &verdict["verdict"]), (&"elapsed".into(), &"slower".into()));
    assert!(verdict["low"].as_f64() > Some(0.3), "{verdict}");
    assert_eq!(report["layouts"]["turns"]["pairs"], report["pairs"]);
}

#[test]
fn there_is_a_primary_verdict_per_command_after_the_first() {
    let report = json(0, &["--runs", "24", &work(1000), &work(1000), &work(3000)]);
    let primaries: Vec<&Value> =
        report["verdicts"].as_array().unwrap().iter().filter(|verdict| verdict["primary"] == true).collect();
    assert_eq!(primaries.len(), 2);
    assert_eq!((&primaries[1]["command"], &primaries[1]["verdict"]), (&2.into(), &"slower".into()));
    let alone = json(0, &["--runs", "10", "true"]);
    assert_eq!((alone["verdicts"].as_array().unwrap().len(), &alone["runs"]), (0, &10.into()));
    assert!(alone["commands"][0]["cpu_seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn usage_errors_say_what_to_write_instead() {
    let cases: [(&[&str], &str); 20] = [
        (&["no-such-program-x", "true"], "in PATH"),
        (&["", "true"], "empty"),
        (&["sh 'x", "true"], "quote"),
        (&["/etc/passwd", "true"], "chmod +x"),
        (&["/etc", "true"], "directory"),
        (&["A=1 true", "true"], "--shell"),
        (&["--budget", "0", "true", "true"], "longer than 0 s"),
        (&["--budget", "ten", "true", "true"], "10s"),
        (&["--resolution", "0%", "true", "true"], "1%"),
        (&["--confidence", "100%", "true", "true"], "95%"),
        (&["--fail-if", "worse>1%", "true", "true"], "slower>1%"),
        (&["--fail-if", "slower>1", "true", "true"], "write 1%"),
        (&["--fail-if", "slower>0.5", "true", "true"], "write 0.5% or 50%"),
        (&["--resolution", "0.5", "true", "true"], "write 0.5% or 50%"),
        (&["cat | wc", "true"], "add --shell"),
        (&["--fail-if", "slower>1%", "true"], "two commands"),
        (&["--require-verdict", "true"], "two commands"),
        (&["--cpus", "9999", "true", "true"], "9999"),
        (&["--samples", "true", "true"], "--export-json"),
        (&["--export-json", "/nonexistent/x.json", "true", "true"], "/nonexistent/x.json"),
    ];
    for (args, remedy) in cases {
        let (status, stdout, stderr) = run(&[&["compare"], args].concat());
        assert_eq!((status, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(remedy), "{args:?}: {stderr}");
    }
    assert_eq!(run(&["compare"]).0, 2);
    assert_eq!(run(&[]).0, 2);
}

#[test]
fn help_has_examples_and_exit_statuses() {
    let (status, stdout, _) = run(&["compare", "--help"]);
    assert_eq!(status, 0);
    for part in ["steady compare --resolution 0.5%", "Exit status", "undecided"] {
        assert!(stdout.contains(part), "{part}");
    }
}

#[test]
fn a_budget_that_is_too_small_is_rejected_with_a_sufficient_one() {
    let (status, _, stderr) = run(&["compare", "--budget", "5s", "sleep 1.5", "sleep 1.5"]);
    assert_eq!(status, 2, "{stderr}");
    let named = stderr.split("--budget ").nth(1).and_then(|rest| rest.split(['s', ',']).next()).expect(&stderr);
    assert!((20..=40).contains(&named.parse::<u32>().unwrap()), "{stderr}");
    assert!(stderr.contains("--runs"));
}

/// An unknown option before the commands is no word of a command, and a negative number is no option.
#[test]
fn tips_are_about_the_words_that_are_wrong() {
    let one_string = "as one string";
    let cases: [(&[&str], &[&str], &[&str]); 27] = [
        (&["compare", "--budget", "-5s", "true", "true"], &["'-5s' is negative", "--budget"], &[one_string]),
        (&["compare", "-b", "-5s", "true", "true"], &["'-5s' is negative", "--budget"], &[one_string]),
        (&["compare", "--runs", "-3", "true", "true"], &["'-3' is negative", "--runs"], &[one_string]),
        (&["compare", "--foo", "./v1", "./v2"], &["--foo"], &[one_string, "-- --foo"]),
        (&["compare", "gzip", "-k", "file"], &[one_string, "steady compare 'gzip"], &[]),
        (&["bisect", "--runs", "5", "a..b", "true"], &["--runs"], &[one_string]),
        (&["bisect", "a..b", "gzip", "-k"], &["the command as one string", "steady bisect GOOD..BAD 'gzip"], &[]),
        (&["bisect", "v1", "HEAD", "--build", "make", "./prog"], &["one word: write v1..HEAD"], &[one_string]),
        (&["bisect", "-b", "9s", "v1", "HEAD", "gzip", "-k"], &["one word: write v1..HEAD"], &[one_string]),
        (&["bisect", "--rev", "v1..HEAD", "./prog"], &["the range is the first word"], &["-- --rev"]),
        (&["bisect", "a..b", "gzip", "file"], &["'file'", "the command as one string"], &["write"]),
        (&["limit", "--foo", "true"], &["--foo"], &["-- gzip"]),
        (&["explain", "gzip", "-k", "file"], &["write -- before the command", "steady explain -- gzip"], &[]),
        (&["explain", "cat", "no-such-program-x"], &["write steady explain -- cat no-such-program-x"], &[]),
        (&["explain", "cat", "./no-such-program-x"], &["no file"], &["-- cat"]),
        (&["explain", "cp", "a", "b"], &["too many commands", "steady explain -- cp a b"], &[]),
        (&["explain", "cp a b", "cp b c", "cp c d"], &["too many commands", "steady explain -- COMMAND"], &["cp a"]),
        (&["explain", "ls", "*.txt", "$HOME"], &["too many commands", "steady explain -- ls '*.txt' '$HOME'"], &[]),
        (&["release", "compare", "shop", "v1", "v2"], &["'v2'", "steady release compare --service shop v1 v2"], &[]),
        (&["release", "compare", "v1", "v2", "--foo"], &["--foo"], &["--service"]),
        (&["warm", "gzip", "file"], &["steady warm -- gzip"], &[]),
        (&["load", "--window", "1s", "gzip"], &["steady load -- gzip"], &[]),
        (&["load", "--foo", "--", "gzip"], &["--foo"], &["-- gzip"]),
        (&["warm", "status", "--foo"], &["--foo"], &["-- gzip"]),
        (&["compare", "", "./v2"], &["empty"], &["' ./v2'"]),
        (&["compare", "no-such-program-x", "y"], &["in PATH"], &["words of one command"]),
        (&["./v1", "./v2"], &["'./v1'", "\"steady compare './old file'"], &[]),
    ];
    for (args, wanted, unwanted) in cases {
        let (_, stdout, stderr) = run(args);
        assert_eq!(stdout, "", "{args:?}");
        assert!(wanted.iter().all(|text| stderr.contains(text)), "{args:?}: {stderr}");
        assert!(!unwanted.iter().any(|text| stderr.contains(text)), "{args:?}: {stderr}");
    }
    let (_, _, stderr) = run(&["comapre", "true"]);
    let [compare, completions] = ["'compare'", "'completions'"].map(|name| stderr.find(name));
    assert!(compare.is_some() && completions.is_none_or(|at| compare < Some(at)), "{stderr}");
}

#[test]
fn a_hanging_command_is_not_said_to_need_a_larger_budget_if_failures_are_ignored() {
    let (status, _, stderr) = run(&["compare", "--no-history", "-i", "--budget", "1s", "sleep 100", "true"]);
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains("so its duration is not known") && stderr.contains("--timeout"), "{stderr}");
}

#[test]
fn the_time_of_setup_is_not_part_of_the_budget() {
    // It runs for each command.
    let report = json(0, &["--no-history", "--budget", "1s", "--setup", "sleep 1.5", "true", "true"]);
    assert!(report["pairs"].as_u64() >= Some(6), "{report}");
    assert!(report["elapsed_seconds"].as_f64() < Some(3.0), "{report}");
}

/// Starts a comparison of a command with itself that runs until it is interrupted.
fn endless(cleanups: &[&str], command: &str) -> Child {
    let mut steady = steady();
    steady.args(["compare", "--no-history", "--quiet", "--budget", "10m"]);
    for cleanup in cleanups {
        steady.args(["--cleanup", cleanup]);
    }
    steady.args([command, command]).spawn().unwrap()
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn no_run_is_left_when_the_cleanup_starts() {
    let (process, notes) = (scratch("run-at-cleanup"), scratch("cleanup-notes"));
    let [pid, found] = [&process, &notes].map(|path| path.display().to_string());
    let cleanup = format!("kill -0 $(cat {pid}) && echo running >>{found}; echo cleanup >>{found}");
    let mut child = endless(&[&cleanup], &format!("sh -c 'echo $$ >{pid}; exec sleep 600'"));
    assert!(eventually(|| fs::read_to_string(&process).is_ok_and(|text| text.ends_with('\n'))));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_to_string(&notes).unwrap(), "cleanup\ncleanup\n");
    fs::remove_file(process).unwrap();
    fs::remove_file(notes).unwrap();
}

#[test]
fn a_further_signal_ends_a_cleanup_that_hangs() {
    let (ready, cleaning) = (scratch("ready-to-clean"), scratch("cleaning"));
    let exists = |path: &Path| eventually(|| path.exists());
    let cleanup = format!("touch {}; sleep 600", cleaning.display());
    let mut child = endless(&[&cleanup, "true"], &format!("sh -c 'touch {}; sleep 600'", ready.display()));
    assert!(exists(&ready));
    interrupt(&child);
    let has_begun = exists(&cleaning);
    interrupt(&child);
    let mut status = None;
    let has_ended = eventually(|| {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let _ = child.kill();
    assert!(has_begun && has_ended);
    assert_eq!(status.and_then(|status| status.code()), Some(130));
    fs::remove_file(ready).unwrap();
    fs::remove_file(cleaning).unwrap();
}

/// After the cleanup, a command may fail in another way.
#[test]
fn a_command_that_was_cleaned_up_is_not_run_again() {
    let data = scratch("cleaned-up").display().to_string();
    let (setup, cleanup) = (format!("echo x >{data}"), format!("rm -f {data}"));
    let command = format!("sh -c 'cat {data} && exit 3'");
    let words = ["compare", "--no-history", "--setup", &setup, "--cleanup", &cleanup, &command, &command];
    let (status, _, stderr) = run(&words);
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("exited with status 3; --show-output shows its output"), "{stderr}");
    assert!(!stderr.contains("run once more") && !stderr.contains("No such file"), "{stderr}");
}
