//! A simulated machine: the fake behind [`Runner`], on which experiments run without time passing and the truth is known.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Activity, Block, Bytes, Counters, Hook, Layout, Moment, Nanos, Outcome, Run};

use crate::runner::{BlockSpec, RunError, RunSpec, Runner, Start, Traits};

/// What disturbs the runs of a simulated machine. Ratios multiply costs; times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Spread of a single run's log cost.
    pub noise: f64,
    /// How many normal variates in a thousand are replaced by ten times larger ones, upwards only: runs that were hit.
    pub hit_per_mille: u32,
    /// By how much log costs drift per second.
    pub drift_per_second: f64,
    /// A load that comes and goes: mean time on, mean time off, by how much it multiplies costs, and their noise.
    pub bursts: Option<(f64, f64, f64)>,
    /// Log cost of starting second beside starting first.
    pub second_start: f64,
    /// Log cost of the second CPU beside the first, and how long until its sign is drawn anew.
    pub cpu_bias: (f64, f64),
    /// Log cost that every second block adds to its first place: what strict alternation falls for.
    pub parity: f64,
    /// CPU time over wall time without the time spent waiting for a CPU.
    pub cpu_share: f64,
    /// Time spent waiting for a CPU over the rest of the wall time.
    pub queueing: f64,
}

impl Conditions {
    /// A quiet machine.
    pub const QUIET: Conditions = Conditions {
        noise: 0.01,
        hit_per_mille: 0,
        drift_per_second: 0.0,
        bursts: None,
        second_start: 0.0,
        cpu_bias: (0.0, 1.0),
        parity: 0.0,
        cpu_share: 1.0,
        queueing: 0.0,
    };
}

/// What snapshots are like on a simulated machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshots {
    /// Spread of the log cost that a snapshot gives to all its runs.
    pub luck: f64,
    /// CPU time that a run as usual has on top, in seconds.
    pub start_up: f64,
    /// How long a draw takes, in seconds.
    pub drawing: f64,
}

/// A machine on which each command has a known cost.
pub struct SimulatedMachine {
    seconds: Vec<f64>,
    conditions: Conditions,
    generator: ChaCha12Rng,
    now: f64,
    blocks: u64,
    /// Whether the bursty load is on, and when that ends.
    burst: (bool, f64),
    /// The sign of the CPUs' difference, and when it is drawn anew.
    cpu_sign: (f64, f64),
    /// Stops after so many blocks, as if interrupted.
    pub interrupt_after: Option<u64>,
    /// Outcomes by command: every so many-th run of it ends this way.
    pub failures: Vec<Option<(u64, Outcome)>>,
    /// The instructions that each command retires, and how many more a run may take; empty where nothing counts them.
    pub instructions: Vec<(u64, u64)>,
    /// The expensive mode of each command: the share of its runs, and the factor of their cost. Empty: none has one.
    pub modes: Vec<(f64, f64)>,
    /// What snapshots are like, where there are any.
    pub snapshots: Option<Snapshots>,
    /// The luck of each command's present snapshot.
    lucks: Vec<f64>,
    /// The hooks that were run, in order.
    pub hooks: Vec<(Hook, usize)>,
    runs: Vec<u64>,
}

impl SimulatedMachine {
    /// A machine where command `i` takes `seconds[i]` of CPU time when nothing disturbs it.
    pub fn new(seconds: &[f64], conditions: Conditions, seed: u64) -> Self {
        SimulatedMachine {
            seconds: seconds.to_vec(),
            conditions,
            generator: ChaCha12Rng::seed_from_u64(seed),
            now: 0.0,
            blocks: 0,
            burst: (false, 0.0),
            cpu_sign: (1.0, 0.0),
            interrupt_after: None,
            failures: vec![None; seconds.len()],
            instructions: Vec::new(),
            modes: Vec::new(),
            snapshots: None,
            lucks: vec![0.0; seconds.len()],
            hooks: Vec::new(),
            runs: vec![0; seconds.len()],
        }
    }

