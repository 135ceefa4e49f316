//! The report about two commands. OLD is the first one, NEW the second.

use steady_compare::more_pairs;
use steady_feature::{Record, Report};
use steady_model::{Effort, Ending, Facts, Interval, Metric, Reading};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence, Shown, activity_facts, origin};
use steady_render::json::pretty;
use steady_render::letters::{capital, count, listed, one_line};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{TIE, between, decimals, duration, fixed, time, time_setting, time_unit};
use steady_stats::MIN_PAIRS;

use super::{charts, counted, events, faults, forks, indented, label, missing, named, notes, prices};
use crate::csv;
use crate::judge::at_ticks;
use crate::record::{Difference, EventRows, ExplainPairRecord, Line, event_rows};

/// A sentence names a part as a reason if it is at least this share of the difference.
const WORTH: f64 = 0.1;
/// A sentence whose reasons are less than this share of the difference says that the rest is not known.
const MOST: f64 = 0.5;
/// A sentence gives at most this many reasons of each kind.
const REASONS: usize = 2;

/// The section with both command lines.
fn commands(record: &ExplainPairRecord) -> Section {
    let fact = |(label, command): (&&str, &steady_model::Command)| {
        Fact::emphasized(label, Emphasis::Code, one_line(&command.name))
    };
    let facts = ["OLD", "NEW"].iter().zip(&record.record.plan.commands).map(fact).collect();
    Section::new("The commands", vec![Block::Facts(facts)])
}

/// The difference in sentences: of the primary time first, then of the other.
fn answer(record: &ExplainPairRecord) -> Vec<Sentence> {
    let order = match record.record.primary {
        Metric::Cpu => [Line::Cpu, Line::Wall],
        _ => [Line::Wall, Line::Cpu],
    };
    let mut sentences: Vec<Sentence> =
        order.into_iter().enumerate().filter_map(|(place, line)| sentence(record, line, place == 0)).collect();
    if record.record.ending == Ending::Interrupted {
        sentences.push(vec![
            (Emphasis::Open, "Interrupted:".to_owned()),
            (Emphasis::Plain, " the measurement is incomplete.".to_owned()),
        ]);
    }
    sentences
}

fn find(record: &ExplainPairRecord, line: Line) -> Option<&Difference> {
    record.lines.iter().find(|one| one.line == line)
}

/// The size and interval of a difference whose interval excludes zero.
fn certain(line: &Difference) -> Option<(f64, Interval)> {
    line.difference.as_ref().ok().copied().filter(|(_, interval)| !interval.holds(0.0))
}

/// The sentence about the wall time or the CPU time. The second time gets one only if it differs.
fn sentence(record: &ExplainPairRecord, line: Line, first: bool) -> Option<Sentence> {
    let of = find(record, line)?;
    let what = if line == Line::Cpu { "CPU time" } else { "wall time" };
    match (&of.difference, certain(of)) {
        (_, Some((size, interval))) => Some(different(record, line, size, interval)),
        (Ok((_, interval)), None) if first => {
            let most = interval.low.abs().max(interval.high.abs());
            let most = at_most(most, *interval);
            let claim = format!("No difference in {what} was found");
            Some(vec![(Emphasis::Same, claim), (Emphasis::Plain, format!(" (within ±{most}, 95{TIE}%)."))])
        }
        (Err(absent), None) if first => {
            let remedy = if record.pairs < MIN_PAIRS {
                format!(" {}.", capital(&more_pairs(&record.record, record.pairs)))
            } else {
                String::new()
            };
            Some(vec![
                (Emphasis::Open, "Undecided:".to_owned()),
                (Emphasis::Plain, format!(" {}.{remedy}", one_line(&absent.0))),
            ])
        }
        _ => None,
    }
}

