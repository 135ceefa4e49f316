//! What was done to a host, in words.

use steady_model::{Deed, DeedOutcome, HostReport, Knob, Outcome, QuietRun};

use super::{Item, listed};
use crate::text::Paint;
use crate::units::duration;
use crate::words::{count, one_line};

/// What there is to say first of a host that was made quiet.
pub(super) fn quieted(report: &HostReport) -> String {
    let set = knobs(&report.set, |outcome| *outcome == DeedOutcome::Set);
    let done = match set.len() {
        0 if report.left.is_empty() && report.set.is_empty() => "There was nothing to set".to_owned(),
        0 => "Nothing was set".to_owned(),
        number => format!("{} set: {}", count(number, "knob was", "knobs were"), listed(&set)),
    };
    let Some(_) = &report.run else {
        let rest = if report.journal.as_ref().is_ok_and(Option::is_some) {
            "; steady host restore puts back what was there."
        } else {
            "."
        };
        return done + rest;
    };
    match (report.restored.is_empty(), report.is_complete()) {
        (true, true) => done + ".",
        (false, true) => done + ", and put back when the command had ended.",
        (_, false) => done + "; not all could be set or put back.",
    }
}

/// What there is to say first of a host that was put back.
pub(super) fn restored(report: &HostReport) -> String {
    let back = knobs(&report.restored, |outcome| {
        matches!(outcome, DeedOutcome::Restored | DeedOutcome::Forced(_) | DeedOutcome::WasBack)
    });
    match (report.restored.is_empty(), report.is_complete()) {
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
        if !names.contains(&deed.knob.name()) {
            names.push(deed.knob.name());
        }
    }
    names
}

/// Deeds, a line for those of one knob that went alike.
pub(super) fn lines(deeds: &[Deed]) -> Vec<Item> {
    let mut groups: Vec<(&Deed, Vec<&Deed>)> = Vec::new();
    for deed in deeds {
        let alike = |(first, _): &&mut (&Deed, Vec<&Deed>)| {
            first.knob == deed.knob
                && first.outcome.name() == deed.outcome.name()
                && first.outcome.reason() == deed.outcome.reason()
        };
        match groups.iter_mut().find(alike) {
            Some((_, group)) => group.push(deed),
            None => groups.push((deed, vec![deed])),
        }
    }
    groups.into_iter().map(|(first, group)| line(first, &group)).collect()
}

fn line(first: &Deed, group: &[&Deed]) -> Item {
    let values = |value: &dyn Fn(&Deed) -> &str| {
        let mut all: Vec<String> = group.iter().map(|deed| shown(deed.knob, value(deed))).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() > 3 { count(all.len(), "value", "different values") } else { all.join(", ") }
    };
    let (from, to) = (values(&|deed| &deed.from), values(&|deed| &deed.to));
    let (paint, text) = match &first.outcome {
        DeedOutcome::Set if first.knob == Knob::Caches => (Paint::Same, "dropped".to_owned()),
        DeedOutcome::Set | DeedOutcome::Restored => (Paint::Same, format!("{from} → {to}")),
        DeedOutcome::Same => (Paint::Plain, format!("{from}: as it should be")),
        DeedOutcome::WasBack => (Paint::Plain, format!("{to}: was back already")),
        DeedOutcome::Refused(why) => (Paint::Open, format!("not {to}: {}", one_line(why))),
        DeedOutcome::Foreign(now) => {
            (Paint::Open, format!("{}: somebody else set it, so it was left; --force puts {to} back", one_line(now)))
        }
        DeedOutcome::Forced(was) => (Paint::Same, format!("{} → {to}, though somebody else set it", one_line(was))),
        DeedOutcome::Gone(why) => (Paint::Open, format!("not {to}, for it is gone: {}", one_line(why))),
    };
    let files = if group.len() > 1 { format!(" ({})", count(group.len(), "file", "files")) } else { String::new() };
    Item { label: first.knob.name().to_owned(), paint, text: text + &files, below: None }
}

/// A value without what may be left out.
fn shown(knob: Knob, text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.trim());
    one_line(chosen.filter(|_| knob == Knob::Thp).unwrap_or_else(|| text.trim()))
}

/// What there is to say of a command.
pub(super) fn run(run: &QuietRun) -> Vec<Item> {
    let how = match run.ended {
        Outcome::Exited(status) => format!("ended with status {status}"),
        Outcome::Signalled(signal) => format!("was ended by signal {signal}"),
        Outcome::TimedOut => "ran too long".to_owned(),
    };
    let mut items = vec![
        Item::plain("command", one_line(&run.command)),
        Item::plain("end", format!("{how}, after {}", duration(run.wall))),
    ];
    items.extend(run.fixed_addresses.as_ref().map(|fixed| match fixed {
        Ok(()) => Item::plain("addresses", "the same each time, for this command alone".to_owned()),
        Err(absent) => Item::plain("addresses", format!("drawn as usual: {}", one_line(&absent.0))),
    }));
    if run.left_behind > 0 {
        let left = count(run.left_behind as usize, "process was", "processes were");
        items.push(Item::plain("left behind", format!("{left} ended with it")));
    }
    items
}
