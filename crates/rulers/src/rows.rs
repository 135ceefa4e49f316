//! The experiment: reads every ruler next to each number of neighbours. The order of rows and rulers is random, from
//! the seed.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Activity, Ending, Nanos, Reading, Resource, Seed};
use steady_stats::descriptive::quantile;

use crate::{Neighbour, RulerReading, RulerRow};

/// Readings of each ruler in a row.
const ROUNDS: usize = 15;

/// The plan of the experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulerPlan {
    /// Kind of neighbours, if there are any.
    pub neighbour: Option<Neighbour>,
    /// Number of neighbours in each row, ascending and without duplicates.
    pub counts: Vec<u32>,
    /// Seed of the order of rows and rulers.
    pub seed: Seed,
}

/// A row is about to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of complete rows.
    pub done: usize,
    /// Planned number of rows.
    pub rows: usize,
    /// Number of neighbours in the next row.
    pub neighbours: u32,
}

/// The result of the experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The rows, by increasing number of neighbours.
    pub rows: Vec<RulerRow>,
    /// Time from the first reading to the end.
    pub elapsed: Nanos,
    /// Why the experiment ended.
    pub ending: Ending,
    /// The error, if neighbours could not be started or one ended.
    pub failure: Option<String>,
}

/// Why a row cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The user interrupted the experiment.
    Interrupted,
    /// The neighbours could not be started, or one ended.
    Lost(String),
}

/// Reads rulers and starts neighbours. Tests replace it with a fake.
pub trait Stage {
    /// Time since the start of the experiment.
    fn now(&self) -> Nanos;

    /// Ends the present neighbours and starts `count` others.
    ///
    /// # Errors
    /// See [`Stop`].
    fn neighbours(&mut self, count: u32) -> Result<(), Stop>;

    /// Reads the ruler of one resource.
    ///
    /// # Errors
    /// Absent if the ruler cannot be read.
    fn read(&mut self, resource: Resource) -> Reading<RulerReading>;

    /// The best known time per unit of a ruler, in seconds.
    fn best(&self, resource: Resource) -> Option<f64>;

    /// Pauses between two rounds.
    ///
    /// # Errors
    /// See [`Stop`].
    fn rest(&mut self) -> Result<(), Stop>;

    /// Load of the machine since the neighbours were started.
    fn activity(&self) -> Activity;
}

/// Measures the rows of the plan. Complete rows are kept after an error or interruption. `show` is called before each
/// row.
pub fn measure(plan: &RulerPlan, stage: &mut dyn Stage, show: &mut dyn FnMut(Event)) -> Measured {
    let mut coins = ChaCha12Rng::seed_from_u64(plan.seed.0);
    let mut order = plan.counts.clone();
    order.shuffle(&mut coins);
    let begun = stage.now();
    let (mut rows, mut ending, mut failure) = (Vec::new(), Ending::Spent, None);
    for neighbours in order {
        show(Event { done: rows.len(), rows: plan.counts.len(), neighbours });
        match row(neighbours, stage, &mut coins) {
            Ok(row) => rows.push(row),
            Err(Stop::Interrupted) => ending = Ending::Interrupted,
            Err(Stop::Lost(why)) => failure = Some(why),
        }
        if ending == Ending::Interrupted || failure.is_some() {
            break;
        }
    }
    let elapsed = stage.now() - begun;
    rows.sort_by_key(|row| row.neighbours);
    rows.iter_mut().for_each(|row| update_slowdowns(row, stage));
    Measured { rows, elapsed, ending, failure }
}

fn row(neighbours: u32, stage: &mut dyn Stage, coins: &mut ChaCha12Rng) -> Result<RulerRow, Stop> {
    stage.neighbours(neighbours)?;
    let mut read: Vec<Vec<Reading<RulerReading>>> = vec![Vec::new(); Resource::ALL.len()];
    let mut order: Vec<usize> = (0..Resource::ALL.len()).collect();
    for _ in 0..ROUNDS {
        order.shuffle(coins);
        for &place in &order {
            read[place].push(stage.read(Resource::ALL[place]));
        }
        stage.rest()?;
    }
    let readings = Resource::ALL.into_iter().zip(read).map(|(resource, read)| (resource, middle(read))).collect();
    Ok(RulerRow { neighbours, readings, activity: stage.activity() })
}

/// The reading of a row: median and spread of its rounds, and the maximum of their costs.
fn middle(rounds: Vec<Reading<RulerReading>>) -> Reading<RulerReading> {
    let none = Absent::because("not measured");
    let absent = rounds.iter().find_map(|round| round.as_ref().err().cloned()).unwrap_or(none);
    let read: Vec<RulerReading> = rounds.into_iter().flatten().collect();
    let (Some(first), Some(cost)) = (read.first(), read.iter().map(|reading| reading.cost).max()) else {
        return Err(absent);
    };
    let times: Vec<f64> = read.iter().map(|reading| reading.seconds_per_unit).collect();
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|q| quantile(&times, q).unwrap_or(f64::NAN));
    Ok(RulerReading { seconds_per_unit: middle, spread_ratio: (high - low) / middle, cost, ..first.clone() })
}

