//! `steady bench`: two builds compared by their benchmarks, with a harness that the tests describe themselves.

mod steady;

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use steady::repository::Repository;
use steady::{eventually, output_of, own_duration};

/// A suite as a script. It reports CPU time, because other tests run at the same time. The file `costs` has the name of
/// each benchmark with the number of loops of an iteration; 0 fails, and -1 prints no number.
const SUITE: &str = r#"
import os, sys, time
costs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "costs")
costs = dict(line.rsplit(None, 1) for line in open(costs))
if sys.argv[1] == "list":
    print("\n".join(costs))
    sys.exit()
name, iterations, samples = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
cost = int(costs[name])
if cost == 0:
    sys.exit("out of luck")
if cost == -1:
    sys.exit(print("nothing to report"))
loops = range(iterations * (cost + int(os.environ.get("MORE", 0))))
for _ in range(samples):
    began = time.process_time_ns()
    for _ in loops:
        pass
    print(f"{name}: {(time.process_time_ns() - began) / iterations:.1f} ns")
"#;

const ADAPTER: &str = r#"
name = "script"
build = 'printf "suite\t%s\t%s\n" "$PWD" "$PWD/suite.py" >"$STEADY_PROGRAMS"'
list = "{program} list"
run = "{program} run {name} {iterations} {samples}"
metrics = ['time[s]=least:: ([0-9.]+) (?<unit>ns)']
seconds = 0.01
"#;

/// A suite whose processes run several benchmarks. The file `costs` is that of [`SUITE`]; -2 ends the process, and with
/// -3 it hangs. The file `processes` gets the number of benchmarks of each process.
const SHARED_SUITE: &str = r#"
import os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
costs = dict(line.rsplit(None, 1) for line in open(here + "/costs"))
if sys.argv[1] == "list":
    print("\n".join(costs))
    sys.exit()
result, seconds, names = open(sys.argv[2], "a", buffering=1), float(sys.argv[3]), sys.argv[4:]
print(len(names), file=open(os.environ["PROCESSES"], "a"))
for name in names:
    print(f"steady: benchmark {name}", file=result)
    began, cpu, cost, times = time.monotonic(), time.process_time(), int(costs[name]), []
    if cost == -2:
        os._exit(7)
    if cost == -3:
        time.sleep(1000)
    while not times or time.monotonic() - began < seconds:
        each = time.process_time()
        for _ in range(cost):
            pass
        times.append(time.process_time() - each)
    if cost:
        print(f"steady: time {min(times)} s", file=result)
    print(f"steady: wall-time {time.monotonic() - began} s", file=result)
    print(f"steady: cpu-time {time.process_time() - cpu} s", file=result)
"#;

const SHARED_ADAPTER: &str = r#"
name = "shared"
build = 'printf "suite\t%s\t%s\n" "$PWD" "$PWD/suite.py" >"$STEADY_PROGRAMS"'
list = "{program} list"
run = "{program} run {file} {seconds} {names}"
input = "file"
metrics = ['time[s]']
seconds = 0.01
"#;

/// A program as a script that Python runs. The first `python3` in PATH may be a script that looks for the interpreter,
/// which takes longer than a benchmark.
fn script(program: &str) -> String {
    static PATH: OnceLock<String> = OnceLock::new();
    let interpreter = PATH.get_or_init(|| {
        let printed = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
        String::from_utf8(printed.stdout).unwrap().trim().to_owned()
    });
    format!("#!{interpreter} -SE{program}")
}

/// A repository with a suite, whose costs are those of `old` at the tag `old`, and those of `new` in HEAD.
fn suite(name: &str, old: &str, new: &str) -> Repository {
    suite_of([SUITE, ADAPTER], name, old, new)
}

