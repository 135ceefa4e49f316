//! Measures random blocks, evaluates them on a schedule of looks, and divides the time between the layouts by their
//! precision.

use steady_model::{Block, Effort, Ending, Interval, Layout, Look, Moment, Nanos, Outcome, Plan};
use steady_stats::allocate::{self, EXPLORATION_PAIRS, Standing};
use steady_stats::{Schedule, Sequence, single_look};

use super::draws::PerDraw;
use super::warmup::{WarmUp, check_outcomes, starved};
use super::{CompareError, Event, Measured, Progress};
use crate::coins::Coins;
use crate::judge::{Evidence, least_pairs};
use steady_process::runner::{BlockSpec, RunError, Runner, Start};

/// The duration of a batch. Short blocks are requested in batches, so that launchers do not wait for `steady`. With a
/// single layout, the duration grows with the time spent, up to [`BATCH_LONGEST`]; [`BATCH_SHARE`] is the divisor.
const BATCH: Nanos = Nanos(20_000_000);
const BATCH_SHARE: u64 = 50;
const BATCH_LONGEST: Nanos = Nanos(100_000_000);
/// The maximum number of rounds in a batch.
const BATCH_MOST: u64 = 512;
/// Each layout is tried for this time, or for this share of the budget if that is less, before its precision counts.
const EXPLORATION_SECONDS: f64 = 0.5;
const EXPLORATION_SHARE: f64 = 0.05;
/// The shares of the layouts are computed again when the number of pairs has grown by this factor.
const REALLOCATION_GROWTH: f64 = 1.1;
/// The time between reports of progress, from the first to the second. It grows with the time that a report takes,
/// because launchers wait while the interval is computed. On a busy machine this may be long by chance.
const PROGRESS_STEP: [Nanos; 2] = [Nanos(250_000_000), Nanos(4_000_000_000)];
const PROGRESS_COST_RATIO: u64 = 1_000;
/// The minimum time between readings of the machine's activity, which take tenths of a millisecond each. It grows with
/// the time spent, so that there are some hundred readings, enough for a chart.
const WATCH_STEP: Nanos = Nanos(250_000_000);
const WATCH_SHARE: u64 = 400;
/// The maximum number of pairs for which the progress shows an interval. More would take too long.
const PROGRESS_PAIRS: usize = 5_000;

pub(super) fn measure<R: Runner>(
    plan: &Plan,
    one_look: bool,
    warm: &WarmUp,
    runner: &mut R,
    coins: &mut Coins,
    events: &mut dyn FnMut(Event),
) -> Result<Measured, CompareError> {
    let mut measuring = Measuring::new(plan, warm, runner.now());
    measuring.one_look |= one_look;
    let ending = loop {
        let looks = measuring.looks.len();
        let ended = measuring.step(runner, coins)?;
        measuring.looks[looks..].iter().for_each(|look| events(Event::Looked(*look)));
        measuring.watch(runner, events);
        if let Some(ending) = ended {
            break ending;
        }
        measuring.report_progress(runner, events);
    };
    let Measuring { blocks, usual, looks, moments, unfinished, .. } = measuring;
    Ok(Measured { blocks, usual, looks, moments, ending, unfinished })
}

/// The seconds of measuring before the first look. On an idle machine, commands may cost more for the first tenths of a
/// second than later: the shell pipeline `cat FILE | wc -l` needed 50 % more CPU time, until the scheduler ran both
/// processes on one CPU. A shorter comparison would only have pairs of that time.
const FIRST_LOOK: f64 = 0.5;

struct Measuring<'a> {
    plan: &'a Plan,
    /// How the runs of measured blocks start.
    start: Start,
    /// Whether there is no look before the effort is spent.
    one_look: bool,
    began: Nanos,
    layouts: Vec<Pace>,
    shares: Vec<f64>,
    /// The number of pairs at which the shares are computed again.
    reallocate_at: usize,
    blocks: Vec<Block>,
    /// Blocks between those from snapshots that started as usual.
    usual: Vec<Block>,
    draws: u64,
    evidence: Evidence,
    schedule: Schedule,
    sequence: Sequence,
    looks: Vec<Look>,
    moments: Vec<Moment>,
    watch_at: Nanos,
    report_at: Nanos,
    effects: Vec<Option<(f64, Interval)>>,
    /// The command of a run that did not end, maybe because of load.
    unfinished: Option<usize>,
}

