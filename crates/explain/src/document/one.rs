//! The report about one command.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use steady_costs::prices::Priced;
use steady_feature::{Record, Report, typed};
use steady_model::{Facts, Interval, Nanos, Outcome, Reading};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence, Shown, activity_facts, origin};
use steady_render::json;
use steady_render::letters::{count, cut, one_line};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{TIE, between, percent, thousands, time, time_and_range, time_unit};

use super::{charts, counted, events, faults, forks, indented, label, missing, named, notes, prices};
use crate::csv;
use crate::judge::counting_interval;
use crate::record::{ExplainRecord, MOST_PROCESSES, Part, ProcessUse, SCHEMA, is_least_price};

/// The table of parts has about this many rows; the smallest parts share one row.
const PARTS: usize = 10;
/// A command counts as single-threaded if its threads' lifetimes and the wall time differ by no more than this share.
const ALONE: f64 = 0.01;

/// Below a table of processes, the report mentions CPU time of no row if it is at least this share.
const UNLISTED: f64 = 0.01;

/// Smaller shares are written as `<0.1 %`.
const LEAST: f64 = 0.001;

/// The base of all shares, in seconds: the lifetimes of all threads, or the wall time if they are not known.
fn whole(record: &ExplainRecord) -> f64 {
    record.thread_seconds.as_ref().map_or(record.wall_seconds, |lived| *lived).seconds()
}

/// Whether several threads or processes were alive at the same time.
fn several(record: &ExplainRecord) -> bool {
    let wall = record.wall_seconds.seconds();
    record.thread_seconds.as_ref().is_ok_and(|lived| (lived.seconds() - wall).abs() > ALONE * wall)
}

/// Text of a share; empty if the whole is zero.
fn share(seconds: f64, whole: f64) -> String {
    match seconds / whole {
        _ if whole <= 0.0 => String::new(),
        ratio if ratio != 0.0 && ratio.abs() < LEAST => format!("<0.1{TIE}%"),
        ratio if ratio < 1.0 && percent(ratio) == percent(1.0) => format!(">99{TIE}%"),
        ratio => percent(ratio),
    }
}

/// The first sentence: the claim, then its explanation.
fn answer(record: &ExplainRecord) -> Sentence {
    let (claim, rest) = if record.trace { traced(record) } else { times_in_words(record) };
    vec![(Emphasis::Heading, claim), (Emphasis::Plain, rest)]
}

/// Says that the command was killed; `None` if it exited.
fn killed(record: &ExplainRecord) -> Option<String> {
    match record.ended {
        Outcome::Exited(_) => None,
        Outcome::Signalled(signal) => Some(format!("Signal{TIE}{signal} ended the command")),
        Outcome::TimedOut => Some("The command was killed at its time limit".to_owned()),
    }
}

fn times_in_words(record: &ExplainRecord) -> (String, String) {
    let whole = whole(record);
    let wall = format!("{} of wall time", time(record.wall_seconds.seconds()));
    let claim = killed(record).map_or(wall.clone(), |killed| format!("{killed} after {wall}"));
    let lived = if several(record) { format!(", {} summed over all threads", time(whole)) } else { String::new() };
    let of = |seconds: f64| format!("{} ({})", time(seconds), share(seconds, whole));
    let cpu = record.cpu().seconds();
    let went = match (&record.waiting_seconds, &record.blocked_seconds) {
        (Ok(waiting), Ok(blocked)) => {
            let of_parents = match blocked_parents(record) {
                Some(parents) => format!(", of which {} in parents of other processes", time(parents)),
                None => String::new(),
            };
            let waiting = of(waiting.seconds());
            format!("{} on a CPU, {waiting} waiting for a CPU, {} blocked{of_parents}", of(cpu), of(*blocked))
        }
        (Ok(waiting), Err(_)) => format!("{} on a CPU, {} waiting for a CPU", time(cpu), time(waiting.seconds())),
        (Err(_), _) => format!("{} of CPU time", time(cpu)),
    };
    (claim, format!("{lived}: {went}.{}", explained(record)))
}