fn suite_of([program, adapter]: [&str; 2], name: &str, old: &str, new: &str) -> Repository {
    let repository = Repository::new(name);
    repository.write("suite.py", &script(program));
    repository.write("adapter.toml", adapter);
    repository.write("costs", old);
    repository.commit("Old");
    repository.git(&["tag", "old"]);
    repository.write("costs", new);
    repository.write("new", "");
    repository.commit("New");
    repository
}

fn steady(repository: &Repository, args: &[&str]) -> Command {
    let mut command = repository.steady("", args);
    command.env("XDG_DATA_HOME", repository.folder.join("data"));
    command
}

fn bench(repository: &Repository, args: &[&str]) -> (i32, String, String) {
    // With the usual confidence, one in twenty of these tests would fail. Changes are large, because the tests run on
    // busy machines.
    let words =
        [&["bench", "--adapter", "adapter.toml", "--confidence", "99.9%", "--resolution", "20%"], args].concat();
    output_of(steady(repository, &words).output().unwrap())
}

fn json(repository: &Repository, args: &[&str]) -> (i32, Value) {
    let (status, stdout, stderr) = bench(repository, &[&["--format", "json"], args].concat());
    (status, serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}")))
}

/// The verdicts by name.
fn verdict<'a>(record: &'a Value, name: &str) -> &'a str {
    let all = record["benchmarks"].as_array().unwrap();
    let found = all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {record}"));
    found["verdict"].as_str().unwrap()
}

