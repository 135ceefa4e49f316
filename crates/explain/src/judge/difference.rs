//! Computes where the difference of two commands comes from. The functions are pure: a stored record always gives the
//! same report.
//!
//! All lines are means over the same pairs with the same weights, so the parts add up to the whole. User and system
//! time add up to the CPU time, and so do the counted events and the unexplained rest.

use steady_compare::about_runs;
use steady_costs::prices::{Price, Priced, Prices, at_run};
use steady_model::split::{Processes, too_short};
use steady_model::{Absent, Interval, Layout, Metric, Nanos, Reading, Record, Run};
use steady_render::letters::count;
use steady_render::units::{TIE, time_and_range};
use steady_stats::{MIN_PAIRS, OPEN_WIDTH_RATIO, Shift, has_modes, mean, shift, weights};

use super::counted::{self, CountedKind};
use super::{ALPHA, faults};
use crate::record::{Difference, ExplainPairRecord, Line, Missing, is_least_price};

/// The number of pairs that are evaluated: those in which both runs succeeded.
pub(crate) fn evaluated_pairs(record: &Record) -> usize {
    Pairs::of(record).runs.len()
}

/// Computes the derived fields of a record.
pub fn judged_pair(mut record: ExplainPairRecord) -> ExplainPairRecord {
    let (mut missing, notes, lines, pairs) = {
        let pairs = Pairs::of(&record.record);
        let prices = at_run(&record.prices, &record.alu);
        let (kinds, missing) = counted::all(&record, &prices);
        let parts = parts(&prices, &pairs, &kinds);
        let mut lines = vec![pairs.line(Line::Wall, 0, &|run| Ok(run.wall.seconds())), pairs.line(Line::Cpu, 1, &cpu)];
        lines.extend(split(&record, &pairs));
        lines.extend(parts.iter().map(|part| part.line(&pairs)));
        lines.push(unexplained(&pairs, &parts));
        lines.extend(off_cpu(&pairs));
        let notes = counted::note(&kinds, &lines).into_iter().chain(pairs.mean_of_all());
        let notes = notes.chain(about_runs(&record.record, &["OLD", "NEW"]));
        (missing, notes.collect(), lines, pairs.runs.len())
    };
    for (what, priced) in [("the price of page faults", Priced::MinorFault), ("the price of switches", Priced::Switch)]
    {
        missing.extend(record.prices.of(priced).err().map(|why| Missing { what: what.to_owned(), why: why.0 }));
    }
    (record.pairs, record.confidence, record.lines) = (pairs, 1.0 - ALPHA, lines);
    (record.missing, record.notes) = (missing, notes);
    record
}

/// The pairs in which both runs succeeded, with their weights. They are equal if the runs have two modes: both kinds of
/// runs are part of what a command costs then.
pub(super) struct Pairs<'a> {
    runs: Vec<[&'a Run; 2]>,
    weights: Vec<f64>,
    has_modes: bool,
}

/// Reads the quantity of a line from a run: seconds, or a number of events.
type Pick<'a> = &'a dyn Fn(&Run) -> Reading<f64>;

fn cpu(run: &Run) -> Reading<f64> {
    Ok(run.cpu_time().seconds())
}

impl<'a> Pairs<'a> {
    fn of(record: &'a Record) -> Self {
        let plan = &record.plan;
        let pair = |block: &'a steady_model::Block| Some([block.run_of(0)?.1, block.run_of(1)?.1]);
        let turns = record.blocks.iter().filter(|block| block.layout == Layout::Turns);
        let mut runs: Vec<[&Run; 2]> = turns.filter_map(pair).collect();
        runs.retain(|pair| pair.iter().all(|run| run.succeeded(&plan.failures)));
        let metric = if record.primary == Metric::Cpu { Metric::Cpu } else { Metric::Wall };
        // Wall time and CPU time are always available.
        let cost = |run: &Run| run.cost(metric).unwrap_or(0.0);
        let costs: Vec<(f64, f64)> = runs.iter().map(|[old, new]| (cost(old), cost(new))).collect();
        let has_modes = has_modes(std::slice::from_ref(&costs));
        let weights = if has_modes { vec![1.0; costs.len()] } else { weights(&costs) };
        Pairs { runs, weights, has_modes }
    }

