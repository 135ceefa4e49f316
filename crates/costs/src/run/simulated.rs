//! Simulated probes: the fake behind [`CostsRunner`], on which experiments run without time passing.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Nanos, Probe, Reading, Timed};

use super::runner::{Calibrated, CostsError, CostsRunner, Opened, Repeat, Repeated};
use crate::record::Repetition;

/// Probes that cost what they are said to.
pub struct SimulatedProbes {
    /// What an event costs, in seconds.
    pub cost: fn(Probe) -> f64,
    /// What a round of the empty loop costs, in seconds.
    pub empty: f64,
    /// Half the range of what a loop takes more or less than that, over its whole.
    pub noise: f64,
    /// What every timed loop takes besides, in seconds.
    pub start_up: f64,
    /// How often events happen, over how often they should.
    pub counted: f64,
    /// The share of the loops in which another process has the CPU, for as long as the loop takes and 3 ms more.
    pub disturbed: f64,
    /// By how much wall time is more than CPU time, as on a crowded machine.
    pub stretch: f64,
    /// Probes that cannot be had.
    pub absent: Vec<Probe>,
    /// The probe whose process is lost after so many repetitions.
    pub lost: Option<(Probe, usize)>,
    /// Stops after so many repetitions in all, as if interrupted.
    pub interrupt_after: Option<usize>,
    generator: ChaCha12Rng,
    now: f64,
    made: usize,
    made_of_lost: usize,
}

impl SimulatedProbes {
    /// A quiet machine.
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
            return Ok(Err(Absent::because("it is simulated to be absent")));
        }
        let calls_per_loop = Err(Absent::because("nothing is called where it is simulated"));
        Ok(Ok(Opened { events_per_loop: 1.0, subtracted: String::new(), calls_per_loop }))
    }

    fn calibrate(&mut self, probe: Probe, _: Nanos) -> Result<Calibrated, CostsError> {
        let round = self.empty + (self.cost)(probe);
        let loops = (0.001 / round).max(1.0) as u64;
        Ok(Calibrated { loops, tried: self.timed(loops, round, 0.0, 1.0) })
    }

    fn repeat(&mut self, probe: Probe, order: Repeat, until: Nanos) -> Result<Repeated, CostsError> {
        if self.interrupt_after.is_some_and(|most| self.made >= most) {
            return Err(CostsError::Interrupted);
        }
        if let Some((_, most)) = self.lost.filter(|(lost, _)| *lost == probe) {
            if self.made_of_lost >= most {
                return Err(CostsError::Lost { probe, reason: "it is simulated to be lost".to_owned() });
            }
            self.made_of_lost += 1;
        }
        let started = self.now();
        let event = (self.cost)(probe) * self.counted;
        let probe = self.timed(order.loops, self.empty + event, self.start_up, self.counted);
        let empty = self.timed(order.loops, self.empty, 0.0, 0.0);
        if self.now() > until {
            return Err(CostsError::OutOfTime);
        }
        self.made += 1;
        let repetition = Repetition { started_seconds: started, probe, empty, empty_first: order.empty_first };
        Ok(Repeated { repetition, alu_seconds: 1e-9 })
    }

    fn count_calls(&mut self, _: Probe, _: Nanos) -> Reading<f64> {
        Err(Absent::because("nothing is called where it is simulated"))
    }
}
