//! Where the time of a command went, or the difference of two, as comma-separated values.

use steady_model::{ExplainPairReport, ExplainReport, Nanos, Reading};

use super::{field, quoted, seconds};

/// The columns of one command's lines.
const COLUMNS: [&str; 9] =
    ["line", "depth", "seconds", "low_seconds", "high_seconds", "count", "price_seconds", "at_least", "absent"];

/// One line per time, below a line of names: the wall time and what it went into. Where a time is absent, the last field
/// has the reason.
pub fn explain_csv(report: &ExplainReport) -> String {
    let record = &report.record;
    let mut out = COLUMNS.join(",") + "\n";
    let mut time = |line: &str, depth: u32, time: &Reading<Nanos>| {
        let (value, absent) = match time {
            Ok(time) => (seconds(*time), String::new()),
            Err(absent) => (String::new(), quoted(&absent.0)),
        };
        out.push_str(&format!("{line},{depth},{value},,,,,,{absent}\n"));
    };
    time("wall time", 0, &Ok(record.wall));
    time("thread time", 0, &record.thread_time);
    time("CPU time", 1, &Ok(record.user + record.system));
    time("user time", 2, &Ok(record.user));
    time("system time", 2, &Ok(record.system));
    time("waiting for a CPU", 1, &record.waiting);
    time("stopped", 1, &Ok(record.stopped));
    let (blocked, absent) = (report.blocked.as_ref().ok(), report.blocked.as_ref().err());
    let why = |absent: Option<&steady_model::Absent>| absent.map_or_else(String::new, |absent| quoted(&absent.0));
    out.push_str(&format!("blocked,1,{},,,,,,{}\n", field(blocked), why(absent)));
    for part in &report.parts {
        let fields = [
            quoted(&part.name),
            "2".to_owned(),
            part.seconds.to_string(),
            part.interval.low.to_string(),
            part.interval.high.to_string(),
            part.count.to_string(),
            part.price.seconds.to_string(),
            part.at_least.to_string(),
            String::new(),
        ];
        out.push_str(&(fields.join(",") + "\n"));
    }
    let counting = report.record.counting_cost.as_ref();
    let took = counting.map_or_else(|_| String::new(), |cost| cost.seconds().to_string());
    out.push_str(&format!("counting,2,{took},,,,,,{}\n", why(counting.err())));
    let left = report.unexplained.as_ref();
    let (value, low, high) = left.map_or_else(
        |_| Default::default(),
        |(left, interval)| (left.to_string(), interval.low.to_string(), interval.high.to_string()),
    );
    out.push_str(&format!("unexplained,2,{value},{low},{high},,,,{}\n", why(left.err())));
    for (what, reason) in &report.missing {
        out.push_str(&format!("{},2,,,,,,,{}\n", quoted(what), quoted(reason)));
    }
    out
}

/// The columns of two commands' lines.
const PAIR_COLUMNS: [&str; 13] = [
    "line",
    "depth",
    "old_seconds",
    "new_seconds",
    "difference_seconds",
    "low_seconds",
    "high_seconds",
    "old_count",
    "new_count",
    "more_low",
    "more_high",
    "at_least",
    "absent",
];

/// One line per time, below a line of names: both commands' means and their difference.
pub fn explain_pair_csv(report: &ExplainPairReport) -> String {
    let mut out = PAIR_COLUMNS.join(",") + "\n";
    for line in &report.lines {
        let of = |command: usize| field(line.seconds.as_ref().ok().map(|all| all[command]));
        let difference = line.difference.as_ref().ok();
        let counts = |command: usize| field(line.counts.map(|all| all[command]));
        let fields: [String; PAIR_COLUMNS.len()] = [
            quoted(&line.name),
            line.depth.to_string(),
            of(0),
            of(1),
            field(difference.map(|(difference, _)| difference)),
            field(difference.map(|(_, interval)| interval.low)),
            field(difference.map(|(_, interval)| interval.high)),
            counts(0),
            counts(1),
            field(line.more.map(|(_, interval)| interval.low)),
            field(line.more.map(|(_, interval)| interval.high)),
            line.at_least.to_string(),
            line.difference.as_ref().err().map_or_else(String::new, |absent| quoted(&absent.0)),
        ];
        out.push_str(&(fields.join(",") + "\n"));
    }
    for (what, reason) in &report.missing {
        out.push_str(&format!("{},2{}{}\n", quoted(what), ",".repeat(PAIR_COLUMNS.len() - 2), quoted(reason)));
    }
    out
}
