//! `steady signature` on real files: known signatures with every allocator and kind of worker, files that change while
//! they are read, and killed processes.

mod steady;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use steady_workloads::signature::made;

use steady::{cpu_seconds, eventually, output_of, processes_with, run, scratch, steady, within_a_second};

/// Options that choose the kind and number of workers.
const WORKERS: [&[&str]; 4] = [&["--single"], &["--threads", "3"], &["--processes", "3"], &[]];
const ALLOCATORS: [&str; 5] = ["none", "pool", "pool-per-block", "global", "system"];

/// Returns an input of the file of known signatures.
fn input(name: &str) -> Vec<u8> {
    let ramp = |length: usize| (0..=255).cycle().take(length).collect();
    match name {
        "empty" => vec![],
        "one-byte-a" => b"a".to_vec(),
        "zeros-1024" => vec![0; 1_024],
        "ramp-256" => ramp(256),
        "ramp-1023" => ramp(1_023),
        "ramp-1024" => ramp(1_024),
        "ramp-1025" => ramp(1_025),
        "text-5000" => b"The quick brown fox jumps over the lazy dog.\n".repeat(200)[..5_000].to_vec(),
        "xorshift-5120" => made(5_120),
        "xorshift-1MiB" => made(1 << 20),
        "xorshift-3MiB+7" => made((3 << 20) + 7),
        other => panic!("{other} is not known"),
    }
}

/// A directory for one test, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = scratch(&format!("signature-{name}"));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.0.join(name), bytes).unwrap();
        self.path(name)
    }

    /// Creates a named pipe.
    fn fifo(&self, name: &str) -> String {
        let path = self.path(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo starts");
        assert!(made.success());
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns names, sizes and signatures of the known inputs.
fn vectors() -> Vec<(String, usize, String)> {
    let text = include_str!("../testdata/signature/vectors.tsv");
    let vectors = text.lines().map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        let mut next = || cells.next().expect("a line has three cells");
        (next(), next().parse().expect("a size"), next())
    });
    vectors.collect()
}

#[test]
fn every_allocator_and_kind_of_worker_gives_the_known_signatures() {
    let folder = Folder::new("vectors");
    let vectors = vectors();
    assert!(vectors.len() > 10);
    let files: Vec<String> = vectors
        .iter()
        .map(|(name, size, _)| {
            let bytes = input(name);
            assert_eq!(bytes.len(), *size, "{name}");
            folder.file(name, &bytes)
        })
        .collect();
    let expected: String =
        vectors.iter().zip(&files).map(|((_, _, signature), file)| format!("{signature}  {file}\n")).collect();
    for workers in WORKERS {
        for allocator in ALLOCATORS {
            let args: Vec<&str> = ["signature", "--allocator", allocator]
                .iter()
                .chain(workers)
                .copied()
                .chain(files.iter().map(String::as_str))
                .collect();
            let (status, stdout, stderr) = run(&args);
            assert_eq!(
                (status, stdout.as_str(), stderr.as_str()),
                (0, expected.as_str(), ""),
                "{workers:?} {allocator}"
            );
        }
    }
}

/// Runs `steady signature` and writes `bytes` to its standard input, in pieces that do not end at the end of a block.
fn piped(args: &[&str], bytes: &[u8]) -> (i32, String, String) {
    let mut command = steady();
    command.arg("signature").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for piece in bytes.chunks(7_001) {
        // A program that refuses its options does not read them.
        if input.write_all(piece).is_err() {
            break;
        }
    }
    drop(input);
    output_of(child.wait_with_output().unwrap())
}

#[test]
fn a_pipe_gives_the_signature_of_the_file() {
    let bytes = input("xorshift-3MiB+7");
    for workers in WORKERS {
        let args: Vec<&str> = workers.iter().copied().chain(["-"]).collect();
        assert_eq!(piped(&args, &bytes), (0, "Final signature: 1647581792\n".to_owned(), String::new()), "{workers:?}");
    }
    assert_eq!(piped(&["-"], &[]).1, "Final signature: 0\n");
    for (bytes, read) in [(&b""[..], "Read: 0 B with a single thread\n"), (b"a", "Read: 1 B with a single thread\n")] {
        let stats = piped(&["--stats", "-"], bytes).1;
        assert!(stats.contains(read), "{stats}");
    }
    let chosen = piped(&["--stats", "--threads", "2", "-"], &[]).1;
    assert!(chosen.contains("Read: 0 B with 2 threads\n"), "{chosen}");
}

