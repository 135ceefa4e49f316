//! One command: its sentences, its rows, its facts.

use steady_model::{ExplainRecord, ExplainReport, Nanos, Outcome, Part, Reading};

use super::{events, machine, missing, named, prices};
use crate::text::tree::{Branch, Tree};
use crate::units::{TIE, percent, time};
use crate::words::{between, count};

/// More parts than this are told together.
const PARTS: usize = 10;
/// The times of threads and of the wall that differ by less than this share are those of one thread.
const ALONE: f64 = 0.01;

/// A lesser share is told as less than that.
const LEAST: f64 = 0.001;

/// What the shares are shares of: the time that its threads lived, of a single thread the wall time.
fn whole(record: &ExplainRecord) -> f64 {
    record.thread_time.as_ref().map_or(record.wall, |lived| *lived).seconds()
}

/// Whether it had several threads or processes that lived side by side.
fn several(record: &ExplainRecord) -> bool {
    let wall = record.wall.seconds();
    record.thread_time.as_ref().is_ok_and(|lived| (lived.seconds() - wall).abs() > ALONE * wall)
}

fn cpu(record: &ExplainRecord) -> Nanos {
    record.user + record.system
}

/// A share in sentences and cells; nothing of nothing.
fn share(seconds: f64, whole: f64) -> String {
    match seconds / whole {
        _ if whole <= 0.0 => String::new(),
        ratio if ratio > 0.0 && ratio < LEAST => format!("<0.1{TIE}%"),
        ratio => percent(ratio),
    }
}

/// Where its time went, in sentences: first what claims something, then what explains it.
pub(crate) fn sentences(report: &ExplainReport) -> (String, String) {
    let record = &report.record;
    let whole = whole(record);
    if record.plan.trace {
        return traced(report);
    }
    let claim = format!("{} of wall time", time(record.wall.seconds()));
    let lived = if several(record) { format!(", in which its threads lived {}", time(whole)) } else { String::new() };
    let of = |seconds: f64| format!("{} ({})", time(seconds), share(seconds, whole));
    let cpu = cpu(record).seconds();
    let told = match (&record.waiting, &report.blocked) {
        (Ok(waiting), Ok(blocked)) => {
            format!("{} on a CPU, {} waiting for one, {} blocked", of(cpu), of(waiting.seconds()), of(*blocked))
        }
        (Ok(waiting), Err(_)) => format!("{} on a CPU, {} waiting for one", time(cpu), time(waiting.seconds())),
        (Err(_), _) => format!("{} of CPU time", time(cpu)),
    };
    (claim, format!("{lived}: {told}.{}", explained(report)))
}

/// What a traced command was counted to do; its times are not its own.
fn traced(report: &ExplainReport) -> (String, String) {
    let (record, counts) = (&report.record, &report.record.counts);
    let counted = [
        ("system calls", &counts.calls),
        ("forks", &counts.forks),
        ("threads", &counts.threads),
        ("execs", &counts.execs),
    ];
    let told = counted.into_iter().filter_map(|(name, count)| {
        let count = count.as_ref().ok().filter(|count| **count > 0 || name == "system calls")?;
        Some(named(*count as f64, name))
    });
    let told: Vec<String> = told.chain([named(counts.minor_faults as f64, "page faults")]).collect();
    let rest = format!(
        "; stopped at each of its calls it took {} of wall time and {} of CPU time, which are not its own.",
        time(record.wall.seconds()),
        time(cpu(record).seconds())
    );
    (format!("Traced: {}", told.join(", ")), rest)
}

/// How much of the CPU time the parts are.
fn explained(report: &ExplainReport) -> String {
    let cpu = cpu(&report.record).seconds();
    let (Ok((left, _)), Some(dearest)) = (&report.unexplained, report.parts.first()) else { return String::new() };
    if cpu <= 0.0 {
        return String::new();
    }
    let counted = report.parts.iter().map(|part| part.seconds).sum();
    if *left < 0.0 {
        let all = share(counted, cpu);
        return format!(" What it was counted to do would be {all} of its CPU time at this host's prices.");
    }
    let least = report.parts.iter().any(|part| part.at_least) && (cpu - left) >= LEAST * cpu;
    let least = if least { " at least" } else { "" };
    let most = format!("{} ({})", named(dearest.count, &dearest.name), share(dearest.seconds, cpu));
    let told = match report.parts.len() {
        1 => format!(
            "{least} {} is {}, at this host's price",
            share(dearest.seconds, cpu),
            named(dearest.count, &dearest.name)
        ),
        _ => format!(
            "{least} {} is what it was counted to do at this host's prices, most of it {most}",
            share(counted, cpu)
        ),
    };
    format!(" Of the CPU time,{told}; {} is left unexplained.", share(*left, cpu))
}

