//! The answer in sentences.

use steady_render::document::{Emphasis, Sentence};
use steady_render::letters::one_line;
use steady_render::units::{TIE, percent, time};

use super::places::{NEARLY_ALL, most_at, place};
use super::tables::thread_name;
use super::{label, named, noun, numbered, share};
use crate::record::{LockKind, LockUse, LocksRecord};

/// From what share on a part is most.
const MOST: f64 = 0.55;
/// Below what share of all lives waiting is hardly any.
const HARDLY: f64 = 0.01;
/// Below what share of all lives waiting for events is not worth a sentence.
const EVENTS: f64 = 0.1;
/// Below what share of the wall time a gain is hardly one.
const GAIN: f64 = 0.005;

/// Which lock the threads waited for, in sentences; what they claim is painted.
pub(super) fn answer(record: &LocksRecord) -> Vec<Sentence> {
    let mut all: Vec<Sentence> = stuck(record).into_iter().collect();
    all.push(waiting(record));
    all.extend(gain(record).map(|told| vec![(Emphasis::Plain, told)]));
    all.extend(events(record).map(|told| vec![(Emphasis::Plain, told)]));
    all
}

/// The lock that was waited for longest, of those that somebody can have.
fn foremost(record: &LocksRecord) -> Option<&LockUse> {
    let held = record.locks.iter().filter(|lock| lock.kind.is_held() && lock.waited() > 0.0);
    held.max_by(|one, other| one.waited().total_cmp(&other.waited()).then(other.id.cmp(&one.id)))
}

/// A deadlock, where there was one.
fn stuck(record: &LocksRecord) -> Option<Sentence> {
    let circle = deadlock(record)?;
    let claim = (Emphasis::Open, "Deadlock:".to_owned());
    let who = |thread: usize| thread_name(record, thread);
    let told = match circle.as_slice() {
        [only] => format!(" {} waited for {}, which it had itself.", who(only.thread), named(only.lock)),
        steps => {
            let told = steps.iter().enumerate().map(|(at, step)| {
                let next = &steps[(at + 1) % steps.len()];
                let waited = if at == 0 { format!("{} waited", who(step.thread)) } else { "and that one".to_owned() };
                format!("{waited} for {}, which {} had", named(step.lock), who(next.thread))
            });
            format!(" {}.", told.collect::<Vec<_>>().join(", "))
        }
    };
    Some(vec![claim, (Emphasis::Plain, told)])
}

/// How much was waited, and for what.
fn waiting(record: &LocksRecord) -> Sentence {
    let said =
        |emphasis: Emphasis, claim: &str, rest: String| vec![(emphasis, claim.to_owned()), (Emphasis::Plain, rest)];
    if record.processes.is_empty() {
        return said(Emphasis::Open, "No locks were watched", format!(": {}.", unwatched(record)));
    }
    let taken = record.locks.iter().map(|lock| lock.acquisitions.saturating_add(lock.given_up));
    let folded = record.processes.iter().map(|process| process.folded_acquisitions);
    if taken.chain(folded).all(|count| count == 0) && record.wait_seconds <= 0.0 {
        let threads = record.processes.iter().map(|process| u64::from(process.threads)).sum();
        let (threads, processes) = (numbered(threads, "thread", "threads"), record.processes.len() as u64);
        let rest = format!(", by {threads} of {}.", numbered(processes, "process", "processes"));
        return said(Emphasis::Same, "No lock was taken", rest);
    }
    let ratio = if record.thread_seconds > 0.0 { record.wait_seconds / record.thread_seconds } else { 0.0 };
    if ratio < HARDLY {
        let rest = format!(
            ": {} of the {} that they lived{}.",
            time(record.wait_seconds),
            time(record.thread_seconds),
            if record.wait_seconds > 0.0 {
                format!(" ({})", share(record.wait_seconds, record.thread_seconds))
            } else {
                String::new()
            }
        );
        return said(Emphasis::Same, "The threads hardly waited for locks", rest);
    }
    let claim = format!("The threads waited {} of their lives for locks", percent(ratio));
    said(Emphasis::Heading, &claim, format!("{}.", what_for(record)))
}

