//! `steady release demo`: a small server with two versions, load that comes and goes, and what a release changed.
//!
//! This program plays all parts: the server's processes, a client that does not wait for answers, neighbours, and the agent.
//! What is told is measured while it runs.

mod calibration;
mod client;
mod neighbour;
mod scene;
mod site;
mod told;
mod worker;

use std::path::{Path, PathBuf};

use crate::record::{ReleaseQuestion, ReleaseReport};
use steady_feature::flags::Form;
use steady_feature::{Failure, Interrupt, Report, Session};
use steady_linux::clock;
use steady_model::Nanos;

use crate::flags::ReleaseDemoFlags;
use crate::judge;
use crate::run::Store;
use scene::{Cast, Scene};
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
    session.print(&told::intro(flags.seconds))?;
    let mut scene = Scene::set(stop, &temporary(session)).map_err(ended)?;
    let truth = calibration::calibrate().map_err(own)?;
    let each = Nanos(flags.seconds.0 / 2);

    session.print("\n1. v2 follows v1, as releases usually do; a busy neighbour leaves meanwhile\n")?;
    let from = scene.next_second().map_err(ended)?;
    scene.play(Cast::Old, each, neighbour::Habit::Always).map_err(ended)?;
    scene.play(Cast::New, each, neighbour::Habit::Never).map_err(ended)?;
    let after = judged(&scene, from, session)?;
    session.print(&told::before_and_after(&after, session.style()))?;
    page(flags.pages.as_deref(), "one-after-the-other", &after, session)?;

    session.print("\n2. A coin chooses the version of each request; the neighbour comes and goes\n")?;
    let from = scene.next_second().map_err(ended)?;
    scene.play(Cast::Coin, flags.seconds, neighbour::Habit::ComesAndGoes).map_err(ended)?;
    let coins = judged(&scene, from, session)?;
    session.print(&format!("\n{}", coins.text(session.style())))?;
    page(flags.pages.as_deref(), "random-per-request", &coins, session)?;
    session.print(&told::moral(&truth, &after, &coins))?;
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
