//! Charts: time by state, CPU time by counted event, and the CPUs that a long run used over time.

use steady_costs::prices::Priced;
use steady_model::{Metric, Nanos};
use steady_render::chart::{Axis, Bar, Bin, Chart, Height, Look, Marks, Series};
use steady_render::scale::{Kind, Scale};
use steady_render::units::time;

use crate::record::{Difference, ExplainPairRecord, ExplainRecord, Line, Progress};

/// Groups of events that share a bar. Their names are those of the rows of the table.
const KINDS: [&str; 6] = ["page faults", "switches", "forks", "threads", "execs", "system calls"];

/// Index in [`KINDS`] of the group of an event.
fn kind(priced: Priced) -> usize {
    match priced {
        Priced::MinorFault | Priced::MinorFaultMany | Priced::MinorFaultCold => 0,
        Priced::Switch => 1,
        Priced::Fork | Priced::Vfork => 2,
        Priced::Thread => 3,
        Priced::Exec => 4,
        Priced::KernelEntry | Priced::Call(_) => 5,
    }
}

/// One piece of each stacked bar, with its length in seconds in each row.
struct Piece<const ROWS: usize> {
    name: &'static str,
    look: Look,
    seconds: [f64; ROWS],
}

/// The time of one command by state, as a stacked bar.
pub(super) fn times(record: &ExplainRecord) -> Option<Chart> {
    let piece = |name, look, seconds: f64| Piece { name, look, seconds: [seconds] };
    let mut pieces = match record.system_interval {
        Ok(_) => vec![
            piece("user time", Look::First, record.user_seconds.seconds()),
            piece("system time", Look::Second, record.system_seconds.seconds()),
        ],
        // The kernel has not sampled enough to split it.
        Err(_) => vec![piece("CPU time", Look::First, record.cpu().seconds())],
    };
    match &record.waiting_seconds {
        Ok(waiting) => {
            pieces.push(piece("waiting for a CPU", Look::Third, waiting.seconds()));
            pieces.push(piece("blocked", Look::Rest, record.blocked_seconds.clone().unwrap_or(0.0)));
        }
        Err(_) => {
            let rest = record.wall_seconds.seconds() - record.cpu().seconds();
            pieces.push(piece("waiting for a CPU or blocked", Look::Rest, rest));
        }
    }
    stacked("Time of the command, by state", ["time"], pieces)
}

/// The CPU time of one command by counted event.
pub(super) fn parts(record: &ExplainRecord) -> Option<Chart> {
    let mut rows: Vec<(&str, f64)> = KINDS.map(|name| (name, 0.0)).to_vec();
    for part in &record.parts {
        rows[kind(part.priced)].1 += part.seconds;
    }
    // In the order of the table: the rest is last.
    rows.sort_by(|one, other| other.1.total_cmp(&one.1));
    let counting = record.counting_cost_seconds.as_ref().ok().filter(|_| !record.trace);
    rows.extend(counting.map(|cost| ("the counting", cost.seconds())));
    rows.extend(record.unexplained.as_ref().ok().map(|(left, _)| ("unexplained", *left)));
    rows.retain(|(_, seconds)| *seconds > 0.0);
    let names = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    let bars = rows.iter().enumerate().map(|(row, (_, seconds))| bar(row, 0.0, *seconds)).collect();
    let series = vec![Series { name: None, look: Look::First, marks: Marks::Bars(bars) }];
    chart("CPU time by counted event, at this host's prices", names, series)
}

/// The times of both commands, if both are known.
fn of_both(line: &Difference) -> Option<[f64; 2]> {
    let [old, new] = line.seconds.clone();
    Some([old.ok()?, new.ok()?])
}

