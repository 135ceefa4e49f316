//! `steady release compare`: store, window, verdict and report together.

use steady_agent::store::ServiceFacts;
use steady_linux::clock;
use steady_model::{ReleaseQuestion, ReleaseReport};
use steady_release::{JudgeError, judge};

use super::store::{Store, versions_there};
use super::window::{Window, at};
use super::{status, watch};
use crate::failure::Failure;
use crate::flags::{ByFlag, ReleaseCompareFlags};
use crate::history::Keeper;
use crate::output::Destinations;

/// Judges what is kept of a window, or follows it; the exit status.
pub(super) fn run(flags: &ReleaseCompareFlags) -> Result<u8, Failure> {
    let destinations = Destinations::open(&flags.output, false)?;
    let store = Store::open(flags.store.as_ref())?;
    let service = store.service(flags.service.as_deref())?;
    let window = Window::of(flags, clock::time_of_day())?;
    let question = question(flags, &service, window);
    let report = if flags.watch {
        // The new version may have yet to be seen.
        watch::follow(&store, &question, flags.output.quiet)?
    } else {
        versions_there(&service, &flags.old, &flags.new)?;
        window.holds_some_of(&service)?;
        let rows = store.rows(&service.name, window.from, window.to)?;
        judge(&question, &rows).map_err(|error| unjudged(&error, window, &service))?
    };
    tell(flags, &destinations, &report)
}

/// Writes and keeps the report.
fn tell(flags: &ReleaseCompareFlags, destinations: &Destinations, report: &ReleaseReport) -> Result<u8, Failure> {
    let written = destinations.write(report);
    // What cannot be shown is kept all the same.
    let kept = if flags.no_history { None } else { Keeper::keep_at_once(report) };
    written?;
    if let Some(id) = kept {
        destinations.mention(id)?;
    }
    Ok(status(report, flags.require_verdict))
}

fn question(flags: &ReleaseCompareFlags, service: &ServiceFacts, window: Window) -> ReleaseQuestion {
    ReleaseQuestion {
        service: service.name.clone(),
        old: flags.old.clone(),
        new: flags.new.clone(),
        from: window.from,
        to: window.to,
        by_route: flags.by == Some(ByFlag::Route),
        confidence: flags.confidence,
        resolution: flags.resolution,
        fail_if: flags.fail_if,
    }
}

/// Why there is no report, and where to look instead.
fn unjudged(error: &JudgeError, window: Window, service: &ServiceFacts) -> Failure {
    let wider = match error {
        JudgeError::NothingInWindow { .. } | JudgeError::NoSuchVersion { .. } | JudgeError::OnlyWarming { .. }
            if service.first < window.from =>
        {
            format!("; what is kept begins at {}: --from or a longer --window reaches back", at(service.first))
        }
        _ => String::new(),
    };
    Failure::Usage(format!("{error}{wider}"))
}
