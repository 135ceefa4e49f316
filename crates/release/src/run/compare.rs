//! `steady release compare`: reads the rows, evaluates them, writes the report and chooses the exit status.

use steady_feature::{Failure, Session, Status};
use steady_linux::clock;
use steady_model::{GateState, Verdict};
use steady_render::letters::quoted;

use super::follow;
use super::service::{Service, Version, versions_there};
use super::source::{Found, Source, print_store_warnings};
use crate::flags::ReleaseCompareFlags;
use crate::judge::gate;
use crate::plan::{Window, at, question};
use crate::record::{ReleaseQuestion, ReleaseReport, ReleaseWarning};
use crate::{JudgeError, judge};

/// Compares two versions within a window, or follows it live. Returns the exit status.
pub(crate) fn run(flags: &ReleaseCompareFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    if flags.old == flags.new {
        return Err(Failure::Usage(JudgeError::SameVersion(flags.old.clone()).to_string()));
    }
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
    let (mut report, interrupted) = if flags.watch {
        // The versions are not checked here, because the new version may not have served a request yet.
        follow::follow(&source, &question(flags, &service, window), session)?
    } else {
        let kept = if flags.from.is_none() { window.since_first_kept(&service) } else { window };
        let there = versions_there(&service, &flags.old, &flags.new).and_then(|()| window.holds_some_of(&service));
        there.map_err(|failure| source.explained(failure, window))?;
        (compare_once(&source, question(flags, &service, kept), window, &service, session)?, None)
    };
    report.warnings.extend(source.removed(window));
    if !flags.no_history {
        session.keep(&report);
    }
    session.write(&report)?;
    Ok(interrupted.map_or_else(|| status(&report), |failure| failure.status()))
}

/// Evaluates the stored rows of the window once. `asked` is the window before it was adapted to the stored rows.
fn compare_once(
    source: &Source,
    mut question: ReleaseQuestion,
    asked: Window,
    service: &Service,
    session: &dyn Session,
) -> Result<ReleaseReport, Failure> {
    let found = source.rows(&question).map_err(|error| error.failure)?;
    print_store_warnings(&found.store_warnings, session);
    let requested = Window { to: question.from + elapsed(&question), from: question.from };
    (question.from, question.to) = (found.window.from, found.window.to);
    let report = judge(&question, &found.rows)
        .map_err(|error| source.explained(judge_failure(&error, found.window, service), asked))?;
    let mut report = found.with_warnings(report);
    report.warnings.extend(short_window(requested, &found));
    Ok(report)
}

/// Returns the number of seconds of the requested window that are over.
fn elapsed(question: &ReleaseQuestion) -> u64 {
    let to = question.asked.map_or(question.to, |asked| question.to.min(asked.0));
    to.saturating_sub(question.from)
}

/// Returns a warning if the rows cover much less than the requested window, as far as it is over.
fn short_window(requested: Window, found: &Found) -> Option<ReleaseWarning> {
    /// A window of many blocks always loses one or two at its ends.
    const MOST_LOST: f64 = 0.2;
    let [requested_seconds, seconds] = [requested, found.window].map(|window| window.to.saturating_sub(window.from));
    let before_seconds = Some(found.window.from.saturating_sub(requested.from));
    let is_short = (seconds as f64) < (1.0 - MOST_LOST) * requested_seconds as f64;
    let block_seconds = found.block;
    is_short.then_some(ReleaseWarning::ShortWindow { requested_seconds, seconds, block_seconds, before_seconds })
}

/// Converts an error to a failure. Its message names a wider window if the store has earlier data.
fn judge_failure(error: &JudgeError, window: Window, service: &Service) -> Failure {
    let of_version = match error {
        JudgeError::NoSuchVersion { version, .. } => service.versions.iter().find(|one| one.name == *version),
        _ => None,
    };
    if let Some(Version { name, kept: Some((first, last)) }) = of_version {
        let found = format!("; the store has requests of {} from {} to {}", quoted(name), at(*first), at(*last));
        return Failure::Usage(format!("{error}{found}: choose a window with both versions"));
    }
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
pub(crate) fn status(report: &ReleaseReport) -> u8 {
    let total = &report.total;
    let refused = !report.refused.is_empty();
    let state = report.question.fail_if.map(|fail_if| gate(report, fail_if));
    let is_open = match state {
        Some(state) => state == GateState::Open,
        None => refused || total.verdict == Verdict::Undecided,
    };
    if state == Some(GateState::Holds) {
        1
    } else if report.question.require_verdict && is_open {
        4
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use steady_model::Timestamp;

    use super::*;

    #[test]
    fn only_the_elapsed_part_of_a_window_can_be_missing() {
        let question = |to, asked| ReleaseQuestion {
            service: "shop".to_owned(),
            old: "v1".to_owned(),
            new: "v2".to_owned(),
            asked,
            from: 1_000,
            to,
            by_route: false,
            confidence: 0.95,
            resolution: 0.01,
            fail_if: None,
            require_verdict: false,
        };
        assert_eq!(elapsed(&question(4_600, Some(Timestamp(1_300)))), 300);
        assert_eq!(elapsed(&question(1_300, Some(Timestamp(4_600)))), 300);
        assert_eq!(elapsed(&question(1_300, None)), 300);
    }

    #[test]
    fn an_error_says_when_a_version_had_requests() {
        let version = |name: &str, kept| Version { name: name.to_owned(), kept };
        let versions = vec![version("v1", Some((0, 900))), version("v2", Some((100, 200)))];
        let service = Service { name: "shop".to_owned(), versions, kept: Some((0, 900)) };
        let error = JudgeError::NoSuchVersion { version: "v2".to_owned(), there: vec!["v1".to_owned()] };
        let text = judge_failure(&error, Window { from: 300, to: 600 }, &service).to_string();
        let found = "the store has requests of 'v2' from 1970-01-01T00:01:40Z to 1970-01-01T00:03:20Z";
        assert!(text.contains(found), "{text}");
    }
}