/// The time of two commands by state, one stacked bar each.
pub(super) fn times_of_both(record: &ExplainPairRecord) -> Option<Chart> {
    let piece = |name, look, line| {
        let seconds = of_both(record.lines.iter().find(|one| one.line == line)?)?;
        Some(Piece { name, look, seconds })
    };
    let modes = [piece("user time", Look::First, Line::User), piece("system time", Look::Second, Line::System)];
    let mut pieces: Vec<Piece<2>> = modes.into_iter().flatten().collect();
    if pieces.len() < 2 {
        pieces = piece("CPU time", Look::First, Line::Cpu).into_iter().collect();
    }
    pieces.extend(piece("waiting for a CPU", Look::Third, Line::Waiting));
    pieces.extend(piece("blocked", Look::Rest, Line::Blocked));
    pieces.extend(piece("waiting for a CPU or blocked", Look::Rest, Line::OffCpu));
    stacked("Time of a mean run, by state", ["OLD", "NEW"], pieces)
}

/// The CPU time of two commands by counted event, two bars for each group.
pub(super) fn parts_of_both(record: &ExplainPairRecord) -> Option<Chart> {
    let mut kinds: Vec<(&str, [f64; 2])> = KINDS.map(|name| (name, [0.0; 2])).to_vec();
    for line in &record.lines {
        if let (Line::Part(priced), Some(seconds)) = (line.line, of_both(line)) {
            let sum = &mut kinds[kind(priced)].1;
            *sum = [sum[0] + seconds[0], sum[1] + seconds[1]];
        }
    }
    // In the order of the table: the rest is last.
    let difference = |of: &(&str, [f64; 2])| (of.1[1] - of.1[0]).abs();
    kinds.sort_by(|one, other| difference(other).total_cmp(&difference(one)));
    let left = record.lines.iter().find(|line| line.line == Line::Unexplained).and_then(of_both);
    kinds.extend(left.map(|left| ("unexplained", left)));
    kinds.retain(|(_, seconds)| seconds.iter().any(|seconds| *seconds > 0.0));
    let names = kinds.iter().flat_map(|(name, _)| ["OLD", "NEW"].map(|command| format!("{name}, {command}"))).collect();
    let series = [Look::Rest, Look::First].into_iter().enumerate().map(|(command, look)| {
        let rows = kinds.iter().enumerate().filter(|(_, (_, seconds))| seconds[command] > 0.0);
        let bars = rows.map(|(at, (_, seconds))| bar(2 * at + command, 0.0, seconds[command])).collect();
        Series { name: None, look, marks: Marks::Bars(bars) }
    });
    chart("CPU time of a mean run by counted event, at this host's prices", names, series.collect())
}

/// A chart of stacked bars.
fn stacked<const ROWS: usize>(label: &str, names: [&str; ROWS], pieces: Vec<Piece<ROWS>>) -> Option<Chart> {
    let mut from = [0.0; ROWS];
    let mut series = Vec::new();
    for piece in pieces {
        let mut bars = Vec::new();
        for (row, seconds) in piece.seconds.into_iter().enumerate().filter(|(_, seconds)| *seconds > 0.0) {
            bars.push(bar(row, from[row], seconds));
            from[row] += seconds;
        }
        if !bars.is_empty() {
            series.push(Series { name: Some(piece.name.to_owned()), look: piece.look, marks: Marks::Bars(bars) });
        }
    }
    chart(label, names.map(str::to_owned).to_vec(), series)
}

fn bar(row: usize, from: f64, seconds: f64) -> Bar {
    Bar { row, from, to: from + seconds, text: time(seconds) }
}

/// A chart of bars of times. Returns `None` if all bars are empty.
fn chart(label: &str, names: Vec<String>, series: Vec<Series>) -> Option<Chart> {
    let ends = series.iter().flat_map(|series| match &series.marks {
        Marks::Bars(bars) => bars.iter().map(|bar| bar.to).collect(),
        _ => Vec::new(),
    });
    let longest = ends.fold(0.0, f64::max);
    (longest > 0.0 && longest.is_finite()).then(|| Chart {
        label: label.to_owned(),
        height: if names.len() <= 4 { Height::Low } else { Height::Middle },
        x: Axis::Scale(Scale::new(Kind::Cost(Metric::Wall), 0.0, longest)),
        y: Axis::Names(names),
        series,
        note: None,
    })
}

/// With fewer points than this, a chart over time shows no more than the bars.
const FEW: usize = 4;
/// A chart over time has at most this many intervals: longer series are averaged.
const MOST: usize = 600;

