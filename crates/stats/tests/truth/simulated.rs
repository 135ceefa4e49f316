//! Simulated experiments: noise of known kinds, effects of known size, fair and unfair draws.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{Binomial, DiscreteCDF};
use steady_model::Layout;
use steady_stats::{Pair, Slot};

/// A kind of noise of a simulated machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    /// Student's t with two degrees of freedom, which has infinite variance.
    Heavy,
    /// Noise that is skewed: log-normal.
    Skewed,
    /// The machine slows down by half over the experiment.
    Drift,
    /// A load that comes and goes; runs are slower and noisier during it.
    Bursts,
    /// The second run of a pair, or the second CPU, costs up to 10 % more, slowly varying.
    Slots,
}

pub(crate) const NOISES: [Noise; 5] = [Noise::Heavy, Noise::Skewed, Noise::Drift, Noise::Bursts, Noise::Slots];

/// A simulated machine that runs pairs.
pub(crate) struct Machine {
    pub(crate) coin: ChaCha8Rng,
    noise: Noise,
    burst: bool,
    bias: f64,
    time: f64,
}

impl Machine {
    pub(crate) fn new(noise: Noise, seed: u64) -> Machine {
        Machine { coin: ChaCha8Rng::seed_from_u64(seed), noise, burst: false, bias: 0.05, time: 0.0 }
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v): (f64, f64) = (self.coin.random::<f64>().max(1e-300), self.coin.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn fair(&mut self) -> i8 {
        if self.coin.random::<bool>() { 1 } else { -1 }
    }

    /// Runs a pair in a slot drawn by the machine. NEW costs `exp(theta)` times what it would cost as OLD.
    pub(crate) fn pair(&mut self, layout: Layout, theta: f64) -> Pair {
        let order = self.fair();
        let cpu = if layout == Layout::Duet { self.fair() } else { 0 };
        self.pair_in(layout, Slot { order, cpu }, theta)
    }

    /// Runs a pair in a given slot.
    pub(crate) fn pair_in(&mut self, layout: Layout, slot: Slot, theta: f64) -> Pair {
        self.step();
        let common = self.common();
        // The costs by slot: in turns the first and the second run, in duets the runs on CPU 0 and CPU 1.
        let (first, second) = (self.run(), self.run());
        let second = second + if self.noise == Noise::Slots { self.bias } else { 0.0 };
        let upper = if layout == Layout::Duet { slot.cpu } else { slot.order };
        let (old, new) = if upper > 0 { (first, second) } else { (second, first) };
        Pair { layout, slot, old: (common + old).exp(), new: (common + new + theta).exp() }
    }

    fn step(&mut self) {
        self.time += 1.0;
        if self.coin.random::<f64>() < 0.08 {
            self.burst = !self.burst;
        }
        self.bias = 0.05 + 0.9 * (self.bias - 0.05) + 0.02 * self.normal();
    }

    fn common(&mut self) -> f64 {
        match self.noise {
            Noise::Drift => self.time / 200.0,
            Noise::Bursts if self.burst => 0.7 + 0.2 * self.normal().abs(),
            _ => 0.1 * self.normal(),
        }
    }

    fn run(&mut self) -> f64 {
        let z = self.normal();
        match self.noise {
            Noise::Heavy => 0.01 * z / (-self.coin.random::<f64>().max(1e-300).ln()).sqrt(),
            Noise::Skewed => 0.01 * z.exp(),
            Noise::Drift => (0.01 + self.time / 10_000.0) * z,
            Noise::Bursts => z * if self.burst { 0.08 } else { 0.004 },
            Noise::Slots => 0.01 * z,
        }
    }
}

/// Returns the largest number of misses that chance explains: the 99.9 % quantile of the binomial distribution.
pub(crate) fn most(experiments: usize, rate: f64) -> usize {
    Binomial::new(rate, experiments as u64).unwrap().inverse_cdf(0.999) as usize
}

/// Returns the number of experiments to simulate: ten times as many in `./test --all`, which detects slightly too high
/// error rates.
pub(crate) fn repeated(experiments: usize) -> usize {
    let all = std::env::var_os("STEADY_TESTS").is_some_and(|value| value == "all");
    if all { 10 * experiments } else { experiments }
}
