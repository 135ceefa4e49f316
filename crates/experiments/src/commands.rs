//! The runner of real commands: one launcher for turns, and one per CPU for duets.

use std::os::fd::{AsFd, OwnedFd};

use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock};
use steady_model::{Activity, Block, Layout, Nanos, Plan};

use crate::launcher::{Job, Launcher, Request, RunReply, Setup};
use crate::runner::{BlockSpec, RunError, RunSpec, Runner, Traits};

/// Runs the commands of a plan on this machine.
pub struct CommandRunner {
    epoch: Nanos,
    turns: Launcher,
    duet: Option<[Launcher; 2]>,
    interrupt: Option<OwnedFd>,
    begun: Snapshot,
}

impl CommandRunner {
    /// Starts the launcher for turns. Runs stop when `interrupt` becomes readable.
    ///
    /// # Errors
    /// [`RunError::LauncherLost`].
    pub fn start(plan: &Plan, interrupt: Option<OwnedFd>) -> Result<Self, RunError> {
        let epoch = clock::monotonic();
        let turns = Launcher::start(&setup(plan, epoch, plan.cpus.clone(), None))?;
        Ok(CommandRunner { epoch, turns, duet: None, interrupt, begun: Snapshot::take(&Root::default()) })
    }

    /// Starts the launchers for duets, each pinned to one CPU.
    ///
    /// # Errors
    /// [`RunError::LauncherLost`], also where this process may not choose its CPUs.
    pub fn add_duet(&mut self, plan: &Plan, (one, other): (usize, usize)) -> Result<(), RunError> {
        let pinned = |cpu| Launcher::start(&setup(plan, self.epoch, Some(vec![cpu]), Some(cpu)));
        self.duet = Some([pinned(one)?, pinned(other)?]);
        Ok(())
    }

    fn run_turns(
        &mut self,
        blocks: &[BlockSpec],
        probe: bool,
        done: &mut dyn FnMut(Vec<RunReply>),
    ) -> Result<(), RunError> {
        let groups = blocks.iter().map(|block| block.runs.iter().map(job).collect()).collect();
        self.turns.ask(&Request { groups, probe })?;
        for _ in blocks {
            done(self.turns.runs(self.interrupt.as_ref().map(AsFd::as_fd))?);
        }
        Ok(())
    }

    fn run_duet(&mut self, block: &BlockSpec, probe: bool) -> Result<Vec<RunReply>, RunError> {
        let launchers = self.duet.as_mut().ok_or_else(|| RunError::LauncherLost("there are none for duets".into()))?;
        for run in &block.runs {
            launchers[run.seat].ask(&Request { groups: vec![vec![job(run)]], probe })?;
        }
        let mut replies = Vec::with_capacity(block.runs.len());
        for run in &block.runs {
            replies.extend(launchers[run.seat].runs(self.interrupt.as_ref().map(AsFd::as_fd))?);
        }
        Ok(replies)
    }
}

impl Runner for CommandRunner {
    fn now(&self) -> Nanos {
        clock::monotonic() - self.epoch
    }

    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError> {
        match blocks.first().map(|block| block.layout) {
            None => Ok(()),
            Some(Layout::Turns) => self.run_turns(blocks, false, &mut |runs| done(measured(Layout::Turns, runs))),
            Some(Layout::Duet) => {
                for block in blocks {
                    done(measured(Layout::Duet, self.run_duet(block, false)?));
                }
                Ok(())
            }
        }
    }

    fn probe(&mut self, block: &BlockSpec) -> Result<(Block, Vec<Traits>), RunError> {
        let mut replies = Vec::new();
        match block.layout {
            Layout::Turns => self.run_turns(std::slice::from_ref(block), true, &mut |runs| replies = runs)?,
            Layout::Duet => replies = self.run_duet(block, true)?,
        }
        let traits = replies.iter().map(traits).collect();
        Ok((measured(block.layout, replies), traits))
    }

    fn activity(&self) -> Activity {
        self.begun.until(&Snapshot::take(&Root::default()))
    }
}

fn setup(plan: &Plan, epoch: Nanos, cpus: Option<Vec<usize>>, pinned: Option<usize>) -> Setup {
    Setup {
        commands: plan.commands.clone(),
        preparations: (0..plan.commands.len()).map(|command| plan.prepare_for(command).map(str::to_owned)).collect(),
        input: plan.input.clone(),
        output: plan.output,
        run_limit: plan.run_limit(),
        cpus,
        pinned,
        epoch,
    }
}

fn job(run: &RunSpec) -> Job {
    Job { command: run.command, padding: run.padding }
}

fn traits(reply: &RunReply) -> Traits {
    Traits { command: reply.run.command, wrote_to_storage: reply.wrote_to_storage, left_its_cpu: reply.left_its_cpu }
}

fn measured(layout: Layout, replies: Vec<RunReply>) -> Block {
    let runs: Vec<_> = replies.into_iter().map(|reply| reply.run).collect();
    let ended = runs.iter().map(|run| run.started + run.wall).max().unwrap_or_default();
    Block { layout, ended, runs }
}
