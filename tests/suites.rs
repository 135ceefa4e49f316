//! `steady bench` with the real libraries of the harnesses, on the sample suites in `testdata/suites`. Each has 20
//! benchmarks, of which one does as much work as the variable SAMPLE_WORK says.

mod steady;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use steady::repository::Repository;
use steady::{at_length, output_of, processes_with, scratch, skip};

/// Copies a sample suite to a directory.
fn copy(harness: &str, folder: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/suites").join(harness);
    fs::create_dir_all(folder).unwrap();
    let (status, _, stderr) = output_of(Command::new("cp").arg("-r").arg(from.join(".")).arg(folder).output().unwrap());
    assert_eq!(status, 0, "{stderr}");
}

/// Returns whether a program can be run.
fn has(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

/// Lists a suite, which must be found without naming its harness, and compares it with itself with twice the work for the
/// benchmark `changed`.
fn check(harness: &str, changed: &str, prepare: impl FnOnce(&Path) -> Vec<(&'static str, String)>) {
    // A directory with a blank in its path.
    let folder = scratch(&format!("suite of {harness}"));
    copy(harness, &folder);
    let variables = prepare(&folder);
    let bench = |args: &[&str]| {
        let mut command = steady::steady();
        command.current_dir(&folder).envs(variables.clone()).args(["bench", "--no-history"]).args(args);
        output_of(command.output().unwrap())
    };
    let (status, names, stderr) = bench(&["--list", "--env-new", "SAMPLE_WORK=2000"]);
    assert_eq!((status, names.lines().count()), (0, 20), "{names}{stderr}");
    // The name of another benchmark, to see that only one runs.
    let other = names.lines().find(|name| !name.contains(changed)).unwrap_or_default();
    let words = ["--format", "json", "--resolution", "20%", "--confidence", "99.9%", "--budget", "20m"];
    let filters = ["--filter", changed, "--filter", other, "--env-new", "SAMPLE_WORK=2000"];
    // Measuring ends when the condition is decided, and not already when the first pairs show a difference. Next to other
    // tests, a process of the JVM takes up to 10 s, and times differ by tens of percent.
    let (status, json, stderr) = bench(&[&words[..], &filters[..], &["--fail-if", "slower>40%"]].concat());
    assert_eq!(status, 1, "{stderr}{json}");
    let record: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(record["harness"], harness);
    let found = record["benchmarks"].as_array().unwrap();
    let found =
        found.iter().find(|one| one["name"].as_str().unwrap().contains(changed)).unwrap_or_else(|| panic!("{json}"));
    assert_eq!(found["verdict"], "slower", "{json}");
    let change = found["change"].as_f64().unwrap();
    assert!((0.6..1.5).contains(&change), "{change}");
    assert!(record["unmeasured"].as_array().unwrap().is_empty(), "{json}");
}

fn nothing(_: &Path) -> Vec<(&'static str, String)> {
    vec![]
}

/// Returns whether a test of a suite that takes long runs, or prints why not.
fn runs_at_length(test: &str) -> bool {
    if !at_length() {
        skip(test, "it takes long; ./test --all runs it");
    }
    at_length()
}

#[test]
fn libtest() {
    if runs_at_length("libtest") {
        check("libtest", "changed", |_| vec![("RUSTC_BOOTSTRAP", "1".to_owned())]);
    }
}

#[test]
fn revisions_of_a_rust_suite_do_not_share_their_programs() {
    let repository = Repository::new("suite-revisions");
    let folder = repository.repo();
    copy("libtest", &folder);
    repository.commit("Old");
    let code = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    assert_eq!(code.matches("fn changed(").count(), 1);
    repository.write("src/lib.rs", &code.replace("fn changed(", "fn renamed("));
    repository.commit("New");
    let mut command = repository.steady("", &["bench", "--list", "--rev", "HEAD~1..HEAD"]);
    command.envs([("RUSTC_BOOTSTRAP", PathBuf::from("1")), ("CARGO_TARGET_DIR", repository.folder.join("shared"))]);
    let (status, names, stderr) = output_of(command.output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    // The list has the benchmarks of both builds. With one program for both, it would have 20.
    assert_eq!(names.lines().count(), 19, "{names}");
    assert!(!names.contains("changed") && !names.contains("renamed"), "{names}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

/// In the directory of a package, `--workspace` also builds the packages next to it.
#[test]
fn packages_outside_the_current_directory_are_named_relative_to_it() {
    let repository = Repository::new("suite-outside");
    for package in ["one", "two"] {
        copy("libtest", &repository.repo().join(package));
        let manifest = repository.repo().join(package).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let renamed = text.replacen("name = \"", &format!("name = \"{package}-"), 1).replace("[workspace]\n", "");
        fs::write(manifest, renamed).unwrap();
        let benches = repository.repo().join(package).join("benches/samples.rs");
        let code = fs::read_to_string(&benches).unwrap();
        fs::write(benches, code.replace("sample_libtest", &format!("{package}_sample_libtest"))).unwrap();
    }
    repository.write("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"one\", \"two\"]\n");
    repository.commit("Old");
    repository.write("new", "");
    repository.commit("New");
    let words = ["bench", "--list", "--build-args=--workspace", "--rev", "HEAD~1..HEAD"];
    let mut command = repository.steady("one", &words);
    let (status, names, stderr) = output_of(command.env("RUSTC_BOOTSTRAP", "1").output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    let outside = names.lines().filter(|name| name.starts_with("../two/")).count();
    assert_eq!((2 * outside, names.contains("/one/")), (names.lines().count(), false), "{names}");
    assert!(outside > 0, "{names}");
}

#[test]
fn go() {
    match has("go", &["version"]) {
        true => check("go", "BenchmarkChanged", nothing),
        false => skip("go", "no Go compiler"),
    }
}

#[test]
fn modules_of_go_are_found_in_a_workspace_and_named_without_one() {
    if !has("go", &["version"]) {
        return skip("modules_of_go_are_found_in_a_workspace_and_named_without_one", "no Go compiler");
    }
    let folder = scratch("modules of go");
    let code = "package x\nimport \"testing\"\nfunc BenchmarkA(b *testing.B) { for i := 0; i < b.N; i++ {} }\n";
    for module in ["services/one", "services/two"] {
        fs::create_dir_all(folder.join(module)).unwrap();
        fs::write(folder.join(module).join("go.mod"), format!("module {}\ngo 1.21\n", &module[9..])).unwrap();
        fs::write(folder.join(module).join("x_test.go"), code).unwrap();
    }
    let list = |place: &str| {
        let words = ["bench", "--adapter", "go", "--list"];
        output_of(steady::steady().current_dir(folder.join(place)).args(words).output().unwrap())
    };
    let is_refused = || {
        let (status, _, stderr) = list("services");
        assert!(status == 2 && stderr.contains("no module of Go here") && stderr.contains("./one/go.mod"), "{stderr}");
    };
    is_refused();
    fs::write(folder.join("go.work"), "go 1.21\nuse ./services/one\nuse ./services/two\n").unwrap();
    let (status, listed, stderr) = list("");
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(listed, "services/one/BenchmarkA\nservices/two/BenchmarkA\n", "{stderr}");
    // Go itself looks for modules in the directory of a workspace only.
    is_refused();
}

const GO_FAILURES: &str = r#"package x
import ("os"; "testing")
func loop(b *testing.B) { for i := 0; i < b.N; i++ {} }
func BenchmarkA(b *testing.B) {
	b.Run("fine", loop)
	b.Run("bad", func(b *testing.B) { b.Fatal("no luck") })
	b.Run("later", loop)
}
func BenchmarkB(b *testing.B) { b.Run("fine", loop); b.Run("boom", func(b *testing.B) { panic("boom") }) }
func BenchmarkC(b *testing.B) { os.Exit(3) }
func BenchmarkD(b *testing.B) { b.Skip("not here") }
func BenchmarkE(b *testing.B) { loop(b) }
"#;

#[test]
fn benchmarks_of_go_that_fail_while_they_are_listed_are_listed() {
    if !has("go", &["version"]) {
        return skip("benchmarks_of_go_that_fail_while_they_are_listed_are_listed", "no Go compiler");
    }
    let folder = scratch("failures of go");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("go.mod"), "module x\ngo 1.21\n").unwrap();
    fs::write(folder.join("x_test.go"), GO_FAILURES).unwrap();
    let (status, names, stderr) =
        output_of(steady::steady().current_dir(&folder).args(["bench", "--list"]).output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    let found = ["A/fine", "A/bad", "A/later", "B/fine", "B/boom", "C", "E"].map(|name| format!("Benchmark{name}"));
    assert_eq!(names.lines().collect::<Vec<_>>(), found, "{stderr}");
}

#[test]
fn google_benchmark() {
    let (test, probe) =
        ("google_benchmark", "echo '#include <benchmark/benchmark.h>' | c++ -E -x c++ - >/dev/null 2>&1");
    match has("cmake", &["--version"]) && has("sh", &["-c", probe]) {
        true => check("google-benchmark", "BM_changed", nothing),
        false => skip(test, "no library (Debian: cmake, g++, libbenchmark-dev)"),
    }
}

#[test]
fn criterion() {
    if runs_at_length("criterion") {
        check("criterion", "changed", nothing);
    }
}

#[test]
fn divan() {
    if runs_at_length("divan") {
        check("divan", "changed", nothing);
    }
}

#[test]
fn pytest_benchmark() {
    if !runs_at_length("pytest_benchmark") {
        return;
    }
    check("pytest-benchmark", "test_changed", |folder| {
        let script = "python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt";
        let (status, _, stderr) =
            output_of(Command::new("sh").args(["-c", script]).current_dir(folder).output().unwrap());
        assert_eq!(status, 0, "{stderr}");
        let path = std::env::var("PATH").unwrap_or_default();
        vec![("PATH", format!("{}/.venv/bin:{path}", folder.display()))]
    });
    benchmarks_of_python_that_fail_affect_no_other(&scratch("suite of pytest-benchmark"));
}

const PYTHON_FAILURES: &str = r#"
import os, pytest, subprocess
def test_dies(benchmark): benchmark(lambda: os._exit(3))
def test_fails(benchmark): benchmark(lambda: 1 / 0)
def test_skips(benchmark): pytest.skip("not here")
def test_wrong(benchmark): assert benchmark(sum, [1, 2]) == 4
def test_leaves(benchmark, tmp_path):
    subprocess.Popen(["sleep", "4322"])
    benchmark(sum, range(50))
class TestMarks:
    @classmethod
    def setup_class(cls): cls.marks = 0
    def test_one(self, benchmark):
        assert self.marks == 0
        type(self).marks = 1
        benchmark(sum, range(100))
    def test_other(self, benchmark):
        assert self.marks == 0
        type(self).marks = 1
        benchmark(sum, range(200))
"#;

const PYTHON_THREADS: &str = r#"
import threading, time
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
def test_one(benchmark): benchmark(sum, range(100))
def test_other(benchmark): benchmark(sum, range(200))
"#;

fn benchmarks_of_python_that_fail_affect_no_other(folder: &Path) {
    fs::write(folder.join("tests/test_failures.py"), PYTHON_FAILURES).unwrap();
    let path = format!("{}/.venv/bin:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let temporary = folder.join("temporary").display().to_string();
    fs::create_dir(&temporary).unwrap();
    let bench = |filter: &str| {
        let words =
            ["bench", "--no-history", "--env-new", "X=1", "--format", "json", "--resolution", "50%", "--filter"];
        let mut command = steady::steady();
        // Temporary directories of pytest.
        command.current_dir(folder).envs([("PATH", &path), ("TMPDIR", &temporary)]).args(words).arg(filter);
        let (status, json, stderr) = output_of(command.output().unwrap());
        assert_eq!(status, 0, "{stderr}");
        serde_json::from_str::<Value>(&json).unwrap()
    };
    let record = bench("test_failures");
    let names = |list: &str| {
        let all = record[list].as_array().unwrap().iter();
        let mut names: Vec<&str> = all.map(|one| one["name"].as_str().unwrap().rsplit("::").next().unwrap()).collect();
        names.sort_unstable();
        names
    };
    // Each benchmark finds the class as if it were the first.
    assert_eq!(names("benchmarks"), ["test_leaves", "test_one", "test_other"], "{record}");
    assert_eq!(names("unmeasured"), ["test_dies", "test_fails", "test_skips", "test_wrong"], "{record}");
    assert!(record["unmeasured"].to_string().contains("ZeroDivisionError"), "{record}");
    assert_eq!(processes_with("sleep 4322"), 0);
    fs::write(folder.join("tests/test_threads.py"), PYTHON_THREADS).unwrap();
    let record = bench("test_threads");
    assert_eq!(record["benchmarks"].as_array().unwrap().len(), 2, "{record}");
    // The parent of the directories of comparisons stays, with its lock.
    let found = Command::new("find").args([&temporary, "-mindepth", "2", "-not", "-name", "lock"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn jmh() {
    match has("mvn", &["--version"]) {
        true if runs_at_length("jmh") => check("jmh", "changed", nothing),
        true => {}
        false => skip("jmh", "no mvn (Debian: maven)"),
    }
}

#[test]
fn vitest() {
    match has("npm", &["--version"]) {
        true if runs_at_length("vitest") => check("vitest", "changed", nothing),
        true => {}
        false => skip("vitest", "no npm (Debian: npm)"),
    }
}