/// The speed of a layout.
struct Pace {
    layout: Layout,
    /// The composition of a draw, if there are draws.
    draw: Option<PerDraw>,
    /// The number of measured rounds.
    rounds: u64,
    /// The number of units of the test (rounds or draws), plus one for the warm-up.
    units: u64,
    time: Nanos,
}

impl Pace {
    fn new(layout: Layout, took: Nanos, draw: Option<PerDraw>) -> Self {
        let time = draw.as_ref().map_or(took, |draw| draw.takes(took));
        Pace { layout, draw, rounds: 0, units: 1, time }
    }

    fn per_unit(&self) -> Nanos {
        Nanos(self.time.0 / self.units.max(1))
    }

    fn per_round(&self) -> Nanos {
        Nanos(self.per_unit().0 / self.draw.as_ref().map_or(1, |draw| draw.rounds))
    }
}

impl<'a> Measuring<'a> {
    fn new(plan: &'a Plan, warm: &WarmUp, began: Nanos) -> Self {
        let draw = |took| warm.drawing.map(|drawing| PerDraw::new(plan.effort, warm.start, drawing, took, began));
        let layouts: Vec<_> = warm.layouts.iter().map(|&(layout, took)| Pace::new(layout, took, draw(took))).collect();
        let contenders = plan.commands.len() - 1;
        let evidence = Evidence::new(plan, warm.primary);
        Measuring {
            plan,
            start: warm.start,
            one_look: matches!(plan.effort, Effort::Pairs(_)),
            began,
            shares: vec![1.0; layouts.len()],
            layouts,
            reallocate_at: 0,
            blocks: Vec::new(),
            usual: Vec::new(),
            draws: 0,
            schedule: Schedule::after(FIRST_LOOK),
            sequence: Sequence::new(evidence.rules(), contenders),
            evidence,
            looks: Vec::new(),
            moments: Vec::new(),
            watch_at: began,
            report_at: began,
            effects: vec![None; contenders],
            unfinished: None,
        }
    }

    /// Measures some blocks, and has a look if one is due. Returns how the measuring ended, if this was the last step.
    fn step<R: Runner>(&mut self, runner: &mut R, coins: &mut Coins) -> Result<Option<Ending>, CompareError> {
        self.reallocate();
        let pace = coins.pick(&self.shares);
        let rounds = self.rounds_that_fit(pace, runner.now());
        if rounds == 0 {
            self.look(runner.now(), true);
            return Ok(Some(Ending::Spent));
        }
        match self.run(runner, coins, pace, rounds) {
            Ok(()) => {}
            Err(CompareError::Run(RunError::Interrupted)) if !self.blocks.is_empty() => {
                // The user may have interrupted because of the progress, so this look is like any other.
                self.look(runner.now(), false);
                return Ok(Some(Ending::Interrupted));
            }
            Err(CompareError::Starved) => {
                self.look(runner.now(), true);
                return Ok(Some(Ending::Spent));
            }
            Err(error) => return Err(error),
        }
        let done = self.look_if_due(runner.now());
        Ok(done.then_some(Ending::Decided))
    }

    /// The number of rounds of a layout to run now, or zero if the effort is spent. The budget is exceeded, up to twice
    /// its time, while there are too few pairs for a verdict, or no run of a single command.
    fn rounds_that_fit(&self, pace: usize, now: Nanos) -> u64 {
        let pace = &self.layouts[pace];
        let planned = self.rounds_within(pace, self.plan.effort, now);
        match self.plan.effort {
            Effort::Budget(_) if planned == 0 && self.below_minimum(now) => 1,
            Effort::Budget(budget) if planned == 0 && self.too_few() => {
                self.rounds_within(pace, Effort::Budget(Nanos(2 * budget.0)), now).min(1)
            }
            _ => planned,
        }
    }

    /// Returns whether more pairs are wanted, whatever they show.
    fn below_minimum(&self, now: Nanos) -> bool {
        let is_late = self.plan.pairs_min_within.is_some_and(|limit| now >= limit + limit);
        !is_late && self.plan.pairs_min.is_some_and(|least| self.rounds() < least)
    }

