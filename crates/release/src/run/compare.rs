//! `steady release compare`: store, window, verdict and report together, and the exit status that the report asks for.

use steady_feature::{Failure, Session, Status};
use steady_linux::clock;
use steady_model::{Interval, Verdict};

use super::follow;
use super::service::{Service, versions_there};
use super::source::{Source, pass_on};
use crate::flags::ReleaseCompareFlags;
use crate::plan::{Window, at, question};
use crate::record::{ReleaseQuestion, ReleaseReport};
use crate::{JudgeError, judge};

/// Judges what is kept of a window, or follows it; the exit status.
pub(crate) fn run(flags: &ReleaseCompareFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    session.open(&flags.output, false, Status::Own)?;
    let source = Source::open(flags, session)?;
    let window = Window::of(flags, clock::time_of_day())?;
    let service = source.service(flags.service.as_deref(), window)?;
    let report = if flags.watch {
        // The new version may have yet to be seen.
        follow::follow(&source, &question(flags, &service, window), session)?
    } else {
        versions_there(&service, &flags.old, &flags.new)?;
        window.holds_some_of(&service)?;
        let window = if flags.from.is_none() { window.since_first_kept(&service) } else { window };
        at_once(&source, question(flags, &service, window), &service, session)?
    };
    if !flags.no_history {
        session.keep(&report);
    }
    session.write(&report)?;
    Ok(status(&report, flags.gate.require_verdict))
}

/// Judges the window as it is.
fn at_once(
    source: &Source,
    mut question: ReleaseQuestion,
    service: &Service,
    session: &dyn Session,
) -> Result<ReleaseReport, Failure> {
    let found = source.rows(&question).map_err(|unfound| unfound.failure)?;
    pass_on(&found.said, session);
    (question.from, question.to) = (found.window.from, found.window.to);
    let report = judge(&question, &found.rows).map_err(|error| unjudged(&error, found.window, service))?;
    Ok(found.told(report))
}

/// Why there is no report, and where to look instead.
fn unjudged(error: &JudgeError, window: Window, service: &Service) -> Failure {
    let wider = match (error, service.kept) {
        (
            JudgeError::NothingInWindow { .. } | JudgeError::NoSuchVersion { .. } | JudgeError::OnlyWarming { .. },
            Some((first, _)),
        ) if first < window.from => {
            format!("; what is kept begins at {}: --from or a longer --window reaches back", at(first))
        }
        _ => String::new(),
    };
    Failure::Usage(format!("{error}{wider}"))
}

/// 1 where the condition of the gate surely holds, 4 where a verdict was required and there is none, else 0.
pub(crate) fn status(report: &ReleaseReport, require_verdict: bool) -> u8 {
    let open = !report.refused.is_empty() || report.total.verdict == Verdict::Undecided;
    if fails(report) {
        1
    } else if require_verdict && open {
        4
    } else {
        0
    }
}

/// Whether the condition surely holds: the verdict says so, and the whole interval lies beyond the limit.
fn fails(report: &ReleaseReport) -> bool {
    let Some(condition) = report.question.fail_if else { return false };
    let beyond = |interval: &Interval| match condition.verdict {
        Verdict::Slower => interval.low > condition.limit(),
        _ => interval.high < condition.limit(),
    };
    let total = &report.total;
    report.refused.is_empty() && total.verdict == condition.verdict && total.interval().as_ref().is_ok_and(beyond)
}
