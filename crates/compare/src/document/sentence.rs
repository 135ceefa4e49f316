//! The verdict in one sentence.

use steady_model::{
    DecidedBy, Effort, Ending, FailureRule, Interval, Judgement, Metric, Report, Size, Undecided, Verdict,
};
use steady_render::document::{Emphasis, Span};
use steady_render::units::{count as amount, duration, memory, setting, time, time_setting};

use super::times::mean_in_words;
use crate::words::{
    Effect, blocks, capital, count, few, more_work, noun, settling, signed, signed_beside, subject, units, verb,
};

/// The verdict in one sentence of plain words, or two where it needs a remedy.
///
/// `judgement` is one of the report's; the sentence names its command, the size of the effect with its interval, and
/// what it rests on.
pub(crate) fn sentence(report: &Report, judgement: &Judgement) -> String {
    let spans = spans(report, judgement);
    spans.into_iter().map(|(_, text)| text).collect::<String>().replace('\u{a0}', " ")
}

/// The sentence, with its verdict marked.
pub(super) fn spans(report: &Report, judgement: &Judgement) -> Vec<Span> {
    if let Some(spans) = by_mean(report, judgement) {
        return spans;
    }
    let mut spans = match judgement.verdict {
        Verdict::Faster | Verdict::Slower => different(report, judgement),
        Verdict::Same => same(report, judgement),
        Verdict::Undecided => return undecided(report, judgement),
    };
    spans.push((Emphasis::Plain, format!("; {}.", basis(report, judgement))));
    if steady(report, judgement) {
        let pairs = units(&report.record, judgement.pairs);
        let text = format!(" Instructions hardly vary from run to run: {pairs} were enough.");
        spans.push((Emphasis::Plain, text));
    }
    spans
}

/// Whether the first look at instructions told all, and much closer than was asked.
fn steady(report: &Report, judgement: &Judgement) -> bool {
    /// The half-width of the interval, over the resolution.
    const CLOSE: f64 = 0.1;
    let record = &report.record;
    let narrow = |interval: &Interval| interval.half_width() <= CLOSE * record.plan.resolution;
    judgement.primary
        && judgement.metric == Metric::Instructions
        && record.ending == Ending::Decided
        && record.looks.len() == 1
        && judgement.verdict_interval.as_ref().is_ok_and(narrow)
}

/// What the verdict rests on: `64 pairs, 3.1 s`.
fn basis(report: &Report, judgement: &Judgement) -> String {
    let record = &report.record;
    let pairs = match record.is_warm() {
        true => {
            format!("{} in {} of snapshots", blocks(&record.plan, record.blocks.len()), units(record, judgement.pairs))
        }
        false => units(record, judgement.pairs),
    };
    let early = if report.record.ending == Ending::Interrupted { ", interrupted" } else { "" };
    format!("{pairs}, {}{early}", duration(report.record.elapsed))
}

/// It costs more, or less.
fn different(report: &Report, judgement: &Judgement) -> Vec<Span> {
    let plan = &report.record.plan;
    let who = capital(&subject(plan, judgement.command));
    let (verb, what) = (verb(judgement.metric), noun(judgement.metric));
    let more = judgement.verdict == Verdict::Slower;
    let paint = if more { Emphasis::More } else { Emphasis::Less };
    let level = setting(judgement.confidence);
    let (change, size) = match (&judgement.change, &judgement.interval) {
        (Ok(change), Ok(size)) => (change, size),
        (Err(absent), _) | (_, Err(absent)) => {
            let direction = if more { "more" } else { "less" };
            return vec![
                (Emphasis::Plain, format!("{who} ")),
                (paint, format!("{verb} {direction} {what}")),
                (Emphasis::Plain, format!(" ({level} sure); how much is absent: {absent}")),
            ];
        }
    };
    if size.holds(0.0) || (*change > 0.0) != more {
        return direction_only(report, judgement, *change, *size);
    }
    let effect = Effect::of(*change, *size);
    let claim = match (effect.factor, effect.more) {
        (true, true) => format!("{verb} {} times the {what}", effect.size),
        (true, false) => format!("{verb} less {what}: the first {verb} {} times as much", effect.size),
        (false, _) => format!("{verb} {} {what}", effect.relative()),
    };
    let within = if judgement.within_resolution {
        format!(", within the ±{} that count as none", setting(plan.resolution))
    } else {
        String::new()
    };
    vec![
        (Emphasis::Plain, format!("{who} ")),
        (paint, claim),
        (Emphasis::Plain, format!(" ({}, {level}){within}", effect.range)),
    ]
}

