//! The commands that were compared, and the requested effort and precision.

use steady_model::{Command, Effort, Layout, Plan, Report};
use steady_render::document::{Block, Emphasis, Fact, Section, Shown};
use steady_render::units::{duration, setting, time_setting};

use super::repeat::as_typed;
use crate::words::{name, one_line, pairs_of_each};

/// The commands, each with its arguments, parameters, revision, variables and directory.
pub(super) fn section(plan: &Plan) -> Section {
    let is_alone = plan.commands.len() == 1;
    let fact = |(index, command): (usize, &Command)| {
        let label = if is_alone { "command".to_owned() } else { (index + 1).to_string() };
        let fact = Fact::emphasized(&label, Emphasis::Code, name(plan, index));
        let mut notes = more(command);
        if !is_alone && index == 0 {
            let others = if plan.commands.len() > 2 { "the others are" } else { "the other is" };
            notes.insert(0, format!("{others} compared with it"));
        }
        if notes.is_empty() { fact } else { fact.with_note(notes.join("; ")) }
    };
    let facts = plan.commands.iter().enumerate().map(fact).collect();
    let heading = if is_alone { "The command" } else { "The commands" };
    Section::new(heading, vec![Block::Facts(facts)]).shown(Shown::OnPages)
}

/// Properties of a command that its name does not show.
fn more(command: &Command) -> Vec<String> {
    let typed = Some(as_typed(command)).filter(|line| *line != command.name);
    let words = typed.map(|line| format!("command line: {line}"));
    let parameters = command.parameters.iter().map(|(key, value)| format!("parameter {key} = {value}"));
    let revision = command.revision.iter().map(|revision| format!("revision {revision}"));
    let variables = command.environment.iter().map(|(key, value)| format!("variable {key}={value}"));
    let directory = command.directory.iter().map(|directory| format!("directory {}", directory.display()));
    let all = words.into_iter().chain(parameters).chain(revision).chain(variables).chain(directory);
    all.map(|text| one_line(&text)).collect()
}

/// The requested effort and precision, and the time that the comparison took.
pub(super) fn choices(report: &Report) -> Section {
    let record = &report.record;
    let plan = &record.plan;
    let effort = match plan.effort {
        Effort::Budget(budget) => format!("at most {}", time_setting(budget)),
        Effort::Pairs(pairs) => pairs_of_each(plan, pairs),
    };
    let limit = |word: &str, pairs: Option<u64>| {
        let pairs = pairs.map(|pairs| pairs_of_each(plan, pairs));
        pairs.map_or_else(String::new, |pairs| format!("; at {word} {pairs}"))
    };
    let limits = limit("least", plan.pairs_min) + &limit("most", plan.pairs_max);
    let mut requested =
        format!("{effort}{limits}; resolution ±{}; confidence {}", setting(plan.resolution), setting(plan.confidence));
    if let Some(layout) = plan.layout {
        requested.push_str(if layout == Layout::Turns { "; turns only" } else { "; duets only" });
    }
    if let Some(condition) = plan.fail_if {
        requested.push_str(&format!("; --fail-if {condition}"));
    }
    let facts = vec![
        Fact::new("requested", requested),
        Fact::new("took", duration(record.elapsed)),
        Fact::reading("counters", &record.counters, |_| "read".to_owned()),
    ];
    Section::new("How", vec![Block::Facts(facts)]).shown(Shown::OnPages)
}
