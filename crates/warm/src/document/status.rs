//! The report of `steady warm status`, `why` and `snapshot`.

use steady_feature::Report;
use steady_model::{Nanos, Reading, Timestamp};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence};
use steady_render::json;
use steady_render::letters::{count, one_line};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{TIE, duration, memory, thousands, time};

use crate::csv::status_csv;
use crate::record::{KeptProgram, Launches, ProgramState, Question, SCHEMA, StatusRecord, StoreFacts};

/// The number of programs to be captured that the report names.
const NAMED: usize = 10;

impl Report for StatusRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        status_csv(self)
    }

    /// The JSON. There are no samples; each program is on a line of its own.
    fn json(&self, _samples: bool) -> String {
        json::text_by_lines(&SCHEMA, self, "programs")
    }
}

/// Builds the report: the table of all programs for `status`, one sentence for each program otherwise.
fn document(record: &StatusRecord) -> Document {
    let is_status = record.question == Question::Status;
    let answer = match is_status {
        true => vec![vec![(Emphasis::Heading, sentence(record))]],
        false => record.programs.iter().map(|program| of_program(record.question, program)).collect(),
    };
    let sections = if is_status { sections(record) } else { vec![] };
    Document { subject: "Steadyhand: programs with snapshots".to_owned(), answer, sections, is_brief: false }
}

/// Summarises the programs in one sentence, by state, with the disk space of the store. The programs are those that the
/// user named, or all.
fn sentence(record: &StatusRecord) -> String {
    let store = match &record.store {
        Ok(store) => store,
        Err(absent) => return format!("There are no snapshots: {}.", one_line(&absent.0)),
    };
    let of = |name: &str| record.programs.iter().filter(|program| program.state.name() == name).count();
    let mut parts = vec![count(of("warm"), "program is warm", "programs are warm")];
    let others = [
        ("stale", "has changed", "have changed"),
        ("refused", "is refused", "are refused"),
        ("script", "is a script", "are scripts"),
    ];
    parts.extend(
        others.into_iter().filter(|(name, ..)| of(name) > 0).map(|(name, one, many)| count(of(name), one, many)),
    );
    let [size, limit] = [store.size_bytes, store.limit_bytes].map(|bytes| memory(bytes.0 as f64));
    format!("{}; the whole store uses {size} of {limit}.", parts.join(", "))
}

/// Returns the sentence about one program: the emphasised answer, then the details.
fn of_program(question: Question, program: &KeptProgram) -> Sentence {
    let is_warm = program.answer.as_ref().map_or(has_snapshots(&program.state), |answer| answer.against.is_empty());
    let (claim, rest) = if question == Question::Why { why(program) } else { state(program) };
    let emphasis = if is_warm { Emphasis::Same } else { Emphasis::Open };
    vec![(emphasis, format!("{} {claim}", one_line(&program.program))), (Emphasis::Plain, rest)]
}

/// Whether the program, or the interpreter of a script, has current snapshots.
fn has_snapshots(state: &ProgramState) -> bool {
    match state {
        ProgramState::Script { interpreter_state, .. } => **interpreter_state == ProgramState::Warm,
        state => *state == ProgramState::Warm,
    }
}

/// How the program would be started, and why.
fn why(program: &KeptProgram) -> (&'static str, String) {
    const AS_USUAL: &str = "would be started as usual";
    match &program.answer {
        None => (AS_USUAL, ": there is no store.".to_owned()),
        Some(answer) if !answer.against.is_empty() => {
            let script = match &program.state {
                ProgramState::Script { .. } => format!(" It is a script{}", details(program)),
                _ => String::new(),
            };
            (AS_USUAL, format!(": {}.{script}", one_line(&answer.against.join("; "))))
        }
        Some(_) => match &program.state {
            ProgramState::Script { interpreter_program, .. } => {
                let of = format!(" of its interpreter, {}.", one_line(interpreter_program));
                ("would be started from a snapshot", of)
            }
            _ => ("would be started from a snapshot", details(program)),
        },
    }
}

/// The state of the program in the store, and the reason.
fn state(program: &KeptProgram) -> (&'static str, String) {
    match &program.state {
        ProgramState::Warm => ("is warm", details(program)),
        ProgramState::Script { .. } => ("is a script", details(program)),
        state => without_snapshots(state),
    }
}

/// The state of a program without current snapshots, and the reason.
fn without_snapshots(state: &ProgramState) -> (&'static str, String) {
    match state {
        ProgramState::Stale { reason } => ("needs a new snapshot", format!(": {}.", one_line(reason))),
        ProgramState::Refused { reason } => ("is refused", format!(": {}.", one_line(reason))),
        ProgramState::Warm => ("is warm", ".".to_owned()),
        ProgramState::Script { .. } => ("is a script", ".".to_owned()),
        ProgramState::Unknown => ("has no snapshot", ": it was not started yet, or not captured yet.".to_owned()),
    }
}