    /// Weighted mean of each command.
    fn mean_of_each(&self, pick: Pick<'_>) -> [Reading<f64>; 2] {
        [0, 1].map(|command| {
            if self.runs.is_empty() {
                return Err(Absent::because("there is no pair in which both runs succeeded"));
            }
            let values = self.runs.iter().map(|pair| pick(pair[command])).collect::<Reading<Vec<f64>>>()?;
            Ok(mean(&values, &self.weights))
        })
    }

    /// Weighted means of both commands.
    fn means(&self, pick: Pick<'_>) -> Reading<[f64; 2]> {
        let [old, new] = self.mean_of_each(pick);
        Ok([old?, new?])
    }

    /// Weighted mean of the differences, with its interval.
    fn shift(&self, pick: Pick<'_>) -> Reading<Shift> {
        let differences =
            self.runs.iter().map(|[old, new]| Ok(pick(new)? - pick(old)?)).collect::<Reading<Vec<f64>>>()?;
        bounded(shift(&differences, &self.weights, ALPHA), differences.len())
    }

    /// What the mean of all pairs is, all with the same weight, if it contradicts the weighted one or is far less
    /// certain. Pairs with an expensive run have little weight, because load makes runs more expensive, but a command
    /// may also have expensive runs itself.
    fn mean_of_all(&self) -> Option<String> {
        /// Standard errors of a 95 % interval.
        const HALF_WIDTH: f64 = 1.96;
        if self.has_modes {
            return Some("The costs of the runs have two modes. All pairs count equally, in both modes.".to_owned());
        }
        let usual = self.shift(&cpu).ok()?;
        let of = |[old, new]: &[&Run; 2]| new.cpu_time().seconds() - old.cpu_time().seconds();
        let differences: Vec<f64> = self.runs.iter().map(of).collect();
        let number = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / number;
        let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
        let half = HALF_WIDTH * (squares / (number - 1.0) / number).sqrt();
        let is_certain = !usual.interval.holds(mean) && (mean - usual.mean).abs() >= half;
        let is_open = half > OPEN_WIDTH_RATIO * usual.interval.half_width();
        let usual = "The figures are about the usual run: pairs with an expensive run count little. Over all runs, ";
        let size = time_and_range(mean.abs(), Interval { low: mean.abs() - half, high: mean.abs() + half });
        let range = format!("{}{TIE}{}, 95{TIE}%", size.range, size.unit);
        let more = if mean > 0.0 { "more" } else { "less" };
        match (is_certain, is_open) {
            (true, _) => Some(format!("{usual}NEW needs {} {more} CPU time on average ({range}).", size.time)),
            (false, true) => Some(format!(
                "{usual}the difference of the mean CPU times is uncertain: {} {more} ({range}).",
                size.time
            )),
            (false, false) => None,
        }
    }

    fn line(&self, line: Line, depth: u32, pick: Pick<'_>) -> Difference {
        Difference {
            line,
            name: name(line).to_owned(),
            depth,
            seconds: self.mean_of_each(pick),
            counts: None,
            more: None,
            at_least: None,
            difference: self.shift(pick).map(|shift| (shift.mean, shift.interval)),
        }
    }
}

/// Returns the shift if its interval is finite.
fn bounded(shift: Shift, pairs: usize) -> Reading<Shift> {
    if shift.interval.low.is_finite() && shift.interval.high.is_finite() {
        return Ok(shift);
    }
    let have = count(pairs, "pair", "pairs");
    Err(Absent(format!("an interval needs {MIN_PAIRS} pairs, and there were {have}")))
}

/// The name of a line. Parts have names of their own.
fn name(line: Line) -> &'static str {
    match line {
        Line::Wall => "wall time",
        Line::Cpu => "CPU time",
        Line::User => "user time",
        Line::System => "system time",
        Line::Part(_) => "events",
        Line::Unexplained => "unexplained",
        Line::Waiting => "waiting for a CPU",
        Line::Blocked => "blocked",
        Line::OffCpu => "waiting for a CPU or blocked",
    }
}

