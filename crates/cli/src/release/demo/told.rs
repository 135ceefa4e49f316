//! What the demonstration says.

use steady_model::{Interval, Nanos, ReleaseReport, Verdict};
use steady_report::{Style, release_answer_text, release_text};

use super::calibration::Calibration;
use super::site::NEW_PERCENT;
use crate::failure::Failure;
use crate::letters::readable;
use crate::output::{print, style};

/// How much further in an answer stands.
const FURTHER: &str = "    ";

fn say(text: &str) -> Result<(), Failure> {
    let said = print(readable(text.to_owned()).as_bytes());
    said.map_err(|error| Failure::Own(format!("standard output: {error}")))
}

/// What is going to be seen.
pub(super) fn intro(seconds: Nanos) -> Result<(), Failure> {
    say(&format!(
        "A server of two processes answers some hundred requests a second, and a\n\
         neighbour streams through memory beside it. Version v2 does {} % more work\n\
         than v1 on every page. Two parts of {:.0} s each.\n",
        NEW_PERCENT - 100,
        seconds.seconds()
    ))
}

/// What comes now.
pub(super) fn heading(text: &str) -> Result<(), Failure> {
    say(&format!("\n{text}\n"))
}

/// Both means, as they are compared before and after a release.
pub(super) fn before_and_after(report: &ReleaseReport) -> Result<(), Failure> {
    let means = |pick: fn(&steady_model::ReleaseSide) -> Option<Nanos>| {
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
    say(&format!(
        "  What is usually compared, means before and after:\n    CPU time per request: {cpu}\n    page time:            \
         {wall}\n"
    ))?;
    if !wrong.is_empty() {
        say(&format!("  {wrong}\n"))?;
    }
    say("  What steady release compare says of the same requests:\n")?;
    let wide = style();
    say(&indented(&release_answer_text(report, Style { width: wide.width.saturating_sub(FURTHER.len()), ..wide })))
}

/// The whole report.
pub(super) fn verdict(report: &ReleaseReport) -> Result<(), Failure> {
    say(&format!("\n{}", release_text(report, style())))
}

/// What is true by the calibration, next to what the two parts found.
pub(super) fn moral(truth: &Calibration, after: &ReleaseReport, coins: &ReleaseReport) -> Result<(), Failure> {
    let raw = after.total.raw_change.as_ref().map_or("nothing".to_owned(), |raw| format!("{:+.0} %", raw * 100.0));
    let found = match (&coins.total.change, &coins.total.interval) {
        (Ok(change), Ok(interval)) => {
            let agrees = if truth.agrees_with(interval) { "which agrees" } else { "which does not agree" };
            format!("{}, {agrees}", with_interval(*change, interval))
        }
        _ => "nothing".to_owned(),
    };
    let open =
        if coins.total.verdict == Verdict::Undecided { "\nIt is undecided: --seconds takes longer." } else { "" };
    say(&format!(
        "\nCPU time of pages alone, by both versions in turns: {}.\n\
         What else a request needs is the same for both, so its change is less, down to\n\
         {:+.1} %. The means before and after said {raw}; the coin said\n{found}.{open}\n",
        with_interval(truth.change, &truth.interval),
        truth.least() * 100.0
    ))
}

fn with_interval(change: f64, interval: &Interval) -> String {
    format!("{:+.1} % ({:.1} to {:.1} %)", change * 100.0, interval.low * 100.0, interval.high * 100.0)
}

/// Each line further in.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("{FURTHER}{line}\n")).collect()
}
