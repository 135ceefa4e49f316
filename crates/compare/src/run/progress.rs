//! How far the measuring is, for a terminal.

use steady_feature::Session;
use steady_model::Nanos;

use super::{Event, Progress};

/// Pairs longer than this are watched while they run.
const LONG_PAIR: Nanos = Nanos(1_000_000_000);

/// Shows that a comparison begins.
pub fn show_begin(session: &mut dyn Session) {
    session.progress(Some(0.0), "warming up");
    session.lasting_step("pair", None);
}

/// Shows how far it is after an event.
pub fn show(session: &mut dyn Session, event: &Event) {
    let takes = match event {
        Event::WarmedUp { blocks, last } => {
            session.progress(Some(0.0), &format!("warming up: {blocks} pairs"));
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
    let pairs = progress.pairs;
    match effects.is_empty() {
        true => format!("{pairs} runs"),
        false => format!("{pairs} pairs  {} {}", progress.metric.name(), effects.join("  ")),
    }
}