/// Which of the locks, and where in the code.
fn what_for(record: &LocksRecord) -> String {
    let Some(lock) = foremost(record) else { return String::new() };
    let locks: f64 = record.locks.iter().filter(|lock| lock.kind.is_held()).map(LockUse::waited).sum();
    let folded: f64 = record.processes.iter().map(|process| process.folded_wait_seconds.seconds()).sum();
    let part = lock.waited() / (locks + folded);
    let how_much = match part {
        part if part > 1.0 - 1e-9 => "all of it".to_owned(),
        part if part >= NEARLY_ALL => "nearly all of it".to_owned(),
        part if part >= MOST => format!("most of it ({})", percent(part)),
        part => format!("{} of it", percent(part)),
    };
    let at = match most_at(lock) {
        Some((at, true)) => format!(", taken by {}", place(&at)),
        Some((at, false)) => format!(", mostly taken by {}", place(&at)),
        None if lock.sites.len() > 1 => format!(", taken at {} places", lock.sites.len()),
        None => String::new(),
    };
    format!(", {how_much} for one {} ({}){at}", noun(lock.kind), label(lock))
}

/// How much was waited for something to happen, where that was much.
fn events(record: &LocksRecord) -> Option<String> {
    (record.wait_events_seconds >= EVENTS * record.thread_seconds && record.wait_events_seconds > 0.0).then(|| {
        let part = share(record.wait_events_seconds, record.thread_seconds);
        format!("They waited {part} for conditions and semaphores, that is for something to happen.")
    })
}

/// What it would be worth if the foremost lock were never waited for.
fn gain(record: &LocksRecord) -> Option<String> {
    let lock = foremost(record)?;
    let gain = lock.gain_seconds.as_ref().ok()?.seconds();
    let wall = record.wall_seconds.seconds();
    if record.wait_seconds < HARDLY * record.thread_seconds || wall <= 0.0 {
        return None;
    }
    let (label, whole) = (label(lock), time(wall));
    if gain < GAIN * wall {
        return Some(format!("Were {label} never waited for, the wall time of {whole} would be hardly any shorter."));
    }
    Some(format!(
        "Were {label} never waited for, the wall time of {whole} would be at most {} ({}) shorter.",
        time(gain),
        share(gain, wall)
    ))
}

/// Why nothing was watched, as far as it is known.
fn unwatched(record: &LocksRecord) -> String {
    if let Some(why) = record.futexes.as_ref().ok().and_then(|futexes| futexes.unwatched_programs.first()) {
        return one_line(why);
    }
    match record.unwatched_processes {
        0 => "no program of the command loaded the library that watches".to_owned(),
        many => format!("{} got no room or no rights for it", numbered(u64::from(many), "process", "processes")),
    }
}

/// What was waited for in a few words, for a list: `61 % waiting for locks, L1 mutex in src/queue.c:88`.
pub(crate) fn summary(record: &LocksRecord) -> String {
    let told = match foremost(record) {
        _ if record.processes.is_empty() => "no locks were watched".to_owned(),
        _ if deadlock(record).is_some() => "deadlock".to_owned(),
        Some(lock) if record.wait_seconds >= HARDLY * record.thread_seconds => {
            let at = most_at(lock).map(|(at, _)| format!(" by {}", place(&at)));
            let kind = if lock.kind == LockKind::Rwlock { "rwlock" } else { noun(lock.kind) };
            format!(
                "{} waiting for locks, most for a {kind}{}",
                share(record.wait_seconds, record.thread_seconds),
                at.unwrap_or_default()
            )
        }
        _ => format!("{} waiting for locks", share(record.wait_seconds, record.thread_seconds)),
    };
    told.replace(TIE, " ")
}

/// A step of a circle: a thread, and the lock that it waits for, which the next thread holds.
struct Step<'a> {
    thread: usize,
    lock: &'a LockUse,
}

/// The first circle of threads of which each waits for what the next holds. None if nobody is known to hold what is waited for.
fn deadlock(record: &LocksRecord) -> Option<Vec<Step<'_>>> {
    let starts = record.locks.iter().flat_map(|lock| lock.waiting.iter().copied());
    starts.into_iter().find_map(|start| circle(record, start))
}

/// The circle that `start` is part of.
fn circle(record: &LocksRecord, start: usize) -> Option<Vec<Step<'_>>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut thread = start;
    // Only the first is met twice.
    while steps.len() <= record.threads.len() {
        let lock = record.locks.iter().find(|lock| lock.kind.is_held() && lock.waiting.contains(&thread))?;
        steps.push(Step { thread, lock });
        thread = *lock.held_by.as_ref().ok()?;
        if thread == start {
            return Some(steps);
        }
    }
    None
}
