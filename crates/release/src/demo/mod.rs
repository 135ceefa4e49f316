//! `steady release demo`: compares two versions of a small server under changing load.
//!
//! Processes of `steady` are the server, a client that does not wait for responses, and a neighbour; the agent is a
//! thread. All reported numbers are measured during the demonstration.

mod calibration;
mod load;
mod scene;
mod site;
mod worker;

use std::path::{Path, PathBuf};

use steady_feature::flags::Form;
use steady_feature::{Failure, Interrupt, Report, Session};
use steady_linux::clock;
use steady_model::{Interval, Nanos, Verdict};
use steady_render::Style;

use crate::document::answer_text;
use crate::flags::ReleaseDemoFlags;
use crate::judge;
use crate::record::{ReleaseQuestion, ReleaseReport};
use crate::run::Store;
use calibration::Calibration;
use scene::{Scene, Versions};
use site::NEW_PERCENT;

pub(crate) use scene::{SWEEPER, WORKER, sweep};
pub(crate) use worker::serve;

/// Name of the service in the agent's store.
const SERVICE: &str = "demo";
/// Names of OLD and NEW.
const VERSIONS: [&str; 2] = ["v1", "v2"];

/// Shortest first part. One version after the other needs six stretches of 10 s of each version, without the first
/// requests of its processes.
const FIRST_PART: Nanos = Nanos(130_000_000_000);

/// Runs both parts and prints their reports. Returns the exit status.
pub(crate) fn run(flags: &ReleaseDemoFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let own = |error: std::io::Error| Failure::Own(format!("the demonstration: {error}"));
    let (interrupt, stop) = Interrupt::catch().map_err(own)?;
    if let Some(folder) = &flags.pages {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Usage(format!("--pages '{}': {error}", folder.display())))?;
    }
    let ended = |error: scene::Ended| match error {
        scene::Ended::Interrupted => Failure::Interrupted(interrupt.signal()),
        scene::Ended::Failed(why) => Failure::Own(format!("the demonstration: {why}")),
    };
    let first_part = Nanos(flags.seconds.0.max(FIRST_PART.0));
    session.print(&intro([first_part, flags.seconds]))?;
    let mut scene = Scene::new(stop, &temporary(session)).map_err(ended)?;
    let truth = calibration::calibrate().map_err(own)?;
    let each = Nanos(first_part.0 / 2);

    session.print("\n1. v2 replaces v1, as in most releases; the busy neighbour stops with v1\n")?;
    let from = scene.next_second().map_err(ended)?;
    scene.play(Versions::Old, each, load::Habit::Always).map_err(ended)?;
    scene.play(Versions::New, each, load::Habit::Never).map_err(ended)?;
    let after = judged(&scene, from)?;
    session.print(&before_and_after(&after, session.style()))?;
    page(flags.pages.as_deref(), "one-after-the-other", &after, session)?;

    session.print("\n2. A coin chooses the version of each request; the neighbour starts and stops\n")?;
    let from = scene.next_second().map_err(ended)?;
    scene.play(Versions::Coin, flags.seconds, load::Habit::ComesAndGoes).map_err(ended)?;
    let coins = judged(&scene, from)?;
    session.print(&format!("\n{}", coins.text(session.style())))?;
    page(flags.pages.as_deref(), "random-per-request", &coins, session)?;
    session.print(&conclusion(&truth, &after, &coins))?;
    Ok(0)
}

/// Compares the versions from the requests that the agent has stored since second `from`.
fn judged(scene: &Scene, from: u64) -> Result<ReleaseReport, Failure> {
    let to = clock::time_of_day().0.max(from + 1);
    let path = scene.store();
    scene.wait_for(to);
    let store = Store::open(&path)?;
    let question = ReleaseQuestion {
        service: SERVICE.to_owned(),
        old: VERSIONS[0].to_owned(),
        new: VERSIONS[1].to_owned(),
        asked: Some(clock::time_of_day()),
        from,
        to,
        by_route: true,
        confidence: 0.95,
        resolution: 0.01,
        fail_if: None,
        require_verdict: false,
    };
    let rows = store.rows(SERVICE, from, to)?;
    judge(&question, &rows).map_err(|error| Failure::Own(format!("the demonstration: {error}")))
}

/// Writes the report of a part as an HTML page, if `--pages` was given.
fn page(folder: Option<&Path>, name: &str, report: &ReleaseReport, session: &dyn Session) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    session.save("--pages", &folder.join(format!("{name}.html")), &report.rendered(Form::Html, session.style(), false))
}

