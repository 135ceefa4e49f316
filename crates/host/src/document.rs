//! The report on a host and its knobs, and its CSV.

mod attempts;

use steady_feature::Report;
use steady_model::{Condition, ConditionState, Knob, Reading, Resource, Verdict};
use steady_render::csv::{Column, table};
use steady_render::document::{Block, Document, Emphasis, Fact, Section};
use steady_render::effect::signed;
use steady_render::letters::{count, listed, one_line};
use steady_render::table::{Cell, Column as TableColumn, Table};
use steady_render::units::percent;
use steady_render::{json, timestamp};

use crate::record::{
    Attempt, HostQuestion, HostRecord, JournalFacts, KnobEffect, KnobRecord, NoiseEffects, RulerSpread, SCHEMA,
};

impl Report for HostRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// Ignores `_samples`: a record of a host has no samples.
    fn json(&self, _samples: bool) -> String {
        json::text(&SCHEMA, self)
    }
}

/// Makes the report: first what was done or can be done, last how far the host is from quiet.
fn document(record: &HostRecord) -> Document {
    let (subject, answer) = match record.kind {
        HostQuestion::Status => ("Steadyhand: how quiet this host is", status_answer(record)),
        HostQuestion::Quiet => ("Steadyhand: a host made quiet", attempts::quieted(record)),
        HostQuestion::Restore => ("Steadyhand: a host restored", attempts::restored(record)),
    };
    let facts = facts(record).into_iter().filter(|(_, facts)| !facts.is_empty());
    let mut sections: Vec<Section> =
        facts.map(|(heading, facts)| Section::new(heading, vec![Block::Facts(facts)])).collect();
    sections.extend(record.effects.as_ref().ok().map(noise));
    let final_paragraphs = final_paragraphs(record);
    if !final_paragraphs.is_empty() {
        sections.push(Section::paragraphs(final_paragraphs.into_iter().map(|line| vec![(Emphasis::Plain, line)])));
    }
    let answer = vec![vec![(Emphasis::Heading, answer)]];
    Document { subject: subject.to_owned(), answer, sections, is_brief: false }
}

/// Returns the section about the effects of knobs on the noise of a short command.
fn noise(effects: &NoiseEffects) -> Section {
    let rows = &effects.knobs;
    let noise = |reading: fn(&KnobEffect) -> &Reading<f64>| {
        move |effect: &KnobEffect| Cell::reading(reading(effect), |ratio| percent(*ratio))
    };
    let change = |effect: &KnobEffect| {
        let text = effect.change.clone().and_then(|change| {
            let (size, range) = signed(change, effect.interval()?);
            Ok(format!("{size} ({range})"))
        });
        Cell::reading(&text, String::clone)
    };
    let verdict = |effect: &KnobEffect| match effect.verdict {
        Verdict::Faster => Cell::Text(Emphasis::Less, "less".to_owned()),
        Verdict::Slower => Cell::Text(Emphasis::More, "more".to_owned()),
        Verdict::Same => Cell::Text(Emphasis::Same, "the same".to_owned()),
        Verdict::Undecided => Cell::Text(Emphasis::Open, "not known".to_owned()),
    };
    let table = Table {
        label: "Effects of knobs on the noise of a short command".to_owned(),
        rows: ("effect", "effects"),
        columns: vec![
            TableColumn::words("knob", rows, |effect| effect.name.name()),
            TableColumn::words("time", rows, |effect| effect.metric.name().to_owned()),
            TableColumn::words("noise", rows, verdict),
            TableColumn::numbers("now", rows, noise(|effect| &effect.usual_noise_ratio)),
            TableColumn::numbers("if set", rows, noise(|effect| &effect.quiet_noise_ratio)),
            TableColumn::words("change (95\u{a0}% interval)", rows, change),
        ],
    };
    let note = format!(
        "noise: median relative difference between successive runs of {}; {} rounds in random order, each with {} runs \
         with the knob and {} without; seed {}",
        effects.command, effects.rounds, effects.runs, effects.runs, effects.seed
    );
    let blocks = vec![Block::Table(table), Block::Paragraph(vec![(Emphasis::Plain, note)])];
    Section::new("Which knobs change the noise of a short command", blocks).whole()
}

