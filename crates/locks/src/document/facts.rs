//! What else there is to say: what the waiting adds up to, what is not told apart, what is out of sight.

use steady_model::{Interval, Outcome};
use steady_render::document::Fact;
use steady_render::letters::{count, one_line};
use steady_render::units::{TIE, time, time_with};

use super::{number, numbered, share};
use crate::record::{LockedProcess, LocksRecord};

/// The facts below the tables.
pub(super) fn facts(record: &LocksRecord) -> Vec<Fact> {
    let mut facts = Vec::new();
    match record.ended {
        Outcome::Exited(0) => {}
        Outcome::Exited(status) => facts.push(Fact::new("ended", format!("with status{TIE}{status}"))),
        Outcome::Signalled(signal) => facts.push(Fact::new("ended", format!("by signal{TIE}{signal}"))),
        Outcome::TimedOut => facts.push(Fact::new("ended", "past its time")),
    }
    let (wall, cpu) = (time(record.wall_seconds.seconds()), time(record.cpu_seconds.seconds()));
    facts.push(Fact::new("took", format!("{wall} of wall time, {cpu} of CPU time")));
    if !record.processes.is_empty() {
        facts.push(Fact::new("watched", watched(record)));
        facts.push(Fact::new("waiting", adds_up(record)));
    }
    facts.extend(folded(record).map(|text| Fact::new("folded", text)));
    facts.push(Fact::new("futexes", futexes(record)));
    let elsewhere = record.futexes.as_ref().ok().into_iter().flat_map(|futexes| &futexes.unwatched_programs);
    facts.extend(elsewhere.map(|program| Fact::new("unwatched", one_line(program))));
    if record.unwatched_processes > 0 {
        let many = count(record.unwatched_processes as usize, "process", "processes");
        facts.push(Fact::new("unwatched", format!("{many}, because room, memory or rights were missing")));
    }
    if !record.locks.is_empty() {
        let one_in = number(record.sampled_one_in);
        let others =
            format!("of the others the first of each lock and one in {one_in} on average have hold and place noted");
        facts.push(Fact::new("sampled", format!("each contended acquisition was timed; {others}")));
    }
    let hidden = "locks inside the C library (those of malloc and stdio), and whatever is no pthread lock or semaphore";
    facts.push(Fact::new("out of sight", hidden));
    if record.left_behind > 0 {
        let left = count(record.left_behind as usize, "process", "processes");
        facts.push(Fact::new("left behind", format!("{left}, ended with the command")));
    }
    facts
}

/// In which processes, and how those ended.
fn watched(record: &LocksRecord) -> String {
    let all = &record.processes;
    let threads = all.iter().map(|process| u64::from(process.threads)).sum();
    let forked = all.iter().filter(|process| process.forked).count();
    let cut_off = all.iter().filter(|process| !process.ended_itself).count();
    let mut told = format!(
        "{} with {}",
        count(all.len(), "process", "processes"),
        numbered(threads, "thread", if all.len() == 1 { "threads" } else { "threads together" })
    );
    if forked > 0 {
        told.push_str(&format!(", {forked} of them forked"));
    }
    if cut_off > 0 {
        let who = if all.len() == 1 { "it was".to_owned() } else { count(cut_off, "was", "were") };
        told.push_str(&format!("; {who} killed, executed another program or left by _exit(2)"));
    }
    told
}

/// What all the waiting of the threads adds up to.
fn adds_up(record: &LocksRecord) -> String {
    let of = |seconds: f64| format!("{} ({})", time(seconds), share(seconds, record.thread_seconds));
    let all: u64 = record.processes.iter().map(|process| u64::from(process.threads)).sum();
    let others = match all.saturating_sub(record.threads.len() as u64) {
        0 => String::new(),
        many => format!("; {} not told apart", numbered(many, "other thread is", "other threads are")),
    };
    format!(
        "of {} that the threads lived, {} for locks, {} for conditions and semaphores, {} for other threads to end{others}",
        time(record.thread_seconds),
        of(record.wait_seconds),
        of(record.wait_events_seconds),
        of(record.wait_joins_seconds)
    )
}

/// Locks that are not told apart; none if there are none.
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
        "{} not told apart, destroyed or too many: {}, {} contended, waited {}",
        numbered(locks, "lock", "locks"),
        numbered(acquisitions, "acquisition", "acquisitions"),
        number(sum(|process| process.folded_contended)),
        time(wait)
    ))
}

/// Waits for futexes that belong to nothing that was watched.
fn futexes(record: &LocksRecord) -> String {
    let futexes = match &record.futexes {
        Ok(futexes) => futexes,
        Err(absent) => {
            return format!("waits that belong to nothing that was watched are absent: {}", one_line(&absent.0));
        }
    };
    let (rest, off) = (futexes.other_seconds.seconds(), futexes.other_off_by_seconds.seconds());
    let whose = match time_with(rest, Interval { low: rest - off, high: rest + off }) {
        _ if rest == 0.0 && off == 0.0 => "all of it for what was watched".to_owned(),
        other => format!("{other} of it for no lock, condition, semaphore or end of a thread that was watched"),
    };
    let looks = numbered(futexes.looks, "look", "looks");
    format!("about {} of waiting for them was seen, in {looks}; {whose}", time(futexes.wait_seconds.seconds()))
}
