//! Computes where the time went from what was measured. The functions are pure: a stored record always gives the same
//! report.

mod counted;
mod difference;
mod faults;
mod parts;

use steady_costs::prices::at_run;
use steady_model::split::{Processes, too_short};
use steady_model::{Absent, Interval, Nanos, Reading};
use steady_render::units::time;

use crate::record::ExplainRecord;

pub(crate) use difference::evaluated_pairs;
pub use difference::judged_pair;

/// Times from different sources agree if they differ by less than this, in seconds...
const GRAIN: f64 = 1e-3;
/// ... or by less than this share.
const SHARE: f64 = 0.02;
/// Relative error of the estimated cost of counting. `bench/run explain` compares the estimate with runs without
/// counting.
const COUNTING_ERROR: f64 = 1.0 / 3.0;
/// Error rate of the intervals of differences, with one look at the end.
const ALPHA: f64 = 0.05;
/// Quantile of the normal distribution for a two-sided error rate of 5 %.
const LEVEL: f64 = 1.96;

/// Computes the derived fields of a record.
pub fn judged(mut record: ExplainRecord) -> ExplainRecord {
    record.cpu_seconds = record.cpu();
    let cpu = record.cpu_seconds.seconds();
    (record.parts, record.missing) = parts::all(&record.counts, &at_run(&record.prices, &record.alu));
    record.unexplained = unexplained(&record, cpu);
    record.blocked_seconds = blocked(&record);
    record.notes = notes(&record);
    record.system_interval = system_interval(&record, cpu);
    record
}

/// CPU time that neither the parts nor the cost of counting explain.
fn unexplained(record: &ExplainRecord, cpu: f64) -> Reading<(f64, Interval)> {
    if record.trace {
        return Err(Absent::because("the tracer distorted its times"));
    }
    // The cost of counting is a line of its own in the report.
    let counting = record.counting_cost_seconds.as_ref().map_or(0.0, |cost| cost.seconds());
    let (left, interval) = parts::unexplained(cpu - counting, &record.parts);
    let cost = counting_interval(counting);
    Ok((left, Interval { low: interval.low - (cost.high - counting), high: interval.high + (counting - cost.low) }))
}

/// Interval of an estimated cost of counting, in seconds.
pub(crate) fn counting_interval(cost: f64) -> Interval {
    Interval { low: cost * (1.0 - COUNTING_ERROR), high: cost * (1.0 + COUNTING_ERROR) }
}

/// Blocked time, in seconds: the lifetimes of all threads minus CPU time and waiting.
fn blocked(record: &ExplainRecord) -> Reading<f64> {
    let (lived, waiting) = (record.thread_seconds.clone()?, record.waiting_seconds.clone()?);
    // It may be negative. In whole nanoseconds, no rounding error remains where it is zero.
    let [lived, cpu, waiting] = [lived, record.cpu_seconds, waiting].map(|time| time.0 as f64);
    Ok((lived - cpu - waiting) / 1e9)
}

/// 95 % interval of the system time, if the kernel's ticks show it.
fn system_interval(record: &ExplainRecord, cpu: f64) -> Reading<Interval> {
    let system = record.system_seconds.seconds();
    let Ok(tick) = record.tick_seconds.clone().map(Nanos::seconds) else {
        return Ok(Interval { low: system, high: system });
    };
    let processes = match (&record.counts.forks, &record.waiting_seconds) {
        (Ok(forks), _) => Processes::Counted(1.0 + *forks as f64),
        // Without exit records, the waiting is known only if there was one thread.
        (Err(_), Ok(_)) => Processes::Counted(1.0),
        (Err(_), Err(_)) => Processes::Unknown,
    };
    if let Some(why) = too_short(cpu, processes, tick, "the command") {
        return Err(why);
    }
    Ok(at_ticks(system, cpu, cpu / tick))
}

/// At each tick, the kernel samples whether user or kernel code is running. The share of system time is therefore a
/// binomial proportion with as many trials as ticks (score interval of Wilson 1927). Returns the 95 % interval of a
/// system time of which `ticks` ticks show the share in the CPU time `cpu`, in seconds.
pub(crate) fn at_ticks(system: f64, cpu: f64, ticks: f64) -> Interval {
    let share = system / cpu;
    let square = LEVEL * LEVEL / ticks;
    let middle = share + square / 2.0;
    let half = (square * (share * (1.0 - share) + square / 4.0)).sqrt();
    let end = |share: f64| cpu * (share / (1.0 + square)).clamp(0.0, 1.0);
    Interval { low: end(middle - half), high: end(middle + half) }
}

fn notes(record: &ExplainRecord) -> Vec<String> {
    let mut notes = Vec::new();
    if record.trace {
        notes.push(
            "The tracer stopped the command at each system call to count it, which distorted its times.".to_owned(),
        );
    }
    if let (Ok((left, interval)), Some(largest)) = (&record.unexplained, record.parts.first())
        && interval.high < 0.0
    {
        notes.push(format!(
            "The parts add up to {} more than the CPU time, which is outside the intervals of their prices: these \
             events were cheaper in this command than when their prices were measured. The largest part is {}.",
            time(-left),
            largest.name
        ));
    }
    if let (Ok(blocked), Ok(lived)) = (&record.blocked_seconds, &record.thread_seconds)
        && -blocked > GRAIN.max(SHARE * lived.seconds())
    {
        notes.push(format!(
            "CPU time and waiting add up to {} more than the lifetimes of the threads: the kernel's clocks disagree.",
            time(-blocked)
        ));
    }
    notes
}
