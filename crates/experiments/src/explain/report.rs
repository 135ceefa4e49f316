//! From what a command did to where its time went: pure, so that a record gives the same report whenever it is read.

use steady_costs::prices::at_run;
use steady_model::{Absent, ExplainRecord, ExplainReport, Interval, Nanos, Part, Reading};

use super::parts;

/// Sources of times that disagree by less than this, or by less than this share, agree.
const GRAIN: f64 = 1e-3;
const SHARE: f64 = 0.02;
/// A process that used less than so many ticks may have been missed by all of them.
pub(super) const TICKS: f64 = 2.0;
/// What the counting took is known to this share of it (`bench/run explain` holds it against runs that nobody looks at).
const COUNTING_ERROR: f64 = 1.0 / 3.0;
/// The normal distribution's two-sided 5 %.
const LEVEL: f64 = 1.96;

/// The explanation of what was measured.
pub fn report(record: ExplainRecord) -> ExplainReport {
    let cpu = (record.user + record.system).seconds();
    let (parts, missing) = parts::all(&record.counts, &at_run(&record.prices, &record.alu));
    let unexplained = if record.plan.trace {
        Err(Absent::because("its times hold what the tracer did to it"))
    } else {
        // What the counting took is told by itself.
        let counting = record.counting_cost.as_ref().map_or(0.0, |cost| cost.seconds());
        let (left, interval) = parts::unexplained(cpu - counting, &parts);
        let error = COUNTING_ERROR * counting;
        Ok((left, Interval { low: interval.low - error, high: interval.high + error }))
    };
    let blocked = blocked(&record, cpu);
    let notes = notes(&record, &parts, &unexplained, &blocked);
    let system_interval = system_interval(&record, cpu);
    ExplainReport { record, system_interval, blocked, parts, missing, unexplained, notes }
}

/// What is left of the threads' time: CPU time, waiting and this add up to it.
fn blocked(record: &ExplainRecord, cpu: f64) -> Reading<f64> {
    let (lived, waiting) = (record.thread_time.clone()?, record.waiting.clone()?);
    Ok(lived.seconds() - cpu - waiting.seconds())
}

/// Where the system time surely lies. The kernel sees at each tick what is running, so the share of system time is that of
/// a sample of so many ticks (Wilson 1927). A process that no tick hit is booked as user time altogether.
fn system_interval(record: &ExplainRecord, cpu: f64) -> Reading<Interval> {
    let system = record.system.seconds();
    let Some(tick) = record.tick.map(Nanos::seconds) else { return Ok(Interval { low: system, high: system }) };
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

fn notes(
    record: &ExplainRecord,
    parts: &[Part],
    unexplained: &Reading<(f64, Interval)>,
    blocked: &Reading<f64>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if record.plan.trace {
        notes.push("It was stopped at each of its system calls to count them: its times are not its own.".to_owned());
    }
    if let (Ok((left, interval)), Some(dearest)) = (unexplained, parts.first())
        && interval.high < 0.0
    {
        notes.push(format!(
            "The parts come to {} more than the CPU time, which their prices' intervals do not account for: what is counted \
             was cheaper here than where it was priced. The largest part is {}.",
            seconds(-left),
            dearest.name
        ));
    }
    if let (Ok(blocked), Ok(lived)) = (blocked, &record.thread_time)
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
