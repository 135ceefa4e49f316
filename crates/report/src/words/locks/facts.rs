//! What else there is to say: what the waiting adds up to, what is not told apart, what is out of sight.

use steady_model::{FutexWaits, LocksReport, Outcome};

use super::{fitting, lives, number, numbered, share};
use crate::units::{TIE, time, time_with};
use crate::words::{count, one_line};

/// What stands below the tables: a label and what belongs to it. No word of others takes more than `room` columns.
pub(crate) fn facts(report: &LocksReport, room: usize) -> Vec<(&'static str, String)> {
    let mut facts: Vec<(&'static str, String)> = Vec::new();
    match report.ended {
        Outcome::Exited(0) => {}
        Outcome::Exited(status) => facts.push(("ended", format!("with status{TIE}{status}"))),
        Outcome::Signalled(signal) => facts.push(("ended", format!("by signal{TIE}{signal}"))),
        Outcome::TimedOut => facts.push(("ended", "past its time".to_owned())),
    }
    let (wall, cpu) = (time(report.wall.seconds()), time(report.cpu.seconds()));
    facts.push(("took", format!("{wall} of wall time, {cpu} of CPU time")));
    facts.extend(watched(report));
    if !report.processes.is_empty() {
        facts.push(("waiting", adds_up(report)));
    }
    facts.extend(folded(report));
    facts.push(("futexes", futexes(report, room)));
    let elsewhere = report.futexes.as_ref().ok().into_iter().flat_map(|futexes| &futexes.unwatched);
    facts.extend(elsewhere.map(|program| ("unwatched", fitting(&one_line(program), room))));
    if report.unwatched > 0 {
        let many = count(report.unwatched as usize, "process", "processes");
        facts.push(("unwatched", format!("{many}, for want of room, memory or rights")));
    }
    if !report.locks.is_empty() {
        let one_in = number(report.sampled_one_in);
        let others =
            format!("of the others the first of each lock and one in {one_in} on average have hold and place noted");
        facts.push(("sampled", format!("each contended acquisition was timed; {others}")));
    }
    facts.push((
        "out of sight",
        "locks inside the C library (those of malloc and stdio), and whatever is no pthread lock or semaphore"
            .to_owned(),
    ));
    if report.left_behind > 0 {
        let left = count(report.left_behind as usize, "process", "processes");
        facts.push(("left behind", format!("{left}, ended with the command")));
    }
    facts
}

/// In which processes, and how those ended.
fn watched(report: &LocksReport) -> Option<(&'static str, String)> {
    let all = &report.processes;
    if all.is_empty() {
        return None;
    }
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
    Some(("watched", told))
}

/// What all the waiting of the threads adds up to.
fn adds_up(report: &LocksReport) -> String {
    let sum = lives(report);
    let of = |seconds: f64| format!("{} ({})", time(seconds), share(seconds, sum.life));
    let all: u64 = report.processes.iter().map(|process| u64::from(process.threads)).sum();
    let others = match all.saturating_sub(report.threads.len() as u64) {
        0 => String::new(),
        many => format!("; {} not told apart", numbered(many, "other thread is", "other threads are")),
    };
    format!(
        "of {} that the threads lived, {} for locks, {} for conditions and semaphores, {} for other threads to end{others}",
        time(sum.life),
        of(sum.locks),
        of(sum.events),
        of(sum.joins)
    )
}

/// Locks that are not told apart.
fn folded(report: &LocksReport) -> Option<(&'static str, String)> {
    let sum = |of: fn(&steady_model::FoldedLocks) -> u64| {
        report.processes.iter().fold(0u64, |sum, process| sum.saturating_add(of(&process.folded)))
    };
    let (locks, acquisitions) = (sum(|folded| folded.locks), sum(|folded| folded.acquisitions));
    if locks == 0 && acquisitions == 0 {
        return None;
    }
    let wait: f64 = report.processes.iter().map(|process| process.folded.wait.seconds()).sum();
    let contended = number(sum(|folded| folded.contended));
    let taken = numbered(acquisitions, "acquisition", "acquisitions");
    let told = format!(
        "{} not told apart, destroyed or too many: {taken}, {contended} contended, waited {}",
        numbered(locks, "lock", "locks"),
        time(wait)
    );
    Some(("folded", told))
}

/// Waits for futexes that belong to nothing that was watched.
fn futexes(report: &LocksReport, room: usize) -> String {
    match &report.futexes {
        Ok(FutexWaits { total, other, off_by, looks, .. }) => {
            let (rest, off) = (other.seconds(), off_by.seconds());
            let interval = steady_model::Interval { low: rest - off, high: rest + off };
            let whose = match time_with(rest, interval) {
                _ if rest == 0.0 && off == 0.0 => "all of it for what was watched".to_owned(),
                other => format!("{other} of it for no lock, condition, semaphore or end of a thread that was watched"),
            };
            let (seen, looks) = (time(total.seconds()), numbered(*looks, "look", "looks"));
            format!("about {seen} of waiting for them was seen, in {looks}; {whose}")
        }
        Err(absent) => {
            format!("waits that belong to nothing that was watched are absent: {}", fitting(&one_line(&absent.0), room))
        }
    }
}
