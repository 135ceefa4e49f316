//! Two commands: the sentences of their difference, its rows, its facts. OLD is the first, NEW the second.

use steady_model::{Difference, Ending, ExplainPairReport, Interval, Line, Metric};

use super::{events, machine, missing, named, prices};
use crate::text::tree::{Branch, Tree};
use crate::text::{Paint, Span};
use crate::units::{TIE, decimals, duration, fixed, time, time_unit};
use crate::words::{between, count, name, one_line};

/// More parts than this are told together; of more than a few, those that do not differ.
const PARTS: usize = 10;
const FEW: usize = 5;
/// What is less than this share of a difference is no reason of it that is worth a word.
const WORTH: f64 = 0.1;
/// So many reasons of a kind are told.
const REASONS: usize = 2;

/// Both commands, by what the report calls them.
pub(crate) fn pair_intro(report: &ExplainPairReport) -> [(&'static str, String); 2] {
    let plan = &report.record.record.plan;
    [("OLD", name(plan, 0)), ("NEW", name(plan, 1))]
}

/// The difference in sentences: of what the commands mostly need first, then of the other time.
pub(crate) fn pair_sentences(report: &ExplainPairReport) -> Vec<Vec<Span>> {
    let order = match report.record.record.primary {
        Metric::Cpu => [Line::Cpu, Line::Wall],
        _ => [Line::Wall, Line::Cpu],
    };
    let mut sentences: Vec<Vec<Span>> =
        order.into_iter().enumerate().filter_map(|(place, line)| sentence(report, line, place == 0)).collect();
    if report.record.record.ending == Ending::Interrupted {
        sentences
            .push(vec![(Paint::Open, "It was interrupted".to_owned()), (Paint::Plain, " before its end.".to_owned())]);
    }
    sentences
}

fn find(report: &ExplainPairReport, line: Line) -> Option<&Difference> {
    report.lines.iter().find(|one| one.line == line)
}

/// A difference that its interval tells from none: its size and interval.
fn certain(line: &Difference) -> Option<(f64, Interval)> {
    line.difference.as_ref().ok().copied().filter(|(_, interval)| !interval.holds(0.0))
}

/// What is to be said of the wall or the CPU time; of the lesser one only where there is a difference.
fn sentence(report: &ExplainPairReport, line: Line, first: bool) -> Option<Vec<Span>> {
    let of = find(report, line)?;
    let what = if line == Line::Cpu { "CPU time" } else { "wall time" };
    match (&of.difference, certain(of)) {
        (_, Some((size, interval))) => Some(different(report, line, size, interval)),
        (Ok((_, interval)), None) if first => {
            let most = amount(interval.low.abs().max(interval.high.abs()), *interval);
            let claim = format!("No difference in {what} was found");
            Some(vec![(Paint::Same, claim), (Paint::Plain, format!(" (within ±{most}, 95{TIE}%)."))])
        }
        (Err(absent), None) if first => {
            Some(vec![(Paint::Open, "Undecided:".to_owned()), (Paint::Plain, format!(" {}.", one_line(&absent.0)))])
        }
        _ => None,
    }
}

fn different(report: &ExplainPairReport, line: Line, size: f64, interval: Interval) -> Vec<Span> {
    let more = size > 0.0;
    let amount_of = amount(size.abs(), interval);
    let claim = match (line, more) {
        (Line::Cpu, true) => format!("NEW needs {amount_of} more CPU time"),
        (Line::Cpu, false) => format!("NEW needs {amount_of} less CPU time"),
        (_, true) => format!("NEW takes {amount_of} longer"),
        (_, false) => format!("NEW takes {amount_of} less time"),
    };
    let paint = if more { Paint::More } else { Paint::Less };
    let range = if more { interval } else { Interval { low: -interval.high, high: -interval.low } };
    let mut rest = format!(" ({}, 95{TIE}%)", range_of(range));
    let reasons = if line == Line::Cpu { of_cpu(report, size) } else { of_wall(report, size) };
    if !reasons.is_empty() {
        rest.push_str(&format!(": {}", reasons.join(", and ")));
    }
    rest.push('.');
    vec![(paint, claim), (Paint::Plain, rest)]
}

/// The lines among these that are surely a part of a difference, the largest first.
fn reasons<'a>(lines: impl Iterator<Item = &'a Difference>, size: f64) -> Vec<(&'a Difference, f64, Interval)> {
    let surely = |line: &'a Difference| certain(line).map(|(part, interval)| (line, part, interval));
    let mut all: Vec<_> = lines.filter_map(surely).collect();
    all.retain(|(_, part, _)| part.signum() == size.signum() && part.abs() >= WORTH * size.abs());
    all.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    all.truncate(REASONS);
    all
}