/// Returns the facts of each section, with the headings, in their order.
fn facts(record: &HostRecord) -> Vec<(&'static str, Vec<Fact>)> {
    let mut all = match record.kind {
        HostQuestion::Status => vec![
            ("Knobs", record.knobs.iter().filter_map(knob).collect()),
            ("Not available on this host", unavailable(&record.knobs)),
            ("Other conditions", record.conditions.iter().map(condition).collect()),
            ("Rulers over one second", record.spreads.iter().flatten().map(spread).collect()),
        ],
        HostQuestion::Quiet | HostQuestion::Restore => vec![
            ("Set", attempts::facts(&record.set)),
            ("Not set", record.left.iter().map(|left| sentence(left.name.name(), &left.reason)).collect()),
            ("The command", record.run.iter().flat_map(attempts::run).collect()),
            ("Restored", attempts::facts(&record.restored)),
        ],
    };
    all.push(("Journal", journal(&record.journal)));
    all
}

/// Returns the last paragraphs: notes, what root could do, and how far the host is from quiet.
fn final_paragraphs(record: &HostRecord) -> Vec<String> {
    let mut final_paragraphs: Vec<String> =
        record.notes.iter().map(|note| format!("Note: {}.", one_line(note))).collect();
    if could_as_root(record) {
        final_paragraphs.push(format!("As root: {}", record.as_root));
    }
    if record.kind == HostQuestion::Status {
        let absent = record.effects.as_ref().err().filter(|_| record.wants_effects);
        final_paragraphs
            .extend(absent.map(|why| format!("The effects of the knobs were not measured: {}.", one_line(&why.0))));
        final_paragraphs.extend(distance(record));
    }
    final_paragraphs
}

