//! A loop over many candidate changes (`--ratchet FILE`): a candidate is accepted only if it is certainly better.
//!
//! Of hundreds of changes that do nothing, each compared at an error rate of 5 %, dozens would be accepted. Here a
//! candidate is compared in up to two comparisons. The first one only decides whether the candidate is promising. It
//! accepts nothing, so it spends no error. The second one has fresh pairs, and the n-th second comparison of a loop
//! has the share `6 / (pi^2 n^2)` of the loop's error rate. These shares add up to the whole, so a loop that contains
//! no improvement accepts anything with at most that probability, however many candidates it has. The choice of the
//! promising candidates cannot bias the second comparison, because its pairs are new.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use steady_feature::Failure;
use steady_model::{Candidate, CandidateComparison, Effort, Ending, Judgement, Nanos, Plan, Report, Seed, Verdict};
use steady_render::units::setting;
use steady_stats::share_of_test;

use crate::judge::with_least_pairs;

/// The part of the budget for the first comparison of a candidate.
const SCREEN_BUDGET_RATIO: f64 = 0.25;
/// The confidence of the first comparison. One in twenty candidates that change nothing is promising.
const SCREEN_CONFIDENCE: f64 = 0.9;
/// The name and version of the file's format.
const SCHEMA: &str = "steady.ratchet/1";
/// The largest file that is read, in bytes.
const FILE_MAX: u64 = 16 << 20;

/// The state of a loop: its error rate, what it has spent, and what it has accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratchet {
    schema: String,
    /// The probability that a loop without an improvement accepts anything.
    error_rate: f64,
    /// The number of candidates so far.
    candidates: u64,
    /// The number of second comparisons so far, each of which has spent its share of the error rate.
    tests: u64,
    /// The accepted candidates, in the order of time.
    accepted: Vec<Accepted>,
}

/// An accepted candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// Its number among the candidates, from 1.
    candidate: u64,
    /// The name of its command.
    name: String,
    /// The relative change that its second comparison found, and its interval.
    change: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl Ratchet {
    /// A loop before its first candidate.
    pub fn new(error_rate: f64) -> Self {
        // Without the rounding error of 1 - 0.95.
        let error_rate = (error_rate * 1e12).round() / 1e12;
        Ratchet { schema: SCHEMA.to_owned(), error_rate, candidates: 0, tests: 0, accepted: vec![] }
    }

    /// Compares the next candidate, the second command of `plan`, and accepts it if it is certainly better. `compare`
    /// gets the state and the plan of a comparison. It must store the state before it measures: if a second comparison
    /// could be repeated after an interruption, its error would count twice.
    ///
    /// # Errors
    /// Those of `compare`. The candidate is not accepted then.
    pub fn try_next<E>(
        &mut self,
        plan: &Plan,
        mut compare: impl FnMut(&Ratchet, &Plan) -> Result<Report, E>,
    ) -> Result<Tried, E> {
        self.candidates += 1;
        let first = compare(self, &self.screen(plan))?;
        if improvement(&first).is_none() {
            return Ok(Tried { report: first, outcome: Outcome::NotPromising });
        }
        self.tests += 1;
        let second = compare(self, &self.test(plan))?;
        let Some(judgement) = improvement(&second) else {
            return Ok(Tried { report: second, outcome: Outcome::NotConfirmed });
        };
        let interval = judgement.interval.as_ref().ok();
        self.accepted.push(Accepted {
            candidate: self.candidates,
            name: second.record.plan.commands.get(1).map(|command| command.name.clone()).unwrap_or_default(),
            change: judgement.change.clone().ok(),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
        });
        Ok(Tried { report: second, outcome: Outcome::Accepted })
    }

    /// The plan of the first comparison of a candidate.
    fn screen(&self, plan: &Plan) -> Plan {
        let plan = part(plan, SCREEN_BUDGET_RATIO, SCREEN_CONFIDENCE, plan.seed);
        self.of_candidate(plan, CandidateComparison::First)
    }

    /// The plan of the second comparison of a candidate, the last one in `tests`.
    fn test(&self, plan: &Plan) -> Plan {
        // A verdict may be wrong in either direction, but only one direction is accepted.
        let confidence = 1.0 - 2.0 * self.error_rate * share_of_test(self.tests.max(1));
        let plan = part(plan, 1.0 - SCREEN_BUDGET_RATIO, confidence, Seed(plan.seed.0.wrapping_add(1)));
        self.of_candidate(plan, CandidateComparison::Second)
    }

    fn of_candidate(&self, plan: Plan, comparison: CandidateComparison) -> Plan {
        Plan { candidate: Some(Candidate { number: self.candidates, comparison }), ..plan }
    }

    /// Returns the number of second comparisons so far.
    pub fn tests(&self) -> u64 {
        self.tests
    }

    /// What the loop has tried, accepted and spent, as the end of a sentence.
    pub(crate) fn in_words(&self) -> String {
        let spent: f64 = (1..=self.tests.min(1_000_000)).map(share_of_test).sum();
        format!(
            "candidates so far: {}; second comparisons: {}; accepted: {}; spent: {} of the error rate of {}",
            self.candidates,
            self.tests,
            self.accepted.len(),
            setting((spent * 1e3).round() / 1e3),
            setting((self.error_rate * 1e8).round() / 1e8)
        )
    }
}