/// The counts of a traced command. The tracer distorts its times.
fn traced(record: &ExplainRecord) -> (String, String) {
    let counts = &record.counts;
    let counted = [
        ("system calls", &counts.calls),
        ("forks", &counts.forks),
        ("threads", &counts.threads),
        ("execs", &counts.execs),
    ];
    let made = counted.into_iter().filter_map(|(name, count)| {
        let count = count.as_ref().ok().filter(|count| **count > 0 || name == "system calls")?;
        Some(named(*count as f64, name))
    });
    let all: Vec<String> = made.chain([named(counts.minor_faults as f64, "page faults")]).collect();
    let rest = format!(
        "; under the tracer, which distorts times, the command took {} of wall time and {} of CPU time.",
        time(record.wall_seconds.seconds()),
        time(record.cpu().seconds())
    );
    let traced = killed(record).map_or("Traced".to_owned(), |killed| format!("{killed}. Traced until then"));
    (format!("{traced}: {}", all.join(", ")), rest)
}

/// A share of the CPU time with its interval: `27 % (14 to 33 %)`.
fn share_and_range(seconds: f64, interval: Interval, cpu: f64) -> String {
    let range = Interval { low: interval.low / cpu * 100.0, high: interval.high / cpu * 100.0 };
    let range =
        if range.half_width() > 0.0 { format!(" ({})", between(range, &format!("{TIE}%"))) } else { String::new() };
    format!("{}{range}", share(seconds, cpu))
}

/// How much of the CPU time the counted events explain.
fn explained(record: &ExplainRecord) -> String {
    let cpu = record.cpu().seconds();
    let (Ok((left, _)), Some(largest)) = (&record.unexplained, record.parts.first()) else { return String::new() };
    if cpu <= 0.0 {
        return String::new();
    }
    let (counted, interval) = sum(&record.parts);
    let counted = share_and_range(counted, interval, cpu);
    if *left < 0.0 {
        return format!(" At this host's prices, the counted events would take {counted} of the CPU time.");
    }
    let events = named(largest.count, &largest.name);
    let into = match record.parts.len() {
        1 => events,
        _ => format!("counted events, the largest part into {events} ({})", share(largest.seconds, cpu)),
    };
    format!(" At this host's prices, {counted} of the CPU time went into {into}; {} is unexplained.", share(*left, cpu))
}

/// Total time of some parts. Its interval is the sum of theirs, because their errors are not independent.
fn sum(parts: &[Part]) -> (f64, Interval) {
    let sum = |of: fn(&Part) -> f64| parts.iter().map(of).sum();
    (sum(|part| part.seconds), Interval { low: sum(|part| part.interval.low), high: sum(|part| part.interval.high) })
}

/// A row of the table of times.
struct Row {
    depth: usize,
    label: &'static str,
    time: Cell,
    share: Cell,
    remark: String,
}

/// The wall time, and below it the times that it consists of.
fn times(record: &ExplainRecord) -> Table {
    let whole = whole(record);
    let no_share = || Cell::from("");
    let row = |depth: usize, label: &'static str, seconds: f64| Row {
        depth,
        label,
        time: time(seconds).into(),
        share: share(seconds, whole).into(),
        remark: String::new(),
    };
    let mut rows = vec![row(0, "wall time", record.wall_seconds.seconds())];
    if several(record) {
        rows[0].share = no_share();
        rows.push(row(0, "time of all threads", whole));
    }
    rows.push(row(1, "CPU time", record.cpu().seconds()));
    for (label, time, remark) in
        [("user time", record.user_seconds, String::new()), ("system time", record.system_seconds, split(record))]
    {
        rows.push(match &record.system_interval {
            Ok(_) => Row { remark, ..row(2, label, time.seconds()) },
            // The kernel has not sampled enough to split the CPU time.
            Err(absent) => Row { time: Cell::Absent(absent.0.clone()), share: no_share(), ..row(2, label, 0.0) },
        });
    }
    let waiting = record.waiting_seconds.clone().map(Nanos::seconds);
    for (label, reading) in [("waiting for a CPU", &waiting), ("blocked", &record.blocked_seconds)] {
        rows.push(match reading {
            Ok(seconds) => row(1, label, *seconds),
            Err(absent) => Row { time: Cell::Absent(absent.0.clone()), share: no_share(), ..row(1, label, 0.0) },
        });
    }
    if let Some(of_parents) = blocked_parents(record) {
        let remark = "they may wait for their children".to_owned();
        rows.push(Row { remark, ..row(2, "parents", of_parents) });
        // Rounded as the times that it is a difference of, to nanoseconds.
        let others = record.blocked_seconds.as_ref().map_or(Nanos::ZERO, |all| Nanos::from_seconds(all - of_parents));
        rows.push(row(2, "other processes", others.seconds()));
    }
    if record.stopped_seconds > Nanos::ZERO {
        let remark = "by job control; not in the other times".to_owned();
        rows.push(Row { remark, share: no_share(), ..row(0, "stopped", record.stopped_seconds.seconds()) });
    }
    let mut columns = vec![
        Column::words("", &rows, |row| indented(row.depth, row.label)),
        Column::numbers("time", &rows, |row| row.time.clone()),
        Column::numbers("share", &rows, |row| row.share.clone()),
    ];
    if rows.iter().any(|row| !row.remark.is_empty()) {
        columns.push(Column::words("", &rows, |row| row.remark.clone()));
    }
    Table { label: "Times".to_owned(), rows: ("time", "times"), columns }
}

