//! The verdict in one sentence.

use steady_model::{DecidedBy, Effort, Ending, Interval, Judgement, Metric, Plan, Report, Size, Undecided, Verdict};
use steady_render::document::{Emphasis, Span};
use steady_render::units::{count as amount, duration, level, memory, setting, time_setting};

use super::secondary::emphasis;
use super::times::{mean_in_words, values_in_words};
use crate::judge::{Failures, least_pairs};
use crate::words::{
    Effect, blocks, capital, count, drawn, effort_for_verdict, less, make_succeed, more_pairs, more_work, noun, signed,
    signed_if_open, subject, ties, units, verb,
};

/// The verdict in one sentence of plain text, or two if it needs a remedy. It names the command, the size of the effect
/// with its interval, and the number of pairs. `judgement` must be one of the report's.
pub(crate) fn sentence(report: &Report, judgement: &Judgement) -> String {
    let spans = spans(report, judgement);
    spans.into_iter().map(|(_, text)| text).collect::<String>().replace('\u{a0}', " ")
}

/// As [`sentence`], with the verdict emphasized.
pub(super) fn spans(report: &Report, judgement: &Judgement) -> Vec<Span> {
    if let Some(mut spans) = by_mean(report, judgement) {
        if judgement.verdict == Verdict::Undecided {
            let ratio = judgement.effort_to_settle.as_ref().ok().copied();
            let remedy = capital(&effort_for_verdict(&report.record, ratio));
            spans.push((Emphasis::Plain, format!(" {remedy}.")));
        }
        return spans;
    }
    let mut spans = match judgement.verdict {
        Verdict::Faster | Verdict::Slower => different(report, judgement),
        Verdict::Same => same(report, judgement),
        Verdict::Undecided => return undecided(report, judgement),
    };
    spans.push((Emphasis::Plain, format!("; {}.", basis(report, judgement))));
    if is_clear_at_first_look(report, judgement) {
        let pairs = units(&report.record, judgement.pairs);
        let text = format!(" Instructions hardly vary from run to run: {pairs} were enough.");
        spans.push((Emphasis::Plain, text));
    }
    spans
}

/// Returns whether the first look at instructions gave the verdict, with an interval much narrower than the resolution.
fn is_clear_at_first_look(report: &Report, judgement: &Judgement) -> bool {
    /// The largest half-width of the interval, as a multiple of the resolution.
    const CLOSE: f64 = 0.1;
    let record = &report.record;
    let narrow = |interval: &Interval| interval.half_width() <= CLOSE * record.plan.resolution;
    judgement.primary
        && judgement.metric == Metric::Instructions
        && record.ending == Ending::Decided
        && record.looks.len() == 1
        && judgement.interval.as_ref().is_ok_and(narrow)
}

/// The data of the verdict, as in `64 pairs, 3.1 s`.
fn basis(report: &Report, judgement: &Judgement) -> String {
    let record = &report.record;
    let pairs = match drawn(record) {
        Some(what) => {
            format!("{} in {} of {what}", blocks(&record.plan, record.blocks.len()), units(record, judgement.pairs))
        }
        None => units(record, judgement.pairs),
    };
    let early = if report.record.ending == Ending::Interrupted { ", interrupted" } else { "" };
    format!("{pairs}, {}{early}", duration(report.record.elapsed))
}

/// The command costs more or less than the first.
fn different(report: &Report, judgement: &Judgement) -> Vec<Span> {
    let plan = &report.record.plan;
    let (who, first) = (capital(&subject(plan, judgement.command)), subject(plan, 0));
    let (verb, what) = (verb(judgement.metric), noun(judgement.metric));
    let more = judgement.is_more();
    let paint = emphasis(judgement.verdict);
    let level = level(judgement.confidence);
    let (change, size) = match (&judgement.change, &judgement.interval) {
        (Ok(change), Ok(size)) => (change, size),
        (Err(absent), _) | (_, Err(absent)) => {
            let direction = if more { "more" } else { less(judgement.metric) };
            return vec![
                (Emphasis::Plain, format!("{who} ")),
                (paint, format!("{verb} {direction} {what}")),
                (Emphasis::Plain, format!(" than {first} (confidence {level}); how much was not measured: {absent}")),
            ];
        }
    };
    let effect = Effect::of(*change, *size);
    let within = match judgement.within_resolution {
        true => format!(", within the resolution of ±{}", setting(plan.resolution)),
        false => String::new(),
    };
    if let Metric::Custom(_) = judgement.metric {
        let (claim, than) = match (effect.factor, effect.more) {
            (true, _) => (format!("is {} times", effect.size), format!(" that of {first}")),
            (false, true) => (format!("is {} higher", effect.size), format!(" than that of {first}")),
            (false, false) => (format!("is {} lower", effect.size), format!(" than that of {first}")),
        };
        let subject = format!("The {what} of {} ", self::subject(plan, judgement.command));
        let judged = if judgement.verdict == Verdict::Slower { "worse" } else { "better" };
        let rest = format!("{than} ({}, {level}){within}, which is {judged}", effect.range);
        return vec![(Emphasis::Plain, subject), (paint, claim), (Emphasis::Plain, rest)];
    }
    let (claim, than) = match effect.factor {
        true => (format!("{verb} {} times the {what}", effect.size), format!(" of {first}")),
        false => (format!("{verb} {} {what}", effect.relative_of(judgement.metric)), format!(" than {first}")),
    };
    vec![
        (Emphasis::Plain, format!("{who} ")),
        (paint, claim),
        (Emphasis::Plain, format!("{than} ({}, {level}){within}", effect.range)),
    ]
}

