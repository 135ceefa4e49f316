//! A simulated machine: an implementation of [`Runner`] for tests, in which no time passes and true costs are known.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Activity, Block, Bytes, Counters, Hook, Layout, Moment, Nanos, Outcome, Run};

use crate::runner::{BlockSpec, RunError, RunSpec, Runner, Start, Traits};

/// Disturbances of a simulated machine. Ratios multiply costs; times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Standard deviation of the log cost of a run.
    pub noise: f64,
    /// Number of runs in a thousand whose noise is ten times larger and only upwards.
    pub hit_per_mille: u32,
    /// Drift of log costs per second.
    pub drift_per_second: f64,
    /// Bursts of load: mean time on, mean time off, and the factor on costs. Noise grows with the cube of the factor.
    pub bursts: Option<(f64, f64, f64)>,
    /// Additional log cost of each later place in a block.
    pub second_start: f64,
    /// Difference in log cost between the second CPU and the first, and the time after which its sign is drawn again.
    pub cpu_bias: (f64, f64),
    /// Log cost that every second block adds to its first place, which biases strict alternation.
    pub parity: f64,
    /// CPU time divided by the wall time without waiting for a CPU.
    pub cpu_share: f64,
    /// Time spent waiting for a CPU divided by the rest of the wall time.
    pub queueing: f64,
}

impl Conditions {
    /// Conditions of a quiet machine.
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

/// Properties of snapshots on a simulated machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshots {
    /// Standard deviation of the log cost that a snapshot adds to all its runs.
    pub luck: f64,
    /// Additional CPU time of a run without a snapshot, in seconds.
    pub start_up: f64,
    /// Time to capture a new set of snapshots, in seconds.
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
    /// Sign of the difference between CPUs, and the time at which it is drawn again.
    cpu_sign: (f64, f64),
    /// Number of blocks after which the run is interrupted.
    pub interrupt_after: Option<u64>,
    /// Failures by command: every n-th run has this outcome.
    pub failures: Vec<Option<(u64, Outcome)>>,
    /// Instructions that each command retires, and the maximal number of additional ones. Empty if nothing counts them.
    pub instructions: Vec<(u64, u64)>,
    /// The value of each custom metric for a second of CPU time.
    pub value_per_second: Vec<f64>,
    /// The expensive mode of each command: share of its runs, and factor on their cost. Empty if no command has one.
    pub modes: Vec<(f64, f64)>,
    /// Properties of snapshots, if there are any.
    pub snapshots: Option<Snapshots>,
    /// Standard deviation of the log cost that a memory layout adds to all runs with it, and the time to link with a
    /// new layout, in seconds.
    pub layouts: Option<(f64, f64)>,
    /// Log cost that each command's present snapshot or memory layout adds.
    lucks: Vec<f64>,
    /// Hooks that have run, in order.
    pub hooks: Vec<(Hook, usize)>,
    runs: Vec<u64>,
}

impl SimulatedMachine {
    /// Creates a machine on which command `i` takes `seconds[i]` of CPU time when it is not disturbed.
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
            value_per_second: Vec::new(),
            modes: Vec::new(),
            snapshots: None,
            layouts: None,
            lucks: vec![0.0; seconds.len()],
            hooks: Vec::new(),
            runs: vec![0; seconds.len()],
        }
    }

    /// Returns the number of blocks so far, with those of the warm-up.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Sets the CPU time that each command takes when it is not disturbed.
    pub fn set_seconds(&mut self, seconds: &[f64]) {
        self.seconds = seconds.to_vec();
        self.failures.resize(seconds.len(), None);
        self.lucks.resize(seconds.len(), 0.0);
        self.runs.resize(seconds.len(), 0);
    }

    /// A standard normal variate (Box and Muller 1958), or sometimes a ten times larger one.
    fn noise(&mut self) -> f64 {
        let (u, v): (f64, f64) = (self.generator.random(), self.generator.random());
        let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let hit = self.generator.random_range(0..1000) < self.conditions.hit_per_mille;
        if hit { 10.0 * normal.abs() } else { normal }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.generator.random::<f64>()).ln()
    }

    /// Present factor of the load on costs.
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

    /// CPU time of a run that starts now at `place` in its block, in seconds.
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
            (Start::Usual, _) if self.layouts.is_some() => (self.lucks[spec.command], 0.0),
            (Start::Usual, snapshots) => (0.0, snapshots.map_or(0.0, |snapshots| snapshots.start_up)),
        };
        let mode = match self.modes.get(spec.command) {
            Some(&(share, factor)) if self.generator.random::<f64>() < share => factor,
            _ => 1.0,
        };
        (self.seconds[spec.command] * mode * luck.exp() + start_up) * load * log.exp()
    }

    /// Counters of a run. Half of the runs have no additional instructions.
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
            tasks_started: None,
            left_behind: 0,
            outcome: failure.map_or(Outcome::Exited(0), |(_, outcome)| outcome),
            counters: self.count(spec.command),
            energy_joules: None,
            // A failed run reports no numbers.
            values: match failure {
                None => self.value_per_second.iter().map(|factor| factor * cpu).collect(),
                Some(_) => Vec::new(),
            },
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
        let snapshots = self.snapshots.map(|snapshots| (snapshots.luck, snapshots.drawing));
        let Some((luck, drawing)) = self.layouts.or(snapshots) else {
            return Err(RunError::NotDrawn { command: 0, reason: "the machine has no snapshots".to_owned() });
        };
        for command in 0..self.lucks.len() {
            let (u, v): (f64, f64) = (self.generator.random(), self.generator.random());
            let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
            self.lucks[command] = luck * normal;
        }
        self.now += drawing;
        Ok(Nanos::from_seconds(drawing))
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
