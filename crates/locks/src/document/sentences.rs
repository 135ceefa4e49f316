//! The answer of the report, in sentences.

use steady_model::Nanos;
use steady_render::document::{Emphasis, Sentence};
use steady_render::letters::{numbered, one_line};
use steady_render::units::{TIE, percent, time};

use super::places::{NEARLY_ALL, most_at, place};
use super::tables::thread_name;
use super::{label, named, noun, share};
use crate::record::{LockKind, LockUse, LocksRecord};

/// A share from here on is "most".
const MOST: f64 = 0.55;
/// Below this share of all lifetimes, the threads "hardly waited".
const HARDLY: f64 = 0.01;
/// Below this share of all lifetimes, waiting for events is not mentioned.
const EVENTS: f64 = 0.1;
/// Below this share of the wall time, a gain is negligible.
const GAIN: f64 = 0.005;

/// Shorter waits are not attributed to the scheduler, whose time slices last for milliseconds.
const SCHEDULED: Nanos = Nanos(2_000_000);
/// A wait is much longer than the holds of all threads from this factor on.
const MUCH_LONGER: f64 = 10.0;

/// Returns the sentences of the answer; the claim of each has its emphasis.
pub(super) fn answer(record: &LocksRecord) -> Vec<Sentence> {
    let mut all: Vec<Sentence> = deadlock_sentence(record).into_iter().collect();
    all.push(waiting(record));
    all.extend(gain(record).map(|text| vec![(Emphasis::Plain, text)]));
    all.extend(preempted(record).map(|text| vec![(Emphasis::Plain, text)]));
    all.extend(events(record).map(|text| vec![(Emphasis::Plain, text)]));
    all
}

/// Returns the lock with the longest waiting time, among the kinds that a thread holds.
fn longest_waited(record: &LocksRecord) -> Option<&LockUse> {
    let held = record.locks.iter().filter(|lock| lock.kind.is_held() && lock.waited() > 0.0);
    held.max_by(|one, other| one.waited().total_cmp(&other.waited()).then(other.id.cmp(&one.id)))
}

/// Describes the deadlock, if there is one.
fn deadlock_sentence(record: &LocksRecord) -> Option<Sentence> {
    let cycle = deadlock(record)?;
    let claim = (Emphasis::Open, "Deadlock:".to_owned());
    let who = |thread: usize| thread_name(record, thread);
    let text = match cycle.as_slice() {
        [only] => format!(" {} waited for {}, which it held itself.", who(only.thread), named(only.lock)),
        steps => {
            let parts = steps.iter().enumerate().map(|(at, step)| {
                let next = &steps[(at + 1) % steps.len()];
                let waiter = if at == 0 { who(step.thread) } else { "which".to_owned() };
                format!("{waiter} waited for {}, held by {}", named(step.lock), who(next.thread))
            });
            format!(" {}.", parts.collect::<Vec<_>>().join(", "))
        }
    };
    Some(vec![claim, (Emphasis::Plain, text)])
}

/// Total time that threads waited for locks of Python, in seconds. It is a part of the waiting for conditions and
/// semaphores.
fn waited_for_python(record: &LocksRecord) -> f64 {
    let waited: f64 = record.locks.iter().filter(|lock| lock.is_of_python()).map(LockUse::waited).sum();
    waited.min(record.wait_events_seconds)
}

/// Whether threads waited longer for locks of Python than for other locks, and long enough to say so.
fn is_mostly_python(record: &LocksRecord) -> bool {
    let waited = waited_for_python(record);
    waited > record.wait_seconds && waited >= HARDLY * record.thread_seconds
}

/// How long the threads waited for locks of Python, and for which one longest.
fn waiting_for_python(record: &LocksRecord) -> Sentence {
    let part = percent(waited_for_python(record) / record.thread_seconds);
    let locks: Vec<&LockUse> = record.locks.iter().filter(|lock| lock.is_of_python()).collect();
    let all = locks.iter().map(|lock| lock.waited()).sum();
    let longest = locks.into_iter().max_by(|one, other| one.waited().total_cmp(&other.waited()));
    let longest = longest.map_or_else(String::new, |lock| share_of_one(lock, all));
    vec![
        (Emphasis::Heading, format!("The threads waited for locks of Python during {part} of their lifetimes")),
        (
            Emphasis::Plain,
            format!(
                "{longest}. Locks of Python are the GIL, threading.Lock, and the locks inside other objects of \
                 Python, with which threads also wait for events and for other threads to end."
            ),
        ),
    ]
}

