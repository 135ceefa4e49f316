//! `steady release compare`: reads the rows, evaluates them, writes the report and chooses the exit status.

use steady_feature::{Failure, Session, Status};
use steady_linux::clock;
use steady_model::{GateState, Metric, Verdict};

use super::follow;
use super::service::{Service, versions_there};
use super::source::{Source, print_store_warnings};
use crate::flags::ReleaseCompareFlags;
use crate::plan::{Window, at, question};
use crate::record::{ReleaseQuestion, ReleaseReport};
use crate::{JudgeError, judge};

/// Compares two versions within a window, or follows it live. Returns the exit status.
pub(crate) fn run(flags: &ReleaseCompareFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    session.open(&flags.output, false, Status::Own)?;
    let source = Source::open(flags, session)?;
    let window = Window::of(flags, clock::time_of_day())?;
    let service = match (source.service(flags.service.as_deref(), window), &flags.service) {
        (Err(Failure::Usage(why)), Some(name)) if flags.watch => {
            session.notice(&format!("{why}; waiting for its requests"));
            Service { name: name.clone(), versions: Vec::new(), kept: None }
        }
        (found, _) => found?,
    };
    let report = if flags.watch {
        // The versions are not checked here, because the new version may not have served a request yet.
        follow::follow(&source, &question(flags, &service, window), session)?
    } else {
        versions_there(&service, &flags.old, &flags.new)?;
        window.holds_some_of(&service)?;
        let window = if flags.from.is_none() { window.since_first_kept(&service) } else { window };
        compare_once(&source, question(flags, &service, window), &service, session)?
    };
    if !flags.no_history {
        session.keep(&report);
    }
    session.write(&report)?;
    Ok(status(&report, flags.gate.require_verdict))
}

/// Evaluates the stored rows of the window once.
fn compare_once(
    source: &Source,
    mut question: ReleaseQuestion,
    service: &Service,
    session: &dyn Session,
) -> Result<ReleaseReport, Failure> {
    let found = source.rows(&question).map_err(|error| error.failure)?;
    print_store_warnings(&found.store_warnings, session);
    (question.from, question.to) = (found.window.from, found.window.to);
    let report = judge(&question, &found.rows).map_err(|error| judge_failure(&error, found.window, service))?;
    Ok(found.with_warnings(report))
}

/// Converts an error to a failure. Its message names a wider window if the store has earlier data.
fn judge_failure(error: &JudgeError, window: Window, service: &Service) -> Failure {
    let wider = match (error, service.kept) {
        (
            JudgeError::NothingInWindow { .. }
            | JudgeError::NoSuchVersion { .. }
            | JudgeError::OnlyFirstRequests { .. },
            Some((first, _)),
        ) if first < window.from => {
            format!("; the store has data from {} on: use --from or a longer --window", at(first))
        }
        _ => String::new(),
    };
    Failure::Usage(format!("{error}{wider}"))
}

/// Returns the exit status: 1 if the `--fail-if` condition holds, 4 if a verdict is required and there is none, else 0.
/// With a condition, the answer that is required is whether it holds.
pub(crate) fn status(report: &ReleaseReport, require_verdict: bool) -> u8 {
    let total = &report.total;
    let refused = !report.refused.is_empty();
    let state = report.question.fail_if.map(|fail_if| match refused {
        true => GateState::Open,
        false => fail_if.evaluate(Metric::Cpu, total.verdict, &total.interval()),
    });
    let is_open = match state {
        Some(state) => state == GateState::Open,
        None => refused || total.verdict == Verdict::Undecided,
    };
    if state == Some(GateState::Holds) {
        1
    } else if require_verdict && is_open {
        4
    } else {
        0
    }
}
