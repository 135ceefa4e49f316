//! The log of a comparison: what it contains if the measuring is killed at any point.

use std::path::PathBuf;

use proptest::prelude::*;
use steady_compare::judge;
use steady_compare::run::{Event, compare};
use steady_model::{Block, Ending, Record, Report};
use steady_process::log::{AbandonedLog, Appender, Part, read};
use steady_process::runner::Start;
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{plan, setting};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// Appends a block as launchers do: the sides of a duet separately, the second one first.
fn append(log: &mut Appender, number: usize, block: &Block, start: Start) {
    let part = |place| Part { block: number as u64, layout: block.layout, place, draw: block.draw, start };
    match block.layout {
        steady_model::Layout::Turns => log.runs(part(0), block.runs.iter()).unwrap(),
        steady_model::Layout::Duet => {
            for place in [1, 0] {
                log.runs(part(place), block.runs[place..=place].iter()).unwrap();
            }
        }
    }
}

/// A comparison, and its log after the last measured block.
fn logged(name: &str, seed: u64) -> (Record, String) {
    let path = file(name);
    let mut begun = None;
    let mut later = Vec::new();
    let mut machine = SimulatedMachine::new(&[0.010, 0.0102], Conditions::QUIET, seed);
    let record = compare(&plan(2, 2.0, seed), setting(), &mut machine, &mut |event| match event {
        Event::Begun(record) => begun = Some(*record),
        event @ (Event::Looked(_) | Event::Watched(_)) => later.push(event),
        Event::WarmedUp { .. } | Event::Measured(_) | Event::CleanupFailed(_) => {}
    })
    .unwrap();
    let mut log = Appender::open(&path).unwrap();
    log.begun(&begun.unwrap()).unwrap();
    record.blocks.iter().enumerate().for_each(|(number, block)| append(&mut log, number, block, Start::Usual));
    for event in &later {
        match event {
            Event::Looked(look) => log.look(look).unwrap(),
            Event::Watched(moment) => log.moment(moment).unwrap(),
            _ => {}
        }
    }
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    (record, text)
}

/// Earlier logs have names without units, and arrays where exports have objects.
#[test]
fn logs_of_earlier_versions_are_read() {
    let (_, text) = logged("earlier", 11);
    let seconds = ["started", "wall", "user", "system", "run_delay", "at", "timeout", "budget"];
    let names = seconds.map(|name| (format!("{name}_seconds"), name)).into_iter();
    let others = [("padding_bytes", "padding"), ("peak_memory_bytes", "peak_memory"), ("fraction_ratio", "fraction")];
    let others = others.into_iter().chain([("resolution_ratio", "resolution")]);
    let mut earlier = text.clone();
    for (now, then) in names.chain(others.map(|(now, then)| (now.to_owned(), then))) {
        let (now, then) = (format!("\"{now}\":"), format!("\"{then}\":"));
        earlier = earlier.replace(&now, &then);
    }
    for name in ["environment", "parameters"] {
        earlier = earlier.replace(&format!("\"{name}\":{{}}"), &format!("\"{name}\":[]"));
    }
    assert!(earlier.contains("\"environment\":[]"), "{earlier}");
    assert_eq!(read(&earlier), read(&text));
    assert!(read(&earlier).is_some());
}

#[test]
fn a_log_without_its_end_has_all_measured_blocks() {
    let (record, text) = logged("whole", 31);
    let found = read(&text).unwrap();
    assert!(found.blocks == record.blocks && found.moments == record.moments);
    // The log does not say that the last look was the last. One more look spends what is due at that time.
    assert_eq!(found.looks[..record.looks.len()], record.looks);
    assert!(found.looks.len() == record.looks.len() + 1 && !found.looks.last().unwrap().last);
    let (found, record) = (judge(found), judge(record));
    let verdicts = |report: &Report| report.primary().map(|judgement| judgement.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts(&found), verdicts(&record));
}

