//! Simulated machines: how often the ranges hold the truth, and how often threads are seen that are not there.

use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::Reading;
use steady_stats::{CountRange, ScalingPoint, scaling};

use crate::simulated::{most, repeated};

/// A machine whose processes' speeds are known.
#[derive(Clone, Copy, Debug)]
struct Machine {
    cores: u32,
    /// Of a thread beside another; `None` for cores of one thread.
    thread: Option<f64>,
    /// What the speed loses until all cores are busy.
    decline: f64,
    /// Relative standard error of a point.
    noise: f64,
    /// What it does otherwise than the fits have it.
    habit: Habit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Habit {
    /// Nothing.
    None,
    /// The clock keeps up until half of the cores are busy, and falls then.
    Late,
    /// In one row of ten two processes share a core though another is idle.
    Misplaces,
    /// Work is fixed, not CPU time: times are averaged, not speeds.
    FixedWork,
    /// Contention and coherency, instead of an even decline.
    Contends,
    /// Something that all share is full from half of the cores on.
    Fills,
}

impl Machine {
    fn logical(&self) -> u32 {
        self.cores * if self.thread.is_some() { 2 } else { 1 }
    }

    fn speed(&self, procs: u32, coin: &mut Coin) -> f64 {
        let (busy, cores) = (f64::from(procs.min(self.cores)), f64::from(self.cores));
        let alone = match self.habit {
            Habit::Late => 1.0 - self.decline * ((2.0 * busy - cores) / cores).max(0.0),
            Habit::Contends => 1.0 / (1.0 + 0.2 * self.decline * (busy - 1.0) + 0.002 * busy * (busy - 1.0)),
            Habit::Fills => (cores / 2.0 / busy).min(1.0),
            _ => 1.0 - self.decline * (busy - 1.0) / (cores - 1.0).max(1.0),
        };
        let Some(thread) = self.thread else { return alone };
        let (n, logical) = (f64::from(procs), f64::from(self.logical()));
        let mut share = ((logical - n) / n).clamp(0.0, 1.0);
        if self.habit == Habit::Misplaces && (2..self.logical()).contains(&procs) && coin.uniform() < 0.1 {
            share = (share - 2.0 / n).max(0.0);
        }
        alone
            * if self.habit == Habit::FixedWork {
                1.0 / (share + (1.0 - share) / thread)
            } else {
                share + thread * (1.0 - share)
            }
    }