fn different(record: &ExplainPairRecord, line: Line, size: f64, interval: Interval) -> Sentence {
    let more = size > 0.0;
    // All times of the sentence have one unit.
    let unit = amount_unit(size.abs(), interval);
    let amount_of = amount(size.abs(), interval, unit);
    let claim = match (line, more) {
        (Line::Cpu, true) => format!("NEW needs {amount_of} more CPU time"),
        (Line::Cpu, false) => format!("NEW needs {amount_of} less CPU time"),
        (_, true) => format!("NEW takes {amount_of} longer"),
        (_, false) => format!("NEW takes {amount_of} less time"),
    };
    let emphasis = if more { Emphasis::More } else { Emphasis::Less };
    let range = if more { interval } else { Interval { low: -interval.high, high: -interval.low } };
    let mut rest = format!(" ({}, 95{TIE}%)", in_unit(range, unit));
    let reasons =
        if line == Line::Cpu { of_cpu(record, size, interval, unit) } else { of_wall(record, size, interval, unit) };
    if !reasons.is_empty() {
        rest.push_str(&format!(": {}", reasons.join(", and ")));
    }
    rest.push('.');
    if line == Line::Cpu && is_unexplained(record, size) {
        rest.push_str(if is_mostly(record, Line::System, size) {
            " Counted events explain less than 10\u{a0}% of it at their prices, which are lower bounds: the kernel needs \
             this time for the system calls whose numbers differ in the table."
        } else if is_mostly(record, Line::User, size) {
            " Counted events explain less than 10\u{a0}% of it: it is in the commands' own code, where a profiler such as \
             perf(1) shows the functions."
        } else {
            " Counted events explain less than 10\u{a0}% of it: it is in the commands' own code, in libraries, or in \
             kernel work beyond these prices. A profiler such as perf(1) shows the functions."
        });
    }
    vec![(emphasis, claim), (Emphasis::Plain, rest)]
}

/// Whether most of the difference in CPU time is certainly of this line: user or system time.
fn is_mostly(record: &ExplainPairRecord, line: Line, size: f64) -> bool {
    let part = find(record, line).and_then(certain);
    part.is_some_and(|(part, _)| part.signum() == size.signum() && part.abs() >= size.abs() / 2.0)
}

/// Whether nearly all of the difference in CPU time is unexplained.
fn is_unexplained(record: &ExplainPairRecord, size: f64) -> bool {
    const NEARLY_ALL: f64 = 0.9;
    let left = find(record, Line::Unexplained).and_then(certain);
    left.is_some_and(|(left, _)| left.signum() == size.signum() && left.abs() >= NEARLY_ALL * size.abs())
}

/// A line whose interval excludes zero and that explains a part of the difference.
struct Reason<'a> {
    line: &'a Difference,
    size: f64,
    interval: Interval,
}

/// The components of a difference of this size that are a reason for it. None if their sum is above the interval of the
/// whole: then there are others of the opposite direction, and the components are not known well enough.
fn components<'a>(lines: impl Iterator<Item = &'a Difference>, size: f64, whole: Interval) -> Vec<Reason<'a>> {
    let all = reasons(lines, size);
    let most = if size > 0.0 { whole.high } else { -whole.low };
    if all.iter().map(|part| part.size.abs()).sum::<f64>() > most { vec![] } else { all }
}

/// The largest of these lines that explain a difference of this size, in order.
fn reasons<'a>(lines: impl Iterator<Item = &'a Difference>, size: f64) -> Vec<Reason<'a>> {
    let reason = |line: &'a Difference| certain(line).map(|(size, interval)| Reason { line, size, interval });
    let mut all: Vec<Reason<'a>> = lines.filter_map(reason).collect();
    all.retain(|part| part.size.signum() == size.signum() && part.size.abs() >= WORTH * size.abs());
    all.sort_by(|one, other| other.size.abs().total_cmp(&one.size.abs()));
    all.truncate(REASONS);
    all
}

