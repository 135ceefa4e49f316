//! The runs of a comparison, or the verdicts of joined ones, as comma-separated values, for spreadsheets and data frames.
//!
//! Fields are quoted as in RFC 4180. Lines end with a line feed only, as Unix tools expect.

use steady_model::{Block, Interval, Joined, Judgement, Record, Report, Run, Source};
use steady_render::csv::{Row, outcome, quoted, seconds, text};
use steady_render::timestamp;

/// The columns in their order. The name of a column with a unit ends with the unit.
const COLUMNS: [&str; 23] = [
    "pair",
    "layout",
    "command",
    "name",
    "order",
    "cpu",
    "started_seconds",
    "wall_seconds",
    "user_seconds",
    "system_seconds",
    "cpu_seconds",
    "run_delay_seconds",
    "peak_memory_bytes",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
    "left_behind",
    "outcome",
    "instructions",
    "cycles",
    "branch_misses",
    "cache_misses",
];

/// The runs as CSV: a line with the names of the columns, and one line per run. A field is empty if it was not
/// measured.
///
/// `pair` and `order` (the place within the pair) count from 1. `command` counts from 0, as in the JSON. A `pair` is a
/// block if the number of commands is not two. If there are draws, a line also has `draw`, counted from 1. If
/// runs started from snapshots, it has `start`, too; runs that started as usual then belong to no pair. Times are exact to
/// the nanosecond. Custom metrics have a column each, such as `latency_ms`.
pub fn csv(report: &Report) -> String {
    let record = &report.record;
    let names: Vec<String> = record.plan.commands.iter().map(|command| quoted(&command.name)).collect();
    let mut columns: Vec<String> = COLUMNS.iter().map(|column| (*column).to_owned()).collect();
    columns.extend(record.plan.metrics.iter().map(|source| match source.unit.as_str() {
        "" => source.name.clone(),
        unit => quoted(&format!("{}_{unit}", source.name)),
    }));
    columns.extend(record.has_draws().then(|| "draw".to_owned()));
    columns.extend(record.is_warm().then(|| "start".to_owned()));
    let mut out = columns.join(",");
    out.push('\n');
    let pairs = record.blocks.iter().zip((1..).map(Some));
    for (block, pair) in pairs.chain(record.usual.iter().map(|block| (block, None))) {
        let start = if pair.is_some() { "snapshot" } else { "usual" };
        for (run, order) in block.runs.iter().zip(1..) {
            let name = names.get(run.command).map_or("", String::as_str);
            out.push_str(&line(record, block, pair, run, order, name));
            for index in 0..record.plan.metrics.len() {
                out.push_str(&format!(",{}", field(run.values.get(index))));
            }
            if record.has_draws() {
                out.push_str(&format!(",{}", field(block.draw.map(|draw| draw + 1))));
            }
            if record.is_warm() {
                out.push_str(&format!(",{start}"));
            }
            out.push('\n');
        }
    }
    out
}

/// The verdicts of joined comparisons as CSV, with one line per source and command after the first. The lines of the
/// joint verdicts come first, and have no file.
pub fn joined_csv(joined: &Joined) -> String {
    let name = |command: usize| joined.plan().map_or("", |plan| &plan.commands[command].name);
    let row = |source: Option<&Source>, judgement: &Judgement| {
        let end = |end: fn(&Interval) -> f64| judgement.interval.as_ref().map(end).map_err(Clone::clone);
        let record = source.map(|source| &source.report.record);
        let host = record.and_then(|record| record.host.hostname.as_deref().ok());
        Row::new()
            .with("file", source.map_or("", |source| &source.name))
            .with("command", judgement.command)
            .with("name", name(judgement.command))
            .with("metric", judgement.metric.name())
            .with("verdict", judgement.verdict.name())
            .with_reading("change", &judgement.change, f64::to_string)
            .with_reading("low", &end(|interval| interval.low), f64::to_string)
            .with_reading("high", &end(|interval| interval.high), f64::to_string)
            .with("pairs", judgement.pairs)
            .with("host", host.unwrap_or_default())
            .with("started", record.map_or_else(String::new, |record| timestamp::text(record.started)))
    };
    let joint = joined.primary().map(|judgement| row(None, judgement));
    let each = joined.sources.iter().flat_map(|source| source.report.primary().map(move |one| row(Some(source), one)));
    text(&joint.chain(each).collect::<Vec<_>>())
}

/// The line of one run, without the additional columns of runs from snapshots.
fn line(record: &Record, block: &Block, pair: Option<usize>, run: &Run, order: usize, name: &str) -> String {
    let counters = record.counters.as_ref().ok().and(run.counters).unwrap_or_default();
    let fields: [String; COLUMNS.len()] = [
        field(pair),
        block.layout.name().to_owned(),
        run.command.to_string(),
        name.to_owned(),
        order.to_string(),
        field(run.cpu),
        seconds(run.started),
        seconds(run.wall),
        seconds(run.user),
        seconds(run.system),
        seconds(run.cpu_time()),
        run.run_delay.as_ref().map_or_else(|_| String::new(), |delay| seconds(*delay)),
        field(run.peak_memory.as_ref().ok().map(|bytes| bytes.0)),
        run.minor_faults.to_string(),
        run.major_faults.to_string(),
        run.voluntary_switches.to_string(),
        run.involuntary_switches.to_string(),
        run.left_behind.to_string(),
        outcome(run.outcome),
        field(counters.instructions),
        field(counters.cycles),
        field(counters.branch_misses),
        field(counters.cache_misses),
    ];
    fields.join(",")
}

/// The value as text, or an empty field.
fn field<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