/// How long the threads waited for locks, and for which lock longest.
fn waiting(record: &LocksRecord) -> Sentence {
    let sentence =
        |emphasis: Emphasis, claim: &str, rest: String| vec![(emphasis, claim.to_owned()), (Emphasis::Plain, rest)];
    if record.processes.is_empty() {
        return sentence(Emphasis::Open, "No locks were watched", format!(": {}.", unwatched(record)));
    }
    let acquisitions = record.locks.iter().map(|lock| lock.acquisitions.saturating_add(lock.given_up));
    let folded = record.processes.iter().map(|process| process.folded_acquisitions);
    if acquisitions.chain(folded).all(|count| count == 0) && record.wait_seconds <= 0.0 {
        let threads = record.processes.iter().map(|process| u64::from(process.threads)).sum();
        let (threads, processes) = (numbered(threads, "thread", "threads"), record.processes.len() as u64);
        let rest = format!(" ({threads} in {}).", numbered(processes, "process", "processes"));
        return sentence(Emphasis::Same, "No lock was acquired", rest);
    }
    if is_mostly_python(record) {
        return waiting_for_python(record);
    }
    let ratio = if record.thread_seconds > 0.0 { record.wait_seconds / record.thread_seconds } else { 0.0 };
    if ratio < HARDLY {
        let rest = format!(
            ": {} of their total lifetime of {}{}.",
            time(record.wait_seconds),
            time(record.thread_seconds),
            if record.wait_seconds > 0.0 {
                format!(" ({})", share(record.wait_seconds, record.thread_seconds))
            } else {
                String::new()
            }
        );
        return sentence(Emphasis::Same, "The threads hardly waited for locks", rest);
    }
    let claim = format!("The threads waited for locks during {} of their lifetimes", percent(ratio));
    sentence(Emphasis::Heading, &claim, format!("{}.", longest_wait(record)))
}

/// The lock with the longest waiting time, and where in the code threads acquired it.
fn longest_wait(record: &LocksRecord) -> String {
    let Some(lock) = longest_waited(record) else { return String::new() };
    let locks: f64 = record.locks.iter().filter(|lock| lock.kind.is_held()).map(LockUse::waited).sum();
    let folded: f64 = record.processes.iter().map(|process| process.folded_wait_seconds.seconds()).sum();
    share_of_one(lock, locks + folded)
}

/// The share of the waiting that was for one lock, and where in the code threads requested it.
fn share_of_one(lock: &LockUse, all: f64) -> String {
    let part = lock.waited() / all;
    let how_much = match part {
        part if part > 1.0 - 1e-9 => "all of it".to_owned(),
        part if part >= NEARLY_ALL => "nearly all of it".to_owned(),
        part if part >= MOST => format!("most of it ({})", percent(part)),
        part => format!("{} of it", percent(part)),
    };
    let at = match most_at(lock) {
        Some((at, true)) => format!(", requested by {}", place(&at)),
        Some((at, false)) => format!(", mostly requested by {}", place(&at)),
        None if lock.sites.len() > 1 => format!(", requested at {} call sites", lock.sites.len()),
        None => String::new(),
    };
    let gil = if lock.probably_gil { ", probably the GIL" } else { "" };
    format!(", {how_much} for one {} ({}{gil}){at}", noun(lock.kind), label(lock))
}

/// The time that threads waited for conditions and semaphores, if it is at least [`EVENTS`] of their lifetimes. Locks
/// of Python count separately.
fn events(record: &LocksRecord) -> Option<String> {
    let python = waited_for_python(record);
    let long = |seconds: f64| seconds >= EVENTS * record.thread_seconds && seconds > 0.0;
    let during = |what: &str, seconds: f64| format!("{what} during {}", share(seconds, record.thread_seconds));
    let of_python = (long(python) && !is_mostly_python(record)).then(|| during("locks of Python", python));
    let others = record.wait_events_seconds - python;
    let kinds = if python > 0.0 { "other conditions and semaphores" } else { "conditions and semaphores" };
    let others = long(others).then(|| during(&format!("{kinds}, that is for events,"), others));
    let all: Vec<String> = of_python.into_iter().chain(others).collect();
    (!all.is_empty()).then(|| format!("They waited for {} of their lifetimes.", all.join(", and for ")))
}