/// The sentences of a verdict that the mean decided: the mean, the usual run, and what the verdict rests on. `None` where
/// the usual run decided, or where the failures of runs leave no verdict.
fn by_mean(report: &Report, judgement: &Judgement) -> Option<Vec<Span>> {
    if judgement.decided_by != DecidedBy::Mean || judgement.undecided == Some(Undecided::UnequalFailures) {
        return None;
    }
    let plan = &report.record.plan;
    let sized = |size: &Size| Some((*size.change.as_ref().ok()?, *size.interval.as_ref().ok()?));
    let ((change, interval), (usual, usual_interval)) = (sized(&judgement.mean)?, sized(&judgement.usual)?);
    let (what, level) = (noun(judgement.metric), setting(judgement.confidence));
    let who = subject(plan, judgement.command);
    let (signed_change, range) = signed(change, interval);
    let (signed_usual, usual_range) = signed(usual, usual_interval);
    let mut spans = match judgement.verdict {
        Verdict::Slower | Verdict::Faster => {
            let paint = if judgement.verdict == Verdict::Slower { Emphasis::More } else { Emphasis::Less };
            let (mean, usual_run) =
                (Effect::beside_first(change, interval), Effect::beside_first(usual, usual_interval));
            let usual = match usual_interval.holds(0.0) {
                true => format!("but its usual run differs by {signed_usual} ({usual_range})"),
                false => format!(
                    "but its usual run {} {} ({})",
                    verb(judgement.metric),
                    usual_run.relative(),
                    usual_run.range
                ),
            };
            vec![
                (Emphasis::Plain, format!("{} ", capital(&who))),
                (paint, format!("{} {} {what} on average", verb(judgement.metric), mean.relative())),
                (Emphasis::Plain, format!(" ({}, {level}), {usual}", mean.range)),
            ]
        }
        Verdict::Same => vec![
            (Emphasis::Same, format!("No difference beyond ±{} in mean {what}", setting(plan.resolution))),
            (
                Emphasis::Plain,
                format!(
                    " of {who}: {signed_change} ({range}, {level}), but its usual run differs by {signed_usual} \
                     ({usual_range})"
                ),
            ),
        ],
        Verdict::Undecided => vec![
            (Emphasis::Open, "Undecided:".to_owned()),
            (
                Emphasis::Plain,
                format!(
                    " the mean {what} of {who} differs by {signed_change} ({range}, {level}), its usual run by \
                     {signed_usual} ({usual_range})"
                ),
            ),
        ],
    };
    let mut rest = format!(". The mean decides; {}.", basis(report, judgement));
    if judgement.verdict == Verdict::Undecided {
        rest.push_str(&format!(" {}.", capital(&settling(&report.record, judgement.effort_to_settle))));
    }
    spans.push((Emphasis::Plain, rest));
    Some(spans)
}

/// The pairs together tell the direction, while those that tell the size do not exclude zero.
fn direction_only(report: &Report, judgement: &Judgement, change: f64, size: Interval) -> Vec<Span> {
    let who = capital(&subject(&report.record.plan, judgement.command));
    let (verb, what) = (verb(judgement.metric), noun(judgement.metric));
    let (direction, paint) =
        if judgement.verdict == Verdict::Slower { ("more", Emphasis::More) } else { ("less", Emphasis::Less) };
    let level = setting(judgement.confidence);
    let all = judgement
        .verdict_interval
        .as_ref()
        .map_or_else(|_| format!("{level} sure"), |interval| format!("{}, {level}", signed(change, *interval).1));
    let size = signed_beside(judgement.verdict, change, size);
    vec![
        (Emphasis::Plain, format!("{who} ")),
        (paint, format!("{verb} {direction} {what}")),
        (
            Emphasis::Plain,
            format!(", by all pairs together ({all}); how much {direction} is less certain, for only turns "),
        ),
        (Emphasis::Plain, format!("tell the true size: {size}")),
    ]
}

/// No difference that matters.
fn same(report: &Report, judgement: &Judgement) -> Vec<Span> {
    let plan = &report.record.plan;
    let limit = setting(plan.resolution);
    let what = noun(judgement.metric);
    let who = if plan.commands.len() > 2 {
        format!(" between the first and {}", subject(plan, judgement.command))
    } else {
        String::new()
    };
    let mut rest = String::new();
    let shown = judgement.verdict_interval.as_ref().or(judgement.interval.as_ref());
    if let (Ok(change), Ok(interval)) = (&judgement.change, shown) {
        rest = format!(": {}", estimate(*change, *interval, judgement.confidence));
    }
    if let (Ok(change), Ok(size)) = (&judgement.change, &judgement.interval)
        && (size.low < -plan.resolution || size.high > plan.resolution)
    {
        let (_, range) = signed(*change, *size);
        rest.push_str(&format!("; the turns alone, which tell the true size, leave {range}"));
    }
    vec![
        (Emphasis::Same, format!("No difference beyond ±{limit} in {what}")),
        (Emphasis::Plain, format!("{who}{rest}")),
    ]
}

/// A change with the interval that the verdict stands on. The size comes from the turns and may lie outside of what all
/// pairs say: then the interval stands alone.
fn estimate(change: f64, interval: Interval, confidence: f64) -> String {
    let level = setting(confidence);
    let (size, range) = signed(change, interval);
    if interval.holds(change) { format!("{size} ({range}, {level})") } else { format!("{range} ({level})") }
}