/// User and system time. They are absent for a command whose processes are too short for the kernel's ticks, because
/// the kernel books such processes as user time.
fn split(record: &ExplainPairRecord, pairs: &Pairs<'_>) -> [Difference; 2] {
    let lines = [
        pairs.line(Line::User, 2, &|run| Ok(run.user.seconds())),
        pairs.line(Line::System, 2, &|run| Ok(run.system.seconds())),
    ];
    let Ok(tick) = record.record.tick.clone().map(Nanos::seconds) else { return lines };
    let short = [0, 1].map(|command| {
        let cpu = pairs.mean_of_each(&cpu)[command].clone().ok()?;
        too_short(cpu, processes(record, pairs, command), tick, ["OLD", "NEW"][command])
    });
    lines.map(|mut line| {
        for (seconds, why) in line.seconds.iter_mut().zip(short.iter()) {
            if let Some(why) = why {
                (*seconds, line.difference) = (Err(why.clone()), Err(why.clone()));
            }
        }
        line
    })
}

/// Mean number of processes in a run of a command.
fn processes(record: &ExplainPairRecord, pairs: &Pairs<'_>, command: usize) -> Processes {
    if let Ok(runs) = &record.counted[command]
        && let Ok(forks) = runs.iter().map(|counts| counts.forks.clone()).collect::<Reading<Vec<u64>>>()
        && !forks.is_empty()
    {
        return Processes::Counted(1.0 + forks.iter().sum::<u64>() as f64 / forks.len() as f64);
    }
    Processes::of(&pairs.runs.iter().map(|pair| pair[command]).collect::<Vec<_>>())
}

/// Events of one kind and their price, in both commands.
struct Part<'a> {
    name: &'a str,
    priced: Priced,
    at_least: bool,
    price: Price,
    from: Source<'a>,
}

/// Where the counts of a part come from.
enum Source<'a> {
    /// The runs of the pairs.
    Pairs(fn(&Run) -> u64),
    /// Extra runs that were only counted.
    Counted(&'a CountedKind),
}

/// Events that happened in some run and whose price is known, the largest difference first.
fn parts<'a>(prices: &Prices, pairs: &Pairs<'_>, kinds: &'a [CountedKind]) -> Vec<Part<'a>> {
    let forks = kinds.iter().find(|one| one.priced == Priced::Fork).map_or([0.0; 2], |one| one.counts);
    // Both commands get the price of the one with more faults per process, because alternating runs reuse each other's
    // pages.
    let faults = pairs.means(&|run| Ok(run.minor_faults as f64)).unwrap_or_default();
    let each = (0..2).map(|command| faults[command] / (1.0 + forks[command])).fold(0.0, f64::max);
    let of_pairs = |name: &'static str, priced, at_least, count: fn(&Run) -> u64| {
        let happened = pairs.runs.iter().flatten().any(|run| count(run) > 0);
        let price =
            if priced == Priced::MinorFault { faults::in_repeated_process(prices, each) } else { prices.of(priced) };
        let price = price.ok().filter(|_| happened)?;
        Some(Part { name, priced, at_least, price, from: Source::Pairs(count) })
    };
    let of_pairs = [
        of_pairs("page faults", Priced::MinorFault, false, |run| run.minor_faults),
        of_pairs("major page faults", Priced::MinorFault, true, |run| run.major_faults),
        of_pairs("switches", Priced::Switch, false, |run| run.voluntary_switches + run.involuntary_switches),
    ];
    let of_counted = kinds.iter().map(|one| Part {
        name: &one.name,
        priced: one.priced,
        at_least: one.at_least,
        price: one.price,
        from: Source::Counted(one),
    });
    let mut parts: Vec<Part<'_>> = of_pairs.into_iter().flatten().chain(of_counted).collect();
    let size = |part: &Part<'_>| part.difference(pairs).map_or(0.0, |(difference, _)| difference.abs());
    parts.sort_by(|one, other| size(other).total_cmp(&size(one)));
    parts
}

