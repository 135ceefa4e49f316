//! What a reader must know beside the figures.

use steady_model::{Outcome, WarmFigures, WarmMode, WarmSession, WarmTrial};

use steady_process::runner::how;

/// Below this share of launches from a snapshot a prewarmed session is not what its name says.
const NEARLY_ALL: f64 = 0.99;

/// Sentences.
pub(super) fn notes(trial: &WarmTrial, modes: &[WarmFigures]) -> Vec<String> {
    let mut notes = Vec::new();
    let ratio = |mode| {
        let figures = modes.iter().find(|figures: &&WarmFigures| figures.mode == mode)?;
        figures.warm_ratio.as_ref().ok().copied()
    };
    match (&trial.refusal, ratio(WarmMode::Prewarm)) {
        (Some(why), _) => notes.push(format!("it was launched as usual in all modes: {why}")),
        (None, Some(ratio)) if ratio < NEARLY_ALL => {
            notes.push(format!("prewarmed, only {:.0} of 100 launches were from a snapshot", (ratio * 100.0).floor()))
        }
        _ => {}
    }
    if trial.refusal.is_none() && ratio(WarmMode::OnDemand) == Some(0.0) && ratio(WarmMode::Prewarm) != Some(0.0) {
        let more = "more launches (--count) or time between them (--pause) tell more";
        notes.push(format!("on demand, all launches were over before the snapshot was there: {more}"));
    }
    notes.extend(ends(trial));
    notes
}

/// How the program ended, where that is not always with success, or not the same in all modes.
fn ends(trial: &WarmTrial) -> Option<String> {
    let sessions = || trial.runs.iter().flat_map(|run| &run.0).chain(&trial.counted);
    let first = sessions().next()?;
    let other = sessions().find(|session: &&WarmSession| !session.alike || session.ended != first.ended);
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

fn words(mode: WarmMode) -> &'static str {
    match mode {
        WarmMode::Normal => "launched as usual",
        WarmMode::Prewarm => "prewarmed",
        WarmMode::OnDemand => "on demand",
    }
}
