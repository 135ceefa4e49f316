//! What the report says first.

use steady_model::{Report, Verdict};
use steady_render::document::{Emphasis, Sentence};
use steady_render::units::duration;

use super::sentence;
use crate::units::TIE;
use crate::words::{Effect, capital, count, noun, startups};

/// One sentence per command after the first, or the mean of a command alone; and what start-up costs where it is apart.
pub(crate) fn sentences(report: &Report) -> Vec<Sentence> {
    if report.record.plan.commands.len() == 1 {
        return std::iter::once(sentence::alone(report)).chain(start_up(report)).collect();
    }
    if report.primary().next().is_none() {
        let (runs, time) = (count(report.runs(), "run", "runs"), duration(report.record.elapsed));
        let rest = format!(" nothing could be judged; {runs}, {time}.");
        return vec![vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, rest)]];
    }
    let verdicts = report.primary().map(|judgement| sentence::spans(report, judgement));
    verdicts.chain(start_up(report)).collect()
}

/// What start-up costs, where runs were started from snapshots and so are without it.
fn start_up(report: &Report) -> Option<Sentence> {
    startups(report).map(|text| vec![(Emphasis::Heading, "Start-up".to_owned()), (Emphasis::Plain, text)])
}

/// The primary verdict of a report in a few words, for a list: `5.8 % more`, `same`, `undecided`; one for each command
/// after the first.
pub fn summary(report: &Report) -> String {
    if report.record.plan.commands.len() == 1 {
        let all: String = sentence::alone(report).into_iter().map(|(_, text)| text).collect();
        let what = all.split(';').next().unwrap_or_default();
        let size = what.strip_prefix(&capital(noun(report.record.primary))).unwrap_or("nothing measured");
        return size.trim().replace(TIE, " ");
    }
    let words = report.primary().map(|judgement| match (judgement.verdict, &judgement.change, &judgement.interval) {
        (Verdict::Same, ..) => "same".to_owned(),
        (Verdict::Undecided, ..) => "undecided".to_owned(),
        (Verdict::Slower, Ok(change), Ok(interval)) if *change > 0.0 && interval.low > 0.0 => {
            Effect::beside_first(*change, *interval).relative()
        }
        (Verdict::Faster, Ok(change), Ok(interval)) if *change < 0.0 && interval.high < 0.0 => {
            Effect::beside_first(*change, *interval).relative()
        }
        (Verdict::Slower, ..) => "more".to_owned(),
        (Verdict::Faster, ..) => "less".to_owned(),
    });
    let all = words.collect::<Vec<_>>().join("; ").replace(TIE, " ");
    if all.is_empty() { "nothing judged".to_owned() } else { all }
}
