//! Many concurrent launches, and kills at random moments: incomplete snapshots are not executed, no processes are left,
//! and all programs run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::STEADY;
use crate::round::Sandbox;
use crate::steady::{at_length, processes_with, scratch};
use crate::swapped::within;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The argument that identifies a keeper.
const KEEPER: &str = "warm-keeper";

/// Returns a bash script that runs under `steady warm`.
fn warm(sandbox: &Sandbox, script: &str) -> Command {
    let mut command = sandbox.command(STEADY, "C");
    command.args(["warm", "--", "bash", "-c", script]);
    command
}

/// Creates snapshots of programs in advance. Keepers give way to other processes, so they would create none in a storm.
fn create_snapshots(sandbox: &Sandbox, programs: &[&str]) {
    assert_eq!(sandbox.snapshot(Path::new(STEADY), programs).0, 0);
}

/// Returns the keepers of the store.
fn keepers(sandbox: &Sandbox) -> Vec<Pid> {
    let cache = sandbox.cache().display().to_string();
    let entries = fs::read_dir("/proc").expect("/proc can be read").filter_map(Result::ok);
    let keepers = entries.filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let number = entry.file_name().to_str()?.parse().ok()?;
        (line.contains(KEEPER) && line.contains(&cache)).then(|| Pid::from_raw(number)).flatten()
    });
    keepers.collect()
}

/// Panics unless all keepers end by themselves.
fn assert_keepers_end(sandbox: &Sandbox) {
    assert!(within(20, || keepers(sandbox).is_empty()), "keepers do not end: {:?}", keepers(sandbox));
}

#[test]
fn two_hundred_concurrent_pipelines() {
    let sandbox = Sandbox::with_files(&scratch("two_hundred_concurrent_pipelines"));
    let script = "for i in $(seq 200); do
            { cat files/words.txt | sort -r | head -3 | tail -1; expr $i + 1; basename /a/$i; } > out-$i 2>&1 &
        done; wait; cat out-* | sort -n | uniq -c | sort -n | cksum";
    let usual = sandbox.command("bash", "C").args(["-c", script]).output().expect("bash starts");
    create_snapshots(&sandbox, &["cat", "sort", "head", "tail", "expr", "basename"]);
    for _ in 0..3 {
        let output = warm(&sandbox, script).output().expect("steady starts");
        assert_eq!(output.stdout, usual.stdout, "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let launches = sandbox.status(Path::new(STEADY))["store"]["launches"].clone();
    assert!(launches["warm"].as_u64() > Some(500), "{launches}");
    assert!(launches["not_executed"] == 0 && launches["broken"] == 0, "{launches}");
    assert_keepers_end(&sandbox);
}

/// Ten commands use one store concurrently, and only one of their keepers is active at a time.
#[test]
fn many_commands_share_a_store() {
    let sandbox = Sandbox::with_files(&scratch("many_commands_share_a_store"));
    let script = "for i in 1 2 3 4 5 6; do sort files/words.txt | cksum; sed -n 2p files/old.txt; sleep 0.05; done";
    let usual = sandbox.command("bash", "C").args(["-c", script]).output().expect("bash starts").stdout;
    create_snapshots(&sandbox, &["sort"]);
    let start = |_| warm(&sandbox, script).stdout(Stdio::piped()).spawn().expect("steady starts");
    let all: Vec<Child> = (0..10).map(start).collect();
    for child in all {
        let output = child.wait_with_output().expect("the process can be waited for");
        assert!(output.status.success() && output.stdout == usual);
    }
    assert_keepers_end(&sandbox);
    let report = sandbox.status(Path::new(STEADY));
    assert!(report["store"]["launches"]["warm"].as_u64() > Some(0), "{report}");
}

/// Kills commands and keepers at random moments, while snapshots are created and programs are started.
#[test]
fn killed_at_any_moment() {
    let times = if at_length() { 200 } else { 80 };
    let sandbox = Sandbox::with_files(&scratch("killed_at_any_moment"));
    let mut random: u64 = 20_261_121;
    let script =
        "for i in 1 2 3 4; do sort files/words.txt; sed p files/old.txt; cat files/old.txt; grep a files/old.txt; done";
    let usual = sandbox.command("bash", "C").args(["-c", script]).output().expect("bash starts").stdout;
    for time in 0..times {
        let mut command = warm(&sandbox, script);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("steady starts");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((random >> 33) % 60_000));
        let group = Pid::from_child(&child);
        if time % 2 == 0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
        for keeper in keepers(&sandbox) {
            let _ = kill_process(keeper, Signal::KILL);
        }
        child.wait().expect("the process can be waited for");
        if time % 10 == 9 {
            let output = warm(&sandbox, script).output().expect("steady starts");
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && output.stdout == usual && errors.is_empty(), "after {time}: {errors}");
            assert_snapshots_complete(&sandbox);
        }
        if time % 40 == 39 {
            let cleared = sandbox.command(STEADY, "C").args(["warm", "clear"]).status().expect("steady starts");
            assert!(cleared.success());
        }
    }
    let again = || warm(&sandbox, script).output().expect("steady starts").stdout == usual;
    let has_snapshots = within(20, || {
        let programs = sandbox.programs(Path::new(STEADY));
        again() && programs.values().filter(|program| program.state == "warm").count() >= 4
    });
    assert!(has_snapshots, "{:?}", sandbox.programs(Path::new(STEADY)));
    assert_keepers_end(&sandbox);
    // A keeper removes the incomplete files of a killed one.
    let removed = within(20, || {
        again();
        assert_keepers_end(&sandbox);
        incomplete_files(&sandbox.cache()).is_empty()
    });
    assert!(removed, "incomplete files are left: {:?}", incomplete_files(&sandbox.cache()));
    // The kernel kills the tracees of a killed keeper.
    assert_eq!(processes_with(&sandbox.cache().display().to_string()), 0);
}

