//! `steady release demo`: a small server with two versions, load that comes and goes, and what a release changed.
//!
//! This program plays all parts: the server's processes, a client that does not wait for answers, neighbours, and the agent.
//! What is told is measured while it runs.

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
use scene::{Cast, Scene};
use site::NEW_PERCENT;

pub(crate) use scene::{SWEEPER, WORKER, sweep};
pub(crate) use worker::serve;

/// What the server is called, and its versions.
const SERVICE: &str = "demo";
const VERSIONS: [&str; 2] = ["v1", "v2"];

/// Plays both parts and tells of them; the exit status.
pub(crate) fn run(flags: &ReleaseDemoFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let own = |error: std::io::Error| Failure::Own(format!("the demonstration: {error}"));
    let (interrupt, stop) = Interrupt::catch().map_err(own)?;
    if let Some(folder) = &flags.pages {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Usage(format!("--pages '{}': {error}", folder.display())))?;
    }
    let ended = |error: scene::Ended| match error {
        scene::Ended::Interrupted => Failure::Interrupted(interrupt.signal()),
        scene::Ended::Lost(why) => Failure::Own(format!("the demonstration: {why}")),
    };
    session.print(&intro(flags.seconds))?;
    let mut scene = Scene::set(stop, &temporary(session)).map_err(ended)?;
    let truth = calibration::calibrate().map_err(own)?;
    let each = Nanos(flags.seconds.0 / 2);

    session.print("\n1. v2 follows v1, as releases usually do; a busy neighbour leaves meanwhile\n")?;
    let from = scene.next_second().map_err(ended)?;
    scene.play(Cast::Old, each, load::Habit::Always).map_err(ended)?;
    scene.play(Cast::New, each, load::Habit::Never).map_err(ended)?;
    let after = judged(&scene, from, session)?;
    session.print(&before_and_after(&after, session.style()))?;
    page(flags.pages.as_deref(), "one-after-the-other", &after, session)?;

    session.print("\n2. A coin chooses the version of each request; the neighbour comes and goes\n")?;
    let from = scene.next_second().map_err(ended)?;
    scene.play(Cast::Coin, flags.seconds, load::Habit::ComesAndGoes).map_err(ended)?;
    let coins = judged(&scene, from, session)?;
    session.print(&format!("\n{}", coins.text(session.style())))?;
    page(flags.pages.as_deref(), "random-per-request", &coins, session)?;
    session.print(&moral(&truth, &after, &coins))?;
    Ok(0)
}

/// What the agent kept since a second, judged.
fn judged(scene: &Scene, from: u64, session: &dyn Session) -> Result<ReleaseReport, Failure> {
    let to = clock::time_of_day().0.max(from + 1);
    let path = scene.store();
    scene.wait_for(to);
    let store = Store::open(Some(&path), session)?;
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
    };
    let rows = store.rows(SERVICE, from, to)?;
    judge(&question, &rows).map_err(|error| Failure::Own(format!("the demonstration: {error}")))
}

/// A page of a part, if pages were asked for.
fn page(folder: Option<&Path>, name: &str, report: &ReleaseReport, session: &dyn Session) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    session.save("--pages", &folder.join(format!("{name}.html")), &report.rendered(Form::Html, session.style(), false))
}

/// The folder for temporary files.
fn temporary(session: &dyn Session) -> PathBuf {
    let named = session.environment().into_iter().find(|(name, value)| name == "TMPDIR" && !value.is_empty());
    named.map_or_else(|| PathBuf::from("/tmp"), |(_, folder)| PathBuf::from(folder))
}

/// How much further in an answer stands.
const FURTHER: &str = "    ";

/// What is going to be seen.
fn intro(seconds: Nanos) -> String {
    format!(
        "A server of two processes answers some hundred requests a second, and a\n\
         neighbour streams through memory beside it. Version v2 does {} % more work\n\
         than v1 on every page. Two parts of {:.0} s each.\n",
        NEW_PERCENT - 100,
        seconds.seconds()
    )
}

/// Both means, as they are compared before and after a release.
fn before_and_after(report: &ReleaseReport, style: Style) -> String {
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
fn moral(truth: &Calibration, after: &ReleaseReport, coins: &ReleaseReport) -> String {
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