/// The gain in wall time if threads never waited for the lock with the longest waiting time.
fn gain(record: &LocksRecord) -> Option<String> {
    let lock = longest_waited(record)?;
    let gain = lock.gain_seconds.as_ref().ok()?.seconds();
    let wall = record.wall_seconds.seconds();
    if record.wait_seconds < HARDLY * record.thread_seconds || wall <= 0.0 {
        return None;
    }
    let (label, whole) = (label(lock), time(wall));
    let [of, unless] = match record.processes.get(lock.process) {
        Some(process) if record.processes.len() > 1 => {
            [format!(" of process {}", process.pid), ", and less if another process takes as long".to_owned()]
        }
        _ => [String::new(), String::new()],
    };
    if gain < GAIN * wall {
        return Some(format!(
            "If threads{of} never waited for {label}, the wall time of {whole} would be hardly any shorter."
        ));
    }
    Some(format!(
        "If threads{of} never waited for {label}, the wall time of {whole} would be at most {} ({}) shorter{unless}.",
        time(gain),
        share(gain, wall)
    ))
}

/// Says that the holder of a lock was probably not on a CPU, if a thread waited much longer for the lock than all
/// threads together hold it. `None` if threads hardly waited for the lock.
fn preempted(record: &LocksRecord) -> Option<String> {
    let lock = longest_waited(record)?;
    let (wait, hold) = (lock.wait_max_seconds.as_ref().ok()?, lock.hold_max_seconds.as_ref().ok()?);
    // A thread that still waits at the end, as in a deadlock, waits for another reason.
    let queue = hold.seconds() * f64::from(lock.threads.max(1));
    if lock.waited() < HARDLY * record.thread_seconds {
        return None;
    }
    if !lock.waiting.is_empty() || *wait < SCHEDULED || wait.seconds() <= MUCH_LONGER * queue {
        return None;
    }
    let label = label(lock);
    Some(format!(
        "The longest wait for {label} was {}, but the longest timed hold {}. The thread that held {label} then was \
         probably preempted, that is waiting for a CPU, so the busy machine caused this wait rather than the code that \
         holds the lock.",
        time(wait.seconds()),
        time(hold.seconds())
    ))
}

/// Why no lock was watched, as far as known.
fn unwatched(record: &LocksRecord) -> String {
    if let Some(why) = record.futexes.as_ref().ok().and_then(|futexes| futexes.unwatched_programs.first()) {
        return one_line(why);
    }
    match record.unwatched_processes {
        0 => "no program of the command loaded the library that watches locks".to_owned(),
        many => {
            let who = numbered(u64::from(many), "process", "processes");
            format!("{who} could not be watched, for lack of room, memory or permissions")
        }
    }
}

/// The answer in a few words, for a list: `61 % waiting for locks, mostly a mutex requested by push() in
/// src/queue.c:88`.
pub(crate) fn summary(record: &LocksRecord) -> String {
    let text = match longest_waited(record) {
        _ if record.processes.is_empty() => "no locks were watched".to_owned(),
        _ if deadlock(record).is_some() => "deadlock".to_owned(),
        _ if is_mostly_python(record) => {
            format!("{} waiting for locks of Python", share(waited_for_python(record), record.thread_seconds))
        }
        Some(lock) if record.wait_seconds >= HARDLY * record.thread_seconds => {
            let at = most_at(lock).map(|(at, _)| format!(" requested by {}", place(&at)));
            let kind = if lock.kind == LockKind::Rwlock { "rwlock" } else { noun(lock.kind) };
            format!(
                "{} waiting for locks, mostly a {kind}{}",
                share(record.wait_seconds, record.thread_seconds),
                at.unwrap_or_default()
            )
        }
        _ => format!("{} waiting for locks", share(record.wait_seconds, record.thread_seconds)),
    };
    text.replace(TIE, " ")
}

/// A step of a cycle: a thread, and the lock that it waits for, which the next thread holds.
struct Step<'a> {
    thread: usize,
    lock: &'a LockUse,
}

/// Returns the first cycle of threads in which each waits for a lock that the next one holds. Returns `None` if there
/// is no cycle or a holder is not known.
fn deadlock(record: &LocksRecord) -> Option<Vec<Step<'_>>> {
    let starts = record.locks.iter().flat_map(|lock| lock.waiting.iter().copied());
    starts.into_iter().find_map(|start| cycle(record, start))
}

/// Returns the cycle that `start` is part of.
fn cycle(record: &LocksRecord, start: usize) -> Option<Vec<Step<'_>>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut thread = start;
    // A cycle without `start` never ends, so the number of threads bounds the search.
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
