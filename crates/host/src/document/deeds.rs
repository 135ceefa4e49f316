//! What was done to a host, in words.

use steady_model::{Knob, Outcome};
use steady_render::document::{Emphasis, Fact};
use steady_render::letters::{count, one_line};
use steady_render::units::duration;

use super::{files, listed};
use crate::record::{Deed, DeedOutcome, HostRecord, QuietRun};

/// What there is to say first of a host that was made quiet.
pub(super) fn quieted(record: &HostRecord) -> String {
    let set = knobs(&record.set, |outcome| *outcome == DeedOutcome::Set);
    let done = match set.len() {
        0 if record.left.is_empty() && record.set.is_empty() => "There was nothing to set".to_owned(),
        0 => "Nothing was set".to_owned(),
        number => format!("{} set: {}", count(number, "knob was", "knobs were"), listed(&set)),
    };
    let Some(_) = &record.run else {
        let rest = if record.journal.as_ref().is_ok_and(Option::is_some) {
            "; steady host restore puts back what was there."
        } else {
            "."
        };
        return done + rest;
    };
    match (record.restored.is_empty(), record.complete) {
        (true, true) => done + ".",
        (false, true) => done + ", and put back when the command had ended.",
        (_, false) => done + "; not all could be set or put back.",
    }
}

/// What there is to say first of a host that was put back.
pub(super) fn restored(record: &HostRecord) -> String {
    let back = knobs(&record.restored, |outcome| {
        matches!(outcome, DeedOutcome::Restored | DeedOutcome::Forced(_) | DeedOutcome::WasBack)
    });
    match (record.restored.is_empty(), record.complete) {
        (true, true) => "There was nothing to restore.".to_owned(),
        (true, false) => "Nothing was restored.".to_owned(),
        (false, true) => format!("This host is as it was: {} put back.", these(&back)),
        (false, false) if back.is_empty() => "Nothing could be put back.".to_owned(),
        (false, false) => format!("Not all is as it was; {} put back.", these(&back)),
    }
}

fn these(names: &[&str]) -> String {
    format!("{} {}", listed(names), if names.len() == 1 { "was" } else { "were" })
}

/// The knobs of some deeds, in their order.
fn knobs(deeds: &[Deed], of: impl Fn(&DeedOutcome) -> bool) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for deed in deeds.iter().filter(|deed| of(&deed.outcome)) {
        if !names.contains(&deed.name.name()) {
            names.push(deed.name.name());
        }
    }
    names
}

/// Deeds, one fact for those of one knob that went alike.
pub(super) fn facts(deeds: &[Deed]) -> Vec<Fact> {
    let mut groups: Vec<(&Deed, Vec<&Deed>)> = Vec::new();
    for deed in deeds {
        let alike = |(first, _): &&mut (&Deed, Vec<&Deed>)| {
            first.name == deed.name
                && first.outcome.name() == deed.outcome.name()
                && first.outcome.reason() == deed.outcome.reason()
        };
        match groups.iter_mut().find(alike) {
            Some((_, group)) => group.push(deed),
            None => groups.push((deed, vec![deed])),
        }
    }
    groups.into_iter().map(|(first, group)| fact(first, &group)).collect()
}

fn fact(first: &Deed, group: &[&Deed]) -> Fact {
    let values = |value: &dyn Fn(&Deed) -> &str| {
        let mut all: Vec<String> = group.iter().map(|deed| shown(deed.name, value(deed))).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() > 3 { count(all.len(), "value", "different values") } else { all.join(", ") }
    };
    let (from, to) = (values(&|deed| &deed.from), values(&|deed| &deed.to));
    let (emphasis, text) = match &first.outcome {
        DeedOutcome::Set if first.name == Knob::Caches => (Emphasis::Same, "dropped".to_owned()),
        DeedOutcome::Set | DeedOutcome::Restored => (Emphasis::Same, format!("{from} → {to}")),
        DeedOutcome::Same => (Emphasis::Plain, format!("{from}: as it should be")),
        DeedOutcome::WasBack => (Emphasis::Plain, format!("{to}: was back already")),
        DeedOutcome::Refused(why) => (Emphasis::Open, format!("not {to}: {}", one_line(why))),
        DeedOutcome::Foreign(now) => {
            (Emphasis::Open, format!("{}: somebody else set it, so it was left; --force puts {to} back", one_line(now)))
        }
        DeedOutcome::Forced(was) => (Emphasis::Same, format!("{} → {to}, though somebody else set it", one_line(was))),
        DeedOutcome::Gone(why) => (Emphasis::Open, format!("not {to}, for it is gone: {}", one_line(why))),
    };
    Fact::emphasized(first.name.name(), emphasis, text + &files(group.len()))
}

/// A value without what may be left out.
fn shown(knob: Knob, text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.trim());
    one_line(chosen.filter(|_| knob == Knob::Thp).unwrap_or_else(|| text.trim()))
}

/// What there is to say of a command.
pub(super) fn run(run: &QuietRun) -> Vec<Fact> {
    let how = match run.ended {
        Outcome::Exited(status) => format!("ended with status {status}"),
        Outcome::Signalled(signal) => format!("was ended by signal {signal}"),
        Outcome::TimedOut => "ran too long".to_owned(),
    };
    let mut facts = vec![
        Fact::new("command", one_line(&run.command)),
        Fact::new("end", format!("{how}, after {}", duration(run.wall_seconds))),
    ];
    match &run.fixed_addresses {
        Ok(false) => {}
        Ok(true) => facts.push(Fact::new("addresses", "the same each time, for this command alone")),
        Err(absent) => facts.push(Fact::new("addresses", format!("drawn as usual: {}", one_line(&absent.0)))),
    }
    if run.left_behind > 0 {
        let left = count(run.left_behind as usize, "process was", "processes were");
        facts.push(Fact::new("left behind", format!("{left} ended with it")));
    }
    facts
}
