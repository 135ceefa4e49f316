//! Joined comparisons as a document.

mod sources;

use steady_model::{Ending, Homogeneity, Interval, Joined, Judgement, Report, Source, Undecided, Verdict};
use steady_render::document::{Document, Emphasis, Section, Sentence};
use steady_render::letters::listed;
use steady_render::units::{TIE, duration, fixed, percent, round_up};
use steady_stats::time_to_exclude;

use super::{headline, secondary, sentence};
use crate::judge::least_pairs;
use crate::words::{blocks, capital, count, noun, subject, ties, units};

/// Joined comparisons as a document: the joint verdict, the verdict of each source, and whether the sources agree.
pub fn joined_document(joined: &Joined) -> Document {
    let mut document = Document { subject: "Steadyhand: comparisons joined".to_owned(), ..Document::default() };
    let Some(whole) = whole(joined) else { return document };
    for judgement in joined.primary() {
        let mut spans = match judgement.verdict {
            Verdict::Undecided => undecided(joined, &whole, judgement),
            _ => sentence::spans(&whole, judgement),
        };
        let joint = format!(" {} joined.", count(joined.sources.len(), "source", "sources"));
        spans.push((Emphasis::Plain, joint));
        document.answer.push(spans);
    }
    let remedy = |limit: f64, change: f64, interval: &Interval| {
        more_sources(joined.sources.len(), time_to_exclude(limit, change, interval), "decide it")
    };
    document.answer.extend(headline::conditions_with(&whole, remedy));
    document.answer.extend(headline::elapsed(whole.record.primary));
    document.answer.extend(sources::warnings(joined));
    for judgement in joined.primary() {
        document.sections.push(sources::section(joined, judgement.command));
        document.sections.extend(agreement(joined, &whole, judgement.command));
        document.sections.extend(wider(joined, judgement));
    }
    document.sections.extend(secondary::section(&whole));
    document
}

/// The joint verdicts as one report, which has only what the sentences need.
fn whole(joined: &Joined) -> Option<Report> {
    let mut report = joined.sources.first()?.report.clone();
    report.judgements = joined.judgements.clone();
    report.record.elapsed = joined.elapsed();
    report.record.ending = Ending::Spent;
    report.record.blocks = vec![];
    report.breakdowns = vec![];
    report.ranking = vec![];
    report.warnings = vec![];
    // One source that does not test the change is enough, whichever is first.
    report.record.unused_revisions = joined.sources.iter().any(|source| source.report.record.unused_revisions);
    Some(report)
}

/// No verdict: the reason and the remedy.
fn undecided(joined: &Joined, whole: &Report, judgement: &Judgement) -> Sentence {
    let plan = &whole.record.plan;
    let (who, first) = (subject(plan, judgement.command), subject(plan, 0));
    let what = noun(judgement.metric);
    let record = joined.sources.first().map(|source| &source.report.record);
    let pairs = record.map_or_else(|| blocks(plan, judgement.pairs), |record| units(record, judgement.pairs));
    let basis = format!("{pairs}, {}", duration(joined.elapsed()));
    let settle =
        || more_sources(joined.sources.len(), judgement.effort_to_settle.as_ref().ok().copied(), "give a verdict");
    if let Some(mut spans) = sentence::by_mean(whole, judgement) {
        spans.push((Emphasis::Plain, format!(" {}.", settle())));
        return spans;
    }
    let text = match judgement.undecided.as_ref().unwrap_or(&Undecided::TooWide) {
        Undecided::TooFewPairs => {
            let are = if judgement.pairs == 1 { "is" } else { "are" };
            format!(
                "{pairs} in {} {are} too few to compare {who} with {first}, at least {} are needed",
                duration(joined.elapsed()),
                least_pairs(plan)
            )
        }
        Undecided::BelowGrain => format!(
            "in more than half of the pairs, {who} and {first} {}; {basis}. Give each run more work",
            ties(judgement.metric)
        ),
        Undecided::UnequalFailures => format!(
            "{first} and {who} did not fail equally often; the remaining runs are not a fair sample of both, so there \
             is no verdict on {what}. Make the commands succeed"
        ),
        Undecided::TooWide => {
            format!("{}; {basis}. {}", sentence::too_wide(plan, judgement), settle())
        }
    };
    vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, format!(" {text}."))]
}

