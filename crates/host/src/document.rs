//! A host and its knobs as a document, and as lines of CSV.

mod deeds;

use steady_feature::Report;
use steady_model::{ConditionState, Knob, Reading, Resource};
use steady_render::csv::{Column, table};
use steady_render::document::{Block, Document, Emphasis, Fact, Section};
use steady_render::letters::{count, one_line};
use steady_render::units::{TIE, percent};
use steady_render::{json, timestamp};

use crate::record::{Deed, HostQuestion, HostRecord, JournalFacts, KnobRecord, RulerSpread, SCHEMA};

impl Report for HostRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// It has no samples.
    fn json(&self, _samples: bool) -> String {
        json::text(&SCHEMA, self)
    }
}

/// The report: first what was done or can be done, last how far the host is from quiet.
fn document(record: &HostRecord) -> Document {
    let (subject, answer) = match record.kind {
        HostQuestion::Status => ("Steadyhand: how quiet this host is", standing(record)),
        HostQuestion::Quiet => ("Steadyhand: a host made quiet", deeds::quieted(record)),
        HostQuestion::Restore => ("Steadyhand: a host put back", deeds::restored(record)),
    };
    let facts = facts(record).into_iter().filter(|(_, facts)| !facts.is_empty());
    let mut sections: Vec<Section> =
        facts.map(|(heading, facts)| Section::new(heading, vec![Block::Facts(facts)])).collect();
    let last = last(record);
    if !last.is_empty() {
        sections.push(Section::paragraphs(last.into_iter().map(|line| vec![(Emphasis::Plain, line)])));
    }
    let answer = vec![vec![(Emphasis::Heading, answer)]];
    Document { subject: subject.to_owned(), answer, sections, is_brief: false }
}

/// The facts under their headings, in the order in which they are read.
fn facts(record: &HostRecord) -> Vec<(&'static str, Vec<Fact>)> {
    let mut all = match record.kind {
        HostQuestion::Status => vec![
            ("Knobs", record.knobs.iter().map(knob).collect()),
            ("What else matters", record.conditions.iter().map(condition).collect()),
            ("Rulers over one second", record.spreads.iter().flatten().map(spread).collect()),
        ],
        HostQuestion::Quiet | HostQuestion::Restore => vec![
            ("Set", deeds::facts(&record.set)),
            ("Left as it is", record.left.iter().map(|left| sentence(left.name.name(), &left.reason)).collect()),
            ("The command", record.run.iter().flat_map(deeds::run).collect()),
            ("Put back", deeds::facts(&record.restored)),
        ],
    };
    all.push(("Journal", journal(&record.journal)));
    all
}

/// Notes, what root could do, and how far the host is from quiet: a paragraph each.
fn last(record: &HostRecord) -> Vec<String> {
    let mut last: Vec<String> = record.notes.iter().map(|note| format!("Note: {}.", one_line(note))).collect();
    if !record.is_root && could_as_root(record) {
        last.push(format!("As root: {}", record.as_root));
    }
    if record.kind == HostQuestion::Status {
        last.extend(distance(&record.spreads));
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
    match spread.ruler {
        Resource::SystemCall => "system call",
        other => other.name(),
    }
}

fn standing(record: &HostRecord) -> String {
    let open = || record.knobs.iter().filter(|knob| worth_setting(knob));
    let helpful: Vec<&str> = open().filter(|knob| knob.settable).map(|knob| knob.name.name()).collect();
    let barred = open().filter(|knob| is_barred(knob)).count();
    let first = match helpful.len() {
        0 => "No knob is left that could be set here".to_owned(),
        _ => format!("This host can be made quieter: {} can be set", listed(&helpful)),
    };
    let more = if helpful.is_empty() { count(barred, "knob", "knobs") } else { format!("{barred}{TIE}more") };
    match barred {
        0 => format!("{first}."),
        _ => format!("{first}; {more} could be set, but not here or not by this user."),
    }
}

/// Whether it is one of those that are set without being named, and not as it should be.
fn worth_setting(knob: &KnobRecord) -> bool {
    !knob.is_quiet && !knob.name.only_if_named() && knob.quiet_value.is_ok()
}

/// Whether there is something to set and somebody else could.
fn is_barred(knob: &KnobRecord) -> bool {
    !knob.settable && knob.value.is_ok()
}

fn could_as_root(record: &HostRecord) -> bool {
    match record.kind {
        HostQuestion::Status => record.knobs.iter().any(|knob| worth_setting(knob) && is_barred(knob)),
        HostQuestion::Quiet => !record.left.is_empty(),
        HostQuestion::Restore => false,
    }
}

/// Names in a sentence.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [many @ .., last] => format!("{} and {last}", many.join(", ")),
    }
}

/// A fact whose text comes from elsewhere, and ends with a full stop.
fn sentence(label: &str, text: &str) -> Fact {
    Fact::new(label, format!("{}.", one_line(text)))
}

