//! `--watch`: evaluates a release repeatedly, until the answer is known or the window is over.

use std::io;
use std::os::fd::OwnedFd;

use crate::record::{ReleaseQuestion, ReleaseReport, ReleaseWarning};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_feature::{Failure, Interrupt, Session};
use steady_linux::clock;
use steady_model::{FailIf, GateState, Interval, Metric, Nanos, Verdict};
use steady_render::units::{TIE, time_setting};

use super::source::{Found, Source, SourceError, print_store_warnings};
use crate::document::{named, sight};
use crate::judge::{LEAST_GAP, gate, last_end};
use crate::plan::at;
use crate::{JudgeError, RepeatedComparison};

/// Number of looks in a window if [`STEP`] allows it.
const LOOKS: u64 = 120;
/// Range of the time between two looks, in seconds.
const STEP: std::ops::RangeInclusive<u64> = 2..=60;

/// Follows a release until the answer is known, the window is over or a signal arrives. Returns the last report, and
/// the signal.
///
/// # Errors
/// The reason why there was no report by then.
pub(super) fn follow(
    source: &Source,
    question: &ReleaseQuestion,
    session: &mut dyn Session,
) -> Result<(ReleaseReport, Option<Failure>), Failure> {
    let own = |error: io::Error| Failure::Own(format!("signals: {error}"));
    let (interrupt, stop) = Interrupt::catch().map_err(own)?;
    let mut log = LookLog::default();
    let mut watch = RepeatedComparison::new(question.clone());
    let nothing = JudgeError::NothingInWindow { service: question.service.clone() };
    let mut last: Result<ReleaseReport, Waiting> = Err(Waiting::from(nothing));
    let long = question.to.saturating_sub(question.from).max(1);
    let (mut delay, mut store_warnings, mut arrivals) = (0, Vec::new(), Arrivals::default());
    loop {
        let now = clock::time_of_day().0;
        let found = source.rows(question);
        delay = found.as_ref().map_or(delay, |found| found.delay);
        let over = now.saturating_sub(question.from).saturating_sub(delay) as f64 / long as f64;
        let step = (long / LOOKS).clamp(*STEP.start(), *STEP.end()).max(found.as_ref().map_or(1, |found| found.block));
        if let Ok(found) = &found {
            store_warnings.clone_from(&found.store_warnings);
        }
        let (mut until, mut silent_since) = (question.from, None);
        if let Ok(found) = &found {
            until = arrivals.until(found.newest, found.until(now), found.delay);
            silent_since = silence(last_end(&found.rows), question.from, until, found.block);
        }
        let silent_for = |since: u64| (since > question.from).then(|| until.saturating_sub(since));
        let result = look(&mut watch, found, until, over)?;
        let (outcome, mut words) = outcome(&result);
        let stopped = silent_since.and_then(|_| source.stopped());
        let state = LookState { outcome, is_silent: silent_since.is_some(), is_stopped: stopped.is_some() };
        words.extend(silent_since.map(|since| no_data(silent_for(since), stopped)));
        session.progress(Some(over.min(1.0)), &words);
        if log.wants(state, now) {
            session.log_progress(&format!("{} {words}", at(now)));
        }
        // A failed look does not replace an earlier report.
        if result.is_ok() || last.is_err() {
            last = result;
        }
        let settled = last.as_ref().is_ok_and(settled);
        let is_over = over >= 1.0 || settled;
        if is_over || wait(&stop, step) {
            print_store_warnings(&store_warnings, session);
            let interrupted = (!is_over).then(|| Failure::Interrupted(interrupt.signal()));
            let mut report = match last {
                Ok(report) => report,
                Err(waiting) => return Err(interrupted.unwrap_or_else(|| explained(waiting.failure, source))),
            };
            report.warnings.extend(interrupted.is_some().then_some(ReleaseWarning::Interrupted));
            let seen = report.looks.last().map_or(now, |look| look.to);
            report.question.to = seen.clamp(question.from + 1, question.to);
            interrupt.release();
            return Ok((report, interrupted));
        }
    }
}

