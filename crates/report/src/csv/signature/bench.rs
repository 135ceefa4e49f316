//! What an allocator's lock costs, as comma-separated values: a line per condition.

use steady_model::{SignatureBenchReport, SignatureCondition, SignatureFigures};

use crate::csv::{field, number, quoted};

const NAMES: &str = "allocator,workers,bytes,pool_bytes,kept,runs,wall_seconds,wall_low,wall_high,user_seconds,system_seconds,\
bytes_per_second,lock_acquisitions,lock_waiting_ratio,absent";

/// The conditions, below a line of names; where one was not measured, the last field says why.
pub fn signature_bench_csv(report: &SignatureBenchReport) -> String {
    let mut out = format!("{NAMES}\n");
    for (condition, figures) in report.record.plan.conditions.iter().zip(&report.figures) {
        let mut fields = vec![
            condition.allocator.name().to_owned(),
            condition.workers.to_string(),
            condition.bytes.to_string(),
            field(condition.pool.map(|pool| pool.0)),
            condition.kept.to_string(),
        ];
        match figures {
            Ok(figures) => fields.extend(of(condition, figures)),
            Err(absent) => {
                let missing = NAMES.split(',').count() - 1 - fields.len();
                fields.extend(vec![String::new(); missing]);
                fields.push(quoted(&absent.0));
            }
        }
        out.push_str(&(fields.join(",") + "\n"));
    }
    out
}

fn of(condition: &SignatureCondition, figures: &SignatureFigures) -> Vec<String> {
    let interval = figures.wall_interval.as_ref().ok();
    let end = |value: Option<f64>| value.map_or_else(String::new, number);
    vec![
        figures.runs.to_string(),
        number(figures.wall),
        end(interval.map(|interval| interval.low)),
        end(interval.map(|interval| interval.high)),
        number(figures.user),
        number(figures.system),
        number(condition.bytes as f64 / figures.wall),
        end(figures.acquisitions.as_ref().ok().copied()),
        end(figures.waiting.as_ref().ok().copied()),
        String::new(),
    ]
}
