//! Several comparisons joined into one, as text.

mod sources;

use steady_model::{DecidedBy, Ending, Homogeneity, Joined, Judgement, Report, Undecided, Verdict};

use super::{Page, Paint, Span};
use super::{Style, secondary, sentence};
use crate::units::{TIE, duration, fixed, percent, round_up, setting};
use crate::words::{blocks, capital, count, noun, signed, subject, units};

/// Comparisons joined, as text: the verdict of all, what each says by itself, and whether they agree.
pub fn joined_text(joined: &Joined, style: Style) -> String {
    let mut page = Page::new(style);
    let Some(whole) = whole(joined) else { return String::new() };
    for judgement in joined.primary() {
        let mut spans = match judgement.verdict {
            Verdict::Undecided if judgement.decided_by == DecidedBy::UsualRun => undecided(joined, &whole, judgement),
            _ => sentence::spans(&whole, judgement),
        };
        let joint = format!(" {} joined.", count(joined.sources.len(), "source", "sources"));
        spans.push((Paint::Plain, joint));
        page.paragraph(0, 2, &spans);
    }
    for judgement in joined.primary() {
        sources::write(joined, judgement.command, &mut page);
        agreement(joined, &whole, judgement.command, &mut page);
    }
    secondary::write(&whole, &mut page);
    sources::warnings(joined, &mut page);
    page.finish()
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
fn undecided(joined: &Joined, whole: &Report, judgement: &Judgement) -> Vec<Span> {
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
    vec![(Paint::Open, "Undecided:".to_owned()), (Paint::Plain, format!(" {text}."))]
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
fn agreement(joined: &Joined, whole: &Report, command: usize, page: &mut Page) {
    let Some(found) = joined.agreements.iter().find(|agreement| agreement.command == command) else { return };
    page.blank();
    let what = noun(whole.record.primary);
    let spans = match &found.homogeneity {
        Err(absent) => vec![(Paint::Plain, format!("Whether the sources agree is not known: {absent}."))],
        Ok(found) if found.agrees => {
            let rest = format!(" on {what}: no more lies between them than chance puts there ({}).", test(found));
            vec![(Paint::Same, "The sources agree".to_owned()), (Paint::Plain, rest)]
        }
        Ok(found) => {
            let beyond = percent(found.i_squared);
            let rest = format!(
                " on {what}: more lies between them than chance puts there ({}; {beyond} of it beyond chance). {} One \
                 figure does not tell what each of them saw.",
                test(found),
                capital(&outlying(found))
            );
            vec![(Paint::Open, "The sources differ".to_owned()), (Paint::Plain, rest)]
        }
    };
    page.paragraph(0, 2, &spans);
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
