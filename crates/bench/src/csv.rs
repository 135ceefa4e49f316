//! A suite as comma-separated values.

use steady_model::{DecidedBy, Interval, Reading};
use steady_render::csv::{self, Row};

use crate::adapter::Amount;
use crate::record::{Benchmark, Medians, Samples, SuiteRecord};

/// The statistic that decides the verdict of a benchmark: none if it failed.
fn decided_by(benchmark: &Benchmark) -> &'static str {
    match &benchmark.mean {
        _ if benchmark.failed.is_some() => "",
        Some(mean) if mean.decides => DecidedBy::Mean.name(),
        _ => DecidedBy::UsualRun.name(),
    }
}

/// A header, and one line for each benchmark.
pub(crate) fn text(record: &SuiteRecord) -> String {
    let row = |one: &Benchmark| {
        let end =
            |pick: fn(&Interval) -> f64| -> Reading<f64> { one.interval.as_ref().map(pick).map_err(Clone::clone) };
        let mut row = Row::new()
            .with("benchmark", &one.name)
            .with("verdict", if one.failed.is_some() { "failed" } else { one.verdict.name() })
            .with_reading("change", &one.change, f64::to_string)
            .with_reading("low", &end(|interval| interval.low), f64::to_string)
            .with_reading("high", &end(|interval| interval.high), f64::to_string)
            .with("decided_by", decided_by(one))
            .with("pairs", one.pairs);
        for (metric, source) in record.metrics.iter().enumerate() {
            let unit = match source.unit.as_str() {
                "" => String::new(),
                "s" => "_seconds".to_owned(),
                "B" => "_bytes".to_owned(),
                other => format!("_{other}"),
            };
            let medians: Reading<Medians> =
                one.medians.get(metric).copied().ok_or_else(|| steady_model::Absent::because("there are no pairs"));
            let old = medians.clone().map(|one| one.old);
            let new = medians.map(|one| one.new);
            row = row.with_reading(format!("old_{}{unit}", source.name), &old, f64::to_string).with_reading(
                format!("new_{}{unit}", source.name),
                &new,
                f64::to_string,
            );
        }
        row
    };
    match &record.benchmarks[..] {
        // The columns do not depend on the benchmark.
        [] => csv::header(&row(&Benchmark::before("", Amount::default(), false, Samples::default()))),
        benchmarks => csv::text(&benchmarks.iter().map(row).collect::<Vec<_>>()),
    }
}
