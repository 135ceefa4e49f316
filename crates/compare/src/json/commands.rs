//! The commands, and where the time of their runs went.

use serde_json::Value;
use steady_model::{Absent, Breakdown, Command, CounterMeans, CounterScope, Reading, Report, Spread, StartUp};

use super::object::Object;

/// Every command of the plan, with its breakdown.
pub(super) fn all(report: &Report) -> Value {
    let commands = report.record.plan.commands.iter().enumerate();
    let one = |(index, command): (usize, &Command)| {
        let mut object = described(command);
        let found = report.breakdowns.iter().find(|breakdown| breakdown.command == index && breakdown.runs > 0);
        let failures = report.breakdowns.iter().find(|breakdown| breakdown.command == index);
        object.put("runs", found.map_or(0, |breakdown| breakdown.runs));
        object.put("failures", failures.map_or(0, |breakdown| breakdown.failures));
        let breakdown = found.ok_or_else(|| Absent::because("no run succeeded"));
        put(&mut object, &breakdown, &report.record.counters);
        if let Some(startup) = report.startups.iter().find(|startup| startup.command == index) {
            start_up(&mut object, startup);
        }
        Value::from(object)
    };
    commands.map(one).collect()
}

/// What start-up costs.
fn start_up(object: &mut Object, startup: &StartUp) {
    object.reading("startup_seconds", &startup.mean);
    object.interval("startup_low_seconds", "startup_high_seconds", &startup.interval);
    object.put("startup_metric", startup.metric.name());
    object.put("startup_draws", startup.draws);
}

/// What a command is.
pub(super) fn described(command: &Command) -> Object {
    let mut object = Object::new();
    // Users choose the names of variables and parameters: what they look like to the codec of records means nothing.
    object.extend(serde_json::to_value(command).unwrap_or_default());
    object
}

/// The breakdown's fields; they are there, and null, even where no run succeeded.
fn put(object: &mut Object, breakdown: &Result<&Breakdown, Absent>, scope: &Reading<CounterScope>) {
    match breakdown {
        Ok(breakdown) => object.put("layout", breakdown.layout.name()),
        Err(absent) => object.absent("layout", &absent.0),
    }
    let spread = |pick: fn(&Breakdown) -> Reading<Spread>| breakdown.clone().and_then(pick);
    object.spread("cpu_seconds", &spread(|breakdown| Ok(breakdown.cpu)));
    object.spread("user_seconds", &spread(|breakdown| Ok(breakdown.user)));
    object.spread("system_seconds", &spread(|breakdown| Ok(breakdown.system)));
    object.spread("run_delay_seconds", &spread(|breakdown| breakdown.run_delay.clone()));
    object.spread("blocked_seconds", &spread(|breakdown| breakdown.blocked.clone()));
    object.spread("wall_seconds", &spread(|breakdown| Ok(breakdown.wall)));
    match breakdown.as_ref().and_then(|breakdown| breakdown.peak_memory.as_ref()) {
        Ok(bytes) => object.put("peak_memory_bytes", bytes.0),
        Err(absent) => object.absent("peak_memory_bytes", &absent.0),
    }
    let count = |pick: fn(&Breakdown) -> f64| breakdown.clone().map(pick);
    object.reading("minor_faults", &count(|breakdown| breakdown.minor_faults));
    object.reading("major_faults", &count(|breakdown| breakdown.major_faults));
    object.reading("voluntary_switches", &count(|breakdown| breakdown.voluntary_switches));
    object.reading("involuntary_switches", &count(|breakdown| breakdown.involuntary_switches));
    let counted = |pick: fn(&CounterMeans) -> Option<f64>| {
        scope.clone()?;
        let means = breakdown.clone()?.counters;
        means.as_ref().and_then(pick).ok_or_else(|| Absent::because("the CPU does not count them, or not in every run"))
    };
    object.reading("instructions", &counted(|means| means.instructions));
    object.reading("cycles", &counted(|means| means.cycles));
    object.reading("branch_misses", &counted(|means| means.branch_misses));
    object.reading("cache_misses", &counted(|means| means.cache_misses));
}
