//! Searches in simulated histories, whose comparisons run on a simulated machine with the program's own code.

use steady_bisect::{BisectOutcome, BisectRecord, Commits, Comparison, HistoryCommit, Measured, Step, Stop, bisect};
use steady_compare::judge;
use steady_compare::judge::with_least_pairs;
use steady_compare::run::{CompareContext, compare};
use steady_feature::Failure;
use steady_model::{Absent, Command, Effort, Nanos, Plan, Seed, Timestamp, Warning};
use steady_process::simulated::{Conditions, SimulatedMachine};

/// A machine whose load changes every few seconds.
pub(crate) const LOADED: Conditions =
    Conditions { noise: 0.03, hit_per_mille: 5, bursts: Some((3.0, 3.0, 1.4)), ..Conditions::QUIET };

/// The commits of a simulated history.
pub(crate) struct History {
    /// CPU time of the command at each commit, in seconds.
    pub(crate) seconds: Vec<f64>,
    /// Commits that cannot be built.
    pub(crate) broken: Vec<usize>,
    /// The number of comparisons after which the search is interrupted.
    pub(crate) interrupt_after: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) conditions: Conditions,
    /// The commits that were built, in the order of time.
    pub(crate) built: Vec<usize>,
    /// The share of time that the runs wait for a CPU, if the comparisons warn of it.
    pub(crate) waiting: Option<f64>,
    /// The number of times that the state was stored.
    pub(crate) saved: usize,
}

impl History {
    /// A history of `commits` commits after the first one, whose cost changes by `effect` at commit `at`.
    pub(crate) fn new(commits: usize, effect: f64, at: usize, seed: u64) -> Self {
        let seconds = (0..=commits).map(|commit| 0.05 * if commit >= at { 1.0 + effect } else { 1.0 }).collect();
        let (broken, built, conditions) = (vec![], vec![], LOADED);
        History { seconds, broken, interrupt_after: None, seed, conditions, built, waiting: None, saved: 0 }
    }

    /// A record before the first comparison.
    pub(crate) fn record(&self, budget: f64) -> BisectRecord {
        let commit = |number: usize| HistoryCommit {
            commit: format!("{number:040x}"),
            short: format!("{number:07x}"),
            subject: format!("Change {number}"),
            is_merge: false,
            skipped: None,
            probability: 0.0,
        };
        BisectRecord {
            started: Timestamp(0),
            command: "./prog".to_owned(),
            build: None,
            range: "v1..v2".to_owned(),
            host: CompareContext::simulated(false).host,
            revision: Err(Absent::because("simulated")),
            seed: Seed(self.seed),
            budget_seconds: Nanos::from_seconds(budget),
            earlier_seconds: Nanos::ZERO,
            resolution_ratio: 0.01,
            confidence: 0.95,
            metric: Err(Absent::because("nothing was compared")),
            commits: (0..self.seconds.len()).map(commit).collect(),
            comparisons: vec![],
            confirmations: 0,
            interrupted: false,
            outcome: BisectOutcome::Open,
            candidates: vec![],
        }
    }

    /// Searches with this budget, in seconds.
    pub(crate) fn searched(&mut self, budget: f64) -> BisectRecord {
        let mut record = self.record(budget);
        bisect(&mut record, self).expect("the simulated machine has no failures");
        record
    }
}

impl Commits for History {
    fn build(&mut self, commit: usize) -> Result<(), Stop> {
        if self.broken.contains(&commit) {
            return Err(Stop::Skip(commit, Failure::Usage("the build failed".to_owned())));
        }
        if !self.built.contains(&commit) {
            self.built.push(commit);
        }
        Ok(())
    }

    fn compare(&mut self, step: &Step, earlier: &[Comparison]) -> Result<Measured, Stop> {
        let done = earlier.len();
        if self.interrupt_after == Some(done) {
            return Err(Stop::Failed(Failure::Interrupted(2)));
        }
        let command = Command { name: "x".to_owned(), argv: vec!["x".to_owned()], ..Command::default() };
        let seed = self.seed.wrapping_mul(1000).wrapping_add(done as u64);
        let plan = with_least_pairs(Plan {
            resolution: step.resolution,
            confidence: step.confidence,
            ..Plan::new(vec![command.clone(), command], Effort::Budget(step.budget), Seed(seed))
        });
        let seconds = [self.seconds[step.from], self.seconds[step.to]];
        let mut machine = SimulatedMachine::new(&seconds, self.conditions, seed ^ 0x5eed);
        let record = compare(&plan, CompareContext::simulated(false), &mut machine, &mut |_| {});
        let record = record.map_err(|error| Stop::Failed(Failure::Own(error.to_string())))?;
        let mut report = judge(record);
        let warning = |ratio| Warning::Waiting { metric: report.record.primary, ratio };
        report.warnings.extend(self.waiting.map(warning));
        Ok(Measured { took: report.record.elapsed, report })
    }

    fn save(&mut self, _: &BisectRecord) {
        self.saved += 1;
    }
}
