//! What the demonstration says.

use crate::record::ReleaseReport;
use steady_model::{Interval, Nanos, Verdict};
use steady_render::Style;

use super::calibration::Calibration;
use super::site::NEW_PERCENT;
use crate::document::answer_text;

/// How much further in an answer stands.
const FURTHER: &str = "    ";

/// What is going to be seen.
pub(super) fn intro(seconds: Nanos) -> String {
    format!(
        "A server of two processes answers some hundred requests a second, and a\n\
         neighbour streams through memory beside it. Version v2 does {} % more work\n\
         than v1 on every page. Two parts of {:.0} s each.\n",
        NEW_PERCENT - 100,
        seconds.seconds()
    )
}

/// Both means, as they are compared before and after a release.
pub(super) fn before_and_after(report: &ReleaseReport, style: Style) -> String {
    let shown = answer_text(report, Style { width: style.width.saturating_sub(FURTHER.len()), ..style });
    let means = |pick: fn(&crate::record::ReleaseSide) -> Option<Nanos>| {
        let [old, new] = [0, 1].map(|side: usize| pick(&report.sides[side]));
        old.zip(new).map(|(old, new)| {
            let change = (new.seconds() / old.seconds() - 1.0) * 100.0;
            format!("{:.2} ms and {:.2} ms: {change:+.0} %", old.seconds() * 1e3, new.seconds() * 1e3)
        })
    };
    let absent = || "absent".to_owned();
    let cpu = means(|side| side.cpu_mean.clone().ok()).unwrap_or_else(absent);
    let wall = means(|side| side.wall_mean.clone().ok()).unwrap_or_else(absent);
    let wrong = match report.total.raw_change {
        Ok(change) if change < 0.0 => "By these means v2 is cheaper. It is not.",
        Ok(change) if change > 0.1 => "By these means v2 is far dearer than it is.",
        Ok(_) => "",
        Err(_) => "There are no means to compare.",
    };
    let wrong = if wrong.is_empty() { String::new() } else { format!("  {wrong}\n") };
    format!(
        "  What is usually compared, means before and after:\n    CPU time per request: {cpu}\n    page time:            \
         {wall}\n{wrong}  What steady release compare says of the same requests:\n{}",
        indented(&shown)
    )
}

/// What is true by the calibration, next to what the two parts found.
pub(super) fn moral(truth: &Calibration, after: &ReleaseReport, coins: &ReleaseReport) -> String {
    let raw = after.total.raw_change.as_ref().map_or("nothing".to_owned(), |raw| format!("{:+.0} %", raw * 100.0));
    let found = match (&coins.total.change, &coins.total.interval()) {
        (Ok(change), Ok(interval)) => {
            let agrees = if truth.agrees_with(interval) { "which agrees" } else { "which does not agree" };
            format!("{}, {agrees}", with_interval(*change, interval))
        }
        _ => "nothing".to_owned(),
    };
    let open =
        if coins.total.verdict == Verdict::Undecided { "\nIt is undecided: --seconds takes longer." } else { "" };
    format!(
        "\nCPU time of pages alone, by both versions in turns: {}.\n\
         What else a request needs is the same for both, so its change is less, down to\n\
         {:+.1} %. The means before and after said {raw}; the coin said\n{found}.{open}\n",
        with_interval(truth.change, &truth.interval),
        truth.least() * 100.0
    )
}

fn with_interval(change: f64, interval: &Interval) -> String {
    format!("{:+.1} % ({:.1} to {:.1} %)", change * 100.0, interval.low * 100.0, interval.high * 100.0)
}

/// Each line further in.
fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{FURTHER}{line}\n") }).collect()
}