impl Part<'_> {
    fn counts(&self, pairs: &Pairs<'_>) -> Reading<[f64; 2]> {
        match self.from {
            Source::Pairs(count) => pairs.means(&|run| Ok(count(run) as f64)),
            Source::Counted(kind) => Ok(kind.counts),
        }
    }

    /// Events in NEW minus events in OLD.
    fn more(&self, pairs: &Pairs<'_>) -> Reading<Shift> {
        match self.from {
            Source::Pairs(count) => pairs.shift(&|run| Ok(count(run) as f64)),
            Source::Counted(kind) => kind.more.clone(),
        }
    }

    /// Difference of their cost in seconds. The interval spans the products of the ends of the intervals of count and
    /// price.
    fn difference(&self, pairs: &Pairs<'_>) -> Reading<(f64, Interval)> {
        let more = self.more(pairs)?;
        let (count, price) = (more.interval, self.price.interval);
        let corners = [count.low * price.low, count.low * price.high, count.high * price.low, count.high * price.high];
        let low = corners.into_iter().fold(f64::INFINITY, f64::min);
        let high = corners.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Ok((more.mean * self.price.seconds, Interval { low, high }))
    }

    fn line(&self, pairs: &Pairs<'_>) -> Difference {
        let counts = self.counts(pairs);
        Difference {
            line: Line::Part(self.priced),
            name: self.name.to_owned(),
            depth: 2,
            seconds: [0, 1].map(|command| Ok(counts.clone()?[command] * self.price.seconds)),
            at_least: counts.is_ok().then_some(is_least_price(self.priced, self.at_least)),
            counts: counts.ok(),
            more: self.more(pairs).ok().map(|more| (more.mean, more.interval)),
            difference: self.difference(pairs),
        }
    }

    /// Error of the difference due to the price alone, in seconds, downwards and upwards.
    fn price_error(&self, more: f64) -> (f64, f64) {
        let Price { seconds, interval } = self.price;
        let (one, other) = (more * (interval.low - seconds), more * (interval.high - seconds));
        (one.min(other), one.max(other))
    }
}

/// The part of the difference in CPU time that the counted events do not explain.
///
/// Events that were counted in the pairs are subtracted within each pair, because a run with more faults also takes
/// more time. The errors of prices and of counts from extra runs are added linearly, as if all had the same sign.
fn unexplained(pairs: &Pairs<'_>, parts: &[Part<'_>]) -> Difference {
    let of_run = |run: &Run| {
        let priced = parts.iter().map(|part| match part.from {
            Source::Pairs(count) => count(run) as f64 * part.price.seconds,
            Source::Counted(_) => 0.0,
        });
        Ok(run.cpu_time().seconds() - priced.sum::<f64>())
    };
    let counted = |command: usize| -> f64 {
        let of = |part: &Part<'_>| match part.from {
            Source::Pairs(_) => 0.0,
            Source::Counted(kind) => kind.counts[command] * part.price.seconds,
        };
        parts.iter().map(of).sum()
    };
    let difference = pairs.shift(&of_run).and_then(|shift| {
        let (mut mean, mut low, mut high) = (shift.mean, shift.interval.low, shift.interval.high);
        for part in parts {
            let more = part.more(pairs)?;
            let (down, up) = part.price_error(more.mean);
            (low, high) = (low - up, high - down);
            if let Source::Counted(_) = part.from {
                let price = part.price.seconds;
                mean -= more.mean * price;
                let ends = [more.interval.low * price, more.interval.high * price];
                (low, high) = (low - ends[0].max(ends[1]), high - ends[0].min(ends[1]));
            }
        }
        Ok((mean, Interval { low, high }))
    });
    let [old, new] = pairs.mean_of_each(&of_run);
    let seconds = [old.map(|old| old - counted(0)), new.map(|new| new - counted(1))];
    Difference { seconds, difference, ..pairs.line(Line::Unexplained, 2, &of_run) }
}

/// Lines for waiting for a CPU and for being blocked. With the CPU time they add up to the wall time if one thread at a
/// time was alive. If waiting is not known, the two are one line. If the CPU time exceeds the wall time, there is no
/// such line.
fn off_cpu(pairs: &Pairs<'_>) -> Vec<Difference> {
    let other = |Absent(why)| Absent(format!("{why}; steady explain -- COMMAND can use exit records of all threads"));
    let waiting = pairs.line(Line::Waiting, 1, &|run| Ok(run.run_delay.clone().map_err(other)?.seconds()));
    let rest = |run: &Run| Ok(run.wall.seconds() - run.cpu_time().seconds());
    if waiting.seconds.iter().all(Result::is_ok) {
        let blocked = pairs.line(Line::Blocked, 1, &|run| Ok(rest(run)? - run.run_delay.clone()?.seconds()));
        return vec![waiting, blocked];
    }
    let line = pairs.line(Line::OffCpu, 1, &rest);
    let several = line.seconds.iter().flatten().any(|seconds| *seconds < 0.0);
    if several { vec![waiting] } else { vec![waiting, line] }
}
