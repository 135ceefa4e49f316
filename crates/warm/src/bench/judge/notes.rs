//! What a reader must know beside the figures.

use crate::record::{BenchSession, BenchTrial, LaunchMode, ModeFigures};
use steady_model::Outcome;

use steady_process::runner::how;

/// Below this share of launches from a snapshot a prewarmed session is not what its name says.
const NEARLY_ALL: f64 = 0.99;

/// Sentences.
pub(super) fn notes(trial: &BenchTrial, modes: &[ModeFigures]) -> Vec<String> {
    let mut notes = Vec::new();
    let ratio = |mode| {
        let figures = modes.iter().find(|figures: &&ModeFigures| figures.mode == mode)?;
        figures.warm_ratio.as_ref().ok().copied()
    };
    match (&trial.refusal, ratio(LaunchMode::Prewarm)) {
        (Some(why), _) => notes.push(format!("it was launched as usual in all modes: {why}")),
        (None, Some(ratio)) if ratio < NEARLY_ALL => {
            notes.push(format!("prewarmed, only {:.0} of 100 launches were from a snapshot", (ratio * 100.0).floor()))
        }
        _ => {}
    }
    if trial.refusal.is_none() && ratio(LaunchMode::OnDemand) == Some(0.0) && ratio(LaunchMode::Prewarm) != Some(0.0) {
        let more = "more launches (--count) or time between them (--pause) tell more";
        notes.push(format!("on demand, all launches were over before the snapshot was there: {more}"));
    }
    notes.extend(ends(trial));
    notes
}

/// How the program ended, where that is not always with success, or not the same in all modes.
fn ends(trial: &BenchTrial) -> Option<String> {
    let sessions = || trial.sessions().iter();
    let first = sessions().next()?;
    let other = sessions().find(|session: &&BenchSession| !session.alike || session.ended != first.ended);
    match other {
        Some(other) => Some(format!(
            "not all launches ended alike: {} it {}, {} it {}",
            words(first.mode),
            how(&first.ended),
            words(other.mode),
            how(&other.ended)
        )),
        None if first.ended == Outcome::Exited(0) => None,
        None => Some(format!("it {} each time", how(&first.ended))),
    }
}

fn words(mode: LaunchMode) -> &'static str {
    match mode {
        LaunchMode::Normal => "launched as usual",
        LaunchMode::Prewarm => "prewarmed",
        LaunchMode::OnDemand => "on demand",
    }
}