#[test]
fn a_file_as_standard_input_is_read_from_its_offset() {
    let folder = Folder::new("begun");
    let bytes = input("xorshift-1MiB");
    let (whole, rest) = (folder.file("whole", &bytes), folder.file("rest", &bytes[1_000..]));
    let mut file = File::open(whole).unwrap();
    std::io::Read::read_exact(&mut file, &mut [0; 1_000]).unwrap();
    let begun = steady().args(["signature", "-"]).stdin(file).output().unwrap();
    assert_eq!(output_of(begun), run(&["signature", &rest]));
}

#[test]
fn holes_are_read_as_zeros() {
    let folder = Folder::new("holes");
    let path = folder.path("sparse");
    let file = File::create(&path).unwrap();
    file.set_len(40 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[7; 5_000], 9_999_999).unwrap();
    let by = |args: &[&str]| run(&[&["signature"], args, &[path.as_str()]].concat());
    let (status, with_holes, stderr) = by(&[]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let piped = piped(&["-"], &fs::read(&path).unwrap());
    assert_eq!((&with_holes, &with_holes), (&by(&["--allocator", "pool", "--single"]).1, &piped.1));
}

#[test]
fn unreadable_files_are_reported_and_the_others_are_signed() {
    let folder = Folder::new("unreadable");
    let good = folder.file("good", b"a");
    let missing = folder.path("missing");
    let (status, stdout, stderr) = run(&["signature", "/", &missing, "/proc/self/mem", &good]);
    assert_eq!((status, stdout), (2, format!("98  {good}\n")));
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{stderr}");
    assert_eq!(lines[0], "steady: '/': it is a directory");
    assert!(lines[1].contains("No such file"), "{stderr}");
    assert!(lines[2].contains("cannot be read from byte 0 on"), "{stderr}");
    let (status, stdout, _) = run(&["signature", "--format", "json", "/", &good]);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((status, &report["schema"]), (2, &"steady.signature/1".into()));
    assert!(
        report["files"][0]["signature"].is_null() && report["files"][0]["signature_absent"].is_string(),
        "{report}"
    );
    assert_eq!((&report["files"][1]["signature"], &report["files"][1]["bytes"]), (&98.into(), &1.into()));
}

#[test]
fn kernel_files_are_read_to_their_end_although_their_size_is_wrong() {
    for path in ["/proc/version", "/sys/devices/system/cpu/possible"] {
        let bytes = fs::read(path).unwrap();
        assert_eq!(run(&["signature", path]), piped(&["-"], &bytes), "{path}");
    }
}

/// Signs a file slowly and calls `disturb` once part of it is read. Returns the exit status, standard output and
/// standard error.
fn disturbed(name: &str, workers: &[&str], disturb: impl FnOnce(&Path)) -> (i32, String, String) {
    let folder = Folder::new(name);
    let path = folder.file("file", &made(12 << 20));
    let mut args = vec!["signature", "--allocator", "global"];
    args.extend(workers);
    let mut child = started(&[args.as_slice(), &[&path]].concat());
    let read = format!("/proc/{}/io", child.id());
    let begun = || {
        let text = fs::read_to_string(&read).unwrap_or_default();
        let bytes = text.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse::<u64>().ok());
        bytes.is_some_and(|bytes| bytes > 600_000)
    };
    assert!(eventually(begun) || child.try_wait().unwrap().is_some(), "reading does not start");
    assert!(child.try_wait().unwrap().is_none(), "the process ended before it could be disturbed");
    disturb(Path::new(&path));
    output_of(ended(child))
}

