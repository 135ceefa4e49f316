//! The answer in sentences.

use steady_model::{LockKind, LockUse, LocksReport};

use super::deadlock::deadlock;
use super::{fitting, label, lives, named, noun, numbered, places, share, thread_name, waited};
use crate::text::{Paint, Span};
use crate::units::{TIE, percent, time};
use crate::words::one_line;

/// What is this share of something is nearly all of it.
pub(super) const NEARLY: f64 = 0.9;
/// What is this share is most of it.
const MOST: f64 = 0.55;
/// Less waiting than this share of all lives is hardly any.
const HARDLY: f64 = 0.01;
/// A lesser share of all lives is not worth a sentence.
const EVENTS: f64 = 0.1;
/// A lesser share of the wall time is hardly a gain.
const GAIN: f64 = 0.005;

/// Which lock the threads waited for, in sentences; what they claim is painted.
pub(crate) fn sentences(report: &LocksReport, room: usize) -> Vec<Vec<Span>> {
    let mut all: Vec<Vec<Span>> = stuck(report, room).into_iter().collect();
    all.push(waiting(report, room));
    all.extend(gain(report).map(|told| vec![(Paint::Plain, told)]));
    all.extend(events(report).map(|told| vec![(Paint::Plain, told)]));
    all
}

/// The lock that was waited for longest, of those that somebody can have.
fn foremost(report: &LocksReport) -> Option<&LockUse> {
    let held = report.locks.iter().filter(|lock| lock.kind.is_held() && waited(lock) > 0.0);
    held.max_by(|one, other| waited(one).total_cmp(&waited(other)).then(other.id.cmp(&one.id)))
}

/// A deadlock, where there was one.
fn stuck(report: &LocksReport, room: usize) -> Option<Vec<Span>> {
    let circle = deadlock(report)?;
    let claim = (Paint::Open, "Deadlock:".to_owned());
    let who = |thread: usize| thread_name(report, thread, room);
    let told = match circle.as_slice() {
        [(thread, lock)] => format!(" {} waited for {}, which it had itself.", who(*thread), named(lock)),
        steps => {
            let step = |(at, (thread, lock)): (usize, &(usize, &LockUse))| {
                let (next, _) = steps[(at + 1) % steps.len()];
                let waited = if at == 0 { format!("{} waited", who(*thread)) } else { "and that one".to_owned() };
                format!("{waited} for {}, which {} had", named(lock), who(next))
            };
            format!(" {}.", steps.iter().enumerate().map(step).collect::<Vec<_>>().join(", "))
        }
    };
    Some(vec![claim, (Paint::Plain, told)])
}

/// How much was waited, and for what.
fn waiting(report: &LocksReport, room: usize) -> Vec<Span> {
    let said = |paint: Paint, claim: &str, rest: String| vec![(paint, claim.to_owned()), (Paint::Plain, rest)];
    if report.processes.is_empty() {
        return said(Paint::Open, "No locks were watched", format!(": {}.", unwatched(report, room)));
    }
    let sum = lives(report);
    let taken = report.locks.iter().map(|lock| lock.acquisitions.saturating_add(lock.given_up));
    let folded = report.processes.iter().map(|process| process.folded.acquisitions);
    if taken.chain(folded).all(|count| count == 0) && sum.locks <= 0.0 {
        let threads = report.processes.iter().map(|process| u64::from(process.threads)).sum();
        let (threads, processes) = (numbered(threads, "thread", "threads"), report.processes.len() as u64);
        let rest = format!(", by {threads} of {}.", numbered(processes, "process", "processes"));
        return said(Paint::Same, "No lock was taken", rest);
    }
    let ratio = if sum.life > 0.0 { sum.locks / sum.life } else { 0.0 };
    if ratio < HARDLY {
        let rest = format!(
            ": {} of the {} that they lived{}.",
            time(sum.locks),
            time(sum.life),
            if sum.locks > 0.0 { format!(" ({})", share(sum.locks, sum.life)) } else { String::new() }
        );
        return said(Paint::Same, "The threads hardly waited for locks", rest);
    }
    let claim = format!("The threads waited {} of their lives for locks", percent(ratio));
    said(Paint::Heading, &claim, format!("{}.", what_for(report, room)))
}

/// Which of the locks, and where in the code.
fn what_for(report: &LocksReport, room: usize) -> String {
    let Some(lock) = foremost(report) else { return String::new() };
    let locks: f64 = report.locks.iter().filter(|lock| lock.kind.is_held()).map(waited).sum();
    let folded: f64 = report.processes.iter().map(|process| process.folded.wait.seconds()).sum();
    let part = waited(lock) / (locks + folded);
    let how_much = match part {
        part if part > 1.0 - 1e-9 => "all of it".to_owned(),
        part if part >= NEARLY => "nearly all of it".to_owned(),
        part if part >= MOST => format!("most of it ({})", percent(part)),
        part => format!("{} of it", percent(part)),
    };
    let at = match places::most_at(lock) {
        Some((place, true)) => format!(", taken by {}", places::place(place, room)),
        Some((place, false)) => format!(", mostly taken by {}", places::place(place, room)),
        None if lock.sites.len() > 1 => format!(", taken at {} places", lock.sites.len()),
        None => String::new(),
    };
    format!(", {how_much} for one {} ({}){at}", noun(lock.kind), label(lock))
}

/// How much was waited for something to happen, where that was much.
fn events(report: &LocksReport) -> Option<String> {
    let sum = lives(report);
    (sum.events >= EVENTS * sum.life && sum.events > 0.0).then(|| {
        let part = share(sum.events, sum.life);
        format!("They waited {part} for conditions and semaphores, that is for something to happen.")
    })
}

/// What it would be worth if the foremost lock were never waited for.
fn gain(report: &LocksReport) -> Option<String> {
    let lock = foremost(report)?;
    let sum = lives(report);
    let gain = lock.gain.as_ref().ok()?.seconds();
    let wall = report.wall.seconds();
    if sum.locks < HARDLY * sum.life || wall <= 0.0 {
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
fn unwatched(report: &LocksReport, room: usize) -> String {
    if let Some(why) = report.futexes.as_ref().ok().and_then(|futexes| futexes.unwatched.first()) {
        return fitting(&one_line(why), room);
    }
    match report.unwatched {
        0 => "no program of the command loaded the library that watches".to_owned(),
        many => format!("{} got no room or no rights for it", numbered(u64::from(many), "process", "processes")),
    }
}

/// What was waited for in a few words, for a list: `61 % waiting for locks, L1 mutex in src/queue.c:88`.
pub fn locks_summary(report: &LocksReport) -> String {
    let sum = lives(report);
    let told = match foremost(report) {
        _ if report.processes.is_empty() => "no locks were watched".to_owned(),
        _ if deadlock(report).is_some() => "deadlock".to_owned(),
        Some(lock) if sum.locks >= HARDLY * sum.life => {
            let at = places::most_at(lock).map(|(place, _)| format!(" by {}", places::place(place, 32)));
            let kind = if lock.kind == LockKind::Rwlock { "rwlock" } else { noun(lock.kind) };
            format!("{} waiting for locks, most for a {kind}{}", share(sum.locks, sum.life), at.unwrap_or_default())
        }
        _ => format!("{} waiting for locks", share(sum.locks, sum.life)),
    };
    told.replace(TIE, " ")
}