/// The sentences of a verdict that the mean decided: the mean, the usual run and the data, without a remedy. `None` if
/// the usual run decided, or if there is no verdict because runs failed.
pub(super) fn by_mean(report: &Report, judgement: &Judgement) -> Option<Vec<Span>> {
    if judgement.decided_by != DecidedBy::Mean || judgement.undecided == Ok(Undecided::UnequalFailures) {
        return None;
    }
    let plan = &report.record.plan;
    let sized = |size: &Size| Some((*size.change.as_ref().ok()?, *size.interval.as_ref().ok()?));
    let ((change, interval), (usual, usual_interval)) = (sized(&judgement.mean)?, sized(&judgement.usual)?);
    let (what, level) = (noun(judgement.metric), level(judgement.confidence));
    let (who, first) = (subject(plan, judgement.command), subject(plan, 0));
    let (signed_change, range) = signed_if_open(plan, judgement, change, interval);
    let (signed_usual, usual_range) = signed_if_open(plan, judgement, usual, usual_interval);
    let mut spans = match judgement.verdict {
        Verdict::Slower | Verdict::Faster => {
            let paint = emphasis(judgement.verdict);
            let (mean, usual_run) = (Effect::of(change, interval), Effect::of(usual, usual_interval));
            let usual = match usual_interval.holds(0.0) {
                true => format!("and its usual run differs by {signed_usual} ({usual_range})"),
                false => format!(
                    "{} its usual run {} {} ({})",
                    if mean.more == usual_run.more { "and" } else { "but" },
                    verb(judgement.metric),
                    usual_run.relative_of(judgement.metric),
                    usual_run.range
                ),
            };
            vec![
                (Emphasis::Plain, format!("{} ", capital(&who))),
                (paint, format!("{} {} {what} on average", verb(judgement.metric), mean.relative_of(judgement.metric))),
                (Emphasis::Plain, format!(" than {first} ({}, {level}), {usual}", mean.range)),
            ]
        }
        Verdict::Same => vec![
            (Emphasis::Same, format!("No difference beyond ±{} in mean {what}", setting(plan.resolution))),
            (
                Emphasis::Plain,
                format!(
                    " between {first} and {who}: {signed_change} ({range}, {level}), but the usual run of {who} \
                     differs by {signed_usual} ({usual_range})"
                ),
            ),
        ],
        Verdict::Undecided => vec![
            (Emphasis::Open, "Undecided:".to_owned()),
            (
                Emphasis::Plain,
                format!(
                    " the difference of {who} from {first} in mean {what} is {signed_change} ({range}, {level}), and in \
                     its usual run {signed_usual} ({usual_range})"
                ),
            ),
        ],
    };
    spans.push((Emphasis::Plain, format!(". The mean decides the verdict; {}.", basis(report, judgement))));
    Some(spans)
}

/// No difference beyond the resolution.
fn same(report: &Report, judgement: &Judgement) -> Vec<Span> {
    let plan = &report.record.plan;
    let limit = setting(plan.resolution);
    let what = noun(judgement.metric);
    let (who, first) = (subject(plan, judgement.command), subject(plan, 0));
    let rest = match (&judgement.change, &judgement.interval) {
        (Ok(change), Ok(interval)) => format!(": {}", estimate(*change, *interval, judgement.confidence)),
        _ => String::new(),
    };
    vec![
        (Emphasis::Same, format!("No difference beyond ±{limit} in {what}")),
        (Emphasis::Plain, format!(" between {first} and {who}{rest}")),
    ]
}

/// A change with its interval and the confidence.
fn estimate(change: f64, interval: Interval, confidence: f64) -> String {
    let (size, range) = signed(change, interval);
    format!("{size} ({range}, {})", level(confidence))
}