/// What the difference of the wall times is made of.
fn of_wall(report: &ExplainPairReport, size: f64) -> Vec<String> {
    let beneath = [Line::Cpu, Line::Waiting, Line::Blocked, Line::OffCpu];
    let lines = report.lines.iter().filter(|line| beneath.contains(&line.line));
    let word = |line: &Difference| match line.line {
        Line::Cpu => " CPU time".to_owned(),
        _ => format!(" {}", line.name),
    };
    let told = |(line, part, interval): (&Difference, f64, Interval)| {
        format!("{}{}", more_or_less(part, interval), word(line))
    };
    reasons(lines, size).into_iter().map(told).collect()
}

/// What the difference of the CPU times is made of: user and system time, and the events within.
fn of_cpu(report: &ExplainPairReport, size: f64) -> Vec<String> {
    let modes = report.lines.iter().filter(|line| matches!(line.line, Line::User | Line::System));
    let parts = reasons(report.lines.iter().filter(|line| matches!(line.line, Line::Part(_))), size);
    let mut within = parts.iter().map(of_which).collect::<Vec<_>>();
    let sum: f64 = parts.iter().map(|(_, part, _)| part.abs()).sum();
    let mut told = Vec::new();
    for (line, part, interval) in reasons(modes, size) {
        let mut text = format!("{} {}", more_or_less(part, interval), line.name);
        // What is counted is the kernel's work; it is said of the system time only if that has room for it.
        if line.line == Line::System && !within.is_empty() && sum <= interval.low.abs().max(interval.high.abs()) {
            text.push_str(&format!(", of which {}", within.join(" and ")));
            within.clear();
        }
        told.push(text);
    }
    if told.is_empty() && !within.is_empty() {
        // What the split does not tell, the rest does.
        let left = reasons(report.lines.iter().filter(|line| line.line == Line::Unexplained), size);
        within.extend(
            left.into_iter().map(|(_, left, interval)| format!("{} is unexplained", amount(left.abs(), interval))),
        );
    }
    if !within.is_empty() {
        let text = within.join(" and ");
        if told.is_empty() { told.push(text) } else { told.push(format!("of all of it {text}")) }
    }
    if told.is_empty() {
        // Each part by itself is too small for a word, but together they may be a fifth.
        let left = find(report, Line::Unexplained).and_then(certain).filter(|(left, _)| left.signum() == size.signum());
        told.extend(left.map(|(left, interval)| format!("{} of it is unexplained", amount(left.abs(), interval))));
    }
    told
}

/// `7 ms is 5,100 more page faults`.
fn of_which((line, part, interval): &(&Difference, f64, Interval)) -> String {
    let least = if line.at_least { "at least " } else { "" };
    let more = line.more.map_or(0.0, |(more, _)| more);
    let events = named(more.abs(), &line.name);
    let (number, what) = events.split_once(TIE).unwrap_or((&events, ""));
    let word = if more > 0.0 { "more" } else { "fewer" };
    format!("{least}{} is {number} {word} {what}", amount(part.abs(), *interval))
}

/// `9 ms more`, `9 ms less`.
fn more_or_less(size: f64, interval: Interval) -> String {
    format!("{} {}", amount(size.abs(), interval), if size > 0.0 { "more" } else { "less" })
}

/// A time with the digits that its interval supports.
fn amount(seconds: f64, interval: Interval) -> String {
    let half = interval.half_width();
    if !(half.is_finite() && half > 0.0) {
        return time(seconds);
    }
    let (unit, scale) = time_unit(seconds.max(10.0 * half));
    format!("{}{TIE}{unit}", fixed(seconds * scale, decimals(half * scale)))
}

/// The unit in which a difference and its interval are told.
fn unit_of(interval: Interval) -> (&'static str, f64) {
    time_unit(interval.low.abs().max(interval.high.abs()))
}

fn range_of(interval: Interval) -> String {
    let (unit, scale) = unit_of(interval);
    let range = Interval { low: interval.low * scale, high: interval.high * scale };
    between(range, &format!("{TIE}{unit}"))
}

