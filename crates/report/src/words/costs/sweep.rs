//! How the cost moves with the length of the loop, and why.

use steady_model::{Cost, CostsReport, LengthReason, Probe};

use super::notes::count;
use super::{Figures, below, measured};

/// The reason in a word or two, for a table.
pub(crate) fn reason(reason: LengthReason) -> &'static str {
    match reason {
        LengthReason::Agrees => "agrees",
        LengthReason::StartUp => "start-up",
        LengthReason::TimerGrain => "timer grain",
        LengthReason::Frequency => "frequency",
        LengthReason::Preemption => "preemption",
        LengthReason::Unexplained => "unexplained",
    }
}

/// What the reason means, in a sentence.
pub(crate) fn meaning(reason: LengthReason) -> &'static str {
    match reason {
        LengthReason::Agrees => "Agrees: it does not differ from the cost at the longest loop that was not disturbed.",
        LengthReason::StartUp => {
            "Start-up: what it takes to begin and end the timing is spread over few rounds of the loop."
        }
        LengthReason::TimerGrain => "Timer grain: a step of the clock is no small part of so short a loop.",
        LengthReason::Frequency => "Frequency: the CPU's clock ran at another rate meanwhile.",
        LengthReason::Preemption => {
            "Preemption: the loop lasts so long that somebody else had the CPU in most of its repetitions."
        }
        LengthReason::Unexplained => "Unexplained: it differs, and none of the known reasons is behind it.",
    }
}

/// What each probe costs at its longest loop, and from which length on.
pub(crate) fn sweep_sentences(report: &CostsReport) -> Vec<String> {
    let mut probes: Vec<Probe> = Vec::new();
    for cost in measured(report) {
        if !probes.contains(&cost.probe) {
            probes.push(cost.probe);
        }
    }
    let said: Vec<String> = probes.into_iter().filter_map(|probe| said(report, probe)).collect();
    if said.is_empty() { vec!["Nothing could be measured.".to_owned()] } else { said }
}

fn said(report: &CostsReport, probe: Probe) -> Option<String> {
    let mut lengths = lengths(report, probe);
    lengths.sort_by_key(|(cost, _)| cost.loops);
    // Of loops so long that they were always disturbed the cost is no answer.
    let quiet = lengths.iter().rposition(|(cost, reason)| *reason == LengthReason::Agrees && !cost.all_disturbed);
    let at = quiet.or(lengths.len().checked_sub(1))?;
    let (longest, _) = lengths[at];
    let cost = if longest.below_resolution { below(longest) } else { Figures::of(longest).median() };
    let from = lengths[..=at].iter().rev().take_while(|(_, reason)| *reason == LengthReason::Agrees).last();
    let since = match from {
        Some((cost, _)) if cost.loops < longest.loops => {
            format!(", and as much from {} rounds on", count(cost.loops))
        }
        _ => String::new(),
    };
    Some(format!("{}: {cost} at {} rounds of the loop{since}.", probe.name(), count(longest.loops)))
}

/// The lengths of one probe that were measured, each with its reason.
pub(crate) fn lengths(report: &CostsReport, probe: Probe) -> Vec<(&Cost, LengthReason)> {
    let all = report.costs.iter().zip(report.reasons.iter().copied());
    all.filter_map(|((of, cost), reason)| Some((cost.as_ref().ok().filter(|_| *of == probe)?, reason))).collect()
}