/// Advice to measure a new set of sources. Adding sources to an undecided set until there is a verdict would inflate
/// the error rate.
fn more_sources(sources: usize, ratio: Option<f64>, does: &str) -> String {
    /// The largest number of sources that the advice names.
    const MOST: f64 = 10_000.0;
    match ratio.map(|ratio| round_up((ratio * sources as f64).max(sources as f64 + 1.0))) {
        Some(wanted) if wanted <= MOST => {
            let sources = count(wanted as usize, "source", "sources");
            format!("A new set of about {sources} would probably {does}")
        }
        _ => format!("A new set with larger budgets or a coarser --resolution would {does} sooner"),
    }
}

/// Whether the sources agree on the effect. If they do not, which sources stand out.
fn agreement(joined: &Joined, whole: &Report, command: usize) -> Option<Section> {
    let found = joined.agreements.iter().find(|agreement| agreement.command == command)?;
    let what = noun(whole.record.primary);
    let spans = match &found.homogeneity {
        Err(absent) => vec![(Emphasis::Plain, format!("It was not tested whether the sources agree: {absent}."))],
        Ok(found) if found.agrees => {
            // A source that ended early may have ended because of its deviation, so only large differences are
            // evidence.
            let is_weak = joined.sources.iter().any(|source| source.report.record.ending == Ending::Decided);
            let (claim, limits) = match is_weak {
                true => (
                    "No disagreement of the sources was found",
                    "; some ended early, and then only large ones are found",
                ),
                false => ("The sources agree", ""),
            };
            let rest = format!(" on {what}: they differ by no more than chance explains ({}){limits}.", test(found));
            vec![(Emphasis::Same, claim.to_owned()), (Emphasis::Plain, rest)]
        }
        Ok(found) => {
            let beyond = percent(found.i_squared);
            let rest = format!(
                " on {what} by more than chance explains ({}; {beyond} of the variation is beyond chance). {}One \
                 figure does not describe all of them.",
                test(found),
                capital(&outlying(found))
            );
            vec![(Emphasis::Open, "The sources differ".to_owned()), (Emphasis::Plain, rest)]
        }
    };
    Some(Section::paragraphs([spans]))
}

fn test(found: &Homogeneity) -> String {
    let p = match found.p_value {
        p if p < 1e-4 => "p under 0.0001".to_owned(),
        p => format!("p{TIE}={TIE}{}", fixed(p, if p < 0.01 { 4 } else { 2 })),
    };
    let degrees = count(found.degrees_of_freedom, "degree", "degrees");
    format!("Q{TIE}={TIE}{} with {degrees} of freedom, {p}", fixed(found.q, 1))
}

fn outlying(found: &Homogeneity) -> String {
    let numbers: Vec<String> = found.outlying.iter().map(|index| format!("source{TIE}{}", index + 1)).collect();
    match numbers.as_slice() {
        [] => String::new(),
        [one] => format!("{one} stands out. "),
        many => format!("{} stand out. ", listed(many)),
    }
}

/// Says why the joint interval is wider than that of a source, if it is.
fn wider(joined: &Joined, judgement: &Judgement) -> Option<Section> {
    let width = |judgement: &Judgement| judgement.interval.as_ref().ok().map(|one| one.high - one.low);
    let of_source =
        |source: &Source| source.report.primary().find(|one| one.command == judgement.command).and_then(width);
    let widths = joined.sources.iter().zip(1..).filter_map(|(source, number)| Some((of_source(source)?, number)));
    let (narrowest, number) = widths.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let text = format!(
        "The joint interval is wider than that of source {number}, because each source counts as one estimate, and few \
                estimates show little of how much they vary. One longer run is narrower than a few joined ones."
    );
    (width(judgement)? > narrowest).then(|| Section::paragraphs([super::plain(text)]))
}
