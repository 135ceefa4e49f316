//! The files that `steady compare` and `steady judge` write in addition to the report.

#[allow(dead_code, reason = "shared with other tests")]
mod kept_rows;
mod steady;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steady::repository::Repository;
use steady::{as_nobody, eventually, output_of, run, scratch, skip, steady, work};

/// Runs a comparison of 8 pairs with additional options. Returns the exit status, standard output and standard error.
fn compare(words: &[&str]) -> (i32, String, String) {
    run(&[&["compare", "--quiet", "--runs", "8", "--warmup", "1", &work(50), &work(60)], words].concat())
}

fn path(name: &str) -> String {
    scratch(name).display().to_string()
}

#[test]
fn runs_are_written_as_csv() {
    let file = path("runs.csv");
    let (status, stdout, stderr) = compare(&["--export-csv", &file]);
    assert_eq!((status, stdout.as_str()), (0, ""), "{stderr}");
    let csv = fs::read_to_string(&file).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(names[..3], ["pair", "layout", "command"]);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 16);
    for row in rows {
        assert_eq!(row.len(), names.len(), "{row:?}");
        let field = |name: &str| row[names.iter().position(|known| *known == name).unwrap()];
        let seconds = |name: &str| field(name).parse::<f64>().unwrap();
        assert!(seconds("wall_seconds") > 0.0, "{row:?}");
        assert!((seconds("user_seconds") + seconds("system_seconds") - seconds("cpu_seconds")).abs() < 1e-9, "{row:?}");
        assert_eq!(field("outcome"), "exit 0");
    }
}