    /// A standard normal variate (Box and Muller 1958), now and then one that was hit.
    fn noise(&mut self) -> f64 {
        let (u, v): (f64, f64) = (self.generator.random(), self.generator.random());
        let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let hit = self.generator.random_range(0..1000) < self.conditions.hit_per_mille;
        if hit { 10.0 * normal.abs() } else { normal }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.generator.random::<f64>()).ln()
    }

    /// The load's factor on costs at this moment.
    fn load(&mut self) -> f64 {
        let Some((on, off, factor)) = self.conditions.bursts else { return 1.0 };
        while self.now >= self.burst.1 {
            self.burst.0 = !self.burst.0;
            let length = self.exponential(if self.burst.0 { on } else { off });
            self.burst.1 += length.max(1e-6);
        }
        if self.burst.0 { factor } else { 1.0 }
    }

    fn cpu_bias(&mut self, seat: usize) -> f64 {
        let (bias, lasts) = self.conditions.cpu_bias;
        while self.now >= self.cpu_sign.1 {
            self.cpu_sign = (if self.generator.random() { 1.0 } else { -1.0 }, self.cpu_sign.1 + lasts);
        }
        if seat == 1 { bias * self.cpu_sign.0 } else { 0.0 }
    }

    /// The CPU time of one run that starts now, in `place` of its block.
    fn cost(&mut self, spec: &RunSpec, place: usize, start: Start) -> f64 {
        let load = self.load();
        let noise = self.conditions.noise * load.powi(3) * self.noise();
        let odd_first = place == 0 && self.blocks % 2 == 1;
        let log = noise
            + self.conditions.drift_per_second * self.now
            + self.conditions.second_start * place as f64
            + self.cpu_bias(spec.seat)
            + if odd_first { self.conditions.parity } else { 0.0 };
        let (luck, start_up) = match (start, self.snapshots) {
            (Start::Snapshot, _) => (self.lucks[spec.command], 0.0),
            (Start::Usual, snapshots) => (0.0, snapshots.map_or(0.0, |snapshots| snapshots.start_up)),
        };
        let mode = match self.modes.get(spec.command) {
            Some(&(share, factor)) if self.generator.random::<f64>() < share => factor,
            _ => 1.0,
        };
        (self.seconds[spec.command] * mode * luck.exp() + start_up) * load * log.exp()
    }

    /// What the counters of a run say; half of the runs take no more than they must.
    fn count(&mut self, command: usize) -> Option<Counters> {
        let &(least, more) = self.instructions.get(command)?;
        let extra = if self.generator.random() { self.generator.random_range(0..=more) } else { 0 };
        Some(Counters { instructions: Some(least + extra), ..Counters::default() })
    }

    fn run_one(&mut self, spec: &RunSpec, place: usize, layout: Layout, start: Start) -> Run {
        let cpu = self.cost(spec, place, start);
        self.runs[spec.command] += 1;
        let count = self.runs[spec.command];
        let running = cpu / self.conditions.cpu_share;
        let run_delay = running * self.conditions.queueing;
        let failure = self.failures[spec.command].filter(|(every, _)| count.is_multiple_of(*every));
        Run {
            command: spec.command,
            cpu: (layout == Layout::Duet).then_some(spec.seat),
            padding: spec.padding,
            started: Nanos::from_seconds(self.now),
            wall: Nanos::from_seconds(running + run_delay),
            user: Nanos::from_seconds(cpu),
            system: Nanos::ZERO,
            run_delay: Ok(Nanos::from_seconds(run_delay)),
            peak_memory: Ok(Bytes(4 << 20)),
            minor_faults: 100,
            major_faults: 0,
            voluntary_switches: if self.conditions.cpu_share < 1.0 { 3 } else { 1 },
            involuntary_switches: 1 + u64::from(self.burst.0),
            left_behind: 0,
            outcome: failure.map_or(Outcome::Exited(0), |(_, outcome)| outcome),
            counters: self.count(spec.command),
        }
    }

    fn block(&mut self, spec: &BlockSpec) -> Block {
        let mut runs = Vec::with_capacity(spec.runs.len());
        let began = self.now;
        for (place, run) in spec.runs.iter().enumerate() {
            let run = self.run_one(run, place, spec.layout, spec.start);
            if spec.layout == Layout::Turns {
                self.now += run.wall.seconds();
            }
            runs.push(run);
        }
        if spec.layout == Layout::Duet {
            self.now = began + runs.iter().map(|run| run.wall.seconds()).fold(0.0, f64::max);
        }
        self.blocks += 1;
        Block::new(spec.layout, runs).in_draw(spec.draw)
    }
}

impl Runner for SimulatedMachine {
    fn now(&self) -> Nanos {
        Nanos::from_seconds(self.now)
    }

    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError> {
        for spec in blocks {
            if self.interrupt_after.is_some_and(|most| self.blocks >= most) {
                return Err(RunError::Interrupted);
            }
            let block = self.block(spec);
            done(block);
        }
        Ok(())
    }

    fn probe(&mut self, block: &BlockSpec) -> Result<(Block, Vec<Traits>), RunError> {
        let block = self.block(block);
        let traits = block.runs.iter().map(|run| Traits { command: run.command, ..Traits::default() }).collect();
        Ok((block, traits))
    }

    fn draw(&mut self) -> Result<Nanos, RunError> {
        let Some(snapshots) = self.snapshots else {
            return Err(RunError::NotDrawn { command: 0, reason: "the machine has no snapshots".to_owned() });
        };
        for command in 0..self.lucks.len() {
            let (u, v): (f64, f64) = (self.generator.random(), self.generator.random());
            let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
            self.lucks[command] = snapshots.luck * normal;
        }
        self.now += snapshots.drawing;
        Ok(Nanos::from_seconds(snapshots.drawing))
    }

    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError> {
        self.hooks.push((hook, command));
        Ok(())
    }

    fn moment(&mut self) -> Moment {
        Moment { at: self.now(), ..Moment::default() }
    }

    fn activity(&self) -> Activity {
        let absent = || Err(Absent::because("the machine is simulated"));
        Activity { busy_ratio: absent(), steal_ratio: absent(), pressure: absent(), throttled_ratio: absent() }
    }
}