/// The time for which processes with children were blocked, in seconds. `None` if there are none, or if that is not
/// known, as when not all processes are listed.
fn blocked_parents(record: &ExplainRecord) -> Option<f64> {
    let all = record.processes.as_ref().ok().filter(|all| all.len() < MOST_PROCESSES)?;
    let parents: BTreeSet<i32> = all.iter().map(|one| one.parent).collect();
    let mut blocked = all.iter().filter(|one| parents.contains(&one.pid)).map(|one| &one.blocked_seconds).peekable();
    if record.blocked_seconds.is_err() || blocked.peek().is_none() {
        return None;
    }
    blocked.map(|one| Some(one.as_ref().ok()?.seconds())).sum()
}

/// The uncertainty of the split into user and system time.
fn split(record: &ExplainRecord) -> String {
    match (&record.system_interval, &record.tick_seconds) {
        (_, Err(_)) => String::new(),
        (Ok(interval), Ok(tick)) => {
            let (unit, scale) = time_unit(interval.high);
            let range = Interval { low: interval.low * scale, high: interval.high * scale };
            format!("{}: sampled at ticks of {}", between(range, &format!("{TIE}{unit}")), time(tick.seconds()))
        }
        (Err(_), Ok(_)) => String::new(),
    }
}

/// A row of the table of counted events.
struct Kind {
    label: String,
    /// Text of the number of events.
    count: String,
    each: String,
    seconds: f64,
    interval: Interval,
    remark: &'static str,
}

/// The counted events, and the unexplained rest of the CPU time. The smallest kinds share one row.
fn parts(record: &ExplainRecord) -> Table {
    let shown = if record.parts.len() <= PARTS + 1 { record.parts.len() } else { PARTS };
    let (large, small) = record.parts.split_at(shown);
    let mut rows: Vec<Kind> = large.iter().map(kind).collect();
    let without_count = |label: String, seconds: f64, interval: Interval, remark: &'static str| Kind {
        label,
        count: String::new(),
        each: String::new(),
        seconds,
        interval,
        remark,
    };
    if !small.is_empty() {
        let label = count(small.len(), "other kind", "other kinds");
        let remark =
            if small.iter().any(|part| is_least_price(part.priced, part.at_least)) { "lower bound" } else { "" };
        let (seconds, interval) = sum(small);
        // A kind without an upper limit leaves the sum without one.
        let high = small.iter().map(|part| kind(part).interval.high).sum();
        rows.push(without_count(label, seconds, Interval { high, ..interval }, remark));
    }
    if let (Ok(cost), false) = (&record.counting_cost_seconds, record.trace) {
        let (cost, remark) = (cost.seconds(), "estimated cost of counting these events");
        rows.push(without_count("the counting".to_owned(), cost, counting_interval(cost), remark));
    }
    if let Ok((left, interval)) = &record.unexplained {
        let remark = "own code, dynamic loader, other kernel work";
        rows.push(without_count("unexplained".to_owned(), *left, *interval, remark));
    }
    let cpu = record.cpu().seconds();
    let mut columns = vec![
        Column::words("", &rows, |row| row.label.clone()),
        Column::numbers("count", &rows, |row| row.count.clone()),
        Column::numbers("each", &rows, |row| row.each.clone()),
        Column::numbers("time", &rows, |row| time_and_range(row.seconds, row.interval).time),
        Column::numbers("95\u{a0}% interval", &rows, |row| time_and_range(row.seconds, row.interval).range),
    ];
    // The times of a traced command include the tracer's work, so they have no shares.
    if !record.trace {
        columns.push(Column::numbers("of CPU time", &rows, |row| share(row.seconds, cpu)));
    }
    if rows.iter().any(|row| !row.remark.is_empty()) {
        columns.push(Column::words("", &rows, |row| row.remark));
    }
    Table { label: "Parts of the CPU time".to_owned(), rows: ("part", "parts"), columns }
}