fn knob(knob: &KnobRecord) -> Fact {
    let shown = |reading: &Reading<String>| reading.as_ref().map_or_else(|_| "–".to_owned(), |text| one_line(text));
    let (now, quiet) = (shown(&knob.value), shown(&knob.quiet_value));
    let why = one_line(knob.reason.as_deref().unwrap_or_default());
    let (emphasis, text) = match &knob.value {
        Err(absent) => (Emphasis::Plain, format!("not here: {}", one_line(&absent.0))),
        Ok(_) if knob.is_quiet => (Emphasis::Same, format!("{now}: as it should be")),
        Ok(_) if !knob.settable && knob.quiet_value.is_ok() => {
            (Emphasis::Plain, format!("{now}; {quiet} steadies, but cannot be set: {why}"))
        }
        Ok(_) if !knob.settable => (Emphasis::Plain, format!("{now}; cannot be set: {why}")),
        Ok(_) if knob.name == Knob::Caches => (Emphasis::Plain, "dropped before a run".to_owned()),
        Ok(_) if knob.name.only_if_named() => (Emphasis::Plain, format!("{now}; {quiet} if it is named")),
        Ok(_) => (Emphasis::Open, format!("{now}; {quiet} steadies")),
    };
    let note = format!("{} [{}]", knob.worth, knob.source);
    Fact::emphasized(knob.name.name(), emphasis, text + &files(knob.files)).with_note(note)
}

/// How many files there are, where it is more than one: ` (2 files)`.
fn files(number: usize) -> String {
    if number > 1 { format!(" ({})", count(number, "file", "files")) } else { String::new() }
}

fn condition(state: &ConditionState) -> Fact {
    let emphasis = if state.disturbs { Emphasis::Open } else { Emphasis::Plain };
    let text = match &state.value {
        Ok(text) => one_line(text),
        Err(absent) => format!("absent: {}", one_line(&absent.0)),
    };
    Fact::emphasized(state.name.name(), emphasis, text)
}

fn spread(spread: &RulerSpread) -> Fact {
    let readings = count(spread.readings, "reading", "readings");
    let (middle, all) = (percent(spread.spread_ratio), percent(spread.range_ratio));
    Fact::new(name(spread), format!("{middle} apart in the middle half, {all} in all, {readings}"))
}

fn journal(journal: &Reading<Option<JournalFacts>>) -> Vec<Fact> {
    let facts = match journal {
        Ok(None) => return Vec::new(),
        Ok(Some(facts)) => facts,
        Err(absent) => return vec![Fact::new("absent", one_line(&absent.0))],
    };
    let names: Vec<&str> = facts.knobs.iter().map(|knob| knob.name()).collect();
    let wanted = match (facts.stays, facts.running) {
        (_, running @ 1..) => count(running, "command runs on it now", "commands run on it now"),
        (true, 0) => "it stays quiet until steady host restore".to_owned(),
        (false, 0) => "nobody wants it quiet any more: steady host restore".to_owned(),
    };
    vec![
        Fact::new("since", timestamp::text(facts.since)),
        Fact::new("holds", listed(&names)),
        Fact::new("for", wanted),
        Fact::new("file", one_line(&facts.file)),
    ]
}

/// A line per knob, or per file that was set or put back, below a line of names.
fn csv(record: &HostRecord) -> String {
    let knobs: [Column<KnobRecord>; 7] = [
        ("name", |knob| knob.name.name().to_owned()),
        ("value", |knob| knob.value.clone().unwrap_or_default()),
        ("quiet_value", |knob| knob.quiet_value.clone().unwrap_or_default()),
        ("is_quiet", |knob| knob.is_quiet.to_string()),
        ("settable", |knob| knob.settable.to_string()),
        ("reason", |knob| knob.reason.clone().unwrap_or_default()),
        ("files", |knob| knob.files.to_string()),
    ];
    let deeds: [Column<(&str, &Deed)>; 7] = [
        ("deed", |(done, _)| (*done).to_owned()),
        ("name", |(_, deed)| deed.name.name().to_owned()),
        ("file", |(_, deed)| deed.file.clone()),
        ("from", |(_, deed)| deed.from.trim_end().to_owned()),
        ("to", |(_, deed)| deed.to.trim_end().to_owned()),
        ("outcome", |(_, deed)| deed.outcome.name().to_owned()),
        ("reason", |(_, deed)| deed.outcome.reason().unwrap_or_default().to_owned()),
    ];
    if record.kind == HostQuestion::Status {
        return table(&knobs, &record.knobs);
    }
    let set = record.set.iter().map(|deed| ("quiet", deed));
    let restored = record.restored.iter().map(|deed| ("restore", deed));
    table(&deeds, &set.chain(restored).collect::<Vec<_>>())
}