/// Recognises whether rows arrive in the store from look to look.
#[derive(Debug, Default)]
struct Arrivals {
    /// End of the newest row at the last look.
    newest: Option<u64>,
}

impl Arrivals {
    /// Returns the second (excluded) up to which all rows are known, which is `elapsed` by the time of day. After a
    /// suspension or a step of the time of day, the times of an agent are behind it until the agent starts again. While
    /// rows arrive, their own times count.
    fn until(&mut self, newest: Option<u64>, elapsed: u64, delay: u64) -> u64 {
        let before = std::mem::replace(&mut self.newest, newest);
        let arrived = newest.filter(|newest| before.is_some_and(|before| *newest > before));
        arrived.filter(|newest| newest.saturating_add(delay) < elapsed).unwrap_or(elapsed)
    }
}

/// Temporary reason why a look has no report.
#[derive(Debug)]
struct Waiting {
    /// The failure if the watch ends now.
    failure: Failure,
    /// The reason on the progress line, short enough for narrow terminals.
    words: String,
}

impl From<JudgeError> for Waiting {
    fn from(error: JudgeError) -> Self {
        let words = match &error {
            JudgeError::NothingInWindow { .. } => "no requests yet".to_owned(),
            JudgeError::NoSuchVersion { version, .. } => format!("no requests of {} yet", named(version)),
            JudgeError::OnlyFirstRequests { version, .. } => format!("{} is warming up", named(version)),
            JudgeError::SameVersion(_) | JudgeError::AssignedApart { .. } => error.to_string(),
        };
        Waiting { failure: Failure::Usage(error.to_string()), words }
    }
}

/// Evaluates the rows once, which are known up to the second `until`. The outer error ends the watch; the inner one is
/// temporary.
fn look(
    watch: &mut RepeatedComparison,
    found: Result<Found, SourceError>,
    until: u64,
    over: f64,
) -> Result<Result<ReleaseReport, Waiting>, Failure> {
    match found {
        Ok(found) => {
            let report = watch.look(&found.rows, until, over).map_err(Waiting::from);
            Ok(report.map(|report| found.with_warnings(report)))
        }
        Err(SourceError { failure, waiting: Some(words) }) => Ok(Err(Waiting { failure, words })),
        Err(SourceError { failure, waiting: None }) => Err(failure),
    }
}

/// Returns the second from which on there are no rows of the service, if that is long enough to be a gap. `last` is the
/// end of its last row, and all rows are known up to `until`.
fn silence(last: Option<u64>, from: u64, until: u64, block: u64) -> Option<u64> {
    let since = last.unwrap_or(0).max(from);
    (until >= since.saturating_add(LEAST_GAP.max(block))).then_some(since)
}

/// Returns what the progress line says, after the last look, while no rows arrive for some seconds, which are `None` if
/// the window has none. It is short, because the end of the line is lost on a narrow terminal.
fn no_data(seconds: Option<u64>, stopped: Option<String>) -> String {
    let why = stopped.map(|why| format!("; {why}")).unwrap_or_default();
    let time = |seconds: u64| format!("for {}", time_setting(Nanos::from_seconds(seconds as f64))).replace(TIE, " ");
    let time = seconds.map_or_else(|| "within the window".to_owned(), time);
    format!("; no data {time}{why}")
}

/// Adds to a failure that no agent listens, if that is known.
fn explained(failure: Failure, source: &Source) -> Failure {
    match (failure, source.stopped()) {
        (Failure::Usage(text), Some(why)) => Failure::Usage(format!("{text}; {why}")),
        (failure, _) => failure,
    }
}

/// Waits until the next look. Returns whether a signal arrived before.
fn wait(stop: &OwnedFd, seconds: u64) -> bool {
    let timeout = Timespec { tv_sec: seconds as i64, tv_nsec: 0 };
    let mut watched = [PollFd::new(stop, PollFlags::IN)];
    poll(&mut watched, Some(&timeout)).is_ok_and(|ready| ready > 0)
}

