//! Progress of a comparison on a terminal.

use steady_feature::Session;
use steady_model::{Interval, Nanos};
use steady_render::effect::plus;
use steady_render::units::fixed;

use super::{Event, Progress};

/// If a pair takes at least this long, the progress shows the time within the pair.
const LONG_PAIR: Nanos = Nanos(1_000_000_000);

/// Shows that a comparison begins.
pub fn show_begin(session: &mut dyn Session) {
    session.progress(Some(0.0), "warming up");
    session.lasting_step("pair", None);
}

/// Updates the progress after an event.
pub fn show(session: &mut dyn Session, event: &Event) {
    let takes = match event {
        Event::WarmedUp { blocks, last } => {
            let pairs = if *blocks == 1 { "pair" } else { "pairs" };
            session.progress(Some(0.0), &format!("warming up: {blocks} {pairs}"));
            *last
        }
        Event::Begun(_) | Event::Looked(_) | Event::Watched(_) | Event::CleanupFailed(_) => return,
        Event::Measured(progress) => {
            session.progress(Some(progress.fraction), &message(progress));
            progress.per_pair
        }
    };
    if takes >= LONG_PAIR {
        session.lasting_step("pair", Some(takes));
    }
}

/// The number of pairs and the changes. Intervals of several changes have no room in a line.
fn message(progress: &Progress) -> String {
    let effect = |effect: &Option<(f64, Interval)>| match effect {
        Some((change, interval)) => {
            let digits = if interval.half_width() < 0.001 { 2 } else { 1 };
            let percent = |value: f64| fixed(value * 100.0, digits);
            let size = plus(format!("{} %", percent(*change)));
            let range = format!(" ({} to {})", percent(interval.low), percent(interval.high));
            if progress.effects.len() > 1 { size } else { size + &range }
        }
        None => "…".to_owned(),
    };
    let effects: Vec<String> = progress.effects.iter().map(effect).collect();
    let number = progress.pairs;
    let plural = if number == 1 { "" } else { "s" };
    match effects.is_empty() {
        true => format!("{number} run{plural}"),
        false => format!("{number} pair{plural}  {} {}", progress.metric.name(), effects.join("  ")),
    }
}

#[cfg(test)]
mod tests {
    use steady_model::Metric;

    use super::*;

    #[test]
    fn changes_have_intervals_if_there_is_room() {
        let effect = Some((0.123, Interval { low: 0.08, high: 0.15 }));
        let text = |effects: &[Option<(f64, Interval)>]| {
            let (fraction, metric) = (0.5, Metric::Elapsed);
            message(&Progress { fraction, pairs: 120, per_pair: Nanos(1), metric, effects: effects.to_vec() })
        };
        assert_eq!(text(&[]), "120 runs");
        assert_eq!(text(&[effect]), "120 pairs  elapsed +12.3 % (8.0 to 15.0)");
        assert_eq!(text(&[effect, None, effect]), "120 pairs  elapsed +12.3 %  …  +12.3 %");
    }
}