fn kind(part: &Part) -> Kind {
    // An exec has the price of a small program. More execs than were counted may have happened.
    let (interval, remark) = match (part.priced, part.at_least) {
        (Priced::Exec, true) => (Interval { high: f64::INFINITY, ..part.interval }, "lower bound"),
        (priced, at_least) if is_least_price(priced, at_least) => (part.interval, "price: lower bound"),
        _ => (part.interval, ""),
    };
    Kind {
        label: one_line(&label(&part.name)),
        count: events(part.count),
        each: time(part.price.seconds),
        seconds: part.seconds,
        interval,
        remark,
    }
}

/// How many system calls no row of calls contains, because the prices of other events include them. `None` if there are
/// none.
fn calls_in_other_prices(record: &ExplainRecord) -> Option<Fact> {
    let calls = *record.counts.calls.as_ref().ok()?;
    let of_part = |part: &Part| match part.priced {
        Priced::KernelEntry => part.count,
        Priced::Call(call) => part.count * call.calls().len() as f64,
        _ => 0.0,
    };
    let in_rows = record.parts.iter().map(of_part).sum::<f64>();
    let others = (calls as f64 - in_rows).round() as u64;
    // Without this price, calls are missing for another reason.
    (others > 0 && record.prices.of(Priced::KernelEntry).is_ok()).then(|| {
        let text = "the prices of forks, threads and execs include";
        Fact::new("system calls", format!("{} in total; {text} {} of them", number(calls), number(others)))
    })
}

/// Facts about the run and its sources.
fn facts(record: &ExplainRecord) -> Vec<Fact> {
    let mut facts = Vec::new();
    match record.ended {
        Outcome::Exited(0) => {}
        Outcome::Exited(status) => facts.push(Fact::new("ended", format!("with status{TIE}{status}"))),
        Outcome::Signalled(signal) => facts.push(Fact::new("ended", format!("by signal{TIE}{signal}"))),
        Outcome::TimedOut => facts.push(Fact::new("ended", "at its time limit")),
    }
    facts.extend(missing(&record.missing));
    facts.extend(counted(&record.sources));
    facts.extend(calls_in_other_prices(record));
    let priced = || record.parts.iter().map(|part| part.priced);
    facts.extend(faults(priced(), &record.prices, false));
    facts.extend(forks(priced(), &record.prices));
    if let Err(absent) = &record.counting_cost_seconds {
        let text = format!("its cost to the command was not measured: {}", one_line(&absent.0));
        facts.push(Fact::new("counting", text));
    }
    facts.push(prices(&record.prices, record.started, &record.alu));
    facts.extend(activity_facts(&record.activity));
    if record.left_behind > 0 {
        let left = count(record.left_behind as usize, "process", "processes");
        facts.push(Fact::new("left behind", format!("{left}, killed when the command ended")));
    }
    facts
}

impl Report for ExplainRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv::one(self)
    }

    /// There are no samples. Each part is on one line.
    fn json(&self, _samples: bool) -> String {
        json::text_by_lines(&SCHEMA, self, "parts")
    }
}

impl Record for ExplainRecord {
    /// The record is complete, however the command ended.
    fn facts(&self) -> Facts {
        Facts {
            commands: vec![self.command.name.clone()],
            ..Facts::new(crate::record::KIND, self.started, &self.host, &self.revision, summary(self))
        }
    }
}

fn document(record: &ExplainRecord) -> Document {
    let went = "Where the time went";
    let events = "Counted events, at this host's prices";
    let mut sections = vec![Section::new(went, vec![Block::Table(times(record))]).whole()];
    sections.extend(on_pages("Time by state", charts::times(record)));
    let parts = parts(record);
    if !parts.is_empty() {
        sections.push(Section::new(events, vec![Block::Table(parts)]).whole());
        sections.extend(on_pages("CPU time by event", charts::parts(record)));
    }
    sections.extend(on_pages("Over time", charts::cpus_over_time(record)));
    sections.extend(programs(record));
    sections.extend(section(record));
    let command = vec![Block::Command(one_line(&record.command.name)), Block::Facts(facts(record))];
    sections.push(Section::new("The command", command));
    sections.extend(origin(record.started, &record.host, &record.revision));
    Document {
        subject: "Steadyhand: where the time of a command went".to_owned(),
        answer: std::iter::once(answer(record)).chain(notes(&record.notes)).collect(),
        sections,
        is_brief: true,
    }
}

