//! Where the time of a command went, in words and rows.

mod one;
mod pair;
mod processes;

use steady_model::{Absent, Activity, AluTime, Prices, Reading, Timestamp};

pub use one::explain_summary;
pub(crate) use one::{facts, sentences, tree};
pub use pair::explain_pair_summary;
pub(crate) use pair::{pair_facts, pair_intro, pair_sentences, pair_tree};
pub(crate) use processes::processes;

use crate::units::{TIE, duration, percent};
use crate::words::one_line;

/// What is missing in the figures, and why.
fn missing(missing: &[(String, String)]) -> impl Iterator<Item = (&'static str, String)> {
    missing.iter().map(|(what, why)| ("absent", format!("{}: {}", one_line(what), one_line(why))))
}

/// A clock that runs faster or slower by less than this is not worth a word.
const SAME_CLOCK: f64 = 0.01;

/// When the prices were measured, seen from a run, and how fast the clock ran then.
fn prices(prices: &Prices, started: Timestamp, run: &Reading<AluTime>) -> (&'static str, String) {
    let age = started.0.saturating_sub(prices.measured.0);
    let when = match age {
        0..=59 => "measured just before".to_owned(),
        age => format!("measured {} before", duration(steady_model::Nanos(age.saturating_mul(1_000_000_000)))),
    };
    let kernel =
        prices.kernel.as_ref().map_or_else(|_| String::new(), |kernel| format!(", under {}", one_line(kernel)));
    ("prices", format!("{when}{kernel}{}; --fresh measures them again", clock(&prices.alu, run)))
}

/// How much faster the clock ran than when the prices were measured, which are told at its rate.
fn clock(then: &Reading<AluTime>, run: &Reading<AluTime>) -> String {
    let (then, now) = match (then, run) {
        (Ok(then), Ok(now)) => (then, now),
        (Err(Absent(why)), _) | (_, Err(Absent(why))) => {
            return format!("; not adjusted to the clock: its rate is absent, {}", one_line(why));
        }
    };
    let faster = then.seconds / now.seconds - 1.0;
    if faster.abs() < SAME_CLOCK {
        return String::new();
    }
    let word = if faster > 0.0 { "faster" } else { "slower" };
    format!("; told at the rate of the clock at the run, {} {word} than then", percent(faster.abs()))
}

/// What the machine was doing, as far as it says.
fn machine(activity: &Activity) -> Option<(&'static str, String)> {
    let busy = activity.busy_ratio.as_ref().ok().map(|ratio| format!("CPUs busy {}", percent(*ratio)));
    let steal = activity.steal_ratio.as_ref().ok().map(|ratio| format!("stolen by the host {}", percent(*ratio)));
    let all: Vec<String> = busy.into_iter().chain(steal).collect();
    (!all.is_empty()).then(|| ("machine", all.join(", ")))
}

/// A number of events: whole where it is, else with one decimal.
fn events(count: f64) -> String {
    let whole = count.round();
    if (count - whole).abs() < 0.05 || whole.abs() >= 1000.0 {
        let digits = crate::units::thousands(whole.abs() as usize);
        return if whole < 0.0 { format!("-{digits}") } else { digits };
    }
    crate::units::fixed(count, 1)
}

/// So many of something, with its name: `51,200 page faults`.
fn named(count: f64, name: &str) -> String {
    let one = match name {
        "page faults" => "page fault",
        "major page faults" => "major page fault",
        "switches" => "switch",
        "forks" => "fork",
        "threads" => "thread",
        "execs" => "exec",
        "system calls" => "system call",
        call => return format!("{}{TIE}{}", events(count), call_of(call, count)),
    };
    format!("{}{TIE}{}", events(count), if events(count) == "1" { one } else { name })
}

/// System calls of a name.
fn call_of(name: &str, count: f64) -> String {
    format!("{} {}", if events(count) == "1" { "call of" } else { "calls of" }, one_line(name))
}