/// The reasons for a difference in wall time.
fn of_wall(record: &ExplainPairRecord, size: f64, interval: Interval, unit: Unit) -> Vec<String> {
    let names = [Line::Cpu, Line::Waiting, Line::Blocked, Line::OffCpu];
    let all = components(record.lines.iter().filter(|line| names.contains(&line.line)), size, interval);
    let mut words: Vec<String> = all.iter().map(|part| part.in_words(unit)).collect();
    let sum: f64 = all.iter().map(|part| part.size.abs()).sum();
    if !words.is_empty() && sum < MOST * size.abs() {
        words.push("what the rest consists of is not certain".to_owned());
    }
    words
}

/// The reasons for a difference in CPU time: user and system time, and the counted events.
fn of_cpu(record: &ExplainPairRecord, size: f64, interval: Interval, unit: Unit) -> Vec<String> {
    let modes = record.lines.iter().filter(|line| matches!(line.line, Line::User | Line::System));
    let parts = reasons(record.lines.iter().filter(|line| matches!(line.line, Line::Part(_))), size);
    let mut within = parts.iter().map(|part| part.in_events(unit)).collect::<Vec<_>>();
    let sum: f64 = parts.iter().map(|part| part.size.abs()).sum();
    let mut all = Vec::new();
    for mode in components(modes, size, interval) {
        let mut text = mode.in_words(unit);
        let most = mode.interval.low.abs().max(mode.interval.high.abs());
        // Counted events are kernel work. They are attributed to the system time only if it is long enough to contain
        // them.
        if mode.line.line == Line::System && !within.is_empty() && sum <= most {
            text.push_str(&format!(", of which {}", listed(&within)));
            within.clear();
        }
        all.push(text);
    }
    if all.is_empty() && !within.is_empty() {
        // Without a split into user and system time, the unexplained rest may still be a reason.
        let left = reasons(record.lines.iter().filter(|line| line.line == Line::Unexplained), size);
        let unexplained = |left: &Reason<'_>| match left.size.abs() >= size.abs() {
            true => "all of it is unexplained".to_owned(),
            false => format!("{} is unexplained", amount(left.size.abs(), left.interval, unit)),
        };
        within.extend(left.iter().map(unexplained));
    }
    if !within.is_empty() {
        let text = listed(&within);
        if all.is_empty() { all.push(text) } else { all.push(format!("of the whole difference, {text}")) }
    }
    if all.is_empty() {
        // Each event by itself is too small to be named, but the unexplained rest may be named.
        let left = find(record, Line::Unexplained).and_then(certain).filter(|(left, _)| left.signum() == size.signum());
        all.extend(left.map(|(left, interval)| match left.abs() >= size.abs() {
            true => "all of it is unexplained".to_owned(),
            false => format!("{} of it is unexplained", amount(left.abs(), interval, unit)),
        }));
    }
    all
}

impl Reason<'_> {
    /// `9 ms more system time`.
    fn in_words(&self, unit: Unit) -> String {
        let more = if self.size > 0.0 { "more" } else { "less" };
        format!("{} {more} {}", amount(self.size.abs(), self.interval, unit), self.line.name)
    }

    /// `7 ms is for 5,100 more page faults`.
    fn in_events(&self, unit: Unit) -> String {
        let time = match self.line.at_least {
            // The end of the interval that is nearer to zero is a lower bound. The estimate itself is none.
            Some(true) => {
                let low = self.interval.low.abs().min(self.interval.high.abs());
                in_unit(Interval { low, high: f64::INFINITY }, unit)
            }
            _ => amount(self.size.abs(), self.interval, unit),
        };
        let more = self.line.more.map_or(0.0, |(more, _)| more);
        let events = named(more.abs(), &self.line.name);
        let (number, what) = events.split_once(TIE).unwrap_or((&events, ""));
        let word = if more > 0.0 { "more" } else { "fewer" };
        format!("{time} is for {number} {word} {what}")
    }
}

