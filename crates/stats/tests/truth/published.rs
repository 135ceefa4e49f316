//! The published tables: what their points say is held to what is known of the machines, as ranges.

#[path = "../../examples/published/table.rs"]
mod table;

use std::ops::RangeInclusive;

use steady_stats::{CountRange, Fitted, Scaling};

fn of(name: &str) -> Scaling {
    let table = table::tables().into_iter().find(|table| table.name == name).expect("a table of that name");
    steady_stats::scaling(&table.points).expect("more than two points")
}

fn counts(range: &steady_model::Reading<CountRange>) -> (u32, u32) {
    let range = range.as_ref().expect("a range");
    (range.low, range.high)
}

fn lies(what: &str, value: f64, range: RangeInclusive<f64>) {
    assert!(range.contains(&value), "{what}: {value} is not in {range:?}");
}

fn gain(said: &Scaling) -> Fitted {
    let gain = *said.second_thread_gain.as_ref().expect("a gain");
    assert!(gain.interval.holds(gain.value), "{gain:?}");
    gain
}

#[test]
fn hashes_on_eight_cores_have_knees_at_eight_and_sixteen() {
    let said = of("hash8");
    lies("per CPU", said.per_cpu_factor, 1.65..=1.75);
    lies("per wall", said.per_wall_factor, 3.4..=3.6);
    lies("full load", said.full_load_inflation, 1.62..=1.70);
    assert_eq!((counts(&said.cores), counts(&said.logical_cpus)), ((8, 8), (16, 16)));
    let gain = gain(&said);
    lies("second thread", gain.value, 0.19..=0.22);
    // Over what a core gets done when all eight are busy: 2 x 44 / 69.
    assert!(gain.interval.holds(0.27) && gain.interval.high < 0.32, "{gain:?}");
    let law = said.law.unwrap();
    lies("what the law does not explain", law.residual_ratio, 0.02..=0.15);
}

#[test]
fn sums_on_two_cores_with_threads() {
    let said = of("smt-2c4t");
    assert_eq!((counts(&said.cores), counts(&said.logical_cpus)), ((2, 2), (4, 4)));
    lies("second thread", gain(&said).value, 0.11..=0.14);
    lies("per CPU", said.per_cpu_factor, 1.75..=1.82);
    assert!(said.law.unwrap_err().0.contains('6'), "five points");
}

#[test]
fn sums_on_four_cores_leave_a_range() {
    let said = of("smt-4c8t");
    let (low, high) = counts(&said.cores);
    assert!(low < 4 && high >= 4, "four cores are not told, and not excluded: {low} to {high}");
    assert!(high < 8, "eight are excluded: {high}");
    let (low, high) = counts(&said.logical_cpus);
    assert!(low <= 8 && high >= 8, "{low} to {high}");
    let gain = gain(&said);
    lies("second thread", gain.value, 0.03..=0.05);
    assert!(gain.interval.high > 0.35, "over N = 4 it adds much more: {gain:?}");
    assert!(
        said.caveats.iter().any(|caveat| caveat.contains("at N = 4") && caveat.contains("shared one")),
        "{:?}",
        said.caveats
    );
    assert!(said.caveats.iter().any(|caveat| caveat.contains("something else used the machine")), "{:?}", said.caveats);
}

#[test]
fn cores_without_threads_are_not_inflated() {
    let said = of("nosmt-2c");
    lies("per CPU", said.per_cpu_factor, 1.0..=1.02);
    lies("full load", said.full_load_inflation, 0.98..=1.0);
    assert_eq!((counts(&said.cores), counts(&said.logical_cpus)), ((2, 2), (2, 2)));
    assert!(said.second_thread_gain.unwrap_err().0.contains("does not fall"));
    assert_eq!(said.caveats, Vec::<String>::new());
}
