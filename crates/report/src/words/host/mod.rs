//! A host and its knobs, in words.

mod deeds;
mod worth;

use steady_model::{
    Absent, ConditionState, HostQuestion, HostReport, JournalFacts, Knob, KnobState, Reading, RulerSpread, Timestamp,
};

use crate::json::started;
use crate::text::Paint;
use crate::units::percent;
use crate::words::{count, one_line};

pub(crate) use worth::worth;

/// A line with its label, and what explains it.
pub(crate) struct Item {
    /// What it is about.
    pub(crate) label: String,
    /// How it is to be seen.
    pub(crate) paint: Paint,
    /// What there is to say.
    pub(crate) text: String,
    /// What explains it.
    pub(crate) below: Option<String>,
}

impl Item {
    fn plain(label: &str, text: String) -> Self {
        Item { label: label.to_owned(), paint: Paint::Plain, text, below: None }
    }
}

/// Lines under a heading.
pub(crate) struct Section {
    /// The heading.
    pub(crate) heading: &'static str,
    /// The lines; there is one at least.
    pub(crate) items: Vec<Item>,
}

/// What there is to say first.
pub(crate) fn sentence(report: &HostReport) -> String {
    match report.question {
        HostQuestion::Status => standing(report),
        HostQuestion::Quiet => deeds::quieted(report),
        HostQuestion::Restore => deeds::restored(report),
    }
}

/// The rest, in the order in which it is read.
pub(crate) fn sections(report: &HostReport) -> Vec<Section> {
    let mut all = Vec::new();
    let mut add = |heading, items: Vec<Item>| {
        if !items.is_empty() {
            all.push(Section { heading, items });
        }
    };
    match report.question {
        HostQuestion::Status => {
            add("Knobs", report.knobs.iter().map(knob).collect());
            add("What else matters", report.conditions.iter().map(condition).collect());
            if let Ok(spreads) = &report.spreads {
                add("Rulers over one second", spreads.iter().map(spread).collect());
            }
        }
        HostQuestion::Quiet | HostQuestion::Restore => {
            add("Set", deeds::lines(&report.set));
            let left = |(knob, why): &(Knob, String)| Item::plain(knob.name(), format!("{}.", one_line(why)));
            add("Left as it is", report.left.iter().map(left).collect());
            add("The command", report.run.iter().flat_map(deeds::run).collect());
            add("Put back", deeds::lines(&report.restored));
        }
    }
    add("Journal", journal(&report.journal));
    all
}

/// What there is to say last.
pub(crate) fn last(report: &HostReport) -> Vec<String> {
    let mut last: Vec<String> = report.notes.iter().map(|note| format!("Note: {}.", one_line(note))).collect();
    if !report.is_root && could_as_root(report) {
        last.push(format!("As root: {}", report.as_root));
    }
    if report.question == HostQuestion::Status {
        last.extend(distance(&report.spreads));
    }
    last
}

/// How far this host is from quiet; nothing where nobody asked.
fn distance(spreads: &Reading<Vec<RulerSpread>>) -> Option<String> {
    let spreads = match spreads {
        Ok(spreads) => spreads,
        Err(absent) => return Some(format!("How far it is from quiet was not measured: {}.", one_line(&absent.0))),
    };
    let by_spread = |one: &&RulerSpread, other: &&RulerSpread| one.spread_ratio.total_cmp(&other.spread_ratio);
    let most = spreads.iter().max_by(by_spread)?;
    let least = spreads.iter().min_by(by_spread)?;
    let of = |spread: &RulerSpread| format!("{} ({})", percent(spread.spread_ratio), name(spread));
    Some(format!(
        "How far it is from quiet: over one second the middle half of the times that the same work took lay {} apart \
         at most, and {} at least; on a quiet host they are all the same.",
        of(most),
        of(least)
    ))
}

fn name(spread: &RulerSpread) -> &'static str {
    use steady_model::Resource;
    match spread.resource {
        Resource::SystemCall => "system call",
        other => other.name(),
    }
}

fn standing(report: &HostReport) -> String {
    let helpful: Vec<&str> = report
        .knobs
        .iter()
        .filter(|knob| worth_setting(knob) && knob.settable.is_ok())
        .map(|knob| knob.knob.name())
        .collect();
    let barred = report.knobs.iter().filter(|knob| worth_setting(knob) && is_barred(knob)).count();
    let first = match helpful.len() {
        0 => "No knob is left that could be set here".to_owned(),
        _ => format!("This host can be made quieter: {} can be set", listed(&helpful)),
    };
    let more = if helpful.is_empty() { count(barred, "knob", "knobs") } else { format!("{barred}\u{a0}more") };
    match barred {
        0 => format!("{first}."),
        _ => format!("{first}; {more} could be set, but not here or not by this user."),
    }
}

