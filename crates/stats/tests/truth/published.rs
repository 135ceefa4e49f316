//! Published tables: the evaluation of their points must agree, within ranges, with known facts about the machines.

use std::ops::RangeInclusive;

use steady_stats::{CountRange, Fitted, Scaling};

use crate::table;

fn of(name: &str) -> Scaling {
    let table = table::tables().into_iter().find(|table| table.name == name).expect("a table of that name");
    steady_stats::scaling(&table.points).expect("more than two points")
}

fn counts(range: &steady_model::Reading<CountRange>) -> (u32, u32) {
    let range = range.as_ref().expect("a range");
    (range.low, range.high)
}

fn in_range(what: &str, value: f64, range: RangeInclusive<f64>) {
    assert!(range.contains(&value), "{what}: {value} is not in {range:?}");
}

fn gain(scaling: &Scaling) -> Fitted {
    let gain = *scaling.second_thread_gain.as_ref().expect("a gain");
    assert!(gain.interval.holds(gain.value), "{gain:?}");
    gain
}

#[test]
fn hashes_on_eight_cores_have_knees_at_eight_and_sixteen() {
    let scaling = of("hash8");
    in_range("per CPU", scaling.per_cpu_factor, 1.65..=1.75);
    in_range("per wall", scaling.per_wall_factor, 3.4..=3.6);
    in_range("full load", scaling.full_load_inflation, 1.62..=1.70);
    assert_eq!((counts(&scaling.cores), counts(&scaling.logical_cpus)), ((8, 8), (16, 16)));
    let gain = gain(&scaling);
    in_range("second thread", gain.value, 0.19..=0.22);
    // Relative to a core with all eight cores busy: 2 x 44 / 69.
    assert!(gain.interval.holds(0.27) && gain.interval.high < 0.32, "{gain:?}");
    let law = scaling.law.unwrap();
    in_range("residuals of the law", law.residual_ratio, 0.02..=0.15);
}

#[test]
fn sums_on_two_cores_with_threads_have_knees_at_two_and_four() {
    let scaling = of("smt-2c4t");
    assert_eq!((counts(&scaling.cores), counts(&scaling.logical_cpus)), ((2, 2), (4, 4)));
    in_range("second thread", gain(&scaling).value, 0.11..=0.14);
    in_range("per CPU", scaling.per_cpu_factor, 1.75..=1.82);
    assert!(scaling.law.unwrap_err().0.contains('6'), "five points");
}

#[test]
fn sums_on_four_cores_give_a_range() {
    let scaling = of("smt-4c8t");
    let (low, high) = counts(&scaling.cores);
    assert!(low < 4 && high >= 4, "four cores must be possible, and not the only possibility: {low} to {high}");
    assert!(high < 8, "eight cores must be impossible: {high}");
    let (low, high) = counts(&scaling.logical_cpus);
    assert!(low <= 8 && high >= 8, "{low} to {high}");
    let gain = gain(&scaling);
    in_range("second thread", gain.value, 0.03..=0.05);
    assert!(gain.interval.high > 0.35, "relative to N = 4 it adds much more: {gain:?}");
    assert!(
        scaling.caveats.iter().any(|caveat| caveat.contains("at N = 4") && caveat.contains("shared one")),
        "{:?}",
        scaling.caveats
    );
    let varied = scaling.caveats.iter().any(|caveat| caveat.contains("something else used the machine"));
    assert!(varied, "{:?}", scaling.caveats);
}

#[test]
fn work_on_cores_without_threads_is_not_inflated() {
    let scaling = of("nosmt-2c");
    in_range("per CPU", scaling.per_cpu_factor, 1.0..=1.02);
    in_range("full load", scaling.full_load_inflation, 0.98..=1.0);
    assert_eq!((counts(&scaling.cores), counts(&scaling.logical_cpus)), ((2, 2), (2, 2)));
    assert!(scaling.second_thread_gain.unwrap_err().0.contains("does not fall"));
    assert_eq!(scaling.caveats, Vec::<String>::new());
}