    /// Returns whether the time was enough for fewer pairs than a verdict needs, or for no run of a single command.
    /// Pairs with failed runs count: they took their time, and further ones might fail, too.
    fn too_few(&self) -> bool {
        let least = if self.plan.commands.len() < 2 { 1 } else { least_pairs(self.plan) as u64 };
        self.layouts.iter().map(|pace| pace.units - 1).sum::<u64>() < least
    }

    /// The number of rounds in the next batch of a layout, or in its next draw, that fit into `effort`.
    fn rounds_within(&self, pace: &Pace, effort: Effort, now: Nanos) -> u64 {
        let allowed = self.plan.most_pairs().map_or(u64::MAX, |most| most.saturating_sub(self.rounds()));
        if let Some(draw) = &pace.draw {
            return match effort {
                Effort::Budget(budget) => draw.rounds_within(budget - now, pace.per_unit()).min(allowed),
                Effort::Pairs(_) => draw.rounds.min(allowed),
            };
        }
        let per_round = pace.per_round().0.max(1);
        let longest = if self.layouts.len() > 1 { BATCH } else { BATCH_LONGEST };
        let batch = Nanos(((now - self.began).0 / BATCH_SHARE).clamp(BATCH.0, longest.0));
        let batch = (batch.0 / per_round).clamp(1, BATCH_MOST);
        match effort {
            Effort::Budget(budget) => batch.min((budget - now).0 / per_round).min(allowed),
            Effort::Pairs(_) => batch.min(allowed),
        }
    }

    /// The number of measured rounds in all layouts.
    fn rounds(&self) -> u64 {
        self.layouts.iter().map(|pace| pace.rounds).sum()
    }

    fn run<R: Runner>(
        &mut self,
        runner: &mut R,
        coins: &mut Coins,
        pace: usize,
        rounds: u64,
    ) -> Result<(), CompareError> {
        let (layout, commands) = (self.layouts[pace].layout, self.plan.commands.len());
        let began = runner.now();
        let mut specs: Vec<BlockSpec> = match &self.layouts[pace].draw {
            None => (0..rounds).flat_map(|_| coins.round(layout, commands)).collect(),
            Some(draw) => {
                runner.draw()?;
                self.draws += 1;
                draw.blocks(coins, layout, commands, rounds, self.draws - 1)
            }
        };
        for (spec, number) in specs.iter_mut().zip((self.blocks.len() + self.usual.len()) as u64..) {
            spec.number = Some(number);
        }
        self.run_blocks(runner, &specs)?;
        let pace = &mut self.layouts[pace];
        pace.rounds += rounds;
        pace.units += if pace.draw.is_some() { 1 } else { rounds };
        pace.time += runner.now() - began;
        Ok(())
    }

    /// Runs blocks, and adds them to `blocks` or `usual`.
    fn run_blocks<R: Runner>(&mut self, runner: &mut R, specs: &[BlockSpec]) -> Result<(), CompareError> {
        let (first_new, first_usual) = (self.blocks.len(), self.usual.len());
        let mut each = specs.iter();
        let ran = runner.run(specs, &mut |block| match each.next() {
            Some(spec) if spec.start != self.start => self.usual.push(block),
            _ => self.blocks.push(block),
        });
        // A run that did not end because of load is not a failure of its command. Its block is left out.
        let ended = |block: &Block| !starved(self.plan, block, runner);
        let before = self.blocks.len() + self.usual.len();
        let all = self.blocks[first_new..].iter().chain(&self.usual[first_usual..]);
        let killed = all.filter(|block| !ended(block)).flat_map(|block| &block.runs);
        let unfinished = { killed }.find(|run| run.outcome == Outcome::TimedOut).map(|run| run.command);
        self.unfinished = self.unfinished.or(unfinished);
        retain_from(&mut self.blocks, first_new, ended);
        retain_from(&mut self.usual, first_usual, ended);
        let any_starved = self.blocks.len() + self.usual.len() < before;
        let (new, usual) = (&self.blocks[first_new..], &self.usual[first_usual..]);
        new.iter().chain(usual).try_for_each(|block| check_outcomes(self.plan, block, runner))?;
        self.evidence.extend(new.iter());
        ran?;
        if any_starved { Err(CompareError::Starved) } else { Ok(()) }
    }

