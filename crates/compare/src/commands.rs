//! The runner of real commands. It has one launcher for turns, and one for each CPU of duets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread};
use steady_linux::activity::KernelCounters;
use steady_linux::{Root, clock};
use steady_model::{Absent, Activity, Block, Command, CounterScope, Hook, Layout, Moment, Nanos, Plan, Reading, Seed};

use steady_process::launcher::{Group, Job, Launcher, Request, RunReply, Setup};
use steady_process::runner::{BlockSpec, RunError, RunSpec, Runner, Traits};
use steady_warm::images::Images;

use crate::revisions::LAYOUT;
use crate::workspace::renew;

/// Runs the commands of a plan on this machine.
pub struct CommandRunner<'a> {
    epoch: Nanos,
    plan: Plan,
    turns: Launcher,
    duet: Option<[Launcher; 2]>,
    scripts: HookScripts,
    images: Option<Images<'a>>,
    /// The number of programs that were linked again.
    relinked: u64,
    /// The private directory of source trees. Programs in it are renewed before each block.
    trees: Option<PathBuf>,
    log: Option<PathBuf>,
    interrupt: Option<OwnedFd>,
    begun: KernelCounters,
    last: KernelCounters,
}

impl<'a> CommandRunner<'a> {
    /// Starts the launcher for turns. It appends runs to `log` as they end, and stops when `interrupt` becomes
    /// readable. It removes `folder` at the end, even if this process is killed.
    ///
    /// # Errors
    /// [`RunError::LauncherLost`].
    pub fn start(
        plan: &Plan,
        log: Option<PathBuf>,
        interrupt: Option<OwnedFd>,
        folder: Option<&Path>,
    ) -> Result<Self, RunError> {
        let epoch = clock::monotonic();
        let folder = folder.map(Path::to_owned);
        let of_turns = Setup { log: log.clone(), folder, ..setup(plan, epoch) };
        let turns = Launcher::start(&of_turns, interrupt.as_ref().map(AsFd::as_fd))?;
        let begun = KernelCounters::read(&Root::default());
        let last = begun.clone();
        let scripts = HookScripts::new(plan, interrupt.as_ref())?;
        let (plan, duet, images, relinked, trees) = (plan.clone(), None, None, 0, None);
        Ok(CommandRunner { epoch, plan, turns, duet, scripts, images, relinked, trees, log, interrupt, begun, last })
    }

    /// Renews the programs of the plan that are in this private directory before each block; see [`renew`].
    ///
    /// Snapshots contain the pages of their programs, and a program that is linked again is in other pages.
    pub fn renew_programs_in(&mut self, workspace: &Path) {
        let is_in = |command: &Command| command.program.canonicalize().is_ok_and(|path| path.starts_with(workspace));
        if !self.plan.warm && self.plan.relink.is_empty() && self.plan.commands.iter().any(is_in) {
            self.trees = Some(workspace.to_owned());
        }
    }

    /// Sets the snapshots for blocks that start from snapshots.
    pub fn add_images(&mut self, images: Images<'a>) {
        self.images = Some(images);
    }

    /// Starts the launchers for duets, each pinned to one CPU.
    ///
    /// # Errors
    /// [`RunError::LauncherLost`], also if this process may not choose its CPUs.
    pub fn add_duet(&mut self, one: usize, other: usize) -> Result<(), RunError> {
        let pinned = |cpu| {
            let of_cpu = Setup {
                cpus: Some(vec![cpu]),
                pinned: Some(cpu),
                log: self.log.clone(),
                counters: Some(self.counters()),
                ..setup(&self.plan, self.epoch)
            };
            Launcher::start(&of_cpu, self.interrupt.as_ref().map(AsFd::as_fd))
        };
        self.duet = Some([pinned(one)?, pinned(other)?]);
        Ok(())
    }

    /// Which events the CPU's counters count, or why they cannot be read.
    pub fn counters(&self) -> Reading<CounterScope> {
        self.turns.counters().clone()
    }

    /// Renews the programs of a block, in the order of its runs.
    fn renew_programs(&self, block: &BlockSpec) {
        let Some(workspace) = &self.trees else { return };
        for run in &block.runs {
            // On a full disk, the program is still there, and what was measured is not lost.
            let _ = renew(&self.plan.commands[run.command].program, workspace);
        }
    }

    /// Links the program of a command again, with another number for its memory layout.
    fn relink(&mut self, command: usize) -> Result<(), RunError> {
        let Some(script) = self.plan.script(Hook::Relink, command) else { return Ok(()) };
        self.relinked += 1;
        let number = layout_number(self.plan.seed, self.relinked);
        let script = format!("export {LAYOUT}={number}\n{script}");
        self.scripts.run(Hook::Relink, command, script)
    }