#[test]
fn a_log_with_its_end_is_the_record() {
    let (record, text) = logged("ended", 34);
    let path = file("end");
    let mut log = Appender::create(&path).unwrap();
    assert!(Appender::create(&path).is_err(), "an existing log is overwritten");
    log.ended(&record).unwrap();
    let end = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let found = read(&format!("{text}{end}")).unwrap();
    assert!(found == record);
    assert_eq!(judge(found).judgements, judge(record.clone()).judgements);
    // Runs that launchers appended before an interruption, but that are not in the record, do not count.
    let fewer = Record { blocks: record.blocks[..9].to_vec(), looks: vec![], ..record };
    log = Appender::create(&path).unwrap();
    log.ended(&fewer).unwrap();
    let end = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(read(&format!("{text}{end}")).unwrap().blocks == fewer.blocks);
}

#[test]
fn a_log_is_imported_once_after_all_its_writers_have_ended() {
    let path = file("orphan");
    let owner = Appender::create(&path).unwrap();
    let launcher = Appender::open(&path).unwrap();
    assert!(AbandonedLog::lock(&path).unwrap().is_none());
    drop(owner);
    assert!(AbandonedLog::lock(&path).unwrap().is_none(), "a launcher may still write");
    drop(launcher);
    let mut orphan = AbandonedLog::lock(&path).unwrap().expect("all writers have ended");
    assert!(AbandonedLog::lock(&path).unwrap().is_none());
    assert_eq!(orphan.text().unwrap(), "");
    orphan.remove().unwrap();
    assert!(AbandonedLog::lock(&path).unwrap().is_none(), "a removed log is found");
}

#[test]
fn a_truncated_log_has_all_complete_blocks() {
    let (record, text) = logged("cut", 32);
    let lines: Vec<&str> = text.lines().collect();
    for whole in [2, lines.len() / 3, lines.len() / 2] {
        let torn = format!("{}\n{}", lines[..whole].join("\n"), &lines[whole][..lines[whole].len() / 2]);
        let Some(found) = read(&torn) else { continue };
        assert_eq!(found.blocks[..], record.blocks[..found.blocks.len()]);
        // Every line except the first is a block in turns or one side of a duet. Only one block can be incomplete.
        assert!(2 * (found.blocks.len() + 1) >= whole - 1, "{} of {whole} lines", found.blocks.len());
        assert_eq!(found.ending, Ending::Interrupted);
        let look = found.looks.last().unwrap();
        assert_eq!((look.blocks, look.last, look.fraction), (found.blocks.len(), false, found.spent()));
        assert_eq!(judge(found.clone()), judge(found));
    }
    assert_eq!(read(lines[0]), None, "nothing was measured");
    assert_eq!(read(""), None);
    assert_eq!(read(&lines[1..].join("\n")), None);
}

proptest! {
    #[test]
    fn garbled_logs_never_panic(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (_, text) = logged("garbled", 33);
        let mut bytes = text.into_bytes();
        let at = place.index(bytes.len());
        bytes[at] = byte;
        if let Some(record) = read(&String::from_utf8_lossy(&bytes)) {
            let _ = judge(record);
        }
    }
}

#[test]
fn usual_runs_in_draws_of_snapshots_are_recognised() {
    use steady_process::simulated::Snapshots;
    let path = file("drawn");
    let plan = steady_model::Plan { warm: true, ..plan(2, 0.5, 4) };
    let mut machine = SimulatedMachine::new(&[200e-6, 200e-6], Conditions::QUIET, 4);
    machine.snapshots = Some(Snapshots { luck: 0.01, start_up: 400e-6, drawing: 5e-3 });
    let record = compare(&plan, setting(), &mut machine, &mut |_| {}).unwrap();
    let mut log = Appender::open(&path).unwrap();
    log.begun(&Record { blocks: vec![], usual: vec![], looks: vec![], moments: vec![], ..record.clone() }).unwrap();
    // In the order of time, as launchers append them.
    let usual = record.usual.iter().map(|block| (block, Start::Usual));
    let mut all: Vec<_> = record.blocks.iter().map(|block| (block, Start::Snapshot)).chain(usual).collect();
    all.sort_by_key(|(block, _)| (block.draw, block.ended));
    all.iter().enumerate().for_each(|(number, (block, start))| append(&mut log, number, block, *start));
    record.looks.iter().for_each(|look| log.look(look).unwrap());
    record.moments.iter().for_each(|moment| log.moment(moment).unwrap());
    log.ended(&record).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(read(&text), Some(record));
}