/// Whether it is one of those that are set without being named, and not as it should be.
fn worth_setting(knob: &KnobState) -> bool {
    !knob.is_quiet && !knob.knob.only_if_named() && knob.quiet_value.is_ok()
}

/// Whether there is something to set and somebody else could.
fn is_barred(knob: &KnobState) -> bool {
    knob.settable.is_err() && knob.value.is_ok()
}

fn could_as_root(report: &HostReport) -> bool {
    match report.question {
        HostQuestion::Status => report.knobs.iter().any(|knob| worth_setting(knob) && is_barred(knob)),
        HostQuestion::Quiet => !report.left.is_empty(),
        HostQuestion::Restore => false,
    }
}

/// Names in a sentence.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [many @ .., last] => format!("{} and {last}", many.join(", ")),
    }
}

fn knob(state: &KnobState) -> Item {
    let (what, source) = worth(state.knob);
    let shown = |reading: &Reading<String>| reading.as_ref().map_or_else(|_| "–".to_owned(), |text| one_line(text));
    let (now, quiet) = (shown(&state.value), shown(&state.quiet_value));
    let (paint, text) = match (&state.value, state.is_quiet, &state.settable) {
        (Err(Absent(why)), ..) => (Paint::Plain, format!("not here: {}", one_line(why))),
        (Ok(_), true, _) => (Paint::Same, format!("{now}: as it should be")),
        (Ok(_), false, Ok(())) if state.knob == Knob::Caches => (Paint::Plain, "dropped before a run".to_owned()),
        (Ok(_), false, Ok(())) if state.knob.only_if_named() => {
            (Paint::Plain, format!("{now}; {quiet} if it is named"))
        }
        (Ok(_), false, Ok(())) => (Paint::Open, format!("{now}; {quiet} steadies")),
        (Ok(_), false, Err(Absent(why))) if state.quiet_value.is_ok() => {
            (Paint::Plain, format!("{now}; {quiet} steadies, but cannot be set: {}", one_line(why)))
        }
        (Ok(_), false, Err(Absent(why))) => (Paint::Plain, format!("{now}; cannot be set: {}", one_line(why))),
    };
    let files =
        if state.files.len() > 1 { format!(" ({})", count(state.files.len(), "file", "files")) } else { String::new() };
    Item { label: state.knob.name().to_owned(), paint, text: text + &files, below: Some(format!("{what} [{source}]")) }
}

fn condition(state: &ConditionState) -> Item {
    let (paint, text) = match &state.value {
        Ok(text) if state.disturbs => (Paint::Open, one_line(text)),
        Ok(text) => (Paint::Plain, one_line(text)),
        Err(absent) => (Paint::Plain, format!("absent: {}", one_line(&absent.0))),
    };
    Item { label: state.condition.name().to_owned(), paint, text, below: None }
}

fn spread(spread: &RulerSpread) -> Item {
    let readings = count(spread.readings, "reading", "readings");
    let (middle, all) = (percent(spread.spread_ratio), percent(spread.range_ratio));
    Item::plain(name(spread), format!("{middle} apart in the middle half, {all} in all, {readings}"))
}

fn journal(journal: &Reading<Option<JournalFacts>>) -> Vec<Item> {
    let facts = match journal {
        Ok(None) => return Vec::new(),
        Ok(Some(facts)) => facts,
        Err(absent) => return vec![Item::plain("absent", one_line(&absent.0))],
    };
    let names: Vec<&str> = facts.knobs.iter().map(|knob| knob.name()).collect();
    let wanted = match (facts.stays, facts.running) {
        (_, running @ 1..) => count(running, "command runs on it now", "commands run on it now"),
        (true, 0) => "it stays quiet until steady host restore".to_owned(),
        (false, 0) => "nobody wants it quiet any more: steady host restore".to_owned(),
    };
    vec![
        Item::plain("since", since(facts.since)),
        Item::plain("holds", listed(&names)),
        Item::plain("for", wanted),
        Item::plain("file", one_line(&facts.file)),
    ]
}

fn since(time: Timestamp) -> String {
    started(time)
}