/// The last comparison of a candidate, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The last comparison.
    pub report: Report,
    /// What came of the candidate.
    pub outcome: Outcome,
}

/// What came of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is certainly better.
    Accepted,
    /// The first comparison found no improvement, or was interrupted.
    NotPromising,
    /// The second comparison did not find it certainly better, or was interrupted.
    NotConfirmed,
}

impl Outcome {
    /// The outcome as a sentence.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Outcome::Accepted => "Accepted.",
            Outcome::NotPromising => "Not accepted: the first comparison found no improvement.",
            Outcome::NotConfirmed => {
                "Not accepted: the second comparison, on fresh pairs, did not confirm an improvement."
            }
        }
    }
}

/// The verdict that the second command is better by the primary metric, if there is one. Better is *faster*, also for
/// metrics of which more is better. An interrupted comparison shows no improvement.
pub(crate) fn improvement(report: &Report) -> Option<&Judgement> {
    let is_better = |judgement: &&Judgement| judgement.verdict == Verdict::Faster;
    report.primary().find(is_better).filter(|_| report.record.ending != Ending::Interrupted)
}

/// Whether a comparison of a candidate accepts it. The first one accepts nothing. `None` without a candidate.
pub(crate) fn accepts(report: &Report) -> Option<bool> {
    let candidate = report.record.plan.candidate?;
    Some(candidate.comparison == CandidateComparison::Second && improvement(report).is_some())
}

/// A comparison with a part of the budget. It may exceed it to get the least number of pairs, but no run may take longer
/// than the whole budget.
fn part(plan: &Plan, ratio: f64, confidence: f64, seed: Seed) -> Plan {
    let effort = match plan.effort {
        Effort::Budget(budget) => Effort::Budget(Nanos::from_seconds(budget.seconds() * ratio)),
        pairs @ Effort::Pairs(_) => pairs,
    };
    // Without the limit of the budget, which a least number of pairs lifts, a run that hangs would never end.
    let timeout = plan.timeout.or(plan.run_limit());
    with_least_pairs(Plan { effort, confidence, seed, timeout, ..plan.clone() })
}

/// The file of a loop. It is locked as long as this exists.
pub(crate) struct RatchetFile {
    path: PathBuf,
    _lock: File,
}