fn on_pages(heading: &str, chart: Option<steady_render::Chart>) -> Option<Section> {
    chart.map(|chart| Section::new(heading, vec![Block::Chart(chart)]).shown(Shown::OnPages))
}

/// A summary for lists: `1.23 s, 760 ms CPU`, or `412,233 calls traced`.
fn summary(record: &ExplainRecord) -> String {
    let text = match (record.trace, &record.counts.calls) {
        (true, Ok(calls)) => format!("{} calls traced", events(*calls as f64)),
        (true, Err(_)) => "traced".to_owned(),
        (false, _) => format!("{}, {} CPU", time(record.wall_seconds.seconds()), time(record.cpu().seconds())),
    };
    text.replace(TIE, " ")
}

/// The table lists at most this many processes.
const MOST: usize = 20;
/// Maximal width of a process name. The kernel keeps 15 bytes of it.
const NAME: usize = 16;

/// The programs table lists at most this many programs.
const MOST_PROGRAMS: usize = 15;

/// The processes of one program: those with the same name.
struct ProgramUse<'a> {
    name: &'a str,
    processes: u64,
    cpu_seconds: f64,
    blocked_seconds: Reading<f64>,
    faults: u64,
}

/// The use of each program, by CPU time. `None` if all processes have the same name, or if they were not counted.
pub(super) fn programs(record: &ExplainRecord) -> Option<Section> {
    let all = record.processes.as_ref().ok()?;
    let mut by_name: BTreeMap<&str, ProgramUse> = BTreeMap::new();
    for one in all {
        let new = ProgramUse { name: &one.name, processes: 0, cpu_seconds: 0.0, blocked_seconds: Ok(0.0), faults: 0 };
        let program = by_name.entry(&one.name).or_insert(new);
        program.processes += 1;
        program.cpu_seconds += one.cpu_seconds.seconds();
        program.blocked_seconds = match (&program.blocked_seconds, &one.blocked_seconds) {
            (Ok(sum), Ok(blocked)) => Ok(sum + blocked.seconds()),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        };
        program.faults += one.faults;
    }
    let mut sorted: Vec<ProgramUse> = by_name.into_values().collect();
    if sorted.len() < 2 {
        return None;
    }
    sorted.sort_by(|one, other| other.cpu_seconds.total_cmp(&one.cpu_seconds));
    let (shown, rest) = sorted.split_at(MOST_PROGRAMS.min(sorted.len()));
    let cpu = record.cpu().seconds();
    let columns = vec![
        Column::words("program", shown, |one| cut(&one_line(one.name), NAME)),
        Column::numbers("processes", shown, |one| number(one.processes)),
        Column::numbers("CPU time", shown, |one| time(one.cpu_seconds)),
        Column::numbers("share", shown, |one| share(one.cpu_seconds, cpu)),
        Column::numbers("for each", shown, |one| time(one.cpu_seconds / one.processes as f64)),
        Column::numbers("blocked", shown, |one| Cell::reading(&one.blocked_seconds, |blocked| time(*blocked))),
        Column::numbers("page faults", shown, |one| number(one.faults)),
    ];
    let table = Table { label: "Programs".to_owned(), rows: ("program", "programs"), columns };
    let others = (!rest.is_empty()).then(|| {
        let time = time(rest.iter().map(|one| one.cpu_seconds).sum());
        format!("{} used {time} of CPU time in total.", count(rest.len(), "other program", "other programs"))
    });
    let text = others.into_iter().chain(not_listed(record, all)).map(|text| vec![(Emphasis::Plain, text)]);
    let text = text.chain(short_lived(record, all)).map(Block::Paragraph);
    Some(Section::new("By program", std::iter::once(Block::Table(table)).chain(text).collect()).whole())
}

/// How much of the CPU time the list of processes does not contain, if the record has all of the list. The kernel
/// writes the exit record of a process before the process releases its memory. Samples miss short processes, and the
/// last sample of a process is some time before its end.
fn not_listed(record: &ExplainRecord, all: &[ProcessUse]) -> Option<String> {
    let cpu = record.cpu().seconds();
    let left = cpu - all.iter().map(|one| one.cpu_seconds.seconds()).sum::<f64>();
    (all.len() < MOST_PROCESSES && left >= UNLISTED * cpu && left > 0.0).then(|| {
        let who = match record.processes_sampled {
            true => {
                "processes that started and ended between two samples used it, or others used it after their last sample"
            }
            false => "processes used it after their last reading, mostly to release their memory",
        };
        format!("{} ({}) of the CPU time is not in these figures: {who}.", time(left), share(left, cpu))
    })
}

