//! A simulated machine whose scripts take time, and whose failed runs report no numbers.

use std::cell::Cell;

use steady_model::{Activity, Block, Hook, Moment, Nanos};
use steady_process::runner::{BlockSpec, RunError, Runner, Traits};
use steady_process::simulated::SimulatedMachine;

/// A simulated machine with a clock that it shares with scripts. No number is found in the output of a failed run.
pub(crate) struct SharedMachine<'a> {
    machine: SimulatedMachine,
    /// The time that scripts have taken.
    scripts: &'a Cell<Nanos>,
    /// That time when this machine was created.
    epoch: Nanos,
}

impl<'a> SharedMachine<'a> {
    pub(crate) fn new(machine: SimulatedMachine, scripts: &'a Cell<Nanos>) -> Self {
        SharedMachine { machine, scripts, epoch: scripts.get() }
    }
}

fn as_reported(mut block: Block) -> Block {
    let failed = block.runs.iter_mut().filter(|run| !run.succeeded(&steady_model::FailureRule::IgnoreAll));
    failed.for_each(|run| run.values.clear());
    block
}

impl Runner for SharedMachine<'_> {
    fn now(&self) -> Nanos {
        self.machine.now() + (self.scripts.get() - self.epoch)
    }

    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError> {
        self.machine.run(blocks, &mut |block| done(as_reported(block)))
    }

    fn probe(&mut self, block: &BlockSpec) -> Result<(Block, Vec<Traits>), RunError> {
        let (block, traits) = self.machine.probe(block)?;
        Ok((as_reported(block), traits))
    }

    fn draw(&mut self) -> Result<Nanos, RunError> {
        self.machine.draw()
    }

    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError> {
        self.machine.hook(hook, command)
    }

    fn activity(&self) -> Activity {
        self.machine.activity()
    }

    fn moment(&mut self) -> Moment {
        Moment { at: self.now(), ..self.machine.moment() }
    }
}
