//! The examples of hyperfine's README and manual page, as options of `steady compare`. Each works, or is refused with the
//! name of our option.

mod steady;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use steady::{output_of, run, scratch, steady};

/// A directory of programs that do nothing, in place of those that the examples measure.
struct Stubs(PathBuf);

impl Stubs {
    fn new(name: &str) -> Self {
        let folder = scratch(name);
        fs::create_dir_all(&folder).unwrap();
        let programs = ["sleep", "hexdump", "xxd", "grep", "sync", "sudo", "make", "gcc", "clang", "find"];
        for program in programs {
            let path = folder.join(program);
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Stubs(folder)
    }

    /// Returns `steady compare` among these programs, with little to measure.
    fn compare(&self) -> Command {
        let mut command = steady();
        let path = format!("{}:/usr/bin:/bin", self.0.display());
        command.current_dir(&self.0).env("PATH", path).args(["compare", "--no-history", "--quiet"]);
        command
    }
}

impl Drop for Stubs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn examples_that_mean_the_same_work() {
    let stubs = Stubs::new("hyperfine-works");
    let examples: [&[&str]; 17] = [
        &["sleep 0.3"],
        &["--runs", "5", "sleep 0.3"],
        &["hexdump file", "xxd file"],
        &["--warmup", "3", "grep -R TODO *"],
        &["--reference", "sleep 1", "sleep 2", "sleep 3"],
        &["--reference", "sleep 1", "-n", "one", "-n", "two", "sleep 1", "sleep 2"],
        &["--reference", "sleep 1", "-n", "two", "-n", "three", "sleep 2", "sleep 3"],
        &["--prepare", "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches", "grep -R TODO *"],
        &["--prepare", "make clean", "--parameter-scan", "num_threads", "1", "12", "make -j {num_threads}"],
        &["--parameter-scan", "delay", "0.3", "0.7", "-D", "0.2", "sleep {delay}"],
        &["-L", "compiler", "gcc,clang", "{compiler} -O2 main.cpp"],
        &["-N", "grep TODO /home/user"],
        &["find . -name todo.txt"],
        &["--min-runs", "5", "sleep 0.2", "sleep 3.2"],
        &["--export-markdown", "output.md", "--parameter-scan", "time", "1", "5", "sleep {time}"],
        &["-P", "threads", "1", "8", "make -j {threads}"],
        &[
            "-L",
            "n",
            "1,2",
            "-r",
            "2",
            "--show-output",
            "--setup",
            "echo setup n={n}",
            "--prepare",
            "echo prepare={n}",
            "--cleanup",
            "echo cleanup n={n}",
            "echo command n={n}",
        ],
    ];
    for example in examples {
        let limit: &[&str] = if example.contains(&"--runs") || example.contains(&"-r") { &[] } else { &["-b", "1s"] };
        let (status, stdout, stderr) = output_of(stubs.compare().args(limit).args(example).output().unwrap());
        assert_eq!((status, stdout.as_str()), (0, ""), "{example:?}: {stderr}");
    }
    let table = fs::read_to_string(stubs.0.join("output.md")).unwrap();
    assert!(table.contains("| ") && table.contains("sleep 5"), "{table}");
}

#[test]
fn examples_that_mean_something_else_name_our_option() {
    let stubs = Stubs::new("hyperfine-refused");
    let examples: [(&[&str], &str); 14] = [
        (&["--shell", "zsh", "for i in {1..10000}; do echo test; done"], "--shell=zsh"),
        (&["my_function() { sleep 1; }; my_function"], "--shell"),
        (&["-m", "10", "sleep 1"], "--min-runs 10"),
        (&["--style", "basic", "sleep 1"], "NO_COLOR=1"),
        (&["--sort", "command", "sleep 1"], "in their order elsewhere"),
        (&["-u", "second", "sleep 1"], "JSON and CSV have seconds"),
        (&["--reference", "3", "sleep 1", "sleep 2"], "none of the commands"),
        (&["sort", "-u", "file"], "as one string"),
        (&["grep", "-c", "root", "/etc/passwd"], "'grep"),
        (&["gzip", "-k", "file"], "as one string"),
        (&["grep", "root"], "write 'grep root'"),
        (&["--sort", "mean-time", "sleep 1"], "steady has no option --sort"),
        (&["cat file | wc -l", "wc -l file"], "'|'"),
        (&["--min-runs", "9", "--max-runs", "8", "sleep 1"], "above --max-runs 8"),
    ];
    for (example, wanted) in examples {
        let (status, stdout, stderr) = output_of(stubs.compare().args(example).output().unwrap());
        assert_eq!((status, stdout.as_str()), (2, ""), "{example:?}: {stderr}");
        assert!(stderr.contains(wanted), "{example:?}: {stderr}");
    }
}

/// Without a shell, nothing is expanded. There is one note, however many commands there are.
#[test]
fn commands_for_a_shell_are_noted() {
    let stubs = Stubs::new("hyperfine-noted");
    let example = ["-b", "1s", "-P", "size", "0", "3", "sleep $((2**{size}))"];
    let (status, _, stderr) = output_of(stubs.compare().args(example).output().unwrap());
    assert_eq!((status, stderr.matches("add --shell").count()), (0, 1), "{stderr}");
    // bash has powers; dash, which is sh on Debian, has not.
    let (status, _, stderr) = output_of(stubs.compare().args(example).arg("--shell=bash").output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
}

/// bash(1) passes exported functions in the environment.
#[test]
fn functions_of_a_shell_are_measured() {
    let script = "my_function() { :; }; export -f my_function; exec \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, "-", env!("CARGO_BIN_EXE_steady"), "compare", "--no-history", "--runs", "2"]);
    let (status, stdout, stderr) = output_of(command.args(["--shell=bash", "my_function"]).output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    assert!(stdout.contains("my_function") || stdout.contains("CPU time"), "{stdout}");
}

#[test]
fn lists_are_read_in_both_forms() {
    let names = |args: &[&str]| {
        let args = [&["compare", "--no-history", "--runs", "2", "--format", "json"], args].concat();
        let (status, stdout, stderr) = run(&args);
        assert_eq!(status, 0, "{stderr}");
        let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        report["commands"].as_array().unwrap().iter().map(|one| one["name"].to_string()).collect::<Vec<_>>()
    };
    let wanted = ["\"echo 1 x\"", "\"echo 1 y\"", "\"echo 2 x\"", "\"echo 2 y\""];
    assert_eq!(names(&["-L", "a", "1,2", "-L", "b=x,y", "echo {a} {b}"]), wanted);
    assert_eq!(names(&["echo {a} {b}", "-L", "a=1,2", "--parameter-list", "b", "x,y"]), wanted);
    for (wrong, why) in [
        (&["-L", "a", "1,2"][..], "and then a command"),
        (&["echo {a}", "-L", "a"], "NAME=A,B"),
        (&["-L", "a", "1,1", "echo {a}"], "twice"),
        (&["-L", "1a", "1,2", "echo {a}"], "not a valid name"),
    ] {
        let (status, _, stderr) = run(&[&["compare", "--runs", "2"], wrong].concat());
        assert!(status == 2 && stderr.contains(why), "{wrong:?}: {stderr}");
    }
}

/// The number of pairs is between both limits, even if there is a verdict before, or time left.
#[test]
fn pairs_are_limited_from_below_and_above() {
    let pairs = |args: &[&str]| {
        let args = [&["compare", "--no-history", "--format", "json"], args, &["true", "sh -c :"]].concat();
        let (status, stdout, stderr) = run(&args);
        assert_eq!(status, 0, "{stderr}");
        let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let of = |layout: &str| report["layouts"][layout]["pairs"].as_u64().unwrap();
        of("turns") + of("duet")
    };
    // Two budgets: one that would suffice for far more, and one for far fewer.
    assert_eq!(pairs(&["-b", "1h", "-M", "40", "--resolution", "0.001%"]), 40);
    assert!(pairs(&["-b", "10ms", "--min-runs", "300", "--layout", "turns"]) >= 300);
    assert_eq!(pairs(&["-b", "10ms", "--min-runs", "50", "--max-runs", "50"]), 50);
}