#[test]
fn standard_output_can_have_every_format() {
    let (status, csv, stderr) = compare(&["--format", "csv"]);
    assert_eq!((status, csv.lines().count()), (0, 17), "{stderr}");
    let (status, markdown, stderr) = compare(&["--format", "markdown"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(markdown.contains("| Command | CPU time |") && markdown.contains("</details>"), "{markdown}");
}

#[test]
fn standard_output_has_one_report() {
    for both in [&["--format", "json", "--export-csv", "-"][..], &["--export-json", "-", "--export-csv", "-"]] {
        let (status, _, stderr) = compare(both);
        assert!(status == 2 && stderr.contains("both write to standard output"), "{stderr}");
    }
    for both in [&["--format", "json"][..], &["--export-csv", "-"]] {
        let words = ["load", "--procs", "1", "--cpu-time", "10ms", "--no-history", "--export-svg", "-"];
        let (status, _, stderr) = run(&[&words[..], both].concat());
        assert!(status == 2 && stderr.contains("both write to standard output"), "{stderr}");
    }
}

/// A report must not get lost because standard output belongs to the command.
#[test]
fn standard_output_of_a_command_has_no_report() {
    let mark = path("started");
    for words in [&["limit", "--cpu", "1s"][..], &["locks"], &["explain"], &["host", "quiet"]] {
        for file in ["-", "/dev/stdout"] {
            let (status, stdout, stderr) =
                run(&[words, &["--quiet", "--export-markdown", file, "--", "touch", &mark]].concat());
            assert_eq!((status, stdout.as_str()), (125, ""), "{stderr}");
            let expected = format!("--export-markdown '{file}': standard output belongs to the command; name a file");
            assert!(stderr.contains(&expected), "{stderr}");
        }
    }
    assert!(!Path::new(&mark).exists());
    let words = ["limit", "--cpu", "1s", "--no-history", "--quiet", "--export-json", "/dev/stderr", "--", "true"];
    let (status, stdout, stderr) = run(&words);
    assert!(status == 0 && stdout.is_empty() && stderr.starts_with('{'), "{stdout}{stderr}");
}

#[test]
fn judging_an_export_writes_identical_files() {
    let kept = path("kept.json");
    let forms = [("--export-csv", "csv"), ("--export-markdown", "md"), ("--export-html", "html")];
    let named = |prefix: &str| forms.map(|(option, ending)| (option, path(&format!("{prefix}.{ending}"))));
    let (first, second) = (named("first"), named("second"));
    let words = |files: &[(&'static str, String)]| -> Vec<String> {
        files.iter().flat_map(|(option, file)| [(*option).to_owned(), file.clone()]).collect()
    };
    let mut compare_words = vec!["--samples".to_owned(), "--export-json".to_owned(), kept.clone()];
    compare_words.extend(words(&first));
    let borrowed: Vec<&str> = compare_words.iter().map(String::as_str).collect();
    let (status, _, stderr) = compare(&borrowed);
    assert_eq!(status, 0, "{stderr}");
    let judged = steady().args(["judge", "--quiet", &kept]).args(words(&second)).output().unwrap();
    assert_eq!(output_of(judged).0, 0);
    for ((_, one), (_, other)) in first.iter().zip(&second) {
        assert!(fs::read(one).unwrap() == fs::read(other).unwrap(), "{one} and {other} differ");
        assert!(fs::metadata(one).unwrap().len() > 100);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error_before_anything_runs() {
    let mark = path("ran");
    let touch = format!("touch {mark}");
    for option in ["--export-csv", "--export-markdown", "--export-html"] {
        let (status, _, stderr) = run(&["compare", option, "/nonexistent/file", &touch, &touch]);
        assert_eq!(status, 2, "{stderr}");
        assert!(stderr.contains(option), "{stderr}");
    }
    let one = path("one");
    let (status, _, stderr) = run(&["compare", "--export-csv", &one, "--export-markdown", &one, &touch, &touch]);
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains("same file"), "{stderr}");
    // The measured program, whose option value is missing: `--export-json FILE ./program ./program`.
    for content in [&b"#!/bin/sh\n"[..], &fs::read("/bin/true").unwrap()] {
        let program = path("program");
        fs::write(&program, content).unwrap();
        let (status, _, stderr) = run(&["compare", "--export-json", &program, &touch, &touch]);
        assert!(status == 2 && stderr.contains("this file is a program"), "{status} {stderr}");
        assert_eq!(fs::read(&program).unwrap(), content);
    }
    assert!(!Path::new(&mark).exists());
}

#[test]
fn a_relative_path_works_where_the_absolute_one_is_too_long() {
    let folder = scratch("exports-deep");
    fs::create_dir_all(&folder).unwrap();
    let script = "import os, subprocess, sys
os.chdir(sys.argv[2])
for _ in range(25):
    os.mkdir('x' * 200)
    os.chdir('x' * 200)
words = ['limit', '--cpu', '60s', '--no-history', '--export-json', 'report.json', '--', '/bin/true']
done = subprocess.run([sys.argv[1], *words], stderr=subprocess.PIPE)
print(done.returncode, os.path.getsize('report.json') > 0, os.listdir(), done.stderr.decode())";
    let mut python = Command::new("python3");
    python.args(["-c", script, env!("CARGO_BIN_EXE_steady")]).arg(&folder);
    let (status, stdout, stderr) = output_of(python.output().unwrap());
    assert!(status == 0 && stdout.starts_with("0 True ['report.json']"), "{stdout} {stderr}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_locale_without_utf8_gets_ascii() {
    let words = ["compare", "--no-history", "--runs", "6", "true"];
    let in_locale = |locale: &str| output_of(steady().env("LC_ALL", locale).args(words).output().unwrap());
    let (status, text, _) = in_locale("C");
    assert!(status == 0 && text.is_ascii(), "{text}");
    let (_, text, _) = in_locale("C.UTF-8");
    assert!(!text.is_ascii(), "{text}");
    let json = output_of(steady().env("LC_ALL", "C").args(words).args(["--format", "json"]).output().unwrap()).1;
    assert!(json.starts_with('{'), "{json}");
}

/// A FIFO, removed on drop.
struct Fifo(String);

impl Fifo {
    fn new(name: &str) -> Fifo {
        let path = path(name);
        let _ = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Fifo(path)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn interrupt(child: &Child) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::INT).unwrap();
}

/// Returns whether a process ends within 20 seconds. Kills it otherwise.
fn ends(child: &mut Child) -> bool {
    for _ in 0..1_000 {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

#[test]
fn a_failed_measurement_leaves_no_empty_file() {
    let (new, old) = (path("failed.new.json"), path("failed.old.html"));
    fs::write(&old, "before").unwrap();
    let words = ["compare", "--no-history", "false", "true", "--export-json", &new, "--export-html", &old];
    let (status, _, stderr) = run(&words);
    assert_eq!(status, 3, "{stderr}");
    assert!(!Path::new(&new).exists());
    assert_eq!(fs::read_to_string(&old).unwrap(), "before");
    fs::remove_file(old).unwrap();
}

#[test]
fn a_report_can_be_written_to_a_fifo() {
    let fifo = Fifo::new("report.fifo");
    let words = ["compare", "--quiet", "--runs", "6", "--no-history", "true", "true", "--export-json", &fifo.0];
    let mut child = steady().args(words).stdout(Stdio::null()).spawn().unwrap();
    let json = fs::read_to_string(&fifo.0).unwrap();
    assert!(json.starts_with('{') && json.ends_with("}\n"), "{json}");
    assert!(ends(&mut child));
}

/// With process substitution, the pipe has no name by which it could be opened again.
#[test]
fn a_report_can_be_written_to_a_pipe_without_a_name() {
    let file = path("substituted.json");
    let script = format!(
        "\"$STEADY\" compare --quiet --runs 6 --no-history true true --export-json >(cat > '{file}.part' && mv '{file}.part' '{file}')"
    );
    let done = Command::new("bash").args(["-c", &script]).env("STEADY", env!("CARGO_BIN_EXE_steady")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let written = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        Path::new(&file).exists()
    });
    assert!(written && fs::read_to_string(&file).unwrap().starts_with('{'));
    fs::remove_file(file).unwrap();
}

#[test]
fn waiting_for_the_reader_of_a_fifo_can_be_interrupted() {
    let fifo = Fifo::new("waiting.fifo");
    let words = ["compare", "--quiet", "--runs", "6", "--no-history", "true", "true", "--export-json", &fifo.0];
    let mut child = steady().args(words).spawn().unwrap();
    let opening = format!("/proc/{}/wchan", child.id());
    // Without wchan, wait for two seconds.
    for _ in 0..100 {
        let place = fs::read_to_string(&opening).unwrap_or_default();
        if place.contains("fifo") || place.contains("partner") {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.try_wait().unwrap().is_none(), "steady does not wait for a reader");
    interrupt(&child);
    assert!(ends(&mut child), "only SIGKILL ended it");
}

/// The FIFO is full, and its reader does not read. The measurement has ended and is stored. A signal ends the writing.
#[test]
fn writing_to_a_full_fifo_can_be_interrupted_without_loss_of_data() {
    let home = path("unread.home");
    fs::create_dir_all(&home).unwrap();
    let fifo = Fifo::new("unread.fifo");
    let words = ["compare", "--quiet", "--runs", "200", "--samples", "true", "true", "--export-json", &fifo.0];
    let mut child = steady().args(words).env("XDG_DATA_HOME", &home).spawn().unwrap();
    let reader = fs::File::open(&fifo.0).unwrap();
    let kept = || {
        let listed = steady().args(["history", "list", "--format", "json"]).env("XDG_DATA_HOME", &home).output();
        String::from_utf8_lossy(&listed.unwrap().stdout).contains("\"true\"")
    };
    let stored = (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        kept()
    });
    assert!(stored, "the run is not stored before its report is written");
    assert!(child.try_wait().unwrap().is_none(), "the report fits into the pipe");
    interrupt(&child);
    assert!(ends(&mut child), "only SIGKILL ended it");
    drop(reader);
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn a_closed_standard_output_is_an_error_before_anything_runs() {
    let mark = path("closed.ran");
    let script = format!("\"$STEADY\" compare --runs 6 --no-history 'touch {mark}' true >&-");
    let run = |script: &str| {
        Command::new("sh").args(["-c", script]).env("STEADY", env!("CARGO_BIN_EXE_steady")).output().unwrap()
    };
    let done = run(&script);
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(2) && stderr.contains("standard output is closed"), "{stderr}");
    assert!(!Path::new(&mark).exists(), "a command was run before the error");
    assert_eq!(run("\"$STEADY\" compare --quiet --runs 6 --no-history true true >&-").status.code(), Some(0));
    assert_eq!(run("\"$STEADY\" completions bash >&-").status.code(), Some(125));
}

/// The report follows what is in the file of a redirected stream, and precedes what is written later.
#[test]
fn a_report_for_a_redirected_stream_is_written_there() {
    let log = path("redirected.log");
    let run = |script: &str| {
        fs::write(&log, "before\n").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("STEADY", env!("CARGO_BIN_EXE_steady")).env("LOG", &log);
        let done = shell.env("XDG_DATA_HOME", steady::data_home()).output().unwrap();
        (done.status.code(), fs::read_to_string(&log).unwrap())
    };
    let words = "--no-history --quiet --export-json";
    for (to, redirected) in
        [("/dev/stderr", "2>>"), ("/proc/self/fd/2", "2>>"), ("\"$LOG\"", "2>>"), ("/dev/stderr", "2>")]
    {
        let limited = format!("\"$STEADY\" limit --cpu 5s {words} {to} -- sh -c 'echo during >&2'");
        let (status, text) = run(&format!("( {limited}; s=$?; echo after >&2; exit $s ) {redirected}\"$LOG\""));
        assert_eq!(status, Some(0), "{text}");
        let begins = if redirected == "2>" { "during\n{" } else { "before\nduring\n{" };
        assert!(text.starts_with(begins) && text.ends_with("}\nafter\n"), "{to} {redirected}: {text}");
    }
    let compared = format!("\"$STEADY\" compare --runs 6 {words} /dev/fd/1 true true >>\"$LOG\"");
    let (status, text) = run(&compared);
    assert!(status == Some(0) && text.starts_with("before\n{") && text.ends_with("}\n"), "{text}");
}

/// In a directory like /tmp, a file of another user may be written, but not replaced.
#[test]
fn a_file_of_another_user_in_a_sticky_directory_is_overwritten() {
    let test = "a_file_of_another_user_in_a_sticky_directory_is_overwritten";
    let Some((mut command, folder)) = as_nobody("sticky") else {
        return skip(test, "only root can change to another user");
    };
    let file = folder.join("report.md");
    fs::write(&file, "a long text from before ".repeat(1000)).unwrap();
    let change = |mode: &str, path: &Path| Command::new("chmod").arg(mode).arg(path).status().unwrap();
    assert!(change("666", &file).success() && change("1777", &folder).success());
    command.args(["compare", "--runs", "6", "--no-history", "--quiet", "--export-markdown"]).arg(&file);
    let output = command.args(["true", "true"]).output();
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let Ok(output) = output else { return skip(test, "there is no setpriv") };
    let (status, _, stderr) = output_of(output);
    assert_eq!(status, 0, "{stderr}");
    assert!(text.contains("CPU time") && !text.contains("from before"), "{text}");
}

#[test]
fn runs_do_not_write_to_a_fifo() {
    let fifo = Fifo::new("output.fifo");
    let words = ["compare", "--quiet", "--runs", "6", "--no-history", "--output", &fifo.0, "true", "true"];
    let (status, _, stderr) = output_of(steady().args(words).output().unwrap());
    assert!(status == 2 && stderr.contains("this is a FIFO"), "{status} {stderr}");
}

/// Another process may make a pipe non-blocking, and the pipe is smaller than the report.
#[test]
fn a_report_is_complete_in_a_full_non_blocking_pipe() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
    let words = ["compare", "--runs", "60", "--no-history", "--format", "json", "--samples", "true", "true"];
    let mut child = steady().args(words).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let is_full = || rustix::io::ioctl_fionread(&reader).is_ok_and(|bytes| bytes == 4096);
    assert!(eventually(is_full), "the report fits into the pipe");
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(serde_json::from_str::<Value>(&text).is_ok_and(|report| !report["runs"].is_null()), "{} bytes", text.len());
}

/// A container gets a file of the host as a mount point, which cannot be renamed.
#[test]
fn a_mounted_file_is_overwritten() {
    const NAME: &str = "a_mounted_file_is_overwritten";
    let (file, mounted) = (path("host.md"), path("mounted.md"));
    fs::write(&file, "a long text from before ".repeat(1000)).unwrap();
    fs::write(&mounted, "").unwrap();
    let script = format!(
        "mount --bind {file} {mounted} || exit 77; \
         \"$STEADY\" compare --runs 6 --no-history --quiet --export-markdown {mounted} true true"
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).env("STEADY", env!("CARGO_BIN_EXE_steady"));
    let done = match command.output() {
        Ok(done) if done.status.code() != Some(77) && !done.stderr.starts_with(b"unshare") => done,
        _ => return skip(NAME, "no mount namespace"),
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("CPU time") && !text.contains("from before"), "{text}");
}

/// A script that validates exports by the schemas of their kinds. It also checks the schemas themselves, and prints the
/// kinds that have a schema and no export.
const VALIDATE: &str = "import glob, json, sys
import jsonschema
schemas = {}
for path in glob.glob(sys.argv[1] + '/docs/schemas/*.json'):
    schema = json.load(open(path))
    jsonschema.Draft202012Validator.check_schema(schema)
    schemas[schema['title']] = jsonschema.Draft202012Validator(schema)
seen = set()
for path in glob.glob(sys.argv[1] + '/testdata/reports/*.json') + sys.argv[2:]:
    export = json.load(open(path))
    validator = schemas.get(export.get('schema'))
    for error in validator.iter_errors(export) if validator else []:
        sys.exit(f'{path}: {error.json_path}: {error.message[:500]}')
    if validator and path in sys.argv:
        seen.add(export['schema'])
print(*sorted(set(schemas) - seen))";

#[test]
fn exports_agree_with_their_schemas() {
    let test = "exports_agree_with_their_schemas";
    let has_validator = |python: &&str| {
        Command::new(python)
            .args(["-W", "ignore", "-c", "import jsonschema; jsonschema.Draft202012Validator"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_validator) else {
        return skip(test, "no Python package jsonschema (Debian: python3-jsonschema)");
    };
    let (mut files, root) = (Vec::new(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let shop = kept_rows::Service { name: "shop", versions: &["v1", "v2"], factor: 1.05 };
    let store = kept_rows::store("exported", &[shop]).display().to_string();
    let release = format!(
        "release compare --store '{store}' --no-history EXPORT --from 2026-11-21T09:05:00Z --window 1m --by route v1 v2"
    );
    let adapter = path("schema-adapter.toml");
    fs::write(&adapter, ADAPTER).unwrap();
    let bench = format!("bench --samples --adapter '{adapter}' --env-new X=1 --budget 2s EXPORT");
    // One record of each kind that has a schema.
    for line in [
        &release,
        "compare --samples --runs 6 --seed 1 EXPORT true true",
        "compare --samples --runs 6 --seed 2 EXPORT true true",
        "judge EXPORT FIRST SECOND",
        &bench,
        "agent status EXPORT",
        "limit --cpu 9s EXPORT -- true",
        "locks EXPORT -- python3 -c 'import threading'",
        "host status EXPORT",
        "warm why EXPORT true",
        "explain EXPORT -- true",
        "explain EXPORT --runs 6 true 'sh -c :'",
        "costs --samples --only system_call --repetitions 10 EXPORT",
        "load --samples --cpu-time 20ms --procs 1..2 EXPORT",
        "load --rulers EXPORT",
        "load --published hash8 EXPORT",
        "signature /bin/true EXPORT",
        "signature bench --samples --budget 1s EXPORT",
    ] {
        let file = path(&format!("schema-{}.json", files.len()));
        let line = line.replace("EXPORT", &format!("--quiet --export-json '{file}'"));
        // `judge` joins the exports of the two comparisons before it.
        let before = |place: usize| files.iter().rev().nth(place).map_or("", String::as_str);
        let line = line.replace("FIRST", before(1)).replace("SECOND", before(0));
        let script = format!("\"$0\" {line}");
        let (status, _, stderr) = output_of(
            Command::new("sh")
                .args(["-c", &script, env!("CARGO_BIN_EXE_steady")])
                .stdin(Stdio::null())
                .output()
                .unwrap(),
        );
        // Whether an agent runs on this machine is not known.
        let expected: &[i32] = if line.starts_with("agent status") { &[0, 1] } else { &[0] };
        assert!(expected.contains(&status), "{line}: {status} {stderr}");
        files.push(file);
    }
    let repository = Repository::new("schemas");
    for number in ["0", "1"] {
        repository.write("number", number);
        repository.commit(number);
    }
    let file = path("schema-bisect.json");
    let words = ["bisect", "--quiet", "--no-history", "--budget", "4s", "--export-json", &file, "HEAD~1..HEAD", "true"];
    let (status, _, stderr) = output_of(repository.steady("", &words).output().unwrap());
    assert!([0, 4].contains(&status), "{stderr}");
    files.push(file);
    let mut validator = Command::new(python);
    validator.args(["-W", "ignore", "-c", VALIDATE]).arg(root).args(&files);
    let (status, unseen, stderr) = output_of(validator.output().unwrap());
    assert_eq!((status, unseen.trim()), (0, ""), "kinds with a schema and without an export: {unseen}; {stderr}");
    files.iter().chain([&adapter]).for_each(|file| fs::remove_file(file).unwrap());
}

/// A harness with one benchmark, which reports the same time in each run.
const ADAPTER: &str = r#"
name = "echo"
programs = ["sh"]
list = "echo one"
run = "{program} -c 'echo $1: 9 ns' {name} {name} {iterations}"
metrics = ['time[s]=regex:one: ([0-9]+) (?<unit>ns)']
seconds = 0.001
"#;