/// No verdict: why, and what helps.
fn undecided(report: &Report, judgement: &Judgement) -> Vec<Span> {
    let record = &report.record;
    let who = subject(&record.plan, judgement.command);
    let what = noun(judgement.metric);
    let basis = basis(report, judgement);
    let (why, helps) = match judgement.undecided.unwrap_or(Undecided::TooWide) {
        Undecided::TooFewPairs => {
            let pairs = match record.is_warm() {
                true => format!("{} of snapshots", units(record, judgement.pairs)),
                false => count(judgement.pairs, "pair", "pairs"),
            };
            let time = duration(record.elapsed);
            let why = match (record.plan.effort, record.blocks.is_empty()) {
                (Effort::Budget(budget), true) if record.ending == Ending::Spent => format!(
                    "the budget of {} had no room for a pair beside the warm-up, for the machine was busy, and {who} is \
                     not compared with the first; at least 6 pairs are needed",
                    time_setting(budget)
                ),
                _ => format!("{pairs} in {time} are too few to compare {who} with the first, at least 6 are needed"),
            };
            (why, few(report, judgement.pairs))
        }
        Undecided::BelowGrain => {
            let why = format!(
                "in more than half of the pairs the clock sees no difference at all between the {what} of {who} and of \
                 the first; {basis}"
            );
            (why, more_work(record, judgement.metric))
        }
        Undecided::UnequalFailures => unequal(report, judgement),
        Undecided::TooWide => {
            let why = match (&judgement.change, judgement.verdict_interval.as_ref().or(judgement.interval.as_ref())) {
                (Ok(change), Ok(interval)) => {
                    let size = estimate(*change, *interval, judgement.confidence);
                    let limit = setting(record.plan.resolution);
                    format!("the {what} of {who} differs by {size}, which may be none, or more than ±{limit}; {basis}")
                }
                _ => format!("nothing is known yet about the {what} of {who}; {basis}"),
            };
            (why, settling(record, judgement.effort_to_settle))
        }
    };
    vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, format!(" {why}. {}.", capital(&helps)))]
}

/// One command failed more often than the other.
fn unequal(report: &Report, judgement: &Judgement) -> (String, String) {
    let failures = |command: usize| {
        let found = report.breakdowns.iter().find(|breakdown| breakdown.command == command);
        let (failed, runs) = found.map_or((0, 0), |found| (found.failures, found.failures + found.runs));
        format!("{failed} of {}", count(runs, "run", "runs"))
    };
    let who = subject(&report.record.plan, judgement.command);
    let (new, old) = (failures(judgement.command), failures(0));
    let why = format!(
        "{new} of {who} failed, but {old} of the first; what is left is no fair sample of both, so {} is not judged",
        noun(judgement.metric)
    );
    let helps = match report.record.plan.failures {
        FailureRule::IgnoreAll => "",
        _ => ", or, if runs that fail do all of their work, count them with --ignore-failure",
    };
    (why, format!("make the commands succeed{helps}"))
}

/// What a command that is measured alone costs.
pub(crate) fn alone(report: &Report) -> Vec<Span> {
    let record = &report.record;
    let runs = count(report.runs(), "run", "runs");
    let basis = format!("{runs}, {}", duration(record.elapsed));
    let found = report.breakdowns.iter().find(|breakdown| breakdown.command == 0 && breakdown.runs > 0);
    let Some(breakdown) = found else {
        let why = match (record.plan.effort, record.blocks.is_empty()) {
            (Effort::Budget(budget), true) if record.ending == Ending::Spent => {
                format!("the budget of {} had no room for a run, for the machine was busy.", time_setting(budget))
            }
            _ => format!("no run succeeded; {basis}."),
        };
        return vec![(Emphasis::Open, "Nothing measured:".to_owned()), (Emphasis::Plain, format!(" {why}"))];
    };
    let what = capital(noun(record.primary));
    let spread = match record.primary {
        Metric::Cpu => Ok(breakdown.cpu),
        Metric::Wall => Ok(breakdown.wall),
        Metric::Elapsed => {
            let waited = breakdown.run_delay.as_ref().map(|delay| delay.mean);
            Err(waited.map(|waited| time(breakdown.wall.mean - waited)))
        }
        Metric::Memory => Err(breakdown.peak_memory.as_ref().map(|bytes| memory(bytes.0 as f64))),
        Metric::Instructions => Err(record.counters.as_ref().map(|_| {
            let counted = breakdown.counters.and_then(|counters| counters.instructions);
            counted.map_or_else(|| "not counted".to_owned(), amount)
        })),
    };
    let size = match spread {
        Ok(spread) => mean_in_words(&spread),
        Err(Ok(size)) if record.primary == Metric::Memory => size,
        Err(Ok(size)) => format!("{size} a run"),
        Err(Err(absent)) => format!("absent: {absent}"),
    };
    vec![(Emphasis::Heading, format!("{what} {size}")), (Emphasis::Plain, format!("; {basis}."))]
}
