//! The facts below the tables: totals of the waiting, locks without an entry of their own, and what was not watched.

use steady_model::{Interval, Outcome};
use steady_render::document::Fact;
use steady_render::letters::{count, listed, numbered, one_line};
use steady_render::units::{TIE, time, time_with};

use super::{number, share};
use crate::record::{LockedProcess, LocksRecord};

/// Returns the facts in the order of the report.
pub(super) fn facts(record: &LocksRecord) -> Vec<Fact> {
    let mut facts = Vec::new();
    match record.ended {
        Outcome::Exited(0) => {}
        Outcome::Exited(status) => facts.push(Fact::new("ended", format!("with status{TIE}{status}"))),
        Outcome::Signalled(signal) => facts.push(Fact::new("ended", format!("by signal{TIE}{signal}"))),
        Outcome::TimedOut => facts.push(Fact::new("ended", "by a timeout")),
    }
    let (wall, cpu) = (time(record.wall_seconds.seconds()), time(record.cpu_seconds.seconds()));
    facts.push(Fact::new("took", format!("{wall} of wall time, {cpu} of CPU time")));
    if !record.processes.is_empty() {
        facts.push(Fact::new("watched", watched(record)));
        facts.push(Fact::new("waiting", waiting_totals(record)));
        facts.extend(given_up(record).map(|text| Fact::new("given up", text)));
    }
    facts.extend(folded(record).map(|text| Fact::new("folded", text)));
    facts.push(Fact::new("futexes", futexes(record)));
    let elsewhere = record.futexes.as_ref().ok().into_iter().flat_map(|futexes| &futexes.unwatched_programs);
    facts.extend(elsewhere.map(|program| Fact::new("unwatched", one_line(program))));
    if record.unwatched_processes > 0 {
        let many = count(record.unwatched_processes as usize, "process", "processes");
        facts.push(Fact::new("unwatched", format!("{many}, for lack of room, memory or permissions")));
    }
    if !record.locks.is_empty() {
        let one_in = number(record.sampled_one_in);
        let others = format!("of the others, the first of each lock and on average one in {one_in}");
        let first = match record.timed_first {
            0 | 1 => String::new(),
            first => format!(", and the hold times of the first {} of each lock", number(first)),
        };
        let text = format!("hold time and call site of every contended acquisition; {others}{first}");
        facts.push(Fact::new("sampled", text));
    }
    let hidden = "locks inside the C library (of malloc and stdio), and locks that use neither pthreads nor semaphores";
    facts.push(Fact::new("not visible", hidden));
    if record.left_behind > 0 {
        let left = count(record.left_behind as usize, "process", "processes");
        facts.push(Fact::new("left behind", format!("{left}, killed when the command had ended")));
    }
    facts
}

/// How many processes and threads were watched, and how the processes ended.
fn watched(record: &LocksRecord) -> String {
    let all = &record.processes;
    let threads = all.iter().map(|process| u64::from(process.threads)).sum();
    let forked = all.iter().filter(|process| process.forked).count();
    let cut_off = all.iter().filter(|process| !process.ended_itself).count();
    let mut text = format!(
        "{} with {}",
        count(all.len(), "process", "processes"),
        numbered(threads, "thread", if all.len() == 1 { "threads" } else { "threads in total" })
    );
    if forked > 0 {
        text.push_str(&format!("; {} created by fork(2)", numbered(forked as u64, "process was", "processes were")));
    }
    if cut_off > 0 {
        let who = match all.len() {
            1 => "it was".to_owned(),
            _ => count(cut_off, "process was", "processes were"),
        };
        text.push_str(&format!("; {who} killed, executed another program or ended without the C library"));
    }
    text
}

/// The total lifetime of the threads, and how much of it they waited, by what they waited for.
fn waiting_totals(record: &LocksRecord) -> String {
    let of = |seconds: f64| format!("{} ({})", time(seconds), share(seconds, record.thread_seconds));
    let all: u64 = record.processes.iter().map(|process| u64::from(process.threads)).sum();
    let others = match all.saturating_sub(record.threads.len() as u64) {
        0 => String::new(),
        many => format!("; {} not listed", numbered(many, "other thread is", "other threads are")),
    };
    format!(
        "{} for locks, {} for conditions and semaphores, {} for other threads to end, of a total lifetime of \
         {}{others}",
        of(record.wait_seconds),
        of(record.wait_events_seconds),
        of(record.wait_joins_seconds),
        time(record.thread_seconds)
    )
}

/// The waits that ended without the lock, or `None` if there are none. Their time is part of all waiting times.
fn given_up(record: &LocksRecord) -> Option<String> {
    let of = |are_held: bool, what: &str| {
        let locks = record.locks.iter().filter(|lock| lock.kind.is_held() == are_held);
        let number = locks.fold(0u64, |sum, lock| sum.saturating_add(lock.given_up));
        (number > 0).then(|| format!("{} for {what}", numbered(number, "wait", "waits")))
    };
    let waits: Vec<String> =
        [of(true, "locks"), of(false, "conditions and semaphores")].into_iter().flatten().collect();
    (!waits.is_empty()).then(|| {
        format!(
            "{} ended without success: by a timeout, an error, a signal or cancellation. All waiting times include \
             them, but no number of acquisitions does",
            listed(&waits)
        )
    })
}

/// Totals of the locks without an entry of their own, or `None` if there are none.
fn folded(record: &LocksRecord) -> Option<String> {
    let sum = |of: fn(&LockedProcess) -> u64| {
        record.processes.iter().fold(0u64, |sum, process| sum.saturating_add(of(process)))
    };
    let (locks, acquisitions) = (sum(|process| process.folded_locks), sum(|process| process.folded_acquisitions));
    if locks == 0 && acquisitions == 0 {
        return None;
    }
    let wait: f64 = record.processes.iter().map(|process| process.folded_wait_seconds.seconds()).sum();
    Some(format!(
        "{} without an entry of their own (destroyed, or beyond the limit): {}, {} of them contended, {} of waiting",
        numbered(locks, "lock", "locks"),
        numbered(acquisitions, "acquisition", "acquisitions"),
        number(sum(|process| process.folded_contended)),
        time(wait)
    ))
}

/// The estimated time that threads waited for futexes of nothing that was watched.
fn futexes(record: &LocksRecord) -> String {
    let futexes = match &record.futexes {
        Ok(futexes) => futexes,
        Err(absent) => return format!("waits for what was not watched: not measured ({})", one_line(&absent.0)),
    };
    let (rest, off) = (futexes.other_seconds.seconds(), futexes.other_off_by_seconds.seconds());
    let samples = numbered(futexes.looks, "sample", "samples");
    if rest == 0.0 && off == 0.0 {
        return format!("no wait for anything that was not watched, in {samples}");
    }
    let other = time_with(rest, Interval { low: rest - off, high: rest + off });
    format!(
        "threads waited for about {other} for none of the watched locks, conditions, semaphores and ends of threads, \
         estimated from {samples}"
    )
}