/// Recomputes slowdowns with the final best readings, which early rows did not know.
fn update_slowdowns(row: &mut RulerRow, stage: &dyn Stage) {
    for (resource, reading) in &mut row.readings {
        if let (Ok(reading), Some(best)) = (reading, stage.best(*resource)) {
            reading.slowdown_ratio = reading.seconds_per_unit / best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which each neighbour adds 1 ns to every unit, and the memory ruler cannot be read.
    struct Fake {
        neighbours: Vec<u32>,
        reads: Vec<Resource>,
        rests: usize,
        most_rests: usize,
        most_neighbours: u32,
    }

    impl Fake {
        fn new() -> Self {
            Fake { neighbours: vec![], reads: vec![], rests: 0, most_rests: usize::MAX, most_neighbours: u32::MAX }
        }
    }

    impl Stage for Fake {
        fn now(&self) -> Nanos {
            Nanos(self.rests as u64)
        }

        fn neighbours(&mut self, count: u32) -> Result<(), Stop> {
            self.neighbours.push(count);
            if count > self.most_neighbours { Err(Stop::Lost("no more processes".into())) } else { Ok(()) }
        }

        fn read(&mut self, resource: Resource) -> Reading<RulerReading> {
            self.reads.push(resource);
            if resource == Resource::Memory {
                return Err(Absent::because("no memory"));
            }
            let neighbours = f64::from(*self.neighbours.last().unwrap());
            // The first round of each row is an outlier.
            let seconds = if self.rests.is_multiple_of(ROUNDS) { 1.0 } else { 4e-9 + neighbours * 1e-9 };
            let cost = Nanos(100 + self.rests as u64);
            Ok(RulerReading {
                resource,
                working_set: None,
                seconds_per_unit: seconds,
                spread_ratio: 0.5,
                slowdown_ratio: 9.0,
                cost,
            })
        }

        fn best(&self, _: Resource) -> Option<f64> {
            Some(4e-9)
        }

        fn rest(&mut self) -> Result<(), Stop> {
            self.rests += 1;
            if self.rests > self.most_rests { Err(Stop::Interrupted) } else { Ok(()) }
        }

        fn activity(&self) -> Activity {
            let none = || Err(Absent::because("a fake"));
            Activity { busy_ratio: none(), steal_ratio: none(), pressure: none(), throttled_ratio: none() }
        }
    }

    fn plan(seed: u64) -> RulerPlan {
        RulerPlan { neighbour: Some(Neighbour::Spin), counts: (0..=8).collect(), seed: Seed(seed) }
    }

    #[test]
    fn rows_have_medians_by_number_of_neighbours() {
        let mut stage = Fake::new();
        let mut shown = Vec::new();
        let measured = measure(&plan(1), &mut stage, &mut |event| shown.push(event));
        assert_eq!((measured.rows.len(), measured.ending, measured.failure), (9, Ending::Spent, None));
        for (row, neighbours) in measured.rows.iter().zip(0..) {
            assert_eq!(row.neighbours, neighbours);
            assert_eq!(row.readings.iter().map(|(resource, _)| *resource).collect::<Vec<_>>(), Resource::ALL);
            let reading = row.readings[0].1.as_ref().unwrap();
            assert!((reading.seconds_per_unit / (4e-9 + f64::from(neighbours) * 1e-9) - 1.0).abs() < 1e-12);
            assert!((reading.slowdown_ratio - (1.0 + f64::from(neighbours) / 4.0)).abs() < 1e-9);
            assert_eq!(reading.spread_ratio, 0.0, "the spread of the rounds");
            assert_eq!(row.readings[4].1, Err(Absent::because("no memory")));
        }
        assert!(measured.rows.iter().any(|row| row.readings[0].1.as_ref().unwrap().cost.0 == 99 + 9 * ROUNDS as u64));
        assert_eq!(shown.iter().map(|event| (event.done, event.rows)).collect::<Vec<_>>()[8], (8, 9));
    }

    #[test]
    fn the_order_is_random_and_reproducible() {
        let orders = |seed| {
            let mut stage = Fake::new();
            measure(&plan(seed), &mut stage, &mut |_| ());
            (stage.neighbours, stage.reads)
        };
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1).0, orders(2).0);
        assert_ne!(orders(1).0, (0..=8).collect::<Vec<_>>());
        let reads = orders(1).1;
        assert_ne!(reads[..7], reads[7..14], "each round has its own order");
    }

    #[test]
    fn complete_rows_are_kept() {
        let mut stage = Fake { most_rests: 3 * ROUNDS + 1, ..Fake::new() };
        let measured = measure(&plan(3), &mut stage, &mut |_| ());
        assert_eq!((measured.rows.len(), measured.ending, measured.failure), (3, Ending::Interrupted, None));
        let mut stage = Fake { most_neighbours: 6, ..Fake::new() };
        let measured = measure(&plan(3), &mut stage, &mut |_| ());
        assert_eq!(measured.failure.as_deref(), Some("no more processes"));
        assert!(measured.rows.iter().all(|row| row.neighbours <= 6) && measured.rows.len() < 9);
    }
}
