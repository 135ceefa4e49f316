//! A release that is followed live: looks on the way, until it is decided or the window is over.

use std::io;
use std::os::fd::OwnedFd;

use crate::record::{ReleaseQuestion, ReleaseReport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_feature::{Failure, Interrupt, Session};
use steady_linux::clock;
use steady_model::{Interval, Verdict};

use super::source::{Found, Source, Unfound, pass_on};
use crate::document::sight;
use crate::plan::at;
use crate::{JudgeError, Watch};

/// Looks in a window, at most; and the seconds between two, at least and at most.
const LOOKS: u64 = 120;
const STEP: std::ops::RangeInclusive<u64> = 2..=60;

/// Follows it; the last report, or why there was none when the window was over.
pub(super) fn follow(
    source: &Source,
    question: &ReleaseQuestion,
    session: &mut dyn Session,
) -> Result<ReleaseReport, Failure> {
    let own = |error: io::Error| Failure::Own(format!("signals: {error}"));
    let (interrupt, asked_to_stop) = Interrupt::catch().map_err(own)?;
    let mut log = LookLog::default();
    let mut watch = Watch::new(question.clone());
    let nothing = JudgeError::NothingInWindow { service: question.service.clone() };
    let mut last: Result<ReleaseReport, Failure> = Err(Failure::Usage(nothing.to_string()));
    let long = question.to.saturating_sub(question.from).max(1);
    let (mut late, mut warned) = (0, Vec::new());
    loop {
        let now = clock::time_of_day().0;
        let found = source.rows(question);
        late = found.as_ref().map_or(late, |found| found.late);
        let over = now.saturating_sub(question.from).saturating_sub(late) as f64 / long as f64;
        let step = (long / LOOKS).clamp(*STEP.start(), *STEP.end()).max(found.as_ref().map_or(1, |found| found.block));
        if let Ok(found) = &found {
            warned.clone_from(&found.said);
        }
        let looked = look(&mut watch, found, over)?;
        let (outcome, words) = outcome(&looked);
        session.progress(Some(over.min(1.0)), &words);
        if log.wants(outcome, now) {
            session.log_progress(&format!("{} {words}", at(now)));
        }
        // What was known stays known.
        if looked.is_ok() || last.is_err() {
            last = looked;
        }
        let settled = last.as_ref().is_ok_and(settled);
        if over >= 1.0 || settled || stopped(&asked_to_stop, step) {
            pass_on(&warned, session);
            let mut report = last.map_err(|failure| match over < 1.0 {
                true => Failure::Interrupted(interrupt.signal()),
                false => failure,
            })?;
            let seen = report.looks.last().map_or(now, |look| look.to);
            report.question.to = seen.clamp(question.from + 1, question.to);
            interrupt.release();
            return Ok(report);
        }
    }
}

/// One look at what was found; what may pass by itself ends nothing.
fn look(
    watch: &mut Watch,
    found: Result<Found, Unfound>,
    over: f64,
) -> Result<Result<ReleaseReport, Failure>, Failure> {
    match found {
        Ok(found) => {
            let looked = watch.look(&found.rows, over).map_err(|error| Failure::Usage(error.to_string()));
            Ok(looked.map(|report| found.told(report)))
        }
        Err(Unfound { failure, passes: true }) => Ok(Err(failure)),
        Err(Unfound { failure, passes: false }) => Err(failure),
    }
}

/// Waits for the next look; whether a signal came instead.
fn stopped(asked_to_stop: &OwnedFd, seconds: u64) -> bool {
    let timeout = Timespec { tv_sec: seconds as i64, tv_nsec: 0 };
    let mut watched = [PollFd::new(asked_to_stop, PollFlags::IN)];
    poll(&mut watched, Some(&timeout)).is_ok_and(|ready| ready > 0)
}

/// Whether there is nothing to wait for: there is a verdict, and where it is about the gate's own direction, the interval lies on
/// one side of its limit.
fn settled(report: &ReleaseReport) -> bool {
    let total = &report.total;
    if !report.refused.is_empty() || total.verdict == Verdict::Undecided {
        return false;
    }
    let Some(condition) = report.question.fail_if.filter(|condition| condition.verdict == total.verdict) else {
        return true;
    };
    let apart = |interval: &Interval| !interval.holds(condition.limit());
    total.interval().as_ref().is_ok_and(apart)
}

/// The log gets a line after so many seconds even if the outcome is the same.
const LOG_SECONDS: u64 = 60;

/// What a look found, as far as a log needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Waiting,
    Refused,
    Verdict(Verdict),
}

/// Decides which looks get a line in a log: those with another outcome than the line before, and one a minute.
#[derive(Debug, Default)]
struct LookLog {
    last: Option<(Outcome, u64)>,
}

impl LookLog {
    /// Whether a look at second `now` gets a line.
    fn wants(&mut self, outcome: Outcome, now: u64) -> bool {
        let wants = self.last.is_none_or(|(last, at)| last != outcome || now >= at.saturating_add(LOG_SECONDS));
        if wants {
            self.last = Some((outcome, now));
        }
        wants
    }
}

/// What a look found, for the log and in words.
fn outcome(looked: &Result<ReleaseReport, Failure>) -> (Outcome, String) {
    match looked {
        Ok(report) if !report.refused.is_empty() => (Outcome::Refused, "refused so far".to_owned()),
        Ok(report) => {
            let words = report.looks.last().map_or_else(String::new, sight);
            (Outcome::Verdict(report.total.verdict), words)
        }
        Err(error) => (Outcome::Waiting, format!("waiting: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_new_outcomes_and_a_line_a_minute() {
        let mut log = LookLog::default();
        let undecided = Outcome::Verdict(Verdict::Undecided);
        // A look every five seconds of a ten-minute window.
        let lines = (0..120).filter(|look| log.wants(undecided, 1_000 + look * 5)).count();
        assert_eq!(lines, 10);
        assert!(log.wants(Outcome::Verdict(Verdict::Slower), 1_596), "another verdict");
        assert!(!log.wants(Outcome::Verdict(Verdict::Slower), 1_597));
        assert!(log.wants(Outcome::Waiting, 1_598) && log.wants(Outcome::Refused, 1_599));
    }
}
