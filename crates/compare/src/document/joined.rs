//! Several comparisons joined into one.

mod sources;

use steady_model::{DecidedBy, Ending, Homogeneity, Joined, Judgement, Report, Undecided, Verdict};
use steady_render::document::{Document, Emphasis, Section, Sentence};
use steady_render::units::{TIE, duration, fixed, percent, round_up, setting};

use super::{secondary, sentence};
use crate::words::{blocks, capital, count, noun, signed, subject, units};

/// Comparisons joined as a document: the verdict of all, what each says by itself, and whether they agree.
pub fn joined_document(joined: &Joined) -> Document {
    let mut document = Document { subject: "Steadyhand: comparisons joined".to_owned(), ..Document::default() };
    let Some(whole) = whole(joined) else { return document };
    for judgement in joined.primary() {
        let mut spans = match judgement.verdict {
            Verdict::Undecided if judgement.decided_by == DecidedBy::UsualRun => undecided(joined, &whole, judgement),
            _ => sentence::spans(&whole, judgement),
        };
        let joint = format!(" {} joined.", count(joined.sources.len(), "source", "sources"));
        spans.push((Emphasis::Plain, joint));
        document.answer.push(spans);
    }
    document.answer.extend(sources::warnings(joined));
    for judgement in joined.primary() {
        document.sections.push(sources::section(joined, judgement.command));
        document.sections.extend(agreement(joined, &whole, judgement.command));
    }
    document.sections.extend(secondary::section(&whole));
    document
}

/// The verdicts of all sources as if they were one report: what the sentences need of it.
fn whole(joined: &Joined) -> Option<Report> {
    let mut report = joined.sources.first()?.report.clone();
    report.judgements = joined.judgements.clone();
    report.record.elapsed = joined.elapsed();
    report.record.ending = Ending::Spent;
    report.record.blocks = vec![];
    report.breakdowns = vec![];
    report.warnings = vec![];
    Some(report)
}

/// No verdict, and what helps here.
fn undecided(joined: &Joined, whole: &Report, judgement: &Judgement) -> Sentence {
    let plan = &whole.record.plan;
    let (who, what) = (subject(plan, judgement.command), noun(judgement.metric));
    let first = joined.sources.first().map(|source| &source.report.record);
    let pairs = first.map_or_else(|| blocks(plan, judgement.pairs), |record| units(record, judgement.pairs));
    let basis = format!("{pairs}, {}", duration(joined.elapsed()));
    let text = match judgement.undecided.unwrap_or(Undecided::TooWide) {
        Undecided::TooFewPairs => format!("{basis} are too few to compare {who} with the first, at least 6 are needed"),
        Undecided::BelowGrain => format!(
            "in more than half of the pairs the clock sees no difference at all between the {what} of {who} and of the \
             first; {basis}. Give each run more work"
        ),
        Undecided::UnequalFailures => format!(
            "the first and {who} did not fail equally often; what is left is no fair sample of both, so {what} is not \
             judged. Make the commands succeed"
        ),
        Undecided::TooWide => {
            let limit = setting(plan.resolution);
            let helps = more_sources(joined.sources.len(), judgement.effort_to_settle);
            match size(judgement) {
                Some(size) => format!(
                    "the {what} of {who} differs by {size}, which may be none, or more than ±{limit}; {basis}. {helps}"
                ),
                None => format!("nothing is known yet about the {what} of {who}; {basis}. {helps}"),
            }
        }
    };
    vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, format!(" {text}."))]
}

/// The change with the interval of the verdict; the interval alone where it does not hold the change.
fn size(judgement: &Judgement) -> Option<String> {
    let (change, interval) = (*judgement.change.as_ref().ok()?, *judgement.verdict_interval.as_ref().ok()?);
    let ((size, range), level) = (signed(change, interval), setting(judgement.confidence));
    Some(if interval.holds(change) { format!("{size} ({range}, {level})") } else { format!("{range} ({level})") })
}

/// More sources settle it, but not ones added because these did not: that would be looking until it fits.
fn more_sources(sources: usize, ratio: Option<f64>) -> String {
    /// Beyond this no number is worth naming.
    const MOST: f64 = 10_000.0;
    match ratio.map(|ratio| round_up((ratio * sources as f64).max(sources as f64 + 1.0))) {
        Some(wanted) if wanted <= MOST => {
            format!("A new set of about {} would probably settle it", count(wanted as usize, "source", "sources"))
        }
        _ => "A new set with larger budgets, or a coarser --resolution, would settle it sooner".to_owned(),
    }
}

/// Whether the sources tell of one effect, and which stand out where they do not.
fn agreement(joined: &Joined, whole: &Report, command: usize) -> Option<Section> {
    let found = joined.agreements.iter().find(|agreement| agreement.command == command)?;
    let what = noun(whole.record.primary);
    let spans = match &found.homogeneity {
        Err(absent) => vec![(Emphasis::Plain, format!("Whether the sources agree is not known: {absent}."))],
        Ok(found) if found.agrees => {
            let rest = format!(" on {what}: no more lies between them than chance puts there ({}).", test(found));
            vec![(Emphasis::Same, "The sources agree".to_owned()), (Emphasis::Plain, rest)]
        }
        Ok(found) => {
            let beyond = percent(found.i_squared);
            let rest = format!(
                " on {what}: more lies between them than chance puts there ({}; {beyond} of it beyond chance). {} One \
                 figure does not tell what each of them saw.",
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
        [one] => format!("{one} stands out."),
        [most @ .., last] => format!("{} and {last} stand out.", most.join(", ")),
    }
}