/// Panics unless every snapshot in the store is complete. Incomplete ones have temporary names.
fn assert_snapshots_complete(sandbox: &Sandbox) {
    for file in files(&sandbox.cache()) {
        let text = file.display().to_string();
        if text.contains("/snapshots/") && !text.contains("/.") && !text.contains("/tmp") {
            let bytes = fs::read(&file).unwrap_or_default();
            // The file may have been removed since it was listed.
            assert!(bytes.is_empty() || bytes.starts_with(b"\x7fELF"), "{text}");
        }
    }
}

/// Returns the files with temporary names, which are used until a file is complete.
fn incomplete_files(folder: &Path) -> Vec<PathBuf> {
    let temporary = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    files(folder).into_iter().filter(temporary).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let below = entries.flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        _ => vec![entry.path()],
    });
    below.collect()
}

/// Parts of the store are removed during a command. Programs are then started without snapshots.
#[test]
fn the_store_is_removed_during_a_command() {
    let sandbox = Sandbox::with_files(&scratch("the_store_is_removed_during_a_command"));
    let steady = Path::new(STEADY);
    assert_eq!(sandbox.snapshot(steady, &["/usr/bin/sort", "/usr/bin/sed"]).0, 0);
    let script = "sort files/words.txt | head -1; rm -rf cache/steady/warm/*/cards 2>/dev/null; sort files/words.txt | head -1
        rm -rf cache/steady/warm/*/snapshots cache/steady/warm/*/counts 2>/dev/null; sed -n 1p files/old.txt; ls files | head -1";
    let usual = sandbox.command("bash", "C").args(["-c", "sort files/words.txt | head -1; sort files/words.txt | head -1; sed -n 1p files/old.txt; ls files | head -1"]).output().expect("bash starts");
    let output = warm(&sandbox, script).output().expect("steady starts");
    assert_eq!((output.stdout, String::from_utf8_lossy(&output.stderr).into_owned()), (usual.stdout, String::new()));
    assert_keepers_end(&sandbox);
}
