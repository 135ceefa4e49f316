//! Sentences and facts about what was set and restored.

use steady_model::{Knob, Outcome};
use steady_render::document::{Emphasis, Fact};
use steady_render::letters::{count, one_line};
use steady_render::units::duration;

use super::{files, left_to_root, listed};
use crate::record::{Attempt, AttemptOutcome, HostRecord, QuietRun};

/// Returns the answer for a host that was made quiet.
pub(super) fn quieted(record: &HostRecord) -> String {
    let set = knobs(&record.set, |outcome| *outcome == AttemptOutcome::Set);
    let done = match set.len() {
        0 if record.left.is_empty() && record.set.is_empty() => {
            let is_fixed = record.run.as_ref().is_some_and(|run| run.fixed_addresses == Ok(true));
            if is_fixed { "Addresses were fixed for the command" } else { "There was nothing to set" }.to_owned()
        }
        0 => match left_to_root(record).as_slice() {
            [] => "Nothing was set".to_owned(),
            names => format!("Nothing was set, because only root may set {}", listed(names)),
        },
        number => format!("{} set: {}", count(number, "knob was", "knobs were"), listed(&set)),
    };
    let Some(_) = &record.run else {
        let rest = if record.journal.as_ref().is_ok_and(Option::is_some) {
            "; steady host restore sets the original values again."
        } else {
            "."
        };
        return done + rest;
    };
    match (record.restored.is_empty(), record.complete) {
        (true, true) => done + ".",
        (false, true) => done + ", and restored after the command ended.",
        (_, false) => done + "; some could not be set or restored.",
    }
}

/// Returns the answer for a host that was restored.
pub(super) fn restored(record: &HostRecord) -> String {
    let back = knobs(&record.restored, |outcome| {
        matches!(outcome, AttemptOutcome::Restored | AttemptOutcome::Forced(_) | AttemptOutcome::WasBack)
    });
    match (record.restored.is_empty(), record.complete) {
        (true, true) => "There was nothing to restore.".to_owned(),
        (true, false) => "Nothing was restored.".to_owned(),
        (false, true) => format!("This host is restored: {} set back.", with_verb(&back)),
        (false, false) if back.is_empty() => "Nothing could be restored.".to_owned(),
        (false, false) => format!("This host is only partly restored: {} set back.", with_verb(&back)),
    }
}

fn with_verb(names: &[&str]) -> String {
    format!("{} {}", listed(names), if names.len() == 1 { "was" } else { "were" })
}

/// Returns the knobs of attempts with certain outcomes, in their order, without duplicates.
fn knobs(attempts: &[Attempt], of: impl Fn(&AttemptOutcome) -> bool) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for attempt in attempts.iter().filter(|attempt| of(&attempt.outcome)) {
        if !names.contains(&attempt.name.name()) {
            names.push(attempt.name.name());
        }
    }
    names
}

/// Makes the facts about attempts. Deeds of one knob with the same outcome share one fact.
pub(super) fn facts(attempts: &[Attempt]) -> Vec<Fact> {
    let mut groups: Vec<(&Attempt, Vec<&Attempt>)> = Vec::new();
    for attempt in attempts {
        let alike = |(first, _): &&mut (&Attempt, Vec<&Attempt>)| {
            first.name == attempt.name
                && first.outcome.name() == attempt.outcome.name()
                && first.outcome.reason() == attempt.outcome.reason()
        };
        match groups.iter_mut().find(alike) {
            Some((_, group)) => group.push(attempt),
            None => groups.push((attempt, vec![attempt])),
        }
    }
    groups.into_iter().map(|(first, group)| fact(first, &group)).collect()
}

fn fact(first: &Attempt, group: &[&Attempt]) -> Fact {
    let values = |value: &dyn Fn(&Attempt) -> &str| {
        let mut all: Vec<String> = group.iter().map(|attempt| shown(attempt.name, value(attempt))).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() > 3 { count(all.len(), "value", "different values") } else { all.join(", ") }
    };
    let (from, to) = (values(&|attempt| &attempt.from), values(&|attempt| &attempt.to));
    let (emphasis, text) = match &first.outcome {
        AttemptOutcome::Set if first.name == Knob::Caches => (Emphasis::Same, "dropped".to_owned()),
        AttemptOutcome::Set | AttemptOutcome::Restored => (Emphasis::Same, format!("{from} → {to}")),
        AttemptOutcome::Same => (Emphasis::Plain, format!("{from} (quiet already)")),
        AttemptOutcome::WasBack => (Emphasis::Plain, format!("{to} (restored already)")),
        AttemptOutcome::Refused(why) => (Emphasis::Open, format!("could not be set to {to}: {}", one_line(why))),
        AttemptOutcome::Foreign(now) => (
            Emphasis::Open,
            format!("{}: another program set it, so it was not changed; --force restores {to}", one_line(now)),
        ),
        AttemptOutcome::Forced(was) => {
            (Emphasis::Same, format!("{} → {to}, although another program had set it", one_line(was)))
        }
        AttemptOutcome::Gone(why) => (Emphasis::Open, format!("could not be set to {to}: {}", one_line(why))),
    };
    Fact::emphasized(first.name.name(), emphasis, text + &files(group.len()))
}

/// Shortens a value: of a list of choices, returns the chosen one in brackets.
fn shown(knob: Knob, text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.trim());
    one_line(chosen.filter(|_| knob == Knob::Thp).unwrap_or_else(|| text.trim()))
}

/// Makes the facts about the command.
pub(super) fn run(run: &QuietRun) -> Vec<Fact> {
    let how = match run.ended {
        Outcome::Exited(status) => format!("exit status {status}"),
        Outcome::Signalled(signal) => format!("killed by signal {signal}"),
        Outcome::TimedOut => "timeout".to_owned(),
    };
    let mut facts = vec![
        Fact::new("command", one_line(&run.command)),
        Fact::new("end", format!("{how}, after {}", duration(run.wall_seconds))),
    ];
    match &run.fixed_addresses {
        Ok(false) => {}
        Ok(true) => facts.push(Fact::new("addresses", "the same in every run, for this command only")),
        Err(absent) => facts.push(Fact::new(
            "addresses",
            format!("randomised as usual, because they could not be fixed: {}", one_line(&absent.0)),
        )),
    }
    if run.left_behind > 0 {
        let left = count(run.left_behind as usize, "process", "processes");
        facts.push(Fact::new("left behind", format!("{left}, killed when the command had ended")));
    }
    facts
}
