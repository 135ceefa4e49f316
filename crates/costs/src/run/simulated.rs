//! Simulated probes: an implementation of [`CostsRunner`] for tests, in which no time passes.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Nanos, Probe, Reading, Timed};

use super::runner::{Calibrated, CostsError, CostsRunner, Opened, Repeat, Repeated};
use crate::record::Repetition;

/// Probes with given costs.
pub struct SimulatedProbes {
    /// Cost of an event, in seconds.
    pub cost: fn(Probe) -> f64,
    /// Cost of a round of the empty loop, in seconds.
    pub empty: f64,
    /// Relative half-range of the uniform noise on the time of a loop.
    pub noise: f64,
    /// Additional time of each timed loop, in seconds.
    pub start_up: f64,
    /// Number of events divided by the expected number.
    pub counted: f64,
    /// Share of the loops in which another process uses the CPU, for the time of the loop plus 3 ms.
    pub disturbed: f64,
    /// Wall time divided by CPU time, as on a busy machine.
    pub stretch: f64,
    /// Probes that are not available.
    pub absent: Vec<Probe>,
    /// The probe whose process is lost, and the number of its repetitions before that. A repetition that exceeds its
    /// time ends the process too.
    pub lost: Option<(Probe, usize)>,
    /// Total number of repetitions after which the run is interrupted.
    pub interrupt_after: Option<usize>,
    generator: ChaCha12Rng,
    now: f64,
    made: usize,
    made_of_lost: usize,
}

impl SimulatedProbes {
    /// Simulates a quiet machine.
    pub fn new(cost: fn(Probe) -> f64) -> Self {
        SimulatedProbes {
            cost,
            empty: 1e-9,
            noise: 0.02,
            start_up: 0.0,
            counted: 1.0,
            disturbed: 0.0,
            stretch: 1.0,
            absent: vec![],
            lost: None,
            interrupt_after: None,
            generator: ChaCha12Rng::seed_from_u64(1),
            now: 0.0,
            made: 0,
            made_of_lost: 0,
        }
    }

    fn timed(&mut self, loops: u64, round: f64, start_up: f64, events: f64) -> Timed {
        let noise = 1.0 + self.noise * self.generator.random_range(-1.0..1.0);
        let cpu = round * loops as f64 * noise + start_up;
        let disturbed = self.generator.random_bool(self.disturbed);
        let wall = cpu * self.stretch + if disturbed { cpu + 0.003 } else { 0.0 };
        self.now += wall;
        Timed {
            loops,
            events: (events * loops as f64).round() as u64,
            wall: Nanos::from_seconds(wall),
            cpu: Nanos::from_seconds(cpu),
            involuntary_switches: u64::from(disturbed),
            ..Timed::default()
        }
    }
}

impl CostsRunner for SimulatedProbes {
    fn now(&self) -> Nanos {
        Nanos::from_seconds(self.now)
    }

    fn announce(&mut self, _: &[Probe]) {}

    fn open(&mut self, probe: Probe, until: Nanos) -> Result<Reading<Opened>, CostsError> {
        self.now += 0.005;
        if self.now() > until {
            return Err(CostsError::OutOfTime);
        }
        if self.absent.contains(&probe) {
            return Ok(Err(Absent::because("simulated as absent")));
        }
        let calls_per_loop = Err(Absent::because("simulated probes make no system calls"));
        Ok(Ok(Opened { events_per_loop: 1.0, subtracted: String::new(), calls_per_loop }))
    }

    fn calibrate(&mut self, probe: Probe, until: Nanos) -> Result<Calibrated, CostsError> {
        let round = self.empty + (self.cost)(probe);
        let loops = (0.001 / round).max(1.0) as u64;
        let tried = self.timed(loops, round, 0.0, 1.0);
        if self.now() > until {
            self.now = until.seconds();
            return Err(CostsError::OutOfTime);
        }
        Ok(Calibrated { loops, tried })
    }

    fn repeat(&mut self, probe: Probe, order: Repeat, until: Nanos) -> Result<Repeated, CostsError> {
        if self.interrupt_after.is_some_and(|most| self.made >= most) {
            return Err(CostsError::Interrupted);
        }
        if let Some((_, most)) = self.lost.filter(|(lost, _)| *lost == probe) {
            if self.made_of_lost >= most {
                return Err(CostsError::Lost { probe, reason: "simulated as lost".to_owned() });
            }
            self.made_of_lost += 1;
        }
        let (of, started) = (probe, self.now());
        let event = (self.cost)(probe) * self.counted;
        let probe = self.timed(order.loops, self.empty + event, self.start_up, self.counted);
        let empty = self.timed(order.loops, self.empty, 0.0, 0.0);
        if self.now() > until {
            self.now = until.seconds();
            self.lost = Some((of, 0));
            return Err(CostsError::OutOfTime);
        }
        self.made += 1;
        let repetition = Repetition { started_seconds: started, probe, empty, empty_first: order.empty_first };
        Ok(Repeated { repetition, alu_seconds: 1e-9 })
    }

    fn count_calls(&mut self, _: Probe, _: Nanos) -> Reading<f64> {
        Err(Absent::because("simulated probes make no system calls"))
    }
}