fn started(args: &[&str]) -> Child {
    steady().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("steady starts")
}

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("the process can be waited for")
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    let shrink = |path: &Path| File::options().write(true).open(path).unwrap().set_len(8_000_123).unwrap();
    let (status, stdout, stderr) = disturbed("shrinks", &["--single"], shrink);
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains("it ended at byte 8000123 of 12582912"), "{stderr}");

    let grow = |path: &Path| File::options().append(true).open(path).unwrap().write_all(b"more").unwrap();
    let (status, stdout, stderr) = disturbed("grows", &["--threads", "2"], grow);
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains("it grew while it was read: from byte 12582912 to 12582916"), "{stderr}");

    let write = |path: &Path| {
        let file = File::options().write(true).open(path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"other", 5).unwrap();
    };
    let (status, stdout, stderr) = disturbed("is-written-to", &["--single"], write);
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains("it was written to, or its attributes changed, while it was read"), "{stderr}");

    let restore = |path: &Path| {
        let file = File::options().write(true).open(path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"other", 5).unwrap();
        file.set_modified(modified).unwrap();
    };
    let (status, stdout, stderr) = disturbed("is-written-to-with-its-time-restored", &["--single"], restore);
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
}

/// Returns the children of a process.
fn children(of: u32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn nothing_is_left_if_steady_is_killed() {
    let folder = Folder::new("killed");
    let pipe = folder.fifo("endless");
    // The pipe has a writer that writes nothing.
    let _writer = File::options().read(true).write(true).open(&pipe).unwrap();
    let mut child = started(&["signature", "--processes", "3", &pipe]);
    assert!(eventually(|| children(child.id()).len() == 3));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within_a_second(|| processes_with(&pipe) == 0), "workers are left");
}

#[test]
fn a_killed_worker_is_an_error_without_a_signature() {
    let folder = Folder::new("lost");
    let pipe = folder.fifo("endless");
    let _writer = File::options().read(true).write(true).open(&pipe).unwrap();
    let child = started(&["signature", "--processes", "3", &pipe]);
    assert!(eventually(|| children(child.id()).len() == 3));
    kill_process(Pid::from_raw(children(child.id())[1]).unwrap(), Signal::KILL).unwrap();
    let (status, stdout, stderr) = output_of(ended(child));
    assert_eq!((status, stdout.as_str()), (125, ""));
    assert!(stderr.contains("one of its workers was killed by signal 9"), "{stderr}");
    assert!(within_a_second(|| processes_with(&pipe) == 0), "workers are left");
}

#[test]
fn statistics_are_reported() {
    let folder = Folder::new("stats");
    let path = folder.file("file", &input("xorshift-1MiB"));
    let stats = |args: &[&str]| {
        let (status, stdout, stderr) = run(&[&["signature", "--format", "json"], args, &[path.as_str()]].concat());
        assert_eq!(status, 0, "{stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        report["files"][0].clone()
    };
    for kind in ["--threads", "--processes"] {
        let global = stats(&["--allocator", "global", kind, "8"]);
        assert_eq!(global["workers"], 8);
        let nodes = global["allocations"].as_u64().unwrap();
        assert_eq!(nodes, 513_688, "each block of random bytes has about 502 nodes");
        assert_eq!(global["lock_acquisitions"].as_u64(), Some(2 * nodes), "one to allocate each node, one to free it");
        assert!(
            global["user_seconds"].as_f64().unwrap() + global["system_seconds"].as_f64().unwrap() > 0.0,
            "{global}"
        );
    }
    let pool = stats(&["--allocator", "pool", "--pool-bytes", "8176"]);
    assert_eq!((&pool["allocations"], &pool["lock_acquisitions"]), (&513_688.into(), &0.into()));
    let published = stats(&["--allocator", "pool-per-block", "--threads", "per-block"]);
    assert_eq!((&published["workers"], &published["lock_acquisitions"]), (&1_024.into(), &2_048.into()), "{published}");
    let system = stats(&["--allocator", "system"]);
    assert!(system["lock_acquisitions"].is_null() && system["lock_acquisitions_absent"].is_string(), "{system}");
    let (_, stdout, _) = run(&["signature", "--stats", "--single", "--allocator", "global", &path]);
    let text = "Final signature: 1740183508\nTotal allocator lock acquisitions: 1027376\nContended acquisitions: 0\n";
    assert!(stdout.starts_with(text), "{stdout}");
}

#[test]
fn character_devices_have_no_signature() {
    for words in [&["/dev/zero"][..], &["head", "-c", "100", "/dev/urandom"]] {
        let (status, stdout, stderr) = run(&[&["signature", "--"], words].concat());
        assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains("': it is a character device, which has no end"), "{stderr}");
        let is_helped = stderr.lines().next().is_some_and(|line| line.contains("use a pipe and -"));
        assert_eq!(is_helped, words.len() > 1, "{stderr}");
    }
}