fn details(program: &KeptProgram) -> String {
    if let ProgramState::Script { interpreter, argument, interpreter_program, interpreter_state } = &program.state {
        let argument = argument.as_ref().map_or_else(String::new, |argument| format!(" {}", one_line(argument)));
        let (claim, rest) = without_snapshots(interpreter_state);
        let real = one_line(interpreter_program);
        return format!(" for {}{argument}. Its interpreter, {real}, {claim}{rest}", one_line(interpreter));
    }
    let snapshots = count(program.snapshots as usize, "snapshot", "snapshots");
    let hook = if program.hook_inside { ", with the hook preloaded" } else { "" };
    format!(": {snapshots} of {} together{hook}.", memory(program.size_bytes.0 as f64))
}

fn sections(record: &StatusRecord) -> Vec<Section> {
    let mut sections = Vec::new();
    if !record.programs.is_empty() {
        sections.push(Section::new("Programs", vec![Block::Table(programs(record))]).whole());
    }
    let not_warm: Vec<Fact> = record.programs.iter().filter_map(not_warm).collect();
    if !not_warm.is_empty() {
        sections.push(Section::new("Not warm", vec![Block::Facts(not_warm)]));
    }
    if let Ok(store) = &record.store {
        sections.push(Section::new("Launches of all programs", vec![Block::Facts(launches(store))]));
        sections.push(Section::new("Store", vec![Block::Facts(facts(store))]));
    }
    sections
}

fn programs(record: &StatusRecord) -> Table {
    let all = &record.programs;
    let number =
        |number: &Reading<u64>| number.as_ref().map_or(Cell::Nothing, |number| thousands(*number as usize).into());
    let unless_none = |is_none: bool, text: String| if is_none { Cell::Nothing } else { text.into() };
    let columns = vec![
        Column::words("program", all, |program| one_line(&program.program)),
        Column::words("state", all, |program| program.state.name()),
        Column::numbers("from a snapshot", all, |program| number(&program.warm_launches)),
        Column::numbers("as usual since", all, |program| number(&program.missed_launches)),
        Column::numbers("snapshots", all, |program| unless_none(program.snapshots == 0, program.snapshots.to_string())),
        Column::numbers("size", all, |program| {
            unless_none(program.size_bytes.0 == 0, memory(program.size_bytes.0 as f64))
        }),
        Column::numbers("created", all, |program| {
            program.created.as_ref().map_or(Cell::Nothing, |created| ago(record.now, *created).into())
        }),
    ];
    Table { label: "Programs".to_owned(), rows: ("program", "programs"), columns }
}

/// Formats the time from `then` to `now`.
fn ago(now: Timestamp, then: Timestamp) -> String {
    match now.0.saturating_sub(then.0) {
        0 => "now".to_owned(),
        seconds => {
            let passed = duration(Nanos(seconds.saturating_mul(1_000_000_000)));
            format!("{}{TIE}ago", passed.replace(".0\u{a0}", "\u{a0}"))
        }
    }
}

/// Returns why a program is stale or refused; `None` in other states.
fn not_warm(program: &KeptProgram) -> Option<Fact> {
    let path = (Emphasis::Code, one_line(&program.program));
    let why = (Emphasis::Plain, format!(": {}", one_line(program.state.reason()?)));
    Some(Fact { text: vec![path, why], ..Fact::new(program.state.name(), "") })
}

/// Returns the number of launches by outcome, without outcomes that never happened.
fn launches(store: &StoreFacts) -> Vec<Fact> {
    let launches = match &store.launches {
        Ok(launches) => launches,
        Err(absent) => return vec![Fact::new("launches", format!("not available: {}", one_line(&absent.0)))],
    };
    let Launches { warm, no_card, refused, changed, environment, limits, not_executed, broken, other_way, other_name } =
        launches;
    let all = [
        ("from a snapshot", warm),
        ("as usual, no snapshot yet", no_card),
        ("as usual, refused", refused),
        ("as usual, file changed", changed),
        ("as usual, variable differs", environment),
        ("as usual, limit differs", limits),
        ("as usual, exec failed", not_executed),
        ("as usual, unreadable", broken),
        ("as usual, unsupported call", other_way),
        ("as usual, other name", other_name),
    ];
    let happened = all.into_iter().filter(|(_, number)| **number > 0);
    let facts: Vec<Fact> = happened.map(|(label, number)| Fact::new(label, thousands(*number as usize))).collect();
    if facts.is_empty() { vec![Fact::new("launches", "none yet")] } else { facts }
}

/// Returns the other facts about a store.
fn facts(store: &StoreFacts) -> Vec<Fact> {
    let requested = match store.requested_programs.as_slice() {
        [] => "no program".to_owned(),
        programs => {
            let named = programs.iter().take(NAMED).map(|program| one_line(program)).collect::<Vec<_>>().join(", ");
            let others = programs.len().saturating_sub(NAMED);
            let others =
                if others == 0 { String::new() } else { format!(", and {}", count(others, "other", "others")) };
            format!("{}: {named}{others}", count(programs.len(), "program", "programs"))
        }
    };
    let keeper = if store.keeper { "running" } else { "not running; each command starts one" };
    let mut facts = vec![
        Fact::reading("CPU time of captures", &store.capture_cpu_seconds, |cpu| time(cpu.seconds())),
        Fact::new("to be captured", requested),
        Fact::new("keeper", keeper),
        Fact::new("directory", one_line(&store.directory)),
    ];
    facts.extend(store.trouble.as_ref().map(|trouble| Fact::new("last failure", one_line(trouble))));
    facts
}
