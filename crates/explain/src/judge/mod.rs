//! From what a command did to where its time went: pure, so that a record gives the same report whenever it is read.

mod difference;
mod faults;
mod made;
mod parts;

use steady_costs::prices::at_run;
use steady_model::{Absent, Interval, Nanos, Reading};

use crate::record::ExplainRecord;

pub use difference::judged_pair;

/// Sources of times that disagree by less than this, or by less than this share, agree.
const GRAIN: f64 = 1e-3;
const SHARE: f64 = 0.02;
/// A process that used less than so many ticks may have been missed by all of them.
const TICKS: f64 = 2.0;
/// What the counting took is known to this share of it (`bench/run explain` holds it against runs that nobody looks at).
const COUNTING_ERROR: f64 = 1.0 / 3.0;
/// The level of the intervals of differences, by one look at the end.
const ALPHA: f64 = 0.05;
/// The normal distribution's two-sided 5 %.
const LEVEL: f64 = 1.96;

/// A record with what follows from what was measured.
pub fn judged(mut record: ExplainRecord) -> ExplainRecord {
    record.cpu_seconds = record.cpu();
    let cpu = record.cpu_seconds.seconds();
    (record.parts, record.missing) = parts::all(&record.counts, &at_run(&record.prices, &record.alu));
    record.unexplained = unexplained(&record, cpu);
    record.blocked_seconds = blocked(&record, cpu);
    record.notes = notes(&record);
    record.system_interval = system_interval(&record, cpu);
    record
}

/// What the parts and the counting leave.
fn unexplained(record: &ExplainRecord, cpu: f64) -> Reading<(f64, Interval)> {
    if record.trace {
        return Err(Absent::because("its times hold what the tracer did to it"));
    }
    // What the counting took is a line of its own.
    let counting = record.counting_cost_seconds.as_ref().map_or(0.0, |cost| cost.seconds());
    let (left, interval) = parts::unexplained(cpu - counting, &record.parts);
    let error = COUNTING_ERROR * counting;
    Ok((left, Interval { low: interval.low - error, high: interval.high + error }))
}

/// What is left of the threads' time: CPU time, waiting and this add up to it.
fn blocked(record: &ExplainRecord, cpu: f64) -> Reading<f64> {
    let (lived, waiting) = (record.thread_seconds.clone()?, record.waiting_seconds.clone()?);
    Ok(lived.seconds() - cpu - waiting.seconds())
}

/// Where the system time surely lies. The kernel sees at each tick what is running, so the share of system time is that of
/// a sample of so many ticks (Wilson 1927). A process that no tick hit is booked as user time altogether.
fn system_interval(record: &ExplainRecord, cpu: f64) -> Reading<Interval> {
    let system = record.system_seconds.seconds();
    let Ok(tick) = record.tick_seconds.clone().map(Nanos::seconds) else {
        return Ok(Interval { low: system, high: system });
    };
    let processes = 1 + record.counts.forks.clone().unwrap_or(0);
    if cpu / (processes as f64) < TICKS * tick {
        let why = format!("the processes used less than {TICKS} ticks each, so that most of it is not seen by any");
        return Err(Absent(why));
    }
    let (ticks, share) = (cpu / tick, system / cpu);
    let square = LEVEL * LEVEL / ticks;
    let middle = share + square / 2.0;
    let half = (square * (share * (1.0 - share) + square / 4.0)).sqrt();
    let end = |share: f64| cpu * (share / (1.0 + square)).clamp(0.0, 1.0);
    Ok(Interval { low: end(middle - half), high: end(middle + half) })
}

fn notes(record: &ExplainRecord) -> Vec<String> {
    let mut notes = Vec::new();
    if record.trace {
        notes.push("It was stopped at each of its system calls to count them: its times are not its own.".to_owned());
    }
    if let (Ok((left, interval)), Some(largest)) = (&record.unexplained, record.parts.first())
        && interval.high < 0.0
    {
        notes.push(format!(
            "The parts come to {} more than the CPU time, which their prices' intervals do not account for: what is counted \
             was cheaper here than where it was priced. The largest part is {}.",
            seconds(-left),
            largest.name
        ));
    }
    if let (Ok(blocked), Ok(lived)) = (&record.blocked_seconds, &record.thread_seconds)
        && -blocked > GRAIN.max(SHARE * lived.seconds())
    {
        notes.push(format!(
            "CPU time and waiting come to {} more than the threads lived: the kernel's clocks disagree here.",
            seconds(-blocked)
        ));
    }
    notes
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}