#[test]
fn a_closed_standard_input_has_no_data() {
    let steady = env!("CARGO_BIN_EXE_steady");
    for input in ["<&-", "</dev/null"] {
        let output = Command::new("sh").args(["-c", &format!("{steady} signature - {input}")]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("'-': it is closed or /dev/null, so it has no data"), "{input}: {stderr}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{input}");
    }
}

#[test]
fn a_thread_per_block_needs_a_known_size_and_not_too_many_blocks() {
    let folder = Folder::new("per-block");
    let large = folder.file("large", &made((4 << 20) + 1));
    let (status, stdout, stderr) = run(&["signature", "--threads", "per-block", &large]);
    assert_eq!((status, stdout.as_str()), (2, ""));
    assert!(stderr.contains("4097 blocks") && stderr.contains("4096 threads"), "{stderr}");
    let (status, _, stderr) = piped(&["--threads", "per-block", "-"], b"a");
    assert!(status == 2 && stderr.contains("size is not known"), "{stderr}");
    for wrong in ["0", "4097", "per", "-1"] {
        let (status, _, stderr) = run(&["signature", &format!("--threads={wrong}"), &large]);
        assert!(status == 2 && stderr.contains("per-block or a number from 1 to 4096"), "{stderr}");
    }
}

#[test]
fn memory_does_not_grow_with_files_or_workers() {
    const MOST: u64 = 64 << 20;
    let folder = Folder::new("memory");
    let path = folder.path("large");
    let file = File::create(&path).unwrap();
    let piece = made(8 << 20);
    (0..16).for_each(|_| (&file).write_all(&piece).unwrap());
    for args in [&["--threads", "256"][..], &["--threads", "256", "--allocator", "pool"], &["--processes", "5"], &[]] {
        let args = [&["signature", "--format", "json"], args, &[path.as_str()]].concat();
        let (status, stdout, stderr) = run(&args);
        assert_eq!(status, 0, "{stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        let peak = report["files"][0]["peak_memory_bytes"].as_u64().expect("peaks can be read");
        assert!(peak < MOST, "{args:?}: {peak}");
    }
}

#[test]
fn every_format_is_written() {
    let folder = Folder::new("forms");
    let path = folder.file("a,b", b"a");
    let (status, csv, _) = run(&["signature", "--format", "csv", "--allocator", "pool", &path]);
    assert_eq!(status, 0);
    assert!(
        csv.starts_with("file,signature,bytes,")
            && csv.contains(&format!("\"{path}\",98,1,pool,131072,1024,single,1,")),
        "{csv}"
    );
    let page = folder.path("page.html");
    let (status, markdown, stderr) =
        run(&["signature", "--format", "markdown", "--stats", "--export-html", &page, &path]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(markdown.contains("| 98 |"), "{markdown}");
    assert!(fs::read_to_string(page).unwrap().contains(">98</td>"));
    let (status, stdout, stderr) = run(&["signature", "--quiet", &path]);
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (0, "", ""));
}

#[test]
fn the_bench_answers_its_questions_on_a_file() {
    let folder = Folder::new("bench");
    let path = folder.file("file", &input("text-5000"));
    let (page, chart) = (folder.path("bench.html"), folder.path("bench.svg"));
    let args = ["signature", "bench", "--budget", "10s", "--seed", "7", "--samples", "--format", "json"];
    let (status, stdout, stderr) = run(&[&args[..], &["--export-html", &page, "--export-svg", &chart, &path]].concat());
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(fs::read_to_string(chart).unwrap().starts_with("<svg"));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&report["schema"], &report["kind"]), (&"steady.signature/1".into(), &"bench".into()));
    assert_eq!((&report["seed"], &report["input"]["file"]), (&"7".into(), &path.as_str().into()));
    let conditions = report["conditions"].as_array().unwrap();
    assert!(
        conditions.iter().all(|one| one["bytes"] == 5_000 && one["wall_seconds"].as_f64().unwrap() > 0.0),
        "{report}"
    );
    let questions: Vec<&str> =
        report["answers"].as_array().unwrap().iter().filter_map(|one| one["question"].as_str()).collect();
    for question in [
        "gain",
        "published",
        "thread_per_block",
        "pool_per_block",
        "lock",
        "list",
        "alone",
        "pool_parallel",
        "global_parallel",
        "locality",
        "pool_room",
    ] {
        assert!(questions.contains(&question), "{question}");
    }
    assert_eq!(report["samples"].as_array().unwrap().len() as u64, report["rounds"].as_u64().unwrap());
    assert!(fs::read_to_string(page).unwrap().contains("<svg"));
}