/// A hint if the command consists of many short processes: a part of their time is their start.
fn short_lived(record: &ExplainRecord, all: &[ProcessUse]) -> Option<Sentence> {
    const MANY: usize = 20;
    const SHORT: Nanos = Nanos(5_000_000);
    let short = all.iter().filter(|one| one.cpu_seconds < SHORT).count();
    (short >= MANY).then(|| {
        let plain = |text: &str| (Emphasis::Plain, text.to_owned());
        let code = |text: &str| (Emphasis::Code, text.to_owned());
        let processes = count(short, "process", "processes");
        let used = plain(&format!("{processes} used less than 5{TIE}ms of CPU time each. "));
        let mut started = std::iter::once(&record.command.program).chain(&record.interpreter);
        if let Some(shim) = started.find(|program| typed::is_shim(program)) {
            return vec![
                used,
                code(&one_line(&shim.display().to_string())),
                plain(
                    " is a script that starts the real program: name that program instead (for example, the output of ",
                ),
                code("pyenv which"),
                plain(" or "),
                code("asdf which"),
                plain(")."),
            ];
        }
        let start = "A part of it is their start: ";
        vec![used, plain(start), code("steady warm bench"), plain(" measures how much of it snapshots save.")]
    })
}

/// The processes that used most CPU time. On a terminal they are shown only with `--by-process`.
pub(super) fn section(record: &ExplainRecord) -> Option<Section> {
    let paragraph = |text: String| vec![Block::Paragraph(vec![(Emphasis::Plain, text)])];
    let blocks = match &record.processes {
        Ok(all) if !all.is_empty() => table(record, all),
        Ok(_) if !record.by_process => return None,
        Ok(_) => paragraph("No process was seen.".to_owned()),
        Err(absent) => paragraph(format!("Not measured: {}", one_line(&absent.0))),
    };
    let shown = if record.by_process { Shown::Everywhere } else { Shown::OffTerminal };
    Some(Section::new("By process", blocks).shown(shown).as_detail().whole())
}

fn table(record: &ExplainRecord, all: &[ProcessUse]) -> Vec<Block> {
    let mut sorted: Vec<&ProcessUse> = all.iter().collect();
    sorted.sort_by_key(|one| Reverse(one.cpu_seconds));
    let (shown, rest) = sorted.split_at(MOST.min(sorted.len()));
    let mut columns = vec![
        Column::numbers("PID", shown, |one| one.pid.to_string()),
        Column::numbers("parent", shown, |one| one.parent.to_string()),
        Column::words("name", shown, |one| cut(&one_line(&one.name), NAME)),
        Column::numbers("wall time", shown, |one| time(one.wall_seconds.seconds())),
        Column::numbers("CPU time", shown, |one| time(one.cpu_seconds.seconds())),
        Column::numbers("waiting", shown, |one| Cell::reading(&one.waiting_seconds, |waiting| time(waiting.seconds()))),
        Column::numbers("blocked", shown, |one| Cell::reading(&one.blocked_seconds, |blocked| time(blocked.seconds()))),
        Column::numbers("page faults", shown, |one| number(one.faults)),
        Column::numbers("switches", shown, |one| number(one.switches)),
    ];
    // Without this column the table fits a terminal of 80 columns.
    if shown.iter().any(|one| one.threads != 1) {
        columns.insert(3, Column::numbers("threads", shown, |one| one.threads.to_string()));
    }
    let table = Table { label: "Processes".to_owned(), rows: ("process", "processes"), columns };
    let others = (!rest.is_empty()).then(|| {
        let cpu: f64 = rest.iter().map(|one| one.cpu_seconds.seconds()).sum();
        let others = count(rest.len(), "other process", "other processes");
        format!("{others} used {} of CPU time in total; the JSON lists each of them.", time(cpu))
    });
    // If there is a table of programs, it says so.
    let not_listed = if programs(record).is_none() { not_listed(record, all) } else { None };
    let text = others.into_iter().chain(not_listed);
    let text = text.map(|text| Block::Paragraph(vec![(Emphasis::Plain, text)]));
    std::iter::once(Block::Table(table)).chain(text).collect()
}

fn number(count: u64) -> String {
    thousands(usize::try_from(count).unwrap_or(usize::MAX))
}