/// CPUs in use between two points (seconds per second).
struct Rate {
    from: f64,
    to: f64,
    user: f64,
    cpu: f64,
    waiting: Option<f64>,
}

/// CPUs in use over time. Returns `None` for short runs.
pub(super) fn cpus_over_time(record: &ExplainRecord) -> Option<Chart> {
    let rates = rates(&record.progress);
    if rates.len() < FEW {
        return None;
    }
    let height = |rate: &Rate| rate.cpu.max(rate.waiting.unwrap_or(0.0));
    let top = rates.iter().map(height).fold(0.0, f64::max).max(0.1) * 1.06;
    let columns = |of: fn(&Rate) -> f64| {
        Marks::Columns(rates.iter().map(|rate| Bin { from: rate.from, to: rate.to, height: of(rate) }).collect())
    };
    let series = |name: Option<&str>, look, marks| Series { name: name.map(str::to_owned), look, marks };
    let is_split = record.system_interval.is_ok();
    let mut all = match is_split {
        true => vec![
            series(Some("CPUs in system mode"), Look::Second, columns(|rate| rate.cpu)),
            series(Some("in user mode"), Look::First, columns(|rate| rate.user)),
        ],
        false => vec![series(Some("CPUs"), Look::First, columns(|rate| rate.cpu))],
    };
    // The line has a gap where waiting is unknown. Only its first segment carries the name in the legend.
    let segments = rates.chunk_by(|one, other| one.waiting.is_some() == other.waiting.is_some());
    let lines = segments.filter_map(|segment| {
        let ends = |rate: &Rate| rate.waiting.map(|waiting| [(rate.from, waiting), (rate.to, waiting)]);
        segment.iter().map(ends).collect::<Option<Vec<_>>>().map(|points| points.concat())
    });
    for (at, line) in lines.enumerate() {
        let name = (at == 0).then_some("threads waiting for a CPU");
        all.push(series(name, Look::Third, Marks::Line(line)));
    }
    let absent = rates.iter().all(|rate| rate.waiting.is_none()).then_some("Threads waiting for a CPU: not measured.");
    let ticks = (is_split && record.tick_seconds.is_ok())
        .then_some("The kernel samples user and system mode at ticks; their sum is exact.");
    let note: Vec<&str> = absent.into_iter().chain(ticks).collect();
    Some(Chart {
        label: match is_split {
            true => "CPUs in use over time, in user and system mode, and threads waiting for a CPU".to_owned(),
            false => "CPUs in use over time, and threads waiting for a CPU".to_owned(),
        },
        height: Height::Middle,
        x: Axis::Scale(Scale::new(Kind::Clock, 0.0, rates.last().map_or(1.0, |rate| rate.to))),
        y: Axis::Scale(Scale::new(Kind::Number, 0.0, top)),
        series: all,
        note: (!note.is_empty()).then(|| note.join(" ")),
    })
}

/// The rates between the points, from the start on; adjacent points of a long series are merged.
fn rates(progress: &[Progress]) -> Vec<Rate> {
    let group = progress.len().div_ceil(MOST).max(1);
    let zero = Nanos::ZERO;
    let mut before = Progress { at_seconds: zero, cpu_seconds: zero, user_seconds: zero, waiting_seconds: Some(zero) };
    let mut rates = Vec::new();
    for point in progress.chunks(group).filter_map(<[Progress]>::last) {
        let seconds = (point.at_seconds - before.at_seconds).seconds();
        if seconds <= 0.0 {
            continue;
        }
        let cpu = (point.cpu_seconds - before.cpu_seconds).seconds() / seconds;
        let waited = point.waiting_seconds.zip(before.waiting_seconds);
        rates.push(Rate {
            from: before.at_seconds.seconds(),
            to: point.at_seconds.seconds(),
            user: ((point.user_seconds - before.user_seconds).seconds() / seconds).min(cpu),
            cpu,
            waiting: waited.map(|(now, then)| (now - then).seconds() / seconds),
        });
        before = *point;
    }
    rates
}
