//! CPU time of processes that requests do not explain.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use steady_model::{ProcessRow, ReleaseRows, Verdict};
use steady_release::{ReleaseDesign, ReleaseReport, ReleaseWarning, judge};

use crate::support::made;
use crate::support::trials::{Source, Way};

const SECONDS: (u64, u64) = (300, 420);

/// Returns rows of requests without an effect. The processes of OLD and of NEW use `factors` times the CPU time of
/// their requests.
fn rows(way: Way, factors: [f64; 2]) -> ReleaseRows {
    let (from, to) = SECONDS;
    let source = if way == Way::Drawn { Source::stretch("canary") } else { Source::recorded() };
    let mut rows = source.window(from, to, way, 0.0, &mut ChaCha8Rng::seed_from_u64(1));
    let shared = matches!(way, Way::Coin(_));
    let process = |row: &steady_model::ReleaseRow| ProcessRow {
        second: row.second,
        slot_seconds: row.slot_seconds,
        host: row.host,
        process: row.process,
        version: (!shared).then_some(row.version),
        cpu: row.sums.cpu * factors[row.version as usize],
        requests_cpu: row.sums.cpu,
    };
    rows.processes = rows.requests.iter().map(process).collect();
    rows
}

fn report(rows: &ReleaseRows) -> ReleaseReport {
    judge(&made::question(SECONDS.0, SECONDS.1), rows).unwrap()
}

/// Processes use a third more CPU time with NEW. This is found if versions have slots or processes of their own.
#[test]
fn cpu_time_outside_of_requests_is_included_by_slot_and_process() {
    for (way, design) in [
        (Way::Slots(2), ReleaseDesign::Switchback),
        (Way::Drawn, ReleaseDesign::Canary),
        (Way::Processes, ReleaseDesign::Canary),
    ] {
        let plain = report(&rows(way, [1.0, 1.0]));
        let counted = report(&rows(way, [1.3, 1.3 * 4.0 / 3.0]));
        assert_eq!((plain.design, counted.design), (design, design));
        let [one, other] = [&plain, &counted].map(|report| report.total.change.clone().unwrap().ln_1p());
        let apart = other - one;
        assert!((apart - (4.0_f64 / 3.0).ln()).abs() < 1e-6, "{way:?}: {apart}");
        assert_eq!(counted.total.verdict, Verdict::Slower, "{way:?}");
        let says_so = |warning: &ReleaseWarning| matches!(warning, ReleaseWarning::ProcessCpuCounted { .. });
        assert!(counted.warnings.iter().any(says_so) && !plain.warnings.iter().any(says_so), "{way:?}");
        // The CPUs are those of the processes, too.
        let [of_requests, of_processes] = [&plain, &counted].map(|report| report.saving.as_ref().unwrap().cpus_used);
        assert!((1.3..1.3 * 4.0 / 3.0).contains(&(of_processes / of_requests)), "{of_requests} {of_processes}");
        // The difference between the CPU time of requests and of processes is not load.
        assert!(counted.total.load_shift.is_err() && plain.total.load_shift.is_ok(), "{way:?}");
        assert!(counted.unexplained.unwrap().sides().is_some(), "{way:?}");
    }
}

/// Versions share processes, so the unexplained CPU time may belong to either.
#[test]
fn cpu_time_outside_of_requests_widens_the_interval_of_coins() {
    let coin = Way::Coin(0.5);
    let widened = report(&rows(coin, [1.3, 1.3]));
    let (interval, ratio) = (widened.total.interval().unwrap(), widened.unexplained.unwrap().ratio);
    assert!((ratio - 0.3 / 1.3).abs() < 1e-9, "{ratio}");
    // The extremes: all of it belongs to OLD, or all to NEW. With half of the requests each, that is a factor of 1.6.
    assert!(interval.low < -0.35 && interval.high > 0.55, "{interval:?}");
    assert_eq!((widened.total.verdict, widened.total.settle_seconds.is_ok()), (Verdict::Undecided, false));
    // If all of it belongs to OLD, running OLD alone would use it twice, and NEW none of it.
    let saving = widened.saving.unwrap();
    let [low, high] = [saving.interval.low, saving.interval.high].map(|saved| saved / saving.cpus_used / (2.0 * ratio));
    assert!((low + 1.0).abs() < 0.1 && (high - 1.0).abs() < 0.1, "{low} {high}");
    let of_requests = |warning: &ReleaseWarning| match warning {
        ReleaseWarning::UnexplainedCpu { interval, .. } => interval.half_width() < 0.02,
        _ => false,
    };
    assert!(widened.warnings.iter().any(of_requests), "{:?}", widened.warnings);
    // A few per cent for background threads are ignored.
    let plain = report(&rows(coin, [1.05, 1.05]));
    assert!(
        plain.warnings.is_empty() && plain.total.interval().as_ref().unwrap().half_width() < 0.02,
        "{:?}",
        plain.total
    );
}

#[test]
fn unexplained_cpu_time_is_not_available_if_few_processes_report() {
    let mut rows = rows(Way::Coin(0.5), [1.3, 1.3]);
    let all = rows.processes.len();
    rows.processes.truncate(all / 3);
    let few = report(&rows);
    assert!(
        few.unexplained.is_err() && few.total.interval().as_ref().unwrap().half_width() < 0.02,
        "{:?}",
        few.warnings
    );
}

/// In a short window, reasons name what is missing, and how long that takes.
#[test]
fn a_short_canary_says_how_much_time_it_needs() {
    let (from, to) = (SECONDS.0, SECONDS.0 + 20);
    let source = Source::recorded();
    let mut rows = source.window(from, to, Way::Processes, 0.0, &mut ChaCha8Rng::seed_from_u64(1));
    // One process per version.
    let processes = [0, 1].map(|version| {
        let own = rows.requests.iter().filter(|row| row.version == version);
        own.map(|row| row.process).min().unwrap()
    });
    rows.requests.retain(|row| row.process == processes[row.version as usize]);
    rows.requests.iter_mut().for_each(|row| row.sums.watched = 1);
    let report = judge(&made::question(from, to), &rows).unwrap();
    let why = report.total.change.unwrap_err().0;
    assert!(why.starts_with("one process per version needs at least half a minute"), "{why}");
    let parts = report.wall.unwrap().parts.unwrap_err().0;
    assert!(parts.contains("1000 of each are needed, about ") && parts.ends_with("min at this rate"), "{parts}");
}
