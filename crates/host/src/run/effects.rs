//! Measures which knobs change the noise of a short command. In each round, every knob has a block of equal runs with
//! it and one without it, in random order. The noise of a block is how much successive runs differ, as in a comparison
//! of the command with itself.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_linux::process::{self, Program, Stdio};
use steady_linux::{Root, clock};
use steady_model::{Absent, Knob, Layout, Metric, Reading, Seed};
use steady_process::channel::OWN_PROGRAM;
use steady_stats::descriptive::quantile;
use steady_stats::{MIN_PAIRS, Pair, Rules, Slot, single_look};

use super::{HostError, QuietHost, Restored};
use crate::plan::QuietPlan;
use crate::record::{AttemptOutcome, KnobEffect, NoiseEffects, are_done};

/// Rounds, each with a block of every knob.
const ROUNDS: u32 = 24;
/// Runs of the command in a block.
const RUNS: u32 = 40;
/// Error rate of each verdict.
const ALPHA: f64 = 0.05;
/// The smallest relative change of the noise that matters.
const RESOLUTION: f64 = 0.1;
/// The command: this binary, which prints its version.
const COMMAND: [&str; 2] = ["steady", "--version"];

/// A host on which knobs are set and a short command runs.
pub(crate) trait NoisyHost {
    /// Sets a knob. Returns why it was not set, if so.
    fn set(&mut self, knob: Knob) -> Result<Reading<()>, HostError>;

    /// Restores what [`NoisyHost::set`] set.
    fn restore(&mut self) -> Result<(), HostError>;

    /// Runs the command once. Returns its CPU and wall time, in seconds.
    fn run(&mut self) -> io::Result<[f64; 2]>;
}

/// Measures the effects of these knobs. Knobs that cannot be set have no effect in the result. `progress` is called with
/// the share that is done.
///
/// # Errors
/// The host could not be set or restored.
pub(crate) fn effects(
    host: &mut impl NoisyHost,
    knobs: &[Knob],
    seed: Seed,
    progress: &mut dyn FnMut(f64),
) -> Result<Reading<NoiseEffects>, HostError> {
    let mut coins = ChaCha12Rng::seed_from_u64(seed.0);
    let mut all: Vec<(Knob, Vec<Noises>)> = knobs.iter().map(|knob| (*knob, Vec::new())).collect();
    for round in 0..ROUNDS {
        all.shuffle(&mut coins);
        let mut left = Vec::with_capacity(all.len());
        for (knob, mut noises) in all {
            match noises_of(host, knob, coins.random())? {
                Ok(Ok(both)) => {
                    noises.push(both);
                    left.push((knob, noises));
                }
                // A knob that is quiet already, or cannot be set.
                Ok(Err(_)) => {}
                Err(error) => return Ok(Err(Absent(format!("the command cannot be run: {error}")))),
            }
            progress((f64::from(round) + left.len() as f64 / knobs.len() as f64) / f64::from(ROUNDS));
        }
        all = left;
    }
    all.sort_by_key(|(knob, _)| *knob);
    let judged = all.iter().flat_map(|(knob, noises)| {
        [(Metric::Cpu, 0), (Metric::Wall, 1)].map(|(metric, place)| effect(*knob, metric, place, noises))
    });
    Ok(Ok(NoiseEffects { seed, command: COMMAND.join(" "), rounds: ROUNDS, runs: RUNS, knobs: judged.collect() }))
}

/// The noise of a block: of CPU time, and of wall time.
type Noise = [f64; 2];

/// The noise of two blocks of a round.
struct Noises {
    /// Without the knob, and with it.
    noises: [Noise; 2],
    is_set_first: bool,
}