/// Says how far this host is from quiet, by the spread of the rulers and the CPU time of other processes.
fn distance(record: &HostRecord) -> Option<String> {
    let spreads = match &record.spreads {
        Ok(spreads) => spreads,
        Err(absent) => return Some(format!("How far it is from quiet was not measured: {}.", one_line(&absent.0))),
    };
    let by_spread = |one: &&RulerSpread, other: &&RulerSpread| one.spread_ratio.total_cmp(&other.spread_ratio);
    let most = spreads.iter().max_by(by_spread)?;
    let least = spreads.iter().min_by(by_spread)?;
    let of = |spread: &RulerSpread| format!("{} ({})", percent(spread.spread_ratio), name(spread));
    let others = record.busy_ratio.as_ref().map_or_else(
        |_| String::new(),
        |ratio| format!(", and other processes use no CPU time (here {})", percent(*ratio)),
    );
    Some(format!(
        "How far it is from quiet: for one second, rulers repeated the same work. The interquartile range of their \
         times was at most {} and at least {} of the median. On a quiet host, all times are equal{others}.",
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

/// How busy other processes keep the CPUs, and which knobs can be set by whom.
fn status_answer(record: &HostRecord) -> String {
    let disturbs = |state: &ConditionState| state.name == Condition::BusyCpus && state.disturbs;
    let busy = match &record.busy_ratio {
        Ok(ratio) if record.conditions.iter().any(disturbs) => {
            format!("This host is busy: other processes use {} of its CPU time. ", percent(*ratio))
        }
        Ok(ratio) => format!("Other processes use {} of the CPU time. ", percent(*ratio)),
        Err(_) => String::new(),
    };
    let of = |wanted: &dyn Fn(&KnobRecord) -> bool| -> Option<String> {
        let names: Vec<&str> = record
            .knobs
            .iter()
            .filter(|knob| worth_setting(knob) && wanted(knob))
            .map(|knob| knob.name.name())
            .collect();
        (!names.is_empty()).then(|| listed(&names))
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(
        of(&|knob| knob.settable).map(|names| format!("This host can be made quieter: steady host quiet sets {names}")),
    );
    parts.extend(of(&|knob| knob.needs_root).map(|names| match parts.is_empty() {
        true => format!("Only root can make this host quieter: {names} can be set"),
        false => format!("only root can set {names}"),
    }));
    if parts.is_empty() {
        parts.push("No knob that can be set makes this host quieter".to_owned());
    }
    let fixed = of(&|knob| !knob.settable && !knob.needs_root && knob.value.is_ok());
    parts.extend(fixed.map(|names| format!("{names} cannot be set on this host")));
    format!("{busy}{}.", parts.join("; "))
}

/// Returns whether the knob is noisy, has a quiet value, and is set without being named.
fn worth_setting(knob: &KnobRecord) -> bool {
    !knob.is_quiet && !knob.name.only_if_named() && knob.quiet_value.is_ok()
}

fn could_as_root(record: &HostRecord) -> bool {
    match record.kind {
        HostQuestion::Status => record.knobs.iter().any(|knob| worth_setting(knob) && knob.needs_root),
        HostQuestion::Quiet => !left_to_root(record).is_empty(),
        HostQuestion::Restore => false,
    }
}

/// Returns the knobs that were requested and that only root may set.
fn left_to_root(record: &HostRecord) -> Vec<&'static str> {
    let needs_root = |name: Knob| record.knobs.iter().any(|knob| knob.name == name && knob.needs_root);
    record.left.iter().filter(|left| needs_root(left.name)).map(|left| left.name.name()).collect()
}

/// Makes a fact of a text without a full stop.
fn sentence(label: &str, text: &str) -> Fact {
    Fact::new(label, format!("{}.", one_line(text)))
}

/// The fact about a knob; `None` if this host does not have it.
fn knob(knob: &KnobRecord) -> Option<Fact> {
    let value = knob.value.as_ref().ok()?;
    let shown = |reading: &Reading<String>| reading.as_ref().map_or_else(|_| "–".to_owned(), |text| one_line(text));
    let (now, quiet) = (one_line(value), shown(&knob.quiet_value));
    let why = one_line(knob.reason.as_deref().unwrap_or_default());
    let (emphasis, text) = match value.as_str() {
        // The kernel's words for it do not explain themselves.
        "notsupported" | "notimplemented" if knob.name == Knob::Smt => {
            (Emphasis::Same, "one thread per core (quiet)".to_owned())
        }
        _ if knob.is_quiet => (Emphasis::Same, format!("{now} (quiet)")),
        _ if knob.needs_root && knob.name.only_if_named() => {
            let one = format!("--only {} -- COMMAND sets it to {quiet} for one command", knob.name.name());
            (Emphasis::Plain, format!("now {now}; {one}, and only root may set it for all"))
        }
        _ if knob.needs_root && knob.name == Knob::Caches => {
            (Emphasis::Open, "only root may drop them before a run".to_owned())
        }
        _ if knob.needs_root => (Emphasis::Open, format!("now {now}; only root may set it to {quiet}")),
        _ if !knob.settable && knob.quiet_value.is_ok() => {
            (Emphasis::Plain, format!("now {now}; {quiet} is quiet, but cannot be set: {why}"))
        }
        _ if !knob.settable => (Emphasis::Plain, format!("now {now}; cannot be set: {why}")),
        _ if knob.name == Knob::Caches => (Emphasis::Plain, "can be dropped before a run".to_owned()),
        _ if knob.name.only_if_named() => {
            (Emphasis::Plain, format!("now {now}; --only {} sets it to {quiet}", knob.name.name()))
        }
        _ => (Emphasis::Open, format!("now {now}; set to {quiet} for less noise")),
    };
    let fact = Fact::emphasized(knob.name.name(), emphasis, text + &files(knob.files));
    // Below a noisy state, the effect of the quiet one would read like a fact about the host.
    let if_set = if knob.is_quiet { "" } else { "if set: " };
    Some(if knob.is_quiet || knob.settable || knob.needs_root {
        fact.with_note(format!("{if_set}{} [{}]", knob.worth, knob.source))
    } else {
        fact
    })
}

/// The knobs that this host does not have, one fact for those with the same reason.
fn unavailable(knobs: &[KnobRecord]) -> Vec<Fact> {
    let mut reasons: Vec<(&str, Vec<&str>)> = vec![];
    for (knob, absent) in knobs.iter().filter_map(|knob| Some((knob, knob.value.as_ref().err()?))) {
        match reasons.iter_mut().find(|(reason, _)| *reason == absent.0) {
            Some((_, names)) => names.push(knob.name.name()),
            None => reasons.push((&absent.0, vec![knob.name.name()])),
        }
    }
    reasons.into_iter().map(|(reason, names)| Fact::new(&names.join(", "), one_line(reason))).collect()
}

/// Formats the number of files if there are several: ` (2 files)`.
fn files(number: usize) -> String {
    if number > 1 { format!(" ({})", count(number, "file", "files")) } else { String::new() }
}

fn condition(state: &ConditionState) -> Fact {
    let emphasis = if state.disturbs { Emphasis::Open } else { Emphasis::Plain };
    let text = match &state.value {
        Ok(text) => one_line(text),
        Err(absent) => format!("not known: {}", one_line(&absent.0)),
    };
    Fact::emphasized(state.name.name(), emphasis, text)
}

fn spread(spread: &RulerSpread) -> Fact {
    let readings = count(spread.readings, "reading", "readings");
    let (middle, all) = (percent(spread.spread_ratio), percent(spread.range_ratio));
    Fact::new(name(spread), format!("interquartile range {middle} of the median, full range {all}, {readings}"))
}

fn journal(journal: &Reading<Option<JournalFacts>>) -> Vec<Fact> {
    let facts = match journal {
        Ok(None) => return Vec::new(),
        Ok(Some(facts)) => facts,
        Err(absent) => return vec![Fact::new("not readable", one_line(&absent.0))],
    };
    let names: Vec<&str> = facts.knobs.iter().map(|knob| knob.name()).collect();
    let needed_by = match (facts.stays, facts.running) {
        (_, running @ 1..) => count(running, "running command", "running commands"),
        (true, 0) => "steady host quiet, until steady host restore".to_owned(),
        (false, 0) => "no running command; run steady host restore".to_owned(),
    };
    vec![
        Fact::new("quiet since", timestamp::text(facts.since)),
        Fact::new("knobs", listed(&names)),
        Fact::new("needed by", needed_by),
        Fact::new("file", one_line(&facts.file)),
    ]
}

/// Formats the record as CSV: a line for each knob, or for each file that was set or restored, after a header line.
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
    let attempts: [Column<(&str, &Attempt)>; 7] = [
        ("action", |(done, _)| (*done).to_owned()),
        ("name", |(_, attempt)| attempt.name.name().to_owned()),
        ("file", |(_, attempt)| attempt.file.clone()),
        ("from", |(_, attempt)| attempt.from.trim_end().to_owned()),
        ("to", |(_, attempt)| attempt.to.trim_end().to_owned()),
        ("outcome", |(_, attempt)| attempt.outcome.name().to_owned()),
        ("reason", |(_, attempt)| attempt.outcome.reason().unwrap_or_default().to_owned()),
    ];
    if record.kind == HostQuestion::Status {
        return table(&knobs, &record.knobs);
    }
    let set = record.set.iter().map(|attempt| ("quiet", attempt));
    let restored = record.restored.iter().map(|attempt| ("restore", attempt));
    table(&attempts, &set.chain(restored).collect::<Vec<_>>())
}