/// Returns whether the watch can end.
fn settled(report: &ReleaseReport) -> bool {
    let total = &report.total;
    let ReleaseQuestion { fail_if, resolution, .. } = report.question;
    let known = |interval: &Interval| is_settled(interval, total.verdict, fail_if, resolution);
    let is_open = fail_if.is_some_and(|fail_if| gate(report, fail_if) == GateState::Open);
    !is_open && report.refused.is_empty() && total.interval().as_ref().is_ok_and(known)
}

/// Returns whether further looks could not change what follows from the answer. With a `--fail-if` condition, its limit
/// must lie outside of the interval. Without a condition, it must be known whether the change exceeds the resolution,
/// unless the interval is as narrow as the resolution.
fn is_settled(interval: &Interval, verdict: Verdict, fail_if: Option<FailIf>, resolution: f64) -> bool {
    match fail_if {
        Some(condition) => !interval.holds(condition.limit(Metric::Cpu)),
        None if verdict == Verdict::Undecided => false,
        None if interval.half_width() <= resolution / 2.0 => true,
        None => ![-resolution, resolution].iter().any(|limit| interval.holds(*limit)),
    }
}

/// Longest time between two lines of the log, in seconds, while the outcome stays the same.
const LOG_SECONDS: u64 = 60;

/// Outcome of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Waiting,
    Refused,
    Verdict(Verdict),
}

/// State of a look. The log gets a line when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LookState {
    outcome: Outcome,
    /// Whether no rows arrive.
    is_silent: bool,
    /// Whether that is because no agent listens.
    is_stopped: bool,
}

/// Decides which looks get a line in the log: those whose state differs from the line before, and one per minute while
/// rows arrive.
#[derive(Debug, Default)]
struct LookLog {
    last: Option<(LookState, u64)>,
}

impl LookLog {
    /// Returns whether a look at second `now` gets a line.
    fn wants(&mut self, state: LookState, now: u64) -> bool {
        let is_due = |at: u64| !state.is_silent && now >= at.saturating_add(LOG_SECONDS);
        let wants = self.last.is_none_or(|(last, at)| last != state || is_due(at));
        if wants {
            self.last = Some((state, now));
        }
        wants
    }
}

