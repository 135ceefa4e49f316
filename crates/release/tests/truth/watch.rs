//! Looks at a window that fills: all of them together err no more often than one may.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{ReleaseRows, Verdict};
use steady_release::{Watch, judge};

use crate::kept::made;
use crate::kept::trials::{Source, Way, repeated};

/// What was there after so many seconds.
fn until(rows: &ReleaseRows, second: u64) -> ReleaseRows {
    let mut rows = rows.clone();
    rows.requests.retain(|row| row.second < second);
    rows.rulers.retain(|row| row.second < second);
    rows.walls.retain(|row| row.second < second);
    rows.seconds.retain(|row| row.second < second);
    rows
}

/// Follows a window of so many seconds with a look every three; whether any look saw a difference, and when.
fn followed(source: &Source, seconds: u64, way: Way, effect: f64, coin: &mut ChaCha8Rng) -> (Option<u64>, bool) {
    let (first, last) = source.ends();
    let from = coin.random_range(first..last - seconds);
    let rows = source.window(from, from + seconds, way, effect, coin);
    let mut watch = Watch::new(made::question(from, from + seconds));
    let (mut seen, mut missed) = (None, false);
    for over in (3..=seconds).step_by(3) {
        let Ok(report) = watch.look(&until(&rows, from + over), over as f64 / seconds as f64) else { continue };
        if matches!(report.total.verdict, Verdict::Faster | Verdict::Slower) {
            seen = seen.or(Some(over));
        }
        missed |= report.total.interval().is_ok_and(|interval| !interval.holds(effect));
        assert!(watch.spent() <= 0.05 + 1e-12);
        assert_eq!(report.looks.last().map(|look| look.requests), Some(report.total.requests));
    }
    (seen, missed)
}

#[test]
fn all_looks_together_keep_the_error() {
    let source = Source::recorded();
    let mut coin = ChaCha8Rng::seed_from_u64(1);
    for (way, seconds, windows) in [(Way::Coin(0.5), 60, repeated(120) as u32), (Way::Slots(1), 60, 60)] {
        let runs: Vec<(Option<u64>, bool)> =
            (0..windows).map(|_| followed(&source, seconds, way, 0.0, &mut coin)).collect();
        let wrong = runs.iter().filter(|(seen, _)| seen.is_some()).count() as f64;
        let n = f64::from(windows);
        assert!(wrong <= 0.05 * n + 3.1 * (0.0475 * n).sqrt(), "{way:?}: {wrong} of {n}");
    }
}

#[test]
fn large_effects_are_seen_early() {
    let source = Source::recorded();
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let runs: Vec<(Option<u64>, bool)> =
        (0..40).map(|_| followed(&source, 120, Way::Coin(0.5), 0.05, &mut coin)).collect();
    let early = runs.iter().filter(|(seen, _)| seen.is_some_and(|second| second <= 45)).count();
    assert!(early >= 36, "{early} of 40 within 45 s of 120");
    assert!(runs.iter().filter(|(_, missed)| *missed).count() <= 7);
}

#[test]
fn looks_that_come_too_soon_spend_nothing() {
    let source = Source::recorded();
    let mut coin = ChaCha8Rng::seed_from_u64(3);
    let rows = source.window(400, 520, Way::Coin(0.5), 0.05, &mut coin);
    let mut watch = Watch::new(made::question(400, 520));
    let first = watch.look(&until(&rows, 430), 0.25).unwrap();
    let spent = watch.spent();
    let second = watch.look(&until(&rows, 433), 0.27).unwrap();
    assert_eq!(watch.spent(), spent);
    assert_eq!(first.total.interval(), second.total.interval());
    assert_eq!(second.looks.len(), 2);
    let last = watch.look(&rows, 1.0).unwrap();
    assert!((watch.spent() - 0.05).abs() < 1e-12);
    let wide = last.total.interval().unwrap().half_width();
    let once = judge(&made::question(400, 520), &rows).unwrap().total.interval().unwrap().half_width();
    assert!(wide >= once && wide < 1.3 * once, "{wide} {once}");
}
