//! Builds and compares commits on this machine.

use std::os::fd::OwnedFd;

use steady_compare::judge::with_least_pairs;
use steady_compare::revisions::{LineCommit, NotBuilt, Trees};
use steady_compare::run::CompareError;
use steady_compare::{failure, judge, measure_plan};
use steady_feature::{Failure, Interrupt, Session};
use steady_model::{Command, Effort, Ending, Nanos, Plan, Seed};
use steady_process::runner::RunError;

use crate::flags::BisectFlags;
use crate::judge::{ENDS_RATIO, Step};
use crate::record::{BisectRecord, Comparison, Purpose};
use crate::run::{Commits, Measured, Stop};
use crate::state::State;

/// The commits of a repository, each built when it is needed.
pub(crate) struct Machine<'a> {
    pub(crate) flags: &'a BisectFlags,
    /// The plan of all comparisons. Its only command is not built.
    pub(crate) plan: Plan,
    pub(crate) line: &'a [LineCommit],
    /// The command of each commit that is built.
    pub(crate) built: Vec<Option<Command>>,
    pub(crate) trees: Trees,
    /// Becomes readable at a signal.
    pub(crate) readable: OwnedFd,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) state: State,
    pub(crate) session: &'a mut dyn Session,
}

impl Machine<'_> {
    fn command(&self, commit: usize) -> Result<Command, Stop> {
        let not_built = || Stop::Failed(Failure::Own("a commit is not built".to_owned()));
        self.built[commit].clone().ok_or_else(not_built)
    }

    /// What a step does.
    fn described(&self, step: &Step, earlier: &[Comparison]) -> String {
        let [from, to] = [step.from, step.to].map(|commit| self.line[commit].short.as_str());
        let is_repeated =
            earlier.iter().any(|one| (one.purpose, one.from, one.to) == (step.purpose, step.from, step.to));
        let again = if is_repeated { " again" } else { "" };
        match step.purpose {
            Purpose::Ends | Purpose::Search => format!("comparing {to} with {from}{again}"),
            Purpose::Confirmation => format!("confirming {to}: comparing it with {from}{again}, on fresh pairs"),
        }
    }

    /// A commit that cannot be measured. If the disk is full, others cannot be measured either.
    fn skip(&self, commit: usize, failure: Failure) -> Stop {
        match self.trees.disk_is_full(&failure) {
            true => Stop::Failed(failure),
            false => Stop::Skip(commit, failure),
        }
    }

    fn readable(&self) -> Result<OwnedFd, Stop> {
        self.readable.try_clone().map_err(|error| Stop::Failed(Failure::Own(error.to_string())))
    }
}

impl Commits for Machine<'_> {
    fn build(&mut self, commit: usize) -> Result<(), Stop> {
        if self.built[commit].is_some() {
            return Ok(());
        }
        let one = &self.line[commit];
        let step = self.trees.step(&one.short);
        self.trees.show(&step, self.session);
        self.session.log_progress(&step);
        let mut command = self.plan.commands.first().cloned().unwrap_or_default();
        let (text, shell) = (self.flags.command.as_str(), self.flags.run.shell());
        match self.trees.add(text, shell, &mut command, &one.revision(), self.session) {
            Ok(()) => {
                command.name = format!("{} ({})", command.name, one.short);
                self.built[commit] = Some(command);
                Ok(())
            }
            Err(NotBuilt::Revision(why)) => Err(self.skip(commit, Failure::Usage(why))),
            Err(NotBuilt::Other(failure)) => Err(Stop::Failed(failure)),
        }
    }

    fn compare(&mut self, step: &Step, earlier: &[Comparison]) -> Result<Measured, Stop> {
        let done = earlier.len();
        let commands = vec![self.command(step.from)?, self.command(step.to)?];
        let plan = with_least_pairs(Plan {
            commands,
            effort: Effort::Budget(step.budget),
            resolution: step.resolution,
            confidence: step.confidence,
            metric: self.plan.metric.or(step.metric),
            seed: Seed(self.plan.seed.0.wrapping_add(done as u64)),
            timeout: self.plan.timeout.or(Some(self.flags.budget)),
            // Nothing is known about the command before the first comparison.
            pairs_min_within: (done == 0).then_some(self.flags.budget),
            ..self.plan.clone()
        });
        self.session.log_progress(&self.described(step, earlier));
        let (readable, again) = (self.readable()?, self.readable()?);
        let opens = self.trees.watch();
        let record = measure_plan(&plan, &self.trees, readable, self.session).map_err(|mut error| {
            if let CompareError::BudgetTooSmall { needed, .. } = &mut error {
                *needed = Nanos::from_seconds(needed.seconds() / ENDS_RATIO);
            }
            let failed = match &error {
                CompareError::Failed { command, .. }
                | CompareError::Run(
                    RunError::NoValue { command, .. }
                    | RunError::CannotStart { command, .. }
                    | RunError::ScriptFailed { command, .. },
                ) => Some(*command),
                _ => None,
            };
            let failure = failure(&plan, error, self.interrupt, again, self.session);
            match failed {
                Some(command) => {
                    let commit = if command == 0 { step.from } else { step.to };
                    self.skip(commit, self.trees.explain(&plan, failure))
                }
                None => Stop::Failed(failure),
            }
        })?;
        if opens.is_some_and(|opens| !opens.end()) && done == 0 {
            self.session.notice(
                "no run opened a file of its commit, so the search cannot find a change: the program must be one of the \
                 tree, as in './prog' or 'python3 -m module'",
            );
        }
        if record.ending == Ending::Interrupted {
            return Err(Stop::Failed(Failure::Interrupted(self.interrupt.signal())));
        }
        // Without the time of `--setup`, which is not part of the budget.
        Ok(Measured { took: record.elapsed, report: judge(record) })
    }

    fn save(&mut self, record: &BisectRecord) {
        if let Err(failure) = self.state.save(record, self.session) {
            self.session.notice(&format!("this search could not be continued after an interruption: {failure}"));
            self.state = State::none();
        }
    }
}