/// Returns the outcome of a look, and its text for the progress line.
fn outcome(result: &Result<ReleaseReport, Waiting>) -> (Outcome, String) {
    match result {
        Ok(report) if !report.refused.is_empty() => (Outcome::Refused, "refused so far".to_owned()),
        Ok(report) => {
            let words = report.looks.last().map_or_else(String::new, sight);
            (Outcome::Verdict(report.total.verdict), words)
        }
        Err(Waiting { words, .. }) => (Outcome::Waiting, format!("waiting: {words}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a terminal of 60 columns, a bar and the elapsed time leave 38 columns.
    #[test]
    fn the_reason_to_wait_fits_a_narrow_terminal() {
        let version = || "v2".to_owned();
        let errors = [
            JudgeError::NothingInWindow { service: "a-service-with-a-long-name".to_owned() },
            JudgeError::NoSuchVersion { version: version(), there: vec!["v1".to_owned()] },
            JudgeError::OnlyFirstRequests { version: version(), first_requests: 7 },
        ];
        let words = errors.map(|error| outcome(&Err(Waiting::from(error))).1);
        assert_eq!(words, ["waiting: no requests yet", "waiting: no requests of v2 yet", "waiting: v2 is warming up"]);
    }

    #[test]
    fn a_watch_ends_when_it_is_known_whether_the_change_matters() {
        let ends = |low, high, verdict, fail_if: Option<&str>| {
            let fail_if = fail_if.map(|condition| condition.parse().unwrap());
            is_settled(&Interval { low, high }, verdict, fail_if, 0.01)
        };
        assert!(!ends(-0.02, 0.03, Verdict::Undecided, None));
        assert!(!ends(0.002, 0.04, Verdict::Slower, None), "the change may be below the resolution of 1 %");
        assert!(!ends(-0.3, -0.005, Verdict::Faster, None));
        assert!(ends(0.012, 0.2, Verdict::Slower, None));
        assert!(ends(0.002, 0.008, Verdict::Slower, None) && ends(-0.005, 0.008, Verdict::Same, None));
        assert!(ends(0.006, 0.015, Verdict::Slower, None), "a further look has no error rate to spend");
        assert!(!ends(0.02, 0.06, Verdict::Slower, Some("slower>3%")));
        assert!(ends(0.002, 0.02, Verdict::Slower, Some("slower>3%")));
        assert!(ends(-0.02, -0.002, Verdict::Faster, Some("slower>3%")));
        assert!(ends(-0.04, 0.02, Verdict::Undecided, Some("slower>3%")), "the change does not exceed the limit");
        assert!(!ends(-0.04, 0.04, Verdict::Undecided, Some("slower>3%")));
    }

    #[test]
    fn a_gap_of_ten_seconds_or_of_a_block_is_a_silence() {
        assert_eq!([silence(Some(1_000), 900, 1_009, 1), silence(Some(1_000), 900, 1_010, 1)], [None, Some(1_000)]);
        assert_eq!([silence(None, 900, 909, 1), silence(None, 900, 910, 1)], [None, Some(900)]);
        assert_eq!(silence(Some(1_000), 900, 1_014, 15), None, "no rows are known for less than a block");
        assert_eq!(no_data(Some(45), None), "; no data for 45 s");
        assert_eq!(no_data(None, None), "; no data within the window");
        assert_eq!(no_data(Some(125), Some("no agent listens".to_owned())), "; no data for 2.1 min; no agent listens");
    }

    #[test]
    fn rows_that_are_behind_the_time_of_day_are_no_silence_while_they_arrive() {
        let mut arrivals = Arrivals::default();
        // The first look does not know whether rows arrive.
        assert_eq!(arrivals.until(Some(1_000), 1_100, 2), 1_100);
        assert_eq!(arrivals.until(Some(1_005), 1_105, 2), 1_005);
        assert_eq!(arrivals.until(Some(1_005), 1_110, 2), 1_110, "the agent ended");
        // An agent that is not behind writes the rows of a second after its end.
        assert_eq!(arrivals.until(Some(1_113), 1_115, 2), 1_115);
        assert_eq!(arrivals.until(None, 1_120, 2), 1_120, "a fleet's store does not say which row is the newest");
    }

    #[test]
    fn the_log_gets_new_outcomes_and_one_line_per_minute() {
        let mut log = LookLog::default();
        let mut wants = |outcome, now| log.wants(LookState { outcome, is_silent: false, is_stopped: false }, now);
        let undecided = Outcome::Verdict(Verdict::Undecided);
        // A look every five seconds of a ten-minute window.
        let lines = (0..120).filter(|look| wants(undecided, 1_000 + look * 5)).count();
        assert_eq!(lines, 10);
        assert!(wants(Outcome::Verdict(Verdict::Slower), 1_596), "a new verdict gets a line");
        assert!(!wants(Outcome::Verdict(Verdict::Slower), 1_597));
        assert!(wants(Outcome::Waiting, 1_598) && wants(Outcome::Refused, 1_599));
    }

    #[test]
    fn the_log_says_once_that_no_rows_arrive_and_once_that_they_do_again() {
        let mut log = LookLog::default();
        let outcome = Outcome::Verdict(Verdict::Undecided);
        // A look every five seconds; no rows arrive from the third to the hundredth, and no agent listens for a time.
        let state =
            |look| LookState { outcome, is_silent: (3..100).contains(&look), is_stopped: (30..60).contains(&look) };
        let lines: Vec<u64> = (0..110).filter(|look| log.wants(state(*look), 1_000 + look * 5)).collect();
        assert_eq!(lines, [0, 3, 30, 60, 100]);
    }
}
