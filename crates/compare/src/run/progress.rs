//! Progress of a comparison on a terminal.

use steady_feature::Session;
use steady_model::Nanos;

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
        Event::Begun(_) | Event::Looked(_) | Event::Watched(_) => return,
        Event::Measured(progress) => {
            session.progress(Some(progress.fraction), &message(progress));
            progress.per_pair
        }
    };
    if takes >= LONG_PAIR {
        session.lasting_step("pair", Some(takes));
    }
}

fn message(progress: &Progress) -> String {
    let effects: Vec<String> = progress
        .effects
        .iter()
        .map(|effect| match effect {
            Some((change, interval)) => {
                let digits = if interval.half_width() < 0.001 { 2 } else { 1 };
                let percent = |value: f64| format!("{:+.digits$}", value * 100.0);
                format!("{} % ({} to {})", percent(*change), percent(interval.low), percent(interval.high))
            }
            None => "…".to_owned(),
        })
        .collect();
    let number = progress.pairs;
    let plural = if number == 1 { "" } else { "s" };
    match effects.is_empty() {
        true => format!("{number} run{plural}"),
        false => format!("{number} pair{plural}  {} {}", progress.metric.name(), effects.join("  ")),
    }
}