/// The rows: the wall time, and beneath it what it went into.
pub(crate) fn pair_tree(report: &ExplainPairReport) -> Tree {
    let heads = ["OLD", "NEW", "NEW - OLD", "95 % interval"].map(str::to_owned).to_vec();
    let mut branches = Vec::new();
    let (mut shown, mut small) = (0, Vec::new());
    let parts = report.lines.iter().filter(|line| matches!(line.line, Line::Part(_))).count();
    let mut headed = false;
    for line in &report.lines {
        let part = matches!(line.line, Line::Part(_));
        if (part || line.line == Line::Unexplained) && !headed {
            let label = "the same by what was counted, at this host's prices:".to_owned();
            branches.push(Branch { depth: 2, label, ..Branch::default() });
            headed = true;
        }
        if part {
            shown += 1;
            let alike = line.difference.as_ref().is_ok_and(|(difference, _)| *difference == 0.0);
            if (alike && parts > FEW) || (shown > PARTS && parts > PARTS + 1) {
                small.push(line);
                continue;
            }
        }
        if line.line == Line::Unexplained && !small.is_empty() {
            branches.push(together(&small));
        }
        branches.push(row(line));
    }
    Tree { heads, branches }
}

fn row(line: &Difference) -> Branch {
    let seconds = |command: usize| line.seconds.as_ref().map_or_else(|_| "absent".to_owned(), |all| time(all[command]));
    let (difference, range) = match &line.difference {
        Ok((difference, interval)) if interval.half_width() > 0.0 => {
            (signed(*difference, *interval), range_of(*interval))
        }
        Ok((difference, _)) => (signed(*difference, Interval { low: 0.0, high: 0.0 }), "exact".to_owned()),
        Err(_) => ("absent".to_owned(), String::new()),
    };
    let cells = vec![seconds(0), seconds(1), difference, range];
    Branch { depth: line.depth as usize, label: one_line(&line.name), cells, bar: None, remark: remark(line) }
}

/// How many there were, or why there is no figure.
fn remark(line: &Difference) -> String {
    match (&line.seconds, line.counts) {
        (Err(absent), _) => one_line(&absent.0),
        (Ok(_), Some([old, new])) => {
            let least = if line.at_least { ", at least" } else { "" };
            format!("{}{TIE}→{TIE}{}{least}", events(old), events(new))
        }
        (Ok(_), None) => String::new(),
    }
}

/// The smallest parts as one row; intervals of their own they have, but none together.
fn together(small: &[&Difference]) -> Branch {
    let sum = |command: usize| small.iter().filter_map(|line| line.seconds.as_ref().ok()).map(|all| all[command]).sum();
    let (old, new): (f64, f64) = (sum(0), sum(1));
    let cells = vec![time(old), time(new), signed(new - old, Interval { low: 0.0, high: 0.0 }), String::new()];
    let label = count(small.len(), "other kind", "other kinds");
    let least = small.iter().any(|line| line.at_least);
    Branch { depth: 2, label, cells, bar: None, remark: if least { "at least" } else { "" }.to_owned() }
}

/// A difference with its sign, in the unit of its interval.
fn signed(difference: f64, interval: Interval) -> String {
    let half = interval.half_width();
    let text = if half.is_finite() && half > 0.0 {
        let (unit, scale) = unit_of(interval);
        format!("{}{TIE}{unit}", fixed(difference.abs() * scale, decimals(half * scale)))
    } else {
        time(difference.abs())
    };
    // What rounds to nothing has no sign.
    let nothing = !text.contains(|letter: char| ('1'..='9').contains(&letter));
    match difference {
        _ if nothing => text,
        difference if difference < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}

/// What stands below: a label and what belongs to it.
pub(crate) fn pair_facts(report: &ExplainPairReport) -> Vec<(&'static str, String)> {
    let record = &report.record.record;
    let mut facts = vec![(
        "pairs",
        format!(
            "{} in {}, in turns, the order drawn by coin; each line's interval holds by itself",
            count(report.pairs, "pair", "pairs"),
            duration(record.elapsed)
        ),
    )];
    facts.extend(missing(&report.missing));
    facts.extend(report.record.sources.iter().map(|source| ("counted", one_line(source))));
    facts.push(prices(&report.record.prices, record.started, &report.record.alu));
    facts.extend(machine(&record.activity));
    facts.push(("seed", record.plan.seed.to_string()));
    facts
}

/// The difference in a few words, for a list: `NEW +12.0 ms CPU`.
pub fn explain_pair_summary(report: &ExplainPairReport) -> String {
    let line = if report.record.record.primary == Metric::Cpu { Line::Cpu } else { Line::Wall };
    let what = if line == Line::Cpu { "CPU" } else { "wall" };
    let text = match find(report, line).map(|of| (of.difference.as_ref(), certain(of))) {
        Some((_, Some((size, interval)))) => format!("NEW {} {what}", signed(size, interval)),
        Some((Ok(_), None)) => format!("no difference in {what} time"),
        _ => "undecided".to_owned(),
    };
    text.replace(TIE, " ")
}