/// A unit of time, and how many of it make a second.
type Unit = (&'static str, f64);

/// A time with as many digits as its interval supports.
fn amount(seconds: f64, interval: Interval, unit: Unit) -> String {
    let half = interval.half_width();
    if !(half.is_finite() && half > 0.0) {
        return time(seconds);
    }
    let (unit, scale) = unit;
    format!("{}{TIE}{unit}", fixed(seconds * scale, decimals(half * scale)))
}

/// Formats the larger end of an interval around zero. It is rounded up, so that the claim stays true.
fn at_most(seconds: f64, interval: Interval) -> String {
    let unit = amount_unit(seconds, interval);
    let half = interval.half_width();
    let steps = unit.1 * 10f64.powi(i32::try_from(decimals(half * unit.1)).unwrap_or(0));
    let is_known = half.is_finite() && half > 0.0;
    let rounded = if is_known { (seconds * steps - 1e-9).ceil() / steps } else { seconds };
    amount(rounded, interval, unit)
}

/// The unit of a sentence about this time. A larger unit has no digits that the interval does not support.
fn amount_unit(seconds: f64, interval: Interval) -> Unit {
    let half = interval.half_width();
    time_unit(if half.is_finite() && half > 0.0 { seconds.max(10.0 * half) } else { seconds })
}

fn in_unit(interval: Interval, unit: Unit) -> String {
    let (unit, scale) = unit;
    let range = Interval { low: interval.low * scale, high: interval.high * scale };
    between(range, &format!("{TIE}{unit}"))
}

/// A row of a table of differences.
struct Row {
    label: String,
    seconds: [Cell; 2],
    difference: Cell,
    range: Cell,
    /// The numbers of events, and the price of one.
    events: String,
}

/// The wall time, and below it the times that it consists of.
fn times(record: &ExplainPairRecord) -> Table {
    let is_time = |line: &&Difference| !is_event(line);
    let rows: Vec<Row> = record.lines.iter().filter(is_time).map(|line| row(line, line.depth as usize)).collect();
    table("Times", &rows)
}

/// The CPU time by counted event. The smallest kinds share one row.
fn parts(record: &ExplainPairRecord) -> Table {
    let EventRows { own, small } = event_rows(&record.lines);
    let mut rows: Vec<Row> = own.into_iter().map(|line| row(line, 0)).collect();
    if !small.is_empty() {
        rows.push(together(&small));
    }
    rows.extend(find(record, Line::Unexplained).map(|line| row(line, 0)));
    table("Parts of the CPU time", &rows)
}

/// Whether a line belongs to the table of counted events.
fn is_event(line: &Difference) -> bool {
    matches!(line.line, Line::Part(_) | Line::Unexplained)
}

fn table(label: &str, rows: &[Row]) -> Table {
    let mut columns = vec![
        Column::words("", rows, |row| row.label.clone()),
        Column::numbers("OLD", rows, |row| row.seconds[0].clone()),
        Column::numbers("NEW", rows, |row| row.seconds[1].clone()),
        Column::numbers("NEW\u{a0}-\u{a0}OLD", rows, |row| row.difference.clone()),
        Column::numbers("95\u{a0}% interval", rows, |row| row.range.clone()),
    ];
    if rows.iter().any(|row| !row.events.is_empty()) {
        columns.push(Column::words("events", rows, |row| row.events.clone()));
    }
    Table { label: label.to_owned(), rows: ("line", "lines"), columns }
}

fn row(line: &Difference, depth: usize) -> Row {
    let seconds = |command: usize| Cell::reading(&line.seconds[command], |seconds| time(*seconds));
    let (difference, range) = match &line.difference {
        Ok((difference, interval)) if interval.half_width() > 0.0 => {
            (signed(*difference, *interval).into(), in_unit(*interval, amount_unit(difference.abs(), *interval)).into())
        }
        Ok((difference, _)) => (signed(*difference, Interval { low: 0.0, high: 0.0 }).into(), Cell::from("exact")),
        Err(absent) => (Cell::Absent(absent.0.clone()), Cell::from("")),
    };
    let events = line.counts.map_or_else(String::new, |[old, new]| {
        let least = if line.at_least == Some(true) { "at least " } else { "" };
        let each = each(line).map_or_else(String::new, |each| format!("; {least}{}{TIE}each", time(each)));
        format!("{}{TIE}→{TIE}{}{each}", events(old), events(new))
    });
    Row { label: indented(depth, &label(&line.name)), seconds: [seconds(0), seconds(1)], difference, range, events }
}

/// The price of an event, in seconds. Both commands have the same price.
fn each(line: &Difference) -> Option<f64> {
    let of =
        |(seconds, count): (&Reading<f64>, f64)| seconds.as_ref().ok().filter(|_| count > 0.0).map(|of| of / count);
    line.seconds.iter().zip(line.counts?).find_map(of)
}

/// The smallest parts as one row. Their sum has no interval.
fn together(small: &[&Difference]) -> Row {
    let sum = |command: usize| -> f64 { small.iter().filter_map(|line| line.seconds[command].as_ref().ok()).sum() };
    let (old, new) = (sum(0), sum(1));
    let least = small.iter().any(|line| line.at_least == Some(true));
    Row {
        label: count(small.len(), "other kind", "other kinds"),
        seconds: [time(old).into(), time(new).into()],
        difference: signed(new - old, Interval { low: 0.0, high: 0.0 }).into(),
        range: "".into(),
        events: if least { "times: lower bounds" } else { "" }.to_owned(),
    }
}

/// A difference with its sign. It has the unit of a sentence about it.
fn signed(difference: f64, interval: Interval) -> String {
    let text = amount(difference.abs(), interval, amount_unit(difference.abs(), interval));
    // A difference that rounds to zero has no sign.
    let nothing = !text.contains(|letter: char| ('1'..='9').contains(&letter));
    match difference {
        _ if nothing => text,
        difference if difference < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}

/// The intervals of the mean system times, if the kernel samples them at ticks. The user times mirror them.
fn system_times(record: &ExplainPairRecord) -> Option<Fact> {
    let tick = record.record.tick.as_ref().ok()?.seconds();
    let (system, cpu) = (find(record, Line::System)?, find(record, Line::Cpu)?);
    let of = |(command, name): (usize, &str)| {
        let system = *system.seconds[command].as_ref().ok()?;
        let cpu = *cpu.seconds[command].as_ref().ok().filter(|cpu| **cpu > 0.0)?;
        let interval = at_ticks(system, cpu, record.pairs as f64 * cpu / tick);
        Some(format!("{} in {name}", in_unit(interval, amount_unit(interval.high, interval))))
    };
    let both: Vec<String> = ["OLD", "NEW"].into_iter().enumerate().filter_map(of).collect();
    let text = || format!("{}: sampled at ticks of {}", both.join(", "), time(tick));
    (!both.is_empty()).then(|| Fact::new("system time", text()))
}

/// Facts about how the difference was measured.
fn facts(record: &ExplainPairRecord) -> Vec<Fact> {
    let extended = match record.record.plan.effort {
        Effort::Budget(budget) if record.record.elapsed > budget && record.record.blocks.len() <= MIN_PAIRS => {
            format!(", beyond the budget of {} because an interval needs {MIN_PAIRS}", time_setting(budget))
        }
        _ => String::new(),
    };
    let pairs = format!(
        "{} in {}{extended}; the runs of a pair follow each other in random order; each interval is at 95{TIE}% by itself",
        count(record.pairs, "pair", "pairs"),
        duration(record.record.elapsed)
    );
    let mut facts = vec![Fact::new("pairs", pairs)];
    facts.extend(system_times(record));
    facts.extend(missing(&record.missing));
    facts.extend(counted(&record.sources));
    let priced =
        || record.lines.iter().filter_map(|line| if let Line::Part(priced) = line.line { Some(priced) } else { None });
    facts.extend(faults(priced(), &record.prices, true));
    facts.extend(forks(priced(), &record.prices));
    facts.push(prices(&record.prices, record.record.started, &record.alu));
    facts.extend(activity_facts(&record.record.activity));
    facts.push(Fact::new("seed", record.record.plan.seed.to_string()));
    facts
}

impl Report for ExplainPairRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv::pair(self)
    }

    /// Each line of the difference and each block is on one line.
    fn json(&self, samples: bool) -> String {
        pretty::indented(&self.value(samples))
    }
}