    fn points(&self, procs: &[u32], coin: &mut Coin) -> Vec<ScalingPoint> {
        let point = |&procs: &u32| {
            let speed = 70.0 * self.speed(procs, coin) * (self.noise * coin.normal()).exp();
            // Passers-by take up to 3 % of the machine where there is nothing idle for them.
            let left = 1.0 - 0.03 * coin.uniform();
            let share = (f64::from(self.logical()) * left / f64::from(procs)).min(1.0);
            ScalingPoint::new(procs, speed, speed * share)
        };
        procs.iter().map(point).collect()
    }
}

struct Coin(ChaCha8Rng);

impl Coin {
    fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform().max(1e-300), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

fn sweeps(logical: u32) -> Vec<Vec<u32>> {
    let dense = (1..=2 * logical).collect();
    let powers = (0..).map(|power| 1 << power).take_while(|procs| *procs <= 4 * logical).collect();
    vec![dense, powers, (1..=logical + 2).collect()]
}

/// How many machines are simulated.
fn experiments() -> usize {
    repeated(40)
}

#[test]
fn knees_hold_the_truth() {
    let mut coin = Coin(ChaCha8Rng::seed_from_u64(1));
    let none = [(1, 0.01), (2, 0.01), (2, 0.03), (4, 0.005), (4, 0.02), (8, 0.01), (8, 0.04), (16, 0.02)];
    let other = [(2, 0.005), (4, 0.02), (8, 0.01)];
    let habits = [Habit::Late, Habit::Misplaces, Habit::FixedWork].into_iter();
    let habitual = habits.flat_map(|habit| other.map(|(cores, noise)| (cores, noise, habit)));
    for (cores, noise, habit) in none.map(|(cores, noise)| (cores, noise, Habit::None)).into_iter().chain(habitual) {
        for sweep in 0..3 {
            hold_the_truth(cores, noise, habit, sweep, &mut coin);
        }
    }
}

fn hold_the_truth(cores: u32, noise: f64, habit: Habit, sweep: usize, coin: &mut Coin) {
    let (mut cores_missed, mut logical_missed, mut gain_missed) = (0, 0, 0);
    for _ in 0..experiments() {
        let thread = 0.52 + 0.2 * coin.uniform();
        let machine = Machine { cores, thread: Some(thread), decline: 0.12 * coin.uniform(), noise, habit };
        let said = scaling(&machine.points(&sweeps(machine.logical())[sweep], coin)).unwrap();
        let misses = |range: &Reading<CountRange>, truth| {
            range.as_ref().is_ok_and(|range| !(range.low..=range.high).contains(&truth))
        };
        cores_missed += usize::from(misses(&said.cores, cores));
        logical_missed += usize::from(misses(&said.logical_cpus, machine.logical()));
        // Beside another, a thread's speed over that of a core on a machine that is as busy.
        gain_missed += usize::from(said.second_thread_gain.is_ok_and(|gain| !gain.interval.holds(2.0 * thread - 1.0)));
    }
    let case = format!("{cores} cores, noise {noise}, {habit:?}, sweep {sweep}");
    assert!(cores_missed <= most(experiments(), 0.05), "{case}: cores missed {cores_missed} times");
    assert!(logical_missed <= most(experiments(), 0.05), "{case}: CPUs missed {logical_missed} times");
    assert!(gain_missed <= most(experiments(), 0.05), "{case}: gain missed {gain_missed} times");
}

#[test]
fn cores_without_threads_are_not_taken_for_threads() {
    let mut coin = Coin(ChaCha8Rng::seed_from_u64(2));
    let machines = [(2, 0.01), (2, 0.04), (4, 0.02), (8, 0.005), (8, 0.03), (16, 0.02)];
    for (cores, noise, habit) in machines.into_iter().flat_map(|(c, n)| [(c, n, Habit::None), (c, n, Habit::Contends)])
    {
        for sweep in 0..3 {
            let (mut threads_seen, mut missed) = (0, 0);
            for _ in 0..experiments() {
                let machine = Machine { cores, thread: None, decline: 0.25 * coin.uniform(), noise, habit };
                let said = scaling(&machine.points(&sweeps(cores)[sweep], &mut coin)).unwrap();
                threads_seen += usize::from(said.second_thread_gain.is_ok());
                missed += usize::from(said.cores.is_ok_and(|range| !(range.low..=range.high).contains(&cores)));
            }
            let case = format!("{cores} cores, noise {noise}, {habit:?}, sweep {sweep}");
            assert!(threads_seen <= most(experiments(), 0.05), "{case}: threads seen {threads_seen} times");
            assert!(missed <= most(experiments(), 0.05), "{case}: cores missed {missed} times");
        }
    }
}

/// What the memory's bandwidth does to cores without threads looks like threads, and then it is said that it does.
#[test]
fn something_shared_that_is_full_is_not_ruled_out() {
    let mut coin = Coin(ChaCha8Rng::seed_from_u64(5));
    let (mut threads_seen, mut said_so) = (0, 0);
    for _ in 0..experiments() {
        let machine = Machine { cores: 8, thread: None, decline: 0.0, noise: 0.01, habit: Habit::Fills };
        let said = scaling(&machine.points(&sweeps(8)[1], &mut coin)).unwrap();
        if said.second_thread_gain.is_ok() {
            threads_seen += 1;
            said_so += usize::from(said.caveats.iter().any(|caveat| caveat.contains("bandwidth")));
        }
    }
    assert!(threads_seen > 0, "nothing was tested");
    assert!(threads_seen - said_so <= most(threads_seen, 0.05), "{said_so} of {threads_seen}");
}

#[test]
fn clear_points_are_told_clearly() {
    let mut coin = Coin(ChaCha8Rng::seed_from_u64(3));
    let mut told = 0;
    for _ in 0..experiments() {
        let machine = Machine { cores: 8, thread: Some(0.6), decline: 0.06, noise: 0.01, habit: Habit::None };
        let said = scaling(&machine.points(&sweeps(16)[0], &mut coin)).unwrap();
        told += usize::from(
            said.cores.is_ok_and(|range| (range.low, range.high) == (8, 8)) && said.second_thread_gain.is_ok(),
        );
    }
    // Ranges that hold the truth because they hold everything would not do.
    assert!(10 * told >= 8 * experiments(), "{told} of {}", experiments());
}

#[test]
fn more_cores_than_processes_are_not_counted() {
    let point = |procs: u32| ScalingPoint::new(procs, 70.0 - 0.1 * f64::from(procs), 70.0 - 0.1 * f64::from(procs));
    for top in [2, 8, 64, 127, 128, 129, 200] {
        let said = scaling(&(1..=top).map(point).collect::<Vec<_>>()).unwrap();
        assert!(said.cores.is_err() && said.logical_cpus.is_err(), "{top}: {:?} {:?}", said.cores, said.logical_cpus);
    }
}

proptest! {
    #[test]
    fn no_points_make_it_panic(
        points in proptest::collection::vec((0_u32..100_000, 1e-9_f64..1e12, 1e-9_f64..1e12), 0..9),
        strange in proptest::sample::select(&[0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX][..]),
    ) {
        let mut points: Vec<ScalingPoint> =
            points.into_iter().map(|(procs, cpu, wall)| ScalingPoint::new(procs, cpu, wall)).collect();
        points.push(ScalingPoint::new(7, strange, 1.0));
        points.push(ScalingPoint::new(9, 1.0, strange));
        if let Ok(said) = scaling(&points) {
            for range in [said.cores, said.logical_cpus].into_iter().flatten() {
                prop_assert!(1 <= range.low && range.low <= range.high);
            }
        }
    }
}

#[test]
fn intervals_of_the_law_cover() {
    let mut coin = Coin(ChaCha8Rng::seed_from_u64(4));
    let experiments = repeated(400);
    for (sigma, kappa, noise) in [(0.05, 0.002, 0.02), (0.1, 0.0, 0.03), (0.0, 0.004, 0.01), (0.02, 0.0005, 0.05)] {
        let mut missed = [0; 4];
        for _ in 0..experiments {
            let rate = |n: f64| 70.0 / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
            let point = |n: u32| ScalingPoint::new(n, 70.0, rate(f64::from(n)) * (noise * coin.normal()).exp());
            let points: Vec<ScalingPoint> = (1..=12).map(|n| 2 * n).map(point).collect();
            let law = scaling(&points).unwrap().law.unwrap();
            for (missed, (fitted, truth)) in
                missed.iter_mut().zip([(&law.lambda, 70.0), (&law.sigma, sigma), (&law.kappa, kappa)])
            {
                *missed += usize::from(!fitted.interval.holds(truth));
            }
            let peak = (1.0 - sigma).sqrt() / f64::sqrt(kappa);
            missed[3] += usize::from(law.peak.is_ok_and(|fitted| peak.is_finite() && !fitted.interval.holds(peak)));
        }
        let case = format!("sigma {sigma}, kappa {kappa}, noise {noise}");
        assert!(missed.iter().all(|&missed| missed <= most(experiments, 0.05)), "{case}: {missed:?}");
    }
}