    fn run_turns(
        &mut self,
        blocks: &[BlockSpec],
        probe: bool,
        done: &mut dyn FnMut(Vec<RunReply>),
    ) -> Result<(), RunError> {
        let groups = blocks.iter().map(|block| group(block, 0, &block.runs)).collect();
        self.turns.ask(&Request::Runs { groups, probe })?;
        for _ in blocks {
            let runs = self.turns.runs(self.interrupt.as_ref().map(AsFd::as_fd))?;
            check_values(&self.plan, &runs)?;
            done(runs);
        }
        Ok(())
    }

    fn run_duet(&mut self, block: &BlockSpec, probe: bool) -> Result<Vec<RunReply>, RunError> {
        let lost = || RunError::LauncherLost("there is no launcher for duets".into());
        let launchers = self.duet.as_mut().ok_or_else(lost)?;
        for (place, run) in block.runs.iter().enumerate() {
            let groups = vec![group(block, place, std::slice::from_ref(run))];
            launchers[run.seat].ask(&Request::Runs { groups, probe })?;
        }
        let mut replies = Vec::with_capacity(block.runs.len());
        for run in &block.runs {
            replies.extend(launchers[run.seat].runs(self.interrupt.as_ref().map(AsFd::as_fd))?);
        }
        check_values(&self.plan, &replies)?;
        Ok(replies)
    }
}