#[test]
fn changed_benchmarks_are_found_and_nothing_is_left() {
    let repository = suite("bench-found", "a 2000\nb c 3000\nd 2000\n", "a 2000\nb c 9000\nd 700\n");
    let words = ["--rev", "old..HEAD", "--budget", "100s"];
    let (status, text, stderr) = bench(&repository, &words);
    assert_eq!(status, 0, "{text}{stderr}");
    assert!(text.contains("1 got slower") && text.contains("1 faster"), "{text}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
    let (_, listed, _) = output_of(steady(&repository, &["history", "list"]).output().unwrap());
    assert!(listed.contains("1 slower, 1 faster"), "{listed}");
    let (status, again, _) = output_of(steady(&repository, &["history", "report", "last"]).output().unwrap());
    assert!(status == 0 && again.contains("1 got slower"), "{again}");
}

#[test]
fn exports_have_the_samples_and_judge_evaluates_them() {
    let repository = suite("bench-exports", "a 2000\nb 2000\n", "a 2000\nb 6000\n");
    let words =
        ["--rev", "old..HEAD", "--budget", "100s", "--samples", "--fail-if", "slower>15%", "--export-json", "r.json"];
    let (status, record) = json(&repository, &words);
    assert_eq!((status, verdict(&record, "b")), (1, "slower"));
    assert_eq!(record["old"]["name"].as_str().unwrap().split(' ').next(), Some("old"));
    let (status, judged, stderr) =
        output_of(steady(&repository, &["judge", "--format", "json", "--samples", "r.json"]).output().unwrap());
    assert_eq!(status, 1, "{stderr}");
    assert_eq!(serde_json::from_str::<Value>(&judged).unwrap(), record);
    for (option, part) in [("--export-html", "<table"), ("--export-markdown", "| b |"), ("--export-csv", "b,slower,")] {
        let (status, _, stderr) = output_of(steady(&repository, &["judge", "r.json", option, "out"]).output().unwrap());
        let text = std::fs::read_to_string(repository.repo().join("out")).unwrap();
        assert!(status == 1 && text.contains(part), "{option}: {stderr}{text}");
    }
}

#[test]
fn parts_of_a_suite_are_joined() {
    let repository = suite("bench-parts", "a 2000\nb 2000\nc 2000\n", "a 2000\nb 6000\nc 2000\n");
    for part in ["1/2", "2/2"] {
        let file = format!("{}.json", &part[..1]);
        let words = ["--rev", "old..HEAD", "--budget", "100s", "--shard", part, "--samples", "--export-json", &file];
        let (status, _, stderr) = bench(&repository, &words);
        assert_eq!(status, 0, "{stderr}");
    }
    let judge = |files: &[&str]| output_of(steady(&repository, &[&["judge"], files].concat()).output().unwrap());
    let (status, text, stderr) = judge(&["1.json", "2.json"]);
    assert!(status == 0 && text.contains("Of 3 benchmarks, 1 got slower"), "{text}{stderr}");
    std::fs::copy(repository.repo().join("1.json"), repository.repo().join("3.json")).unwrap();
    let (status, _, stderr) = judge(&["1.json", "3.json"]);
    assert!(status == 2 && stderr.contains("two files have the benchmark 'a'"), "{stderr}");
    let words = ["--rev", "old..HEAD", "--shard", "3/3", "--samples", "--export-json", "4.json"];
    assert_eq!(bench(&repository, &words).0, 0);
    let words = ["--rev", "old..HEAD", "--shard", "1/3", "--samples", "--export-json", "5.json"];
    assert_eq!(bench(&repository, &words).0, 0);
    let (status, _, stderr) = judge(&["4.json", "5.json"]);
    assert!(status == 2 && stderr.contains("the part 2/3 is missing"), "{stderr}");
    let (status, _, stderr) = judge(&["5.json"]);
    assert!(status == 2 && stderr.contains("'5.json': the part 2/3 is missing"), "{stderr}");
}

#[test]
fn a_change_that_adds_the_first_benchmarks_has_nothing_to_compare() {
    let repository = suite("bench-first", "", "a 2000\n");
    let (status, text, stderr) = bench(&repository, &["--rev", "old..HEAD", "--fail-if", "slower>3%"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(text.contains("No benchmark of both builds was measured") && text.contains("is open: nothing"), "{text}");
    assert!(text.contains("only HEAD"), "{text}");
    assert_eq!(bench(&repository, &["--rev", "old..HEAD", "--require-verdict"]).0, 4);
}

#[test]
fn with_draws_both_builds_are_linked_again_for_each_pair() {
    let repository = suite("bench-draws", "a 2000\nb 2000\n", "a 2000\nb 6000\n");
    let words = ["--rev", "old..HEAD", "--draws", "--budget", "100s"];
    let (status, _, stderr) = bench(&repository, &words);
    assert!(status == 2 && stderr.contains("give a --build that uses $STEADY_LAYOUT"), "{stderr}");
    let list = r#"printf "suite\t%s\t%s\n" "$PWD" "$PWD/suite.py" >"$STEADY_PROGRAMS""#;
    let built = |script: &str| format!("{list}; : $STEADY_LAYOUT; {script}");
    let (status, _, stderr) = bench(&repository, &[&words[..], &["--build", &built(":")]].concat());
    assert!(status == 2 && stderr.contains("are the same with two values of $STEADY_LAYOUT"), "{stderr}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());

    // Each layout is noted, with the commit.
    let layouts = repository.folder.join("layouts");
    let script = format!(
        "echo \"# $STEADY_LAYOUT\" >>suite.py; echo \"$STEADY_REVISION $STEADY_LAYOUT\" >>'{}'",
        layouts.display()
    );
    let (status, record) = json(&repository, &[&words[..], &["--build", &built(&script)]].concat());
    assert_eq!((status, verdict(&record, "b"), &record["draws"]), (0, "slower", &Value::Bool(true)));
    let lines: Vec<String> = std::fs::read_to_string(layouts).unwrap().lines().map(str::to_owned).collect();
    let pairs =
        record["benchmarks"].as_array().unwrap().iter().map(|one| one["pairs"].as_u64().unwrap()).max().unwrap();
    assert!(lines.len() as u64 >= 2 * pairs, "{lines:?} for {pairs} pairs");
    let distinct: std::collections::BTreeSet<&str> =
        lines.iter().filter_map(|line| line.split(' ').next_back()).collect();
    assert_eq!(distinct.len(), lines.len(), "each layout is another one: {lines:?}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

#[test]
fn a_draw_that_fails_keeps_the_pairs_and_gives_its_status() {
    let repository = suite("bench-draws-fail", "a 2000\n", "a 2000\n");
    let built = repository.folder.join("built");
    let script = format!(
        "echo \"# $STEADY_LAYOUT\" >>suite.py; echo >>'{0}'; test $(wc -l <'{0}') -lt 20 || {{ echo no luck >&2; exit 7; }}
         printf \"suite\\t%s\\t%s\\n\" \"$PWD\" \"$PWD/suite.py\" >\"$STEADY_PROGRAMS\"",
        built.display()
    );
    let words = ["--rev", "old..HEAD", "--draws", "--resolution", "0.01%", "--budget", "100s", "--build", &script];
    let words = [&["bench", "--adapter", "adapter.toml"], &words[..]].concat();
    let (status, text, stderr) = output_of(steady(&repository, &words).output().unwrap());
    assert!(
        status == 2 && stderr.contains("the measuring ended early") && stderr.contains("no luck"),
        "{status} {stderr}"
    );
    assert!(text.contains("pairs"), "{text}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

#[test]
fn benchmarks_that_fail_or_that_one_build_lacks_are_listed() {
    let repository =
        suite("bench-failed", "a 2000\nbad 2000\nsilent 2000\nold 9\n", "a 2000\nbad 0\nsilent -1\nnew 9\n");
    let (status, record) = json(&repository, &["--rev", "old..HEAD", "--budget", "100s"]);
    assert_eq!(status, 3, "{record}");
    let reason = |name: &str| {
        let failed = record["benchmarks"].as_array().unwrap().iter().map(|one| (&one["name"], &one["failed"]));
        let unmeasured = record["unmeasured"].as_array().unwrap().iter().map(|one| (&one["name"], &one["reason"]));
        let found = failed.chain(unmeasured).find(|(one, _)| *one == name);
        found.and_then(|(_, reason)| reason.as_str()).unwrap_or_else(|| panic!("{name}: {record}")).to_owned()
    };
    assert!(
        reason("bad").contains("exited with status 1") && reason("bad").contains("out of luck"),
        "{}",
        reason("bad")
    );
    assert!(reason("silent").contains("nothing to report"), "{}", reason("silent"));
    assert!(reason("old").starts_with("only old") && reason("new").starts_with("only HEAD"), "{record}");
    assert_eq!(verdict(&record, "a"), "same");
}

#[test]
fn processes_run_several_benchmarks_and_one_that_fails_affects_no_other() {
    let costs = |c: &str, bad: &str| format!("a 2000\nb 2000\nc {c}\nd x 2000\n{bad}");
    let (old, new) =
        (costs("2000", "silent 9\ncrashes 9\nhangs 9\n"), costs("6000", "silent 0\ncrashes -2\nhangs -3\n"));
    let repository = suite_of([SHARED_SUITE, SHARED_ADAPTER], "bench-several", &old, &new);
    let file = repository.folder.join("processes");
    let words = ["--rev", "old..HEAD", "--timeout", "4s", "--budget", "100s", "--format", "json", "--samples"];
    let words = [&["bench", "--adapter", "adapter.toml", "--confidence", "99.9%", "--resolution", "20%"], &words[..]];
    let mut command = steady(&repository, &words.concat());
    let (status, json, stderr) = output_of(command.env("PROCESSES", &file).output().unwrap());
    assert_eq!(status, 3, "{stderr}");
    let record: Value = serde_json::from_str(&json).unwrap();
    let found = ["a", "b", "c", "d x"].map(|name| verdict(&record, name));
    assert_eq!(found, ["same", "same", "slower", "same"], "{json}");
    let failed = record["benchmarks"].as_array().unwrap().iter().map(|one| (&one["name"], &one["failed"]));
    let unmeasured = record["unmeasured"].as_array().unwrap().iter().map(|one| (&one["name"], &one["reason"]));
    let reasons: Vec<(&Value, &Value)> = failed.chain(unmeasured).collect();
    for (name, why) in [("silent", "has no value of 'time'"), ("crashes", "status 7"), ("hangs", "time limit")] {
        let (_, reason) = reasons.iter().find(|(one, _)| *one == name).unwrap_or_else(|| panic!("{name}: {json}"));
        assert!(reason.as_str().is_some_and(|reason| reason.contains(why)), "{name}: {reason}");
    }
    let processes = std::fs::read_to_string(file).unwrap();
    let most = processes.lines().filter_map(|line| line.parse::<usize>().ok()).max();
    // At most seven: how many fit into the time of a shared process depends on the load.
    assert!(most.is_some_and(|most| (2..=7).contains(&most)), "{processes}");
    // The CPU time of a benchmark, which measures for 10 ms, is not that of its process, which must start Python.
    let cpu = record["benchmarks"][0]["samples"]["old"]["cpu_seconds"][0].as_f64().unwrap();
    assert!(cpu > 0.0 && cpu < 0.018, "{json}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

#[test]
fn a_required_verdict_needs_a_result_of_each_benchmark_that_both_builds_have() {
    let repository = suite("bench-required", "a 2000\nbad 0\n", "a 2000\nbad 2000\n");
    let status =
        |condition: &[&str]| bench(&repository, &[&["--rev", "old..HEAD", "--budget", "100s"], condition].concat()).0;
    assert_eq!(status(&["--require-verdict", "--fail-if", "slower>15%"]), 4);
    assert_eq!(status(&["--require-verdict", "--filter", "!bad"]), 0);
}

#[test]
fn a_gate_fails_if_a_benchmark_crashes_or_hangs_in_the_new_build_only() {
    let repository = suite("bench-gate", "a 2000\nb 2000\nc 2000\n", "a 2000\nb 0\nc 2000\n");
    let hanging = SUITE.replace("cost = int", "if name == 'c':\n    time.sleep(1000)\ncost = int");
    repository.write("suite.py", &script(&hanging));
    repository.commit("Hang");
    let words = ["--rev", "old..HEAD", "--timeout", "5s", "--budget", "100s", "--fail-if", "slower>30%"];
    let (status, text, stderr) = bench(&repository, &words);
    assert_eq!(status, 3, "{text}{stderr}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("2 benchmarks failed in HEAD") && text.contains("not in old"), "{text}");
    assert!(text.contains("b and c. The exit status is therefore 3."), "{text}");
    // A longer time limit would not help.
    assert!(text.contains("time limit") && !text.contains("--timeout"), "{text}");
    let (status, record) = json(&repository, &[&words[..], &["--require-verdict"]].concat());
    assert_eq!((status, &record["condition"]), (3, &Value::from("open")));
    assert!(record["unmeasured"].as_array().unwrap().iter().all(|one| one["failed_only_in"] == "new"), "{record}");
}

#[test]
fn a_program_that_both_revisions_share_is_refused() {
    let repository = suite("bench-shared", "a 2000\n", "a 3000\n");
    let shared = repository.folder.join("shared.py").display().to_string();
    let build = format!(
        "cp suite.py costs {}/; printf 'x\\t%s\\t%s\\n' . '{shared}' >\"$STEADY_PROGRAMS\"",
        repository.folder.display()
    );
    let build = format!("{build}; cp suite.py '{shared}'");
    let (status, text, stderr) = bench(&repository, &["--rev", "old..HEAD", "--build", &build]);
    assert!(status == 2 && stderr.contains("is the same file for both revisions"), "{status} {text}{stderr}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

/// In a directory of a workspace, the build may list programs that are elsewhere in it.
#[test]
fn programs_outside_the_current_directory_are_those_of_their_revision() {
    let repository = suite("bench-outside", "a 2000\n", "a 3000\n");
    repository.write("member/adapter.toml", &ADAPTER.replace("$PWD/suite.py", "${PWD%/member}/suite.py"));
    repository.commit("A member");
    repository.git(&["tag", "-f", "new"]);
    repository.git(&["checkout", "-q", "-b", "before", "new"]);
    repository.write("costs", "a 2000\n");
    repository.commit("The former costs");
    let words = ["bench", "--adapter", "adapter.toml", "--confidence", "99.9%", "--format", "json"];
    let mut command = repository.steady("member", &[&words[..], &["--rev", "before..new"]].concat());
    command.env("XDG_DATA_HOME", repository.folder.join("data"));
    let (status, stdout, stderr) = output_of(command.output().unwrap());
    assert_eq!(status, 0, "{stdout}{stderr}");
    assert_eq!(verdict(&serde_json::from_str(&stdout).unwrap(), "a"), "slower");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

#[test]
fn a_run_that_hangs_is_ended_with_its_descendants() {
    let repository = suite("bench-hangs", "a 2000\nhangs 2000\n", "a 2000\nhangs 2000\n");
    let sleep = &format!("sleep {}", own_duration("4321."));
    let hangs = format!("if name == 'hangs':\n    os.system('{sleep} & {sleep}')\ncost = int");
    let hanging = SUITE.replace("cost = int", &hangs);
    repository.write("suite.py", &script(&hanging));
    repository.commit("Hang");
    let words = ["--rev", "HEAD..HEAD", "--timeout", "5s", "--budget", "100s"];
    let (status, record) = json(&repository, &words);
    assert_eq!((status, verdict(&record, "a")), (0, "same"));
    let reason = record["unmeasured"][0]["reason"].as_str().unwrap();
    let reason = reason.replace('\u{a0}', " ");
    assert!(reason.contains("exceeded the time limit of 5 s; --timeout"), "{reason}");
    // By default, a run that hangs leaves the others most of the budget.
    // A limit that only follows from the budget does not show that a build fails.
    let words = ["--rev", "old..HEAD", "--budget", "20s"];
    let (status, record) = json(&repository, &words);
    assert!(!verdict(&record, "a").is_empty() && record["elapsed_seconds"].as_f64().unwrap() < 25.0, "{record}");
    assert_eq!((status, &record["unmeasured"][0]["failed_only_in"]), (0, &Value::Null), "{record}");
    let reason = record["unmeasured"][0]["reason"].as_str().unwrap().replace('\u{a0}', " ");
    assert!(reason.starts_with("a run in HEAD "), "{reason}");
    assert!(reason.ends_with(" took longer than 5 s, a quarter of the budget; use a larger --budget"), "{reason}");
    assert_eq!(json(&repository, &[&words[..], &["--require-verdict"]].concat()).0, 4);
    let left = Command::new("pgrep").args(["-f", sleep]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}

#[test]
fn a_time_of_the_adapter_that_runs_do_not_use_does_not_plan_the_budget() {
    let repository = suite("bench-lines", "a 2000\nb 2000\n", "a 2000\nb 2000\n");
    let adapter = ADAPTER.replace("{iterations} {samples}", "100 3").replace("seconds = 0.01", "seconds = 10.0");
    std::fs::write(repository.repo().join("adapter.toml"), adapter).unwrap();
    let (status, record) = json(&repository, &["--rev", "old..HEAD", "--budget", "60s"]);
    // Runs of 10 s would leave at most three pairs for each benchmark.
    for benchmark in record["benchmarks"].as_array().unwrap() {
        let enough = benchmark["verdict"] == "same" || benchmark["pairs"].as_u64().unwrap() > 20;
        assert!(status == 0 && enough, "{record}");
    }
    assert_eq!(record["benchmarks"].as_array().unwrap().len(), 2, "{record}");
}

#[test]
fn the_reason_of_a_crash_is_on_standard_error() {
    let repository = suite("bench-abort", "a 0\n", "a 0\n");
    let crash = "print('buffered', flush=True); print('the cause', file=sys.stderr, flush=True); os.abort()";
    repository.write("suite.py", &script(&SUITE.replace("sys.exit(\"out of luck\")", crash)));
    repository.commit("Crash");
    let (status, text, stderr) = bench(&repository, &["--rev", "HEAD..HEAD", "--budget", "20s"]);
    assert!(status == 3 && text.contains("the cause") && !text.contains("buffered"), "{text}{stderr}");
}

#[test]
fn a_commit_that_is_compared_with_itself_by_mistake_does_not_pass_a_gate() {
    let repository = suite("bench-one", "a 2000\n", "a 2000\n");
    let words = ["--budget", "100s", "--fail-if", "slower>900%", "--require-verdict", "--rev"];
    for (revisions, expected) in [("main...HEAD", 4), ("HEAD..HEAD", 0)] {
        let (status, text, stderr) = bench(&repository, &[&words[..], &[revisions]].concat());
        assert_eq!(status, expected, "{text}{stderr}");
        assert_eq!(text.contains("is open: both revisions are the same commit"), expected == 4, "{text}");
    }
    let (status, text, stderr) = bench(&repository, &["--budget", "20s", "--require-verdict", "--rev", "main...HEAD"]);
    assert!(status == 4 && text.contains("Both revisions are the same commit, so no change"), "{text}{stderr}");
    let (status, _, stderr) = bench(&repository, &["--rev", "old..HEAD", "--fail-if", "faster>100%"]);
    assert!(status == 2 && stderr.contains("can never hold"), "{stderr}");
}

#[test]
fn one_build_in_two_environments() {
    let repository = suite("bench-environments", "a 2000\n", "a 2000\n");
    let (status, record) = json(&repository, &["--env-new", "MORE=4000", "--budget", "100s"]);
    assert_eq!((status, verdict(&record, "a")), (0, "slower"));
    assert_eq!(record["new"]["environment"], serde_json::json!(["MORE=4000"]));
    assert!(!repository.repo().join(".steady-programs").exists());
    let (_, text, stderr) = bench(&repository, &["--env-new", "MORE=4000", "--budget", "100s"]);
    assert!(text.contains("a got slower in MORE=4000 relative to the default"), "{text}{stderr}");
    let (status, _, stderr) = bench(&repository, &["--env-new", "STEADY_RUN=1"]);
    assert!(status == 2 && stderr.contains("steady sets STEADY_RUN itself"), "{stderr}");
}

#[test]
fn names_are_listed_and_filtered() {
    let repository = suite("bench-list", "a/x 1\na/y 1\nb 1\n", "a/x 1\na/y 1\nb 1\n");
    let list = |args: &[&str]| {
        let (status, text, stderr) = bench(&repository, &[&["--rev", "old..HEAD", "--list"], args].concat());
        assert_eq!(status, 0, "{stderr}");
        text
    };
    assert_eq!(list(&[]), "a/x\na/y\nb\n");
    assert_eq!(list(&["--filter", "a/*", "--filter", "!y"]), "a/x\n");
    assert_eq!(list(&["--shard", "2/2"]), "a/y\n");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

#[test]
fn listed_names_are_the_same_in_every_locale_and_cannot_change_the_terminal() {
    let costs = "10 µs → x 1\n\u{1b}[31mred 1\n";
    let repository = suite("bench-list-letters", costs, costs);
    for locale in ["C", "C.UTF-8"] {
        let words = ["bench", "--adapter", "adapter.toml", "--rev", "old..HEAD", "--list"];
        let (status, names, stderr) = output_of(steady(&repository, &words).env("LC_ALL", locale).output().unwrap());
        assert_eq!((status, names.as_str()), (0, "10 µs → x\n\\u{1b}[31mred\n"), "{stderr}");
    }
    let (status, _, stderr) = bench(&repository, &["--rev", "old..HEAD", "--list", "--format", "json"]);
    assert!(status == 2 && stderr.contains("cannot be used with"), "{stderr}");
}

/// The number of pairs in the log of a run that has not ended: it has a line for each.
fn logged_pairs(repository: &Repository) -> u32 {
    let folder = repository.folder.join("data/steady");
    let counted = Command::new("grep").args(["-rhoc", "\"pair\""]).arg(folder).output().unwrap();
    let counts = String::from_utf8_lossy(&counted.stdout).into_owned();
    counts.lines().filter_map(|count| count.parse::<u32>().ok()).sum()
}

#[test]
fn an_interruption_reports_what_was_measured() {
    let repository = suite("bench-interrupted", "a 2000\n", "a 2000\n");
    let words =
        ["bench", "--adapter", "adapter.toml", "--rev", "old..HEAD", "--resolution", "0.01%", "--budget", "100s"];
    let mut child = steady(&repository, &words);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| logged_pairs(&repository) >= 15), "{} pairs", logged_pairs(&repository));
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
    let (status, text, stderr) = output_of(child.wait_with_output().unwrap());
    assert!(status == 130 && text.contains("Interrupted: these results"), "{text}{stderr}");
    assert!(eventually(|| repository.leftovers_unless_busy().is_some_and(|left| left.is_empty())));
}

#[test]
fn a_killed_run_keeps_its_pairs() {
    let repository = suite("bench-killed", "a 2000\nb 2000\n", "a 2000\nb 4000\n");
    let words =
        ["bench", "--adapter", "adapter.toml", "--rev", "old..HEAD", "--resolution", "0.01%", "--budget", "100s"];
    let mut child = steady(&repository, &words);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(eventually(|| logged_pairs(&repository) >= 30), "{} pairs", logged_pairs(&repository));
    child.kill().unwrap();
    child.wait().unwrap();
    let (status, text, stderr) = output_of(steady(&repository, &["history", "report", "last"]).output().unwrap());
    assert!(status == 0 && text.contains("Of 2 benchmarks"), "{text}{stderr}");
    // Another run removes the trees.
    let (status, _, stderr) = bench(&repository, &["--rev", "old..HEAD", "--list"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(eventually(|| repository.leftovers_unless_busy().is_some_and(|left| left.is_empty())));
}

#[test]
fn wrong_usage_says_what_to_write() {
    let repository = suite("bench-usage", "a 1\n", "b 1\n");
    repository.write("wrong.toml", "name = 'x'\n");
    for (args, why) in [
        (&["--adapter", "adapter.toml"][..], "give --rev A..B, two programs, or --env-new"),
        (&["--rev", "old..HEAD"], "no suite of benchmarks is found here"),
        (&["--adapter", "nose", "--rev", "old..HEAD"], "criterion"),
        (&["--adapter", "wrong.toml", "--rev", "old..HEAD"], "missing field"),
        (&["--adapter", "adapter.toml", "--rev", "old..old", "--filter", "z"], "--filter selects none"),
        (&["--adapter", "adapter.toml", "--rev", "old..old", "--metric", "size"], "script has time, cpu"),
        (&["--adapter", "adapter.toml", "--rev", "old..HEAD", "--build", "exit 7"], "exited with status 7"),
        (&["--adapter", "adapter.toml", "--rev", "old..HEAD", "--build", "true"], "no program of a suite"),
        (&["suite.py"], "give two programs"),
        (&["suite.py", "costs"], "is not a program of a known harness"),
    ] {
        let (status, stdout, stderr) = output_of(steady(&repository, &[&["bench"], args].concat()).output().unwrap());
        assert!(status == 2 && stderr.contains(why), "{args:?}: {status} {stdout}{stderr}");
    }
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}