    fn reallocate(&mut self) {
        let pairs = self.evidence.pairs();
        if self.layouts.len() < 2 || pairs < self.reallocate_at {
            return;
        }
        self.reallocate_at = (pairs as f64 * REALLOCATION_GROWTH) as usize + 1;
        let standings: Vec<Standing> = self.layouts.iter().map(|pace| self.standing(pace)).collect();
        let exploration = match self.plan.effort {
            Effort::Budget(budget) => EXPLORATION_SECONDS.min(EXPLORATION_SHARE * budget.seconds()),
            Effort::Pairs(_) => 0.0,
        };
        self.shares = allocate::shares(&standings, exploration);
    }

    fn standing(&self, pace: &Pace) -> Standing {
        Standing {
            pairs: (pace.units - 1) as usize,
            seconds_per_pair: pace.per_unit().seconds(),
            variance: allocate::variance(self.evidence.contenders(), pace.layout, self.evidence.rules().grain),
        }
    }

    /// Has a look if the schedule has one due. Returns whether there is a verdict. A fixed number of pairs has one
    /// look, at the end. There is no look before each layout has been tried, because the size needs turns, and none below
    /// the smallest number of pairs, because it would spend error that is better spent later.
    fn look_if_due(&mut self, now: Nanos) -> bool {
        if self.one_look || self.below_minimum(now) {
            return false;
        }
        let tried = self.layouts.iter().all(|pace| pace.units > EXPLORATION_PAIRS as u64);
        let due = tried && self.schedule.due(self.evidence.pairs(), (now - self.began).seconds());
        due && !self.effects.is_empty() && self.look(now, false)
    }

    fn look(&mut self, now: Nanos, last: bool) -> bool {
        let fraction = if last { 1.0 } else { self.fraction(now) };
        self.looks.push(Look { blocks: self.blocks.len(), fraction, last });
        let found = self.sequence.look(self.evidence.contenders(), fraction, last);
        last || (found.done && !self.mean_is_open(&found))
    }

    /// Returns whether the mean cost of a contender may still change the verdict on the usual run.
    fn mean_is_open(&self, found: &steady_stats::Look) -> bool {
        let mut each = found.contenders.iter().zip(self.evidence.means());
        each.any(|(estimate, mean)| estimate.mean_is_open(&mean, self.plan.resolution))
    }

    fn fraction(&self, now: Nanos) -> f64 {
        let time = match self.plan.effort {
            Effort::Budget(budget) => (now - self.began).seconds() / (budget - self.began).seconds(),
            Effort::Pairs(_) => 0.0,
        };
        self.plan.spent(time, self.rounds())
    }

    fn watch<R: Runner>(&mut self, runner: &mut R, events: &mut dyn FnMut(Event)) {
        let now = runner.now();
        if now < self.watch_at {
            return;
        }
        let moment = runner.moment();
        events(Event::Watched(moment));
        self.moments.push(moment);
        self.watch_at = now + Nanos(WATCH_STEP.0.max((now - self.began).0 / WATCH_SHARE));
    }

    fn report_progress<R: Runner>(&mut self, runner: &R, events: &mut dyn FnMut(Event)) {
        let now = runner.now();
        if now < self.report_at {
            return;
        }
        if self.evidence.pairs() <= PROGRESS_PAIRS {
            self.effects = self
                .evidence
                .contenders()
                .iter()
                .map(|pairs| {
                    let effect = single_look(pairs, &self.evidence.rules()).size;
                    Some((effect.change?, Interval { low: effect.low?, high: effect.high? }))
                })
                .collect();
        }
        events(Event::Measured(Progress {
            fraction: self.fraction(now),
            pairs: self.evidence.pairs(),
            per_pair: self.layouts.iter().map(Pace::per_round).max().unwrap_or_default(),
            metric: self.evidence.metric(),
            effects: self.effects.clone(),
        }));
        let took = runner.now() - now;
        let [least, most] = PROGRESS_STEP;
        self.report_at = now + Nanos(PROGRESS_COST_RATIO * took.0).clamp(least, most);
    }
}

/// Removes the blocks from index `first` on for which `keep` returns false.
fn retain_from(blocks: &mut Vec<Block>, first: usize, keep: impl Fn(&Block) -> bool) {
    let new = blocks.split_off(first);
    blocks.extend(new.into_iter().filter(keep));
}