/// Measures a block without the knob and one with it.
fn noises_of(
    host: &mut impl NoisyHost,
    knob: Knob,
    is_set_first: bool,
) -> Result<io::Result<Reading<Noises>>, HostError> {
    let mut noises = [[0.0; 2]; 2];
    for is_set in [is_set_first, !is_set_first] {
        if is_set && let Err(absent) = host.set(knob)? {
            return Ok(Ok(Err(absent)));
        }
        let measured = block(host);
        if is_set {
            host.restore()?;
        }
        match measured {
            Ok(noise) => noises[usize::from(is_set)] = noise,
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(Ok(Noises { noises, is_set_first })))
}

fn block(host: &mut impl NoisyHost) -> io::Result<Noise> {
    // The first run after a change is not counted: it reads the files of the command again.
    host.run()?;
    let times = (0..RUNS).map(|_| host.run()).collect::<io::Result<Vec<_>>>()?;
    Ok([0, 1].map(|place| {
        let differences: Vec<f64> =
            times.as_chunks::<2>().0.iter().map(|[one, other]| (one[place] / other[place]).ln().abs()).collect();
        quantile(&differences, 0.5).unwrap_or(f64::NAN)
    }))
}

/// Compares the noise with and without a knob.
fn effect(name: Knob, metric: Metric, place: usize, noises: &[Noises]) -> KnobEffect {
    let pair = |both: &Noises| Pair {
        layout: Layout::Turns,
        slot: Slot { order: if both.is_set_first { -1 } else { 1 }, cpu: 0 },
        old: both.noises[0][place],
        new: both.noises[1][place],
    };
    let pairs: Vec<Pair> = noises.iter().map(pair).collect();
    let estimate = single_look(&pairs, &Rules { alpha: ALPHA, resolution: RESOLUTION, limits: vec![], grain: 1e-9 });
    let median = |which: usize| {
        quantile(&noises.iter().map(|both| both.noises[which][place]).collect::<Vec<_>>(), 0.5)
            .filter(|noise| noise.is_finite())
    };
    let few = || Absent(format!("{} rounds are too few", pairs.len()));
    let end = |end: Option<f64>| end.filter(|end| end.is_finite()).ok_or_else(few);
    KnobEffect {
        name,
        metric,
        verdict: estimate.verdict,
        usual_noise_ratio: median(0).ok_or_else(few),
        quiet_noise_ratio: median(1).ok_or_else(few),
        change: estimate.size.change.filter(|_| pairs.len() >= MIN_PAIRS).ok_or_else(few),
        low: end(estimate.verdict_low),
        high: end(estimate.verdict_high),
    }
}

/// This host.
pub(crate) struct ThisHost {
    root: Root,
    command: Program,
    null: File,
    quiet: Option<QuietHost>,
}

impl ThisHost {
    /// Prepares the command.
    ///
    /// # Errors
    /// The command cannot be prepared.
    pub(crate) fn new(root: &Root) -> io::Result<Self> {
        let environment: Vec<(OsString, OsString)> = Vec::new();
        let environment = environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let command = Program::new(Path::new(OWN_PROGRAM), COMMAND.iter().map(OsStr::new), environment, 0)?;
        let null = File::options().read(true).write(true).open("/dev/null")?;
        Ok(ThisHost { root: root.clone(), command, null, quiet: None })
    }
}

impl NoisyHost for ThisHost {
    fn set(&mut self, knob: Knob) -> Result<Reading<()>, HostError> {
        let quiet = QuietHost::begin(&self.root, &QuietPlan::of(&[knob], &[]), None)?;
        let is_set =
            quiet.applied().set.iter().any(|attempt| attempt.name == knob && attempt.outcome == AttemptOutcome::Set);
        self.quiet = Some(quiet);
        if is_set {
            return Ok(Ok(()));
        }
        self.restore()?;
        Ok(Err(Absent::because("it cannot be set")))
    }

    fn restore(&mut self) -> Result<(), HostError> {
        let Some(quiet) = self.quiet.take() else { return Ok(()) };
        let Restored { attempts, .. } = quiet.end()?;
        if are_done(&attempts) { Ok(()) } else { Err(HostError::Refused("a file could not be restored".to_owned())) }
    }

    fn run(&mut self) -> io::Result<[f64; 2]> {
        let streams = Stdio { input: self.null.as_fd(), output: self.null.as_fd(), error: self.null.as_fd() };
        let begun = clock::monotonic();
        let child = self.command.spawn("noise", 0, streams)?;
        let reaped = process::wait_for(child.pid)?;
        let wall = clock::monotonic() - begun;
        Ok([(reaped.usage.user + reaped.usage.system).seconds(), wall.seconds()])
    }
}

#[cfg(test)]
mod tests {
    use steady_model::Verdict;

    use super::*;

    /// A host whose noise depends on the knobs that are set.
    struct SimulatedHost {
        noise: fn(Option<Knob>) -> f64,
        refused: Option<Knob>,
        set: Option<Knob>,
        log: Vec<Option<Knob>>,
        generator: ChaCha12Rng,
    }

    impl SimulatedHost {
        fn new(seed: u64, noise: fn(Option<Knob>) -> f64) -> Self {
            let generator = ChaCha12Rng::seed_from_u64(seed);
            SimulatedHost { noise, refused: None, set: None, log: Vec::new(), generator }
        }
    }

    impl NoisyHost for SimulatedHost {
        fn set(&mut self, knob: Knob) -> Result<Reading<()>, HostError> {
            if self.refused == Some(knob) {
                return Ok(Err(Absent::because("refused")));
            }
            self.set = Some(knob);
            Ok(Ok(()))
        }

        fn restore(&mut self) -> Result<(), HostError> {
            self.set = None;
            Ok(())
        }

        fn run(&mut self) -> io::Result<[f64; 2]> {
            self.log.push(self.set);
            let noise = (self.noise)(self.set);
            let time = 0.001 * (1.0 + noise * self.generator.random_range(-1.0..1.0));
            Ok([time, 0.002])
        }
    }

    fn measured(host: &mut SimulatedHost, seed: u64) -> NoiseEffects {
        effects(host, &[Knob::Turbo, Knob::Aslr], Seed(seed), &mut |_| {}).unwrap().unwrap()
    }

    fn verdict(effects: &NoiseEffects, knob: Knob) -> Verdict {
        effects.knobs.iter().find(|one| (one.name, one.metric) == (knob, Metric::Cpu)).unwrap().verdict
    }

    #[test]
    fn a_knob_that_halves_the_noise_is_found() {
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..40 {
            let noise = |set| if set == Some(Knob::Turbo) { 0.01 } else { 0.02 };
            let effects = measured(&mut SimulatedHost::new(seed, noise), seed);
            found += u32::from(verdict(&effects, Knob::Turbo) == Verdict::Faster);
            wrong += u32::from(matches!(verdict(&effects, Knob::Aslr), Verdict::Faster | Verdict::Slower));
        }
        // At 5 %, more than 6 of 40 happen once in 140 cases.
        assert!(found >= 38 && wrong <= 6, "found: {found}, wrong: {wrong} of 40");
    }

    #[test]
    fn blocks_are_in_random_order_and_every_set_is_restored() {
        let mut host = SimulatedHost::new(1, |_| 0.01);
        measured(&mut host, 1);
        let blocks: Vec<Option<Knob>> = host.log.chunks(1 + RUNS as usize).map(|block| block[0]).collect();
        assert_eq!(blocks.len(), 2 * 2 * ROUNDS as usize);
        assert!(host.log.chunks(1 + RUNS as usize).all(|block| block.iter().all(|set| *set == block[0])));
        let first = blocks.chunks(2).filter(|both| both[0].is_some()).count();
        assert!((12..36).contains(&first), "{first} of 48");
        assert_eq!(host.set, None);
    }

    #[test]
    fn a_knob_that_cannot_be_set_has_no_effect() {
        let mut host = SimulatedHost::new(2, |_| 0.01);
        host.refused = Some(Knob::Turbo);
        let effects = measured(&mut host, 2);
        assert!(effects.knobs.iter().all(|one| one.name == Knob::Aslr) && effects.knobs.len() == 2, "{effects:?}");
    }
}