impl RatchetFile {
    /// Opens the file of a loop, or creates it for a loop with this error rate. Returns the state in it.
    pub(crate) fn open(path: &Path, error_rate: f64) -> Result<(Self, Ratchet), Failure> {
        let failed = |error: io::Error| Failure::Usage(format!("--ratchet '{}': {error}", path.display()));
        let mut lock = locked(path).map_err(failed)?;
        let mut text = String::new();
        (&mut lock).take(FILE_MAX).read_to_string(&mut text).map_err(failed)?;
        let ratchet = match text.trim().is_empty() {
            true => Ratchet::new(error_rate),
            false => parsed(&text).map_err(|why| failed(io::Error::other(why)))?,
        };
        if (ratchet.error_rate - error_rate).abs() > 1e-9 {
            let percent = ((1.0 - ratchet.error_rate) * 1e8).round() / 1e6;
            let why = format!("this loop began with --confidence {percent}%: give it again");
            return Err(failed(io::Error::other(why)));
        }
        // A symbolic link stays one: the file that it names is replaced.
        let path = path.canonicalize().map_err(failed)?;
        Ok((RatchetFile { path, _lock: lock }, ratchet))
    }

    /// Stores the state. The file has the old or the new state, whatever happens.
    pub(crate) fn save(&mut self, ratchet: &Ratchet) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::Own(format!("--ratchet '{}': {error}", self.path.display()));
        let mut text = serde_json::to_string_pretty(ratchet).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let temporary = self.path.with_extension(format!("{}.tmp", std::process::id()));
        // A file of this name that exists already belongs to another process, and is neither followed nor removed.
        let file = File::options().write(true).create_new(true).open(&temporary).map_err(failed)?;
        let written = Ok(file).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            // The new file is locked before it is there under its name.
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            fs::rename(&temporary, &self.path)?;
            Ok(file)
        });
        match written {
            Ok(file) => self._lock = file,
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                return Err(failed(error));
            }
        }
        Ok(())
    }
}

/// Opens a file, which is created if it does not exist, and locks it.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| io::Error::other("another comparison of this loop is running"))?;
        // Another process may have replaced the file before it was locked.
        if fs::metadata(path).is_ok_and(|now| Some(now.ino()) == file.metadata().ok().map(|own| own.ino())) {
            return Ok(file);
        }
    }
}

fn parsed(text: &str) -> Result<Ratchet, String> {
    let ratchet: Ratchet =
        serde_json::from_str(text).map_err(|error| format!("it is not a file of a loop: {error}"))?;
    let is_valid = ratchet.schema == SCHEMA
        && ratchet.error_rate > 0.0
        && ratchet.error_rate < 1.0
        && ratchet.tests <= ratchet.candidates
        && ratchet.accepted.len() as u64 <= ratchet.tests;
    if is_valid { Ok(ratchet) } else { Err(format!("it is not a consistent '{SCHEMA}'")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_comparison_has_a_smaller_share() {
        let plan = Plan::new(vec![], Effort::Budget(Nanos::from_seconds(8.0)), Seed(7));
        let mut ratchet = Ratchet::new(0.05);
        let screen = ratchet.screen(&plan);
        assert_eq!((screen.effort, screen.confidence), (Effort::Budget(Nanos::from_seconds(2.0)), SCREEN_CONFIDENCE));
        let mut confidence = 0.0;
        for _ in 0..20 {
            ratchet.tests += 1;
            let test = ratchet.test(&plan);
            assert!(test.confidence > confidence && test.confidence < 1.0, "{test:?}");
            assert_eq!(test.effort, Effort::Budget(Nanos::from_seconds(6.0)));
            assert_ne!(test.seed, screen.seed);
            assert_eq!(test.candidate, Some(Candidate { number: 0, comparison: CandidateComparison::Second }));
            confidence = test.confidence;
        }
    }

    #[test]
    fn only_consistent_files_are_read() {
        let ratchet = Ratchet { candidates: 1, ..Ratchet::new(0.05) };
        let text = serde_json::to_string(&ratchet).unwrap();
        assert_eq!(parsed(&text), Ok(ratchet));
        for wrong in [
            "{}",
            "[]",
            "x",
            &text.replace("ratchet/1", "ratchet/2"),
            &text.replace("0.05", "1.5"),
            &text.replace("\"tests\":0", "\"tests\":9"),
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