impl Runner for CommandRunner<'_> {
    fn now(&self) -> Nanos {
        clock::monotonic() - self.epoch
    }

    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError> {
        match blocks.first().map(|block| block.layout) {
            None => Ok(()),
            Some(Layout::Turns) => {
                let mut specs = blocks.iter();
                // The launcher gets many blocks at once, unless something must be done before each.
                let chunk = if self.trees.is_some() { 1 } else { blocks.len() };
                for blocks in blocks.chunks(chunk) {
                    blocks.iter().for_each(|block| self.renew_programs(block));
                    self.run_turns(blocks, false, &mut |runs| done(measured(specs.next(), Layout::Turns, runs)))?;
                }
                Ok(())
            }
            Some(Layout::Duet) => {
                for block in blocks {
                    self.renew_programs(block);
                    done(measured(Some(block), Layout::Duet, self.run_duet(block, false)?));
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
        Ok((measured(Some(block), block.layout, replies), traits))
    }

    fn draw(&mut self) -> Result<Nanos, RunError> {
        if !self.plan.relink.is_empty() {
            let began = self.now();
            (0..self.plan.commands.len()).try_for_each(|command| self.relink(command))?;
            return Ok(self.now() - began);
        }
        let none = || RunError::LauncherLost("there are no snapshots".to_owned());
        let (snapshots, takes) = self.images.as_mut().ok_or_else(none)?.draw()?;
        let launchers = std::iter::once(&mut self.turns).chain(self.duet.iter_mut().flatten());
        for launcher in launchers {
            launcher.ask(&Request::Snapshots(snapshots.clone()))?;
            launcher.script_done(None)?;
        }
        Ok(takes)
    }

    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError> {
        self.scripts.hook(hook, command)
    }

    fn activity(&self) -> Activity {
        self.begun.until(&KernelCounters::read(&Root::default()))
    }

    fn moment(&mut self) -> Moment {
        let now = KernelCounters::read(&Root::default());
        let activity = self.last.until(&now);
        self.last = now;
        Moment {
            at: self.now(),
            busy_ratio: activity.busy_ratio.ok(),
            steal_ratio: activity.steal_ratio.ok(),
            pressure: activity.pressure.ok(),
        }
    }
}

/// Runs the user's scripts outside the runs, in a launcher of their own. It is started before the first script.
pub(crate) struct HookScripts {
    plan: Plan,
    launcher: Option<Launcher>,
    interrupt: Option<OwnedFd>,
}

impl HookScripts {
    /// `interrupt` is a descriptor of [`steady_feature::Interrupt`], whose signals end the scripts.
    pub(crate) fn new(plan: &Plan, interrupt: Option<&OwnedFd>) -> Result<Self, RunError> {
        let interrupt = interrupt.map(OwnedFd::try_clone).transpose().map_err(|error| lost(&error))?;
        Ok(HookScripts { plan: plan.clone(), launcher: None, interrupt })
    }

    /// Runs the script of a command for `hook`, if the plan has one.
    pub(crate) fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError> {
        match self.plan.script(hook, command).map(str::to_owned) {
            Some(script) => self.run(hook, command, script),
            None => Ok(()),
        }
    }

    fn run(&mut self, hook: Hook, command: usize, script: String) -> Result<(), RunError> {
        let interrupt = self.interrupt.as_ref().map(AsFd::as_fd);
        let launcher = match &mut self.launcher {
            Some(launcher) => launcher,
            none => {
                let counters = Some(Err(Absent::because("scripts are not counted")));
                let setup = Setup { counters, ..setup(&self.plan, clock::monotonic()) };
                // Cleanup scripts run after an interruption, too.
                none.insert(Launcher::start(&setup, interrupt.filter(|_| hook != Hook::Cleanup))?)
            }
        };
        let before = interrupt.map_or(0, signals);
        launcher.ask(&Request::Script { hook, command, script })?;
        let done = match interrupt {
            Some(interrupt) if hook == Hook::Cleanup => cleanup_done(launcher, interrupt, before),
            interrupt => launcher.script_done(interrupt),
        };
        if done.is_err() {
            // The launcher has ended, or is still busy with the interrupted script.
            self.launcher = None;
        }
        done
    }
}

/// The number of signals so far. Each writes a byte to the descriptor, and nobody reads it.
fn signals(interrupt: BorrowedFd<'_>) -> u64 {
    ioctl_fionread(interrupt).unwrap_or(0)
}

/// Waits until a cleanup script has ended that was started after `before` signals. It also runs after an interruption,
/// so only a further signal ends it.
fn cleanup_done(launcher: &mut Launcher, interrupt: BorrowedFd<'_>, before: u64) -> Result<(), RunError> {
    /// The time between two readings of the number of signals: 50 ms.
    const STEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    loop {
        let ready = poll(&mut [PollFd::new(launcher, PollFlags::IN)], Some(&STEP));
        match ready {
            Ok(0) | Err(Errno::INTR) if signals(interrupt) > before.max(1) => return Err(RunError::Interrupted),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return launcher.script_done(None),
            Err(error) => return Err(lost(&error.into())),
        }
    }
}

fn lost(error: &io::Error) -> RunError {
    RunError::LauncherLost(error.to_string())
}

/// A number from 0 to 2^31 - 1 for the `number`-th program that is linked again (splitmix64, Steele et al. 2014).
pub fn layout_number(seed: Seed, number: u64) -> u64 {
    let mut z = seed.0.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 33
}

/// Returns an error if a successful run has no value of a custom metric. A failed run need not have one.
fn check_values(plan: &Plan, replies: &[RunReply]) -> Result<(), RunError> {
    let mut without = replies.iter().filter_map(|reply| Some((&reply.run, reply.no_value.as_ref()?)));
    match without.find(|(run, _)| run.succeeded(&plan.failures)) {
        Some((run, why)) => Err(RunError::NoValue { command: run.command, why: why.clone() }),
        None => Ok(()),
    }
}

/// The settings that all launchers share.
fn setup(plan: &Plan, epoch: Nanos) -> Setup {
    Setup {
        commands: plan.commands.clone(),
        prepare: plan.prepare.clone(),
        conclude: plan.conclude.clone(),
        input: plan.input.clone(),
        output: plan.output.clone(),
        metrics: plan.metrics.clone(),
        metric_input: plan.metric_input.clone(),
        energy: plan.measures_energy(),
        run_limit: plan.run_limit(),
        cpus: plan.cpus.clone(),
        pinned: None,
        epoch,
        folder: None,
        log: None,
        counters: None,
    }
}

/// The runs of `block` for one launcher. `place` is the index of the first of them within the block.
fn group(block: &BlockSpec, place: usize, runs: &[RunSpec]) -> Group {
    let jobs = runs.iter().map(|run| Job { command: run.command, padding: run.padding }).collect();
    Group { block: block.number, layout: block.layout, place, jobs, start: block.start, draw: block.draw }
}

fn traits(reply: &RunReply) -> Traits {
    Traits {
        command: reply.run.command,
        wrote_to_storage: reply.wrote_to_storage,
        left_its_cpu: reply.left_its_cpu,
        runnable: reply.runnable,
        asleep: reply.asleep,
    }
}

fn measured(spec: Option<&BlockSpec>, layout: Layout, replies: Vec<RunReply>) -> Block {
    let draw = spec.and_then(|spec| spec.draw);
    Block::new(layout, replies.into_iter().map(|reply| reply.run).collect()).in_draw(draw)
}