/// The rows: the wall time, and beneath it what it went into.
pub(crate) fn tree(report: &ExplainReport) -> Tree {
    let record = &report.record;
    let whole = whole(record);
    let row = |depth: usize, label: &str, seconds: f64, remark: String| {
        let cells = vec![time(seconds), share(seconds, whole)];
        let bar = (whole > 0.0).then_some(seconds / whole);
        Branch { depth, label: label.to_owned(), cells, bar, remark }
    };
    let mut branches = vec![row(0, "wall time", record.wall.seconds(), String::new())];
    if several(record) {
        branches = branches.into_iter().map(no_share).collect();
        branches.push(row(0, "its threads' time", whole, String::new()));
    }
    branches.push(row(1, "CPU time", cpu(record).seconds(), String::new()));
    branches.push(row(2, "user time", record.user.seconds(), String::new()));
    branches.push(row(2, "system time", record.system.seconds(), split(report)));
    branches.push(heading(report));
    let parts = parts_shown(report).into_iter().map(|(label, seconds, remark)| row(2, &label, seconds, remark));
    // Of times that are the tracer's too, nothing has a share.
    branches.extend(parts.map(|part| if record.plan.trace { no_share(part) } else { part }));
    let reading = |label: &str, reading: Reading<f64>| match reading {
        Ok(seconds) => row(1, label, seconds, String::new()),
        Err(absent) => absent_row(label, &absent.0),
    };
    branches.push(reading("waiting for a CPU", record.waiting.clone().map(Nanos::seconds)));
    branches.push(reading("blocked", report.blocked.clone()));
    if record.stopped > Nanos::ZERO {
        let remark = "besides, by job control".to_owned();
        branches.push(no_share(row(0, "stopped", record.stopped.seconds(), remark)));
    }
    Tree { heads: vec![], branches }
}

/// A row that is no part of the whole.
fn no_share(row: Branch) -> Branch {
    let cells = row.cells.into_iter().take(1).chain([String::new()]).collect();
    Branch { cells, bar: None, ..row }
}

fn absent_row(label: &str, why: &str) -> Branch {
    let cells = vec!["absent".to_owned(), String::new()];
    Branch { depth: 1, label: label.to_owned(), cells, bar: None, remark: crate::words::one_line(why) }
}

/// What stands above the parts.
fn heading(report: &ExplainReport) -> Branch {
    let label = if report.record.plan.trace {
        "what it was counted to do, at this host's prices:"
    } else {
        "the same by what it was counted to do, at this host's prices:"
    };
    Branch { depth: 2, label: label.to_owned(), ..Branch::default() }
}

/// How far the split of the CPU time can be trusted.
fn split(report: &ExplainReport) -> String {
    match (&report.system_interval, report.record.tick) {
        (_, None) => String::new(),
        (Ok(interval), Some(tick)) => {
            let (unit, scale) = crate::units::time_unit(interval.high);
            let range = steady_model::Interval { low: interval.low * scale, high: interval.high * scale };
            format!("{}: sampled by ticks of {}", between(range, &format!("{TIE}{unit}")), time(tick.seconds()))
        }
        (Err(absent), Some(_)) => format!("a guess: {}", absent.0),
    }
}

/// The parts as rows, the smallest of many together, and what they leave: label, seconds, remark.
fn parts_shown(report: &ExplainReport) -> Vec<(String, f64, String)> {
    let shown = if report.parts.len() <= PARTS + 1 { report.parts.len() } else { PARTS };
    let (large, small) = report.parts.split_at(shown);
    let mut rows: Vec<(String, f64, String)> =
        large.iter().map(|part| (crate::words::one_line(&part.name), part.seconds, remark(part))).collect();
    if !small.is_empty() {
        let label = count(small.len(), "other kind", "other kinds");
        rows.push((label, small.iter().map(|part| part.seconds).sum(), "at least".to_owned()));
    }
    if let (Ok(cost), false) = (&report.record.counting_cost, report.record.plan.trace) {
        rows.push(("the counting".to_owned(), cost.seconds(), "about: what telling this takes".to_owned()));
    }
    if let Ok((left, _)) = &report.unexplained {
        rows.push(("unexplained".to_owned(), *left, "its own code, and all beyond the prices".to_owned()));
    }
    rows
}

/// So many, at what price.
fn remark(part: &Part) -> String {
    let least = if part.at_least { "at least " } else { "" };
    format!("{least}{}{TIE}×{TIE}{}", events(part.count), time(part.price.seconds))
}

/// What stands below: a label and what belongs to it.
pub(crate) fn facts(report: &ExplainReport) -> Vec<(&'static str, String)> {
    let record = &report.record;
    let mut facts = Vec::new();
    match record.ended {
        Outcome::Exited(0) => {}
        Outcome::Exited(status) => facts.push(("ended", format!("with status{TIE}{status}"))),
        Outcome::Signalled(signal) => facts.push(("ended", format!("by signal{TIE}{signal}"))),
        Outcome::TimedOut => facts.push(("ended", "past its time".to_owned())),
    }
    facts.extend(missing(&report.missing));
    facts.extend(record.sources.iter().map(|source| ("counted", crate::words::one_line(source))));
    if let Err(absent) = &record.counting_cost {
        facts.push(("counting", format!("what it cost the command is absent: {}", crate::words::one_line(&absent.0))));
    }
    facts.push(prices(&record.prices, record.started, &record.alu));
    facts.extend(machine(&record.activity));
    if record.left_behind > 0 {
        let left = count(record.left_behind as usize, "process", "processes");
        facts.push(("left behind", format!("{left}, ended with the command")));
    }
    facts
}

/// Where its time went in a few words, for a list: `1.23 s: 62 % CPU`; of a traced command what it did.
pub fn explain_summary(report: &ExplainReport) -> String {
    let record = &report.record;
    let told = match (record.plan.trace, &record.counts.calls) {
        (true, Ok(calls)) => format!("{} calls traced", events(*calls as f64)),
        (true, Err(_)) => "traced".to_owned(),
        (false, _) => {
            format!("{}: {} CPU", time(record.wall.seconds()), share(cpu(record).seconds(), whole(record)))
        }
    };
    told.replace(TIE, " ")
}
