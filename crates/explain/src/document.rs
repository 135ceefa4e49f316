//! Reports about one command and about two: the parts that both share.

mod charts;
mod one;
mod pair;

use steady_costs::prices::{Priced, Prices};
use steady_model::{Absent, AluTime, Nanos, Reading, Timestamp};
use steady_render::document::{Emphasis, Fact, Sentence};
use steady_render::letters::one_line;
use steady_render::units::{TIE, decimals_of, fixed, percent, thousands, time_setting};

use crate::record::Missing;

/// What could not be priced or counted, and why: each reason once.
fn missing(missing: &[Missing]) -> Vec<Fact> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for one in missing {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, all)) => all.push(one_line(&one.what)),
            None => reasons.push((&one.why, vec![one_line(&one.what)])),
        }
    }
    let fact =
        |(why, all): (&str, Vec<String>)| Fact::new("not measured", format!("{}: {}", all.join(", "), one_line(why)));
    reasons.into_iter().map(fact).collect()
}

/// Sources of the counts, one fact each.
fn counted(sources: &[String]) -> impl Iterator<Item = Fact> {
    sources.iter().map(|source| Fact::new("counted", one_line(source)))
}

/// Notes, one paragraph each.
fn notes(notes: &[String]) -> impl Iterator<Item = Sentence> {
    notes.iter().map(|note| vec![(Emphasis::Open, "Note:".to_owned()), (Emphasis::Plain, format!(" {note}"))])
}

/// Label of a row, indented by its depth below the row that it is a part of.
fn indented(depth: usize, label: &str) -> String {
    format!("{}{}", TIE.repeat(2 * depth), one_line(label))
}

/// The report mentions a change of the clock rate if it is at least this share.
const SAME_CLOCK: f64 = 0.01;

/// When the prices were measured relative to the run, and how the clock rate has changed.
fn prices(prices: &Prices, started: Timestamp, run: &Reading<AluTime>) -> Fact {
    let age = started.0.saturating_sub(prices.measured.0);
    let when = match age {
        0..=4 => "measured just before the run".to_owned(),
        age => format!("measured {} before the run", time_setting(Nanos(age.saturating_mul(1_000_000_000)))),
    };
    let kernel = prices.kernel.as_ref().map_or_else(|_| String::new(), |kernel| format!(", on {}", one_line(kernel)));
    Fact::new("prices", format!("{when}{kernel}{}; --fresh measures them again", clock(&prices.alu, run)))
}

/// How much the clock rate at the run differs from the rate at which the prices were measured. Prices are scaled by it.
fn clock(then: &Reading<AluTime>, run: &Reading<AluTime>) -> String {
    let (then, now) = match (then, run) {
        (Ok(then), Ok(now)) => (then, now),
        (Err(Absent(why)), _) | (_, Err(Absent(why))) => {
            return format!("; not scaled to the clock rate of the run, which was not measured: {}", one_line(why));
        }
    };
    let faster = then.seconds / now.seconds - 1.0;
    if faster.abs() < SAME_CLOCK {
        return String::new();
    }
    let word = if faster > 0.0 { "faster" } else { "slower" };
    format!("; scaled to the clock rate at the run, which was {} {word}", percent(faster.abs()))
}

/// Says which pages the price of page faults is for, if page faults are priced: the form with one command and the form
/// with two may have different prices.
fn faults(priced: impl IntoIterator<Item = Priced>, prices: &Prices, is_pair: bool) -> Option<Fact> {
    let has_faults = priced.into_iter().any(|priced| priced == Priced::MinorFault);
    let text = match is_pair {
        true => {
            "at the price of pages that the runs of pairs reuse; the form with one command has a price for pages that no \
             cache holds"
        }
        false => {
            "in the first process at the price of pages that no cache holds; the form with two commands has a price for \
             pages that runs reuse"
        }
    };
    (has_faults && prices.of(Priced::MinorFaultCold).is_ok()).then(|| Fact::new("page faults", text))
}

/// Says why the interval of forks is wide, if forks are priced.
fn forks(priced: impl IntoIterator<Item = Priced>, prices: &Prices) -> Option<Fact> {
    let is_wide = priced.into_iter().any(|priced| priced == Priced::Fork) && prices.of(Priced::Vfork).is_ok();
    let text = "counted together with those by vfork(2), so the interval reaches to the lower price of vfork";
    is_wide.then(|| Fact::new("forks", text))
}

/// A number of events: as an integer if it is one or at least 1000, else with one decimal, or one digit.
fn events(count: f64) -> String {
    let whole = count.round();
    if (count - whole).abs() < 0.05 && (whole != 0.0 || count == 0.0) || whole.abs() >= 1000.0 {
        let digits = thousands(whole.abs() as usize);
        return if whole < 0.0 { format!("-{digits}") } else { digits };
    }
    fixed(count, decimals_of(count, 1).max(1))
}

/// A count with its noun: `51,200 page faults`, `1 fork`.
fn named(count: f64, name: &str) -> String {
    let one = match name {
        "page faults" => "page fault",
        "major page faults" => "major page fault",
        "switches" => "switch",
        "forks" => "fork",
        "threads" => "thread",
        "execs" => "exec",
        "system calls" => "system call",
        pairs if pairs.contains(", ") => return format!("{}{TIE}{}", events(count), label(pairs)),
        call => return format!("{}{TIE}{}", events(count), call_of(call, count)),
    };
    format!("{}{TIE}{}", events(count), if events(count) == "1" { one } else { name })
}

/// Label of a row of events. A price for several calls is a price per pair of calls; a row of the same name without the
/// others has the calls that are in no pair.
fn label(name: &str) -> String {
    if name.contains(", ") { format!("pairs of {name}") } else { name.to_owned() }
}

/// Noun for system calls of one name: `calls of read`.
fn call_of(name: &str, count: f64) -> String {
    format!("{} {}", if events(count) == "1" { "call of" } else { "calls of" }, one_line(name))
}