impl Record for ExplainPairRecord {
    fn facts(&self) -> Facts {
        let record = &self.record;
        Facts {
            seed: Ok(record.plan.seed),
            commands: record.plan.commands.iter().map(|command| command.name.clone()).collect(),
            pairs: Ok(record.blocks.len()),
            complete: record.ending != Ending::Interrupted,
            ..Facts::new(crate::record::KIND, record.started, &record.host, &record.revision, summary(self))
        }
    }
}

fn document(record: &ExplainPairRecord) -> Document {
    let on_pages = |heading: &str, chart: Option<steady_render::Chart>| {
        chart.map(|chart| Section::new(heading, vec![Block::Chart(chart)]).shown(Shown::OnPages))
    };
    let events = "CPU time by counted event, at this host's prices";
    let mut sections =
        vec![commands(record), Section::new("Where the time goes", vec![Block::Table(times(record))]).whole()];
    sections.extend(on_pages("Time by state", charts::times_of_both(record)));
    let parts = parts(record);
    if !parts.is_empty() {
        sections.push(Section::new(events, vec![Block::Table(parts)]).whole());
        sections.extend(on_pages("CPU time by event", charts::parts_of_both(record)));
    }
    sections.push(Section::new("How it was measured", vec![Block::Facts(facts(record))]));
    sections.extend(origin(record.record.started, &record.record.host, &record.record.revision));
    Document {
        subject: "Steadyhand: where the difference of two commands goes".to_owned(),
        answer: answer(record).into_iter().chain(notes(&record.notes)).collect(),
        sections,
        is_brief: false,
    }
}