#[test]
fn an_interrupted_bench_shows_the_completed_rounds() {
    // A small file, so that rounds are short.
    let folder = Folder::new("interrupted");
    let path = folder.file("file", &input("text-5000"));
    let child = started(&["signature", "bench", "--budget", "10m", "--format", "csv", &path]);
    // The calibration of the clock takes some CPU time; then rounds take milliseconds. On a busy machine, that takes minutes.
    let has_rounds = || cpu_seconds(child.id() as i32) > 3.0;
    assert!((0..5).any(|_| eventually(has_rounds)));
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let (status, stdout, stderr) = output_of(ended(child));
    assert_eq!((status, stderr.as_str()), (130, ""));
    assert!(stdout.starts_with("allocator,workers,bytes,"), "{stdout}");
}

#[test]
fn a_bench_is_stored_in_the_history() {
    let folder = Folder::new("history");
    let at_home = |words: &[&str]| {
        let (status, stdout, stderr) =
            output_of(steady().env("XDG_DATA_HOME", &folder.0).args(words).output().unwrap());
        assert_eq!((status, stderr.as_str()), (0, ""), "{words:?}");
        stdout
    };
    let bench = ["signature", "bench", "--budget", "1s", "--seed", "3"];
    at_home(&[&bench[..], &["--no-history"]].concat());
    assert!(!at_home(&["history", "list"]).contains("signature"));
    let printed = at_home(&bench);
    let (report, place) = printed.rsplit_once("History: ").unwrap();
    assert_eq!(place, "1 (steady history report 1)\n");
    assert!(at_home(&["history", "list"]).contains("signatures of pseudo-random bytes"));
    assert_eq!(at_home(&["history", "report", "1"]), report);
}

#[test]
fn another_block_size_gives_another_signature_and_other_counts() {
    let folder = Folder::new("block-size");
    let file = folder.file("data", &made(5_120));
    let record = |size: &str| -> Value {
        let words = ["signature", "--format", "json", "--allocator", "pool-per-block", "--block-size", size, &file];
        let (status, stdout, stderr) = run(&words);
        assert_eq!((status, stderr.as_str()), (0, ""));
        serde_json::from_str(&stdout).unwrap()
    };
    let mut signatures = Vec::new();
    for (size, bytes, acquisitions) in [("1", 1, 10_240), ("1000", 1_000, 12), ("1K", 1_024, 10), ("16K", 16_384, 2)] {
        let record = record(size);
        assert_eq!(
            (&record["block_bytes"], &record["files"][0]["lock_acquisitions"]),
            (&bytes.into(), &acquisitions.into())
        );
        signatures.push(record["files"][0]["signature"].as_u64().unwrap());
    }
    // The hash of a block of one byte is its value and its frequency.
    let sum: u64 = made(5_120).iter().map(|byte| u64::from(*byte) + 1).sum();
    assert_eq!(signatures[0], sum);
    let distinct: std::collections::BTreeSet<u64> = signatures.iter().copied().collect();
    assert_eq!(distinct.len(), 4, "{signatures:?}");
    assert_eq!(run(&["signature", "--block-size", "17K", &file]).0, 2);
}
