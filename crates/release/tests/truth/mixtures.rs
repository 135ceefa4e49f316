//! Recorded requests of unequal cost that change unequally: the verdict is that of the total. `bench/run release_total` prints
//! the same for many more windows.

use crate::kept::mixtures::{Mixture, Outcome, Tail};
use crate::kept::trials::Source;

fn holds(outcome: &Outcome, mixture: &Mixture) {
    let wrong = if mixture.truth() == 0.0 { 0.05 } else { 0.025 };
    assert!(outcome.share(outcome.wrong) <= outcome.most(wrong), "{mixture:?}: {} wrong", outcome.wrong);
    assert!(outcome.share(outcome.missed) <= outcome.most(0.06), "{mixture:?}: {} missed", outcome.missed);
}

#[test]
fn signs_are_those_of_the_total() {
    let source = Source::recorded();
    for mixture in [
        Mixture::of(0.1, 16.0, 0.0, 0.0),
        Mixture::of(0.1, 16.0, 0.28, -0.04),
        Mixture::of(0.01, 50.0, 0.3, -0.02),
        Mixture::of(0.5, 2.0, 0.1, -0.12),
        Mixture::of(0.3, 3.0, 0.15, -0.06),
        Mixture { tail: Tail::LogNormal(1.0), ..Mixture::even(0.0) },
        Mixture { tail: Tail::Pareto(2.5), ..Mixture::even(0.05) },
    ] {
        for (seconds, windows) in [(10, 80), (40, 60)] {
            holds(&Outcome::of(&source, windows, seconds, &mixture, 1), &mixture);
        }
    }
}

/// Every tenth request costs 16 times as much. Those need 28 % more and the others 4 % less, which is 17 % more in all.
#[test]
fn requests_that_changed_otherwise_are_named() {
    let mixture = Mixture::of(0.1, 16.0, 0.28, -0.04);
    let outcome = Outcome::of(&Source::recorded(), 30, 120, &mixture, 2);
    holds(&outcome, &mixture);
    assert!(outcome.found >= 27 && outcome.named >= 28, "{outcome:?}");
    assert!(outcome.usual_wrong >= 28, "the usual request says the opposite: {outcome:?}");
}

#[test]
fn a_class_that_is_known_before_makes_it_precise() {
    let mixture = Mixture { known: true, ..Mixture::of(0.1, 16.0, 0.28, -0.04) };
    let outcome = Outcome::of(&Source::recorded(), 80, 40, &mixture, 3);
    holds(&outcome, &mixture);
    assert!(outcome.spread().1 < 0.02, "{:?}", outcome.spread());
    let unknown = Outcome::of(&Source::recorded(), 80, 40, &Mixture { known: false, ..mixture }, 3);
    assert!(unknown.spread().1 > 2.0 * outcome.spread().1, "{:?}", unknown.spread());
}

#[test]
fn where_all_requests_are_alike_little_is_lost() {
    let mixture = Mixture::even(0.0);
    let outcome = Outcome::of(&Source::recorded(), 40, 120, &mixture, 4);
    holds(&outcome, &mixture);
    let wider = outcome.half_widths / outcome.usual_half_widths;
    assert!(wider < 1.6, "{wider} times as wide as the usual request's");
    assert_eq!(outcome.named, 0);
}