/// Returns the directory for temporary files.
fn temporary(session: &dyn Session) -> PathBuf {
    let named = session.environment().into_iter().find(|(name, value)| name == "TMPDIR" && !value.is_empty());
    named.map_or_else(|| PathBuf::from("/tmp"), |(_, folder)| PathBuf::from(folder))
}

/// Indentation of an answer.
const INDENT: &str = "    ";

/// Describes the demonstration before it starts.
fn intro(parts: [Nanos; 2]) -> String {
    let [first, second] = parts.map(Nanos::seconds);
    format!(
        "A server of two processes answers about a hundred requests per second, while\n\
         a neighbour process streams through memory. Version v2 does {} % more work\n\
         than v1 on every page. Part 1 takes {first:.0} s, part 2 {second:.0} s.\n",
        NEW_PERCENT - 100
    )
}

/// Formats the means before and after the release, as they are usually compared, and the answer of `steady`.
fn before_and_after(report: &ReleaseReport, style: Style) -> String {
    let shown = answer_text(report, Style { width: style.width.saturating_sub(INDENT.len()), ..style });
    let means = |pick: fn(&crate::record::ReleaseSide) -> Option<Nanos>| {
        let [old, new] = [0, 1].map(|side: usize| pick(&report.sides[side]));
        old.zip(new).map(|(old, new)| {
            let change = (new.seconds() / old.seconds() - 1.0) * 100.0;
            format!("{:.2} ms and {:.2} ms: {change:+.0} %", old.seconds() * 1e3, new.seconds() * 1e3)
        })
    };
    let absent = || "not available".to_owned();
    let cpu = means(|side| side.cpu_mean.clone().ok()).unwrap_or_else(absent);
    let wall = means(|side| side.wall_mean.clone().ok()).unwrap_or_else(absent);
    let wrong = match report.total.raw_change {
        Ok(change) if change < 0.0 => "By these means v2 is cheaper than v1, which is wrong.",
        Ok(change) if change > 0.1 => "These means overstate the difference between v1 and v2.",
        Ok(_) => "",
        Err(_) => "There are no means to compare.",
    };
    let wrong = if wrong.is_empty() { String::new() } else { format!("  {wrong}\n") };
    format!(
        "  The usual comparison, means before and after:\n    CPU time per request: {cpu}\n    wall time:            \
         {wall}\n{wrong}  The answer of steady release compare from the same requests:\n{}",
        indented(&shown)
    )
}

/// Compares the results of both parts with the calibration.
fn conclusion(truth: &Calibration, after: &ReleaseReport, coins: &ReleaseReport) -> String {
    let raw = after.total.raw_change.as_ref().map_or("nothing".to_owned(), |raw| format!("{:+.0} %", raw * 100.0));
    let found = |report: &ReleaseReport| match (&report.total.change, &report.total.interval()) {
        (Ok(change), Ok(interval)) => {
            let agrees = match (truth.is_precise(), truth.agrees_with(interval)) {
                (true, true) => ", which\nagrees with this",
                (true, false) => ", which\ndoes not agree with this",
                (false, _) => "",
            };
            format!("{}{agrees}", with_interval(*change, interval))
        }
        _ => "nothing".to_owned(),
    };
    let (adjusted, coin) = (found(after), found(coins));
    let open = match coins.total.verdict {
        Verdict::Undecided => "\nThe verdict is undecided. For a longer demonstration, use --seconds.",
        _ => "",
    };
    let rest = match truth.is_precise() {
        true => format!(
            "The rest of a request costs the same with both versions, so the change per\n\
             request may be as small as {:+.1} %.",
            truth.least() * 100.0
        ),
        false => "Other load made this too imprecise to say which answer is right.".to_owned(),
    };
    format!(
        "\nMeasured separately, v2 changes the CPU time of a page by\n{}.\n{rest}\n\
         The means before and after showed {raw}.\n\
         Adjusted for load, the same requests showed {adjusted}.\n\
         The coin showed {coin}.{open}\n",
        with_interval(truth.change, &truth.interval),
    )
}

/// Formats a change with its interval: `+4.5 % (3.9 to 5.1 %)`.
fn with_interval(change: f64, interval: &Interval) -> String {
    format!("{:+.1} % ({:.1} to {:.1} %)", change * 100.0, interval.low * 100.0, interval.high * 100.0)
}

/// Indents each line that is not empty.
fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{INDENT}{line}\n") }).collect()
}