/// No verdict: the reason and the remedy.
fn undecided(report: &Report, judgement: &Judgement) -> Vec<Span> {
    let record = &report.record;
    let (who, first) = (subject(&record.plan, judgement.command), subject(&record.plan, 0));
    let basis = basis(report, judgement);
    let (why, helps) = match judgement.undecided.as_ref().unwrap_or(&Undecided::TooWide) {
        Undecided::TooFewPairs => {
            let pairs = match drawn(record) {
                Some(what) => format!("{} of {what}", units(record, judgement.pairs)),
                None => count(judgement.pairs, "pair", "pairs"),
            };
            let (time, least) = (duration(record.elapsed), least_pairs(&record.plan));
            let why = match (record.plan.effort, record.blocks.is_empty()) {
                (Effort::Budget(budget), true) if record.ending == Ending::Spent => format!(
                    "the machine was so busy that no pair was completed in {time}, with a budget of {}; to compare {who} \
                     with {first}, at least {least} pairs are needed",
                    time_setting(budget)
                ),
                _ => {
                    let are = if judgement.pairs == 1 { "is" } else { "are" };
                    format!(
                        "{pairs} in {time} {are} too few to compare {who} with {first}, at least {least} are needed"
                    )
                }
            };
            (why, more_pairs(&report.record, judgement.pairs))
        }
        Undecided::BelowGrain => {
            let why = format!("in more than half of the pairs, {who} and {first} {}; {basis}", ties(judgement.metric));
            (why, more_work(record, judgement.metric))
        }
        Undecided::UnequalFailures => unequal(report, judgement),
        Undecided::TooWide => {
            let why = format!("{}; {basis}", too_wide(&record.plan, judgement));
            (why, effort_for_verdict(record, judgement.effort_to_settle.as_ref().ok().copied()))
        }
    };
    vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, format!(" {why}. {}.", capital(&helps)))]
}

/// The reason if the interval is too wide, or if there is none.
pub(super) fn too_wide(plan: &Plan, judgement: &Judgement) -> String {
    let (who, first, what) = (subject(plan, judgement.command), subject(plan, 0), noun(judgement.metric));
    let (change, interval) = match (&judgement.change, &judgement.interval) {
        (Ok(change), Ok(interval)) => (*change, *interval),
        (Ok(_), Err(absent)) => {
            return format!("the difference of {who} from {first} in {what} has no interval: {absent}");
        }
        (Err(_), _) => return format!("there is no estimate yet for the {what} of {who}"),
    };
    let (change, range) = signed_if_open(plan, judgement, change, interval);
    let (level, limit) = (level(judgement.confidence), setting(plan.resolution));
    format!(
        "the difference of {who} from {first} in {what}, {change} ({range}, {level}), may be zero or larger than ±{limit}"
    )
}

/// The reason and the remedy if one command failed more often than the other.
fn unequal(report: &Report, judgement: &Judgement) -> (String, String) {
    let plan = &report.record.plan;
    let found = Failures::of(&report.record, judgement.command);
    let failures = |failed: usize| format!("{failed} of {}", count(found.runs, "run", "runs"));
    let (who, first) = (subject(plan, judgement.command), subject(plan, 0));
    let (new, old) = (failures(found.contender), failures(found.first));
    let why = format!(
        "{new} of {who} failed, but {old} of {first}; the remaining runs are not a fair sample of both, so there is no \
         verdict on {}, and the exit status is 3",
        noun(judgement.metric)
    );
    (why, make_succeed(&report.record))
}

/// The cost of a command that is measured alone.
pub(crate) fn alone(report: &Report) -> Vec<Span> {
    let record = &report.record;
    let runs = count(report.runs(), "run", "runs");
    let basis = format!("{runs}, {}", duration(record.elapsed));
    let found = report.breakdowns.iter().find(|breakdown| breakdown.command == 0 && breakdown.runs > 0);
    let Some(breakdown) = found else {
        let why = match (record.plan.effort, record.blocks.is_empty()) {
            (Effort::Budget(budget), true) if record.ending == Ending::Spent => {
                format!("the machine was so busy that no run ended within the budget of {}.", time_setting(budget))
            }
            _ => format!("no run succeeded; {basis}."),
        };
        return vec![(Emphasis::Open, "Nothing measured:".to_owned()), (Emphasis::Plain, format!(" {why}"))];
    };
    let what = capital(&noun(record.primary));
    let spread = match record.primary {
        Metric::Cpu => Ok(breakdown.cpu),
        Metric::Wall => Ok(breakdown.wall),
        Metric::Elapsed => breakdown.elapsed.as_ref().map(|elapsed| *elapsed).map_err(Err),
        Metric::Faults => Err(Ok(amount(breakdown.minor_faults + breakdown.major_faults))),
        Metric::Switches => Err(Ok(amount(breakdown.voluntary_switches))),
        Metric::Energy | Metric::Custom(_) => {
            let found = breakdown.values.iter().find(|value| value.0 == record.primary);
            let spread =
                found.map(|value| value.1.as_ref().map(|spread| values_in_words(spread, record.primary.unit())));
            Err(spread.unwrap_or_else(|| Ok("not reported".to_owned())))
        }
        Metric::Memory => Err(breakdown.peak_memory.as_ref().map(|bytes| memory(bytes.0 as f64))),
        Metric::Instructions => Err(record.counters.as_ref().map(|_| {
            let counted = breakdown.counters.and_then(|counters| counters.instructions);
            counted.map_or_else(|| "not counted".to_owned(), amount)
        })),
    };
    let size = match spread {
        Ok(spread) => mean_in_words(&spread),
        Err(Ok(size)) if matches!(record.primary, Metric::Memory | Metric::Energy | Metric::Custom(_)) => size,
        Err(Ok(size)) => format!("{size} a run"),
        Err(Err(absent)) => format!("not measured: {absent}"),
    };
    vec![(Emphasis::Heading, format!("{what} {size}")), (Emphasis::Plain, format!("; {basis}."))]
}
