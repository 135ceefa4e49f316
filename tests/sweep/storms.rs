//! Many at once, and killed at any moment: nothing half-made is executed, nothing is left running, all programs run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::STEADY;
use crate::round::Place;
use crate::steady::{at_length, processes_with, scratch};
use crate::swapped::within;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// What the keeper is called with.
const KEEPER: &str = "warm-keeper";

fn warm(place: &Place, script: &str) -> Command {
    let mut command = place.command(STEADY, "C");
    command.args(["warm", "--", "bash", "-c", script]);
    command
}

/// Has programs taken beforehand: keepers give way to everything else, and a storm leaves them no time.
fn taken(place: &Place, programs: &[&str]) {
    assert_eq!(place.snapshot(Path::new(STEADY), programs).0, 0);
}

/// The processes that keep the store of this place.
fn keepers(place: &Place) -> Vec<Pid> {
    let cache = place.cache().display().to_string();
    let entries = fs::read_dir("/proc").expect("there is /proc").filter_map(Result::ok);
    let of_this = entries.filter_map(|entry| {
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).into_owned();
        let number = entry.file_name().to_str()?.parse().ok()?;
        (words.contains(KEEPER) && words.contains(&cache)).then(|| Pid::from_raw(number)).flatten()
    });
    of_this.collect()
}

/// All keepers of this place end by themselves.
fn nobody_keeps(place: &Place) {
    assert!(within(20, || keepers(place).is_empty()), "keepers are left: {:?}", keepers(place));
}

#[test]
fn two_hundred_at_once() {
    let place = Place::make(&scratch("two_hundred_at_once"));
    let script = "for i in $(seq 200); do
            { cat files/words.txt | sort -r | head -3 | tail -1; expr $i + 1; basename /a/$i; } > out-$i 2>&1 &
        done; wait; cat out-* | sort -n | uniq -c | sort -n | cksum";
    let usual = place.command("bash", "C").args(["-c", script]).output().expect("bash starts");
    taken(&place, &["cat", "sort", "head", "tail", "expr", "basename"]);
    for _ in 0..3 {
        let told = warm(&place, script).output().expect("steady starts");
        assert_eq!(told.stdout, usual.stdout, "{}", String::from_utf8_lossy(&told.stderr));
        assert!(told.status.success() && told.stderr.is_empty(), "{}", String::from_utf8_lossy(&told.stderr));
    }
    let launches = place.status(Path::new(STEADY))["store"]["launches"].clone();
    assert!(launches["warm"].as_u64() > Some(500), "{launches}");
    assert!(launches["not_executed"] == 0 && launches["broken"] == 0, "{launches}");
    nobody_keeps(&place);
}

/// Ten commands in one store, and only one works at a time.
#[test]
fn many_commands_share_a_store() {
    let place = Place::make(&scratch("many_commands_share_a_store"));
    let script = "for i in 1 2 3 4 5 6; do sort files/words.txt | cksum; sed -n 2p files/old.txt; sleep 0.05; done";
    let usual = place.command("bash", "C").args(["-c", script]).output().expect("bash starts").stdout;
    taken(&place, &["sort"]);
    let start = |_| warm(&place, script).stdout(Stdio::piped()).spawn().expect("steady starts");
    let all: Vec<Child> = (0..10).map(start).collect();
    for child in all {
        let told = child.wait_with_output().expect("it ends");
        assert!(told.status.success() && told.stdout == usual);
    }
    nobody_keeps(&place);
    let report = place.status(Path::new(STEADY));
    assert!(report["store"]["launches"]["warm"].as_u64() > Some(0), "{report}");
}

/// Kills commands and keepers at moments drawn at random, while programs are taken and started.
#[test]
fn killed_at_any_moment() {
    let times = if at_length() { 200 } else { 80 };
    let place = Place::make(&scratch("killed_at_any_moment"));
    let mut random: u64 = 20_261_121;
    let script =
        "for i in 1 2 3 4; do sort files/words.txt; sed p files/old.txt; cat files/old.txt; grep a files/old.txt; done";
    let usual = place.command("bash", "C").args(["-c", script]).output().expect("bash starts").stdout;
    for time in 0..times {
        let mut command = warm(&place, script);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("steady starts");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((random >> 33) % 60_000));
        let group = Pid::from_child(&child);
        if time % 2 == 0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
        for keeper in keepers(&place) {
            let _ = kill_process(keeper, Signal::KILL);
        }
        child.wait().expect("it ends");
        if time % 10 == 9 {
            let told = warm(&place, script).output().expect("steady starts");
            let errors = String::from_utf8_lossy(&told.stderr).into_owned();
            assert!(told.status.success() && told.stdout == usual && errors.is_empty(), "after {time}: {errors}");
            whole(&place);
        }
        if time % 40 == 39 {
            let cleared = place.command(STEADY, "C").args(["warm", "clear"]).status().expect("steady starts");
            assert!(cleared.success());
        }
    }
    let again = || warm(&place, script).output().expect("steady starts").stdout == usual;
    let taken = within(20, || {
        let kept = place.kept(Path::new(STEADY));
        again() && kept.values().filter(|kept| kept.state == "warm").count() >= 4
    });
    assert!(taken, "{:?}", place.kept(Path::new(STEADY)));
    nobody_keeps(&place);
    // What a keeper left that was killed last is removed by the next one.
    let removed = within(20, || {
        again();
        nobody_keeps(&place);
        half_made(&place.cache()).is_empty()
    });
    assert!(removed, "left half-made: {:?}", half_made(&place.cache()));
    // The tracees of killed keepers are killed with them.
    assert_eq!(processes_with(&place.cache().display().to_string()), 0);
}

/// Every snapshot in the store can be executed: what is half-made has another name.
fn whole(place: &Place) {
    for file in files(&place.cache()) {
        let text = file.display().to_string();
        if text.contains("/snapshots/") && !text.contains("/.") && !text.contains("/tmp") {
            let bytes = fs::read(&file).unwrap_or_default();
            // It may have been replaced since it was listed.
            assert!(bytes.is_empty() || bytes.starts_with(b"\x7fELF"), "{text}");
        }
    }
}

/// What has a name that is only used until it is whole.
fn half_made(folder: &Path) -> Vec<PathBuf> {
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

/// A file is damaged by someone who may: the program is started as usual, or not at all, but the command goes on.
#[test]
fn a_store_is_taken_away_under_a_command() {
    let place = Place::make(&scratch("a_store_is_taken_away_under_a_command"));
    let steady = Path::new(STEADY);
    assert_eq!(place.snapshot(steady, &["/usr/bin/sort", "/usr/bin/sed"]).0, 0);
    let script = "sort files/words.txt | head -1; rm -rf cache/steady/warm/*/cards 2>/dev/null; sort files/words.txt | head -1
        rm -rf cache/steady/warm/*/snapshots cache/steady/warm/*/counts 2>/dev/null; sed -n 1p files/old.txt; ls files | head -1";
    let usual = place.command("bash", "C").args(["-c", "sort files/words.txt | head -1; sort files/words.txt | head -1; sed -n 1p files/old.txt; ls files | head -1"]).output().expect("bash starts");
    let told = warm(&place, script).output().expect("steady starts");
    assert_eq!((told.stdout, String::from_utf8_lossy(&told.stderr).into_owned()), (usual.stdout, String::new()));
    nobody_keeps(&place);
}