/// A summary for lists: `NEW +12.0 ms CPU`.
fn summary(record: &ExplainPairRecord) -> String {
    let line = if record.record.primary == Metric::Cpu { Line::Cpu } else { Line::Wall };
    let what = if line == Line::Cpu { "CPU" } else { "wall" };
    let text = match find(record, line).map(|of| (of.difference.as_ref(), certain(of))) {
        Some((_, Some((size, interval)))) => format!("NEW {} {what}", signed(size, interval)),
        Some((Ok(_), None)) => format!("no {what} difference"),
        _ => "undecided".to_owned(),
    };
    text.replace(TIE, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: Line, size: f64, half: f64) -> Difference {
        Difference {
            line,
            name: "time".to_owned(),
            depth: 1,
            seconds: [Ok(1.0), Ok(1.0 + size)],
            difference: Ok((size, Interval { low: size - half, high: size + half })),
            counts: None,
            at_least: None,
            more: None,
        }
    }

    #[test]
    fn components_larger_than_the_whole_are_no_reason() {
        let whole = Interval { low: 1.57e-3, high: 2.15e-3 };
        let named = |size: f64, whole: Interval| {
            let sign = size.signum();
            let lines = [line(Line::User, sign * 2.7e-3, 0.5e-3), line(Line::System, -sign * 1.2e-3, 1.2e-3)];
            components(lines.iter(), size, whole).len()
        };
        assert_eq!(named(1.85e-3, whole), 0);
        assert_eq!(named(-1.85e-3, Interval { low: -whole.high, high: -whole.low }), 0);
        assert_eq!(named(2.5e-3, Interval { low: 2e-3, high: 3e-3 }), 1);
    }

    #[test]
    fn a_time_and_its_interval_have_one_unit() {
        let (size, interval) = (0.213, Interval { low: 0.11, high: 0.336 });
        let unit = amount_unit(size, interval);
        let text = format!("{} ({})", amount(size, interval, unit), in_unit(interval, unit));
        assert_eq!(text.replace(TIE, " "), "0.21 s (0.11 to 0.34 s)");
    }
}
