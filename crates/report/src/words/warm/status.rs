//! What is kept of programs, in words.

use steady_model::{
    KeptProgram, LaunchOutcome, Nanos, Reading, Timestamp, WarmQuestion, WarmReport, WarmState, WarmStore,
};

use crate::units::{TIE, duration, memory, thousands, time};
use crate::words::{count, one_line};

/// The columns of the table of programs.
pub(crate) const HEADS: [&str; 7] = ["State", "Warm", "As usual", "Copies", "Size", "Taken", "Program"];

/// What is kept, in one sentence.
pub(crate) fn sentence(report: &WarmReport) -> String {
    let store = match &report.store {
        Ok(store) => store,
        Err(absent) => return format!("No program is kept warm: {}.", one_line(&absent.0)),
    };
    let of = |name: &str| report.programs.iter().filter(|program| program.state.name() == name).count();
    let mut parts = vec![count(of("warm"), "program is warm", "programs are warm")];
    let others = [
        ("stale", "has changed", "have changed"),
        ("refused", "is refused", "are refused"),
        ("script", "is a script", "are scripts"),
    ];
    parts.extend(
        others.into_iter().filter(|(name, ..)| of(name) > 0).map(|(name, one, many)| count(of(name), one, many)),
    );
    format!("{}; {} of {} in use.", parts.join(", "), memory(store.size.0 as f64), memory(store.limit.0 as f64))
}

/// What is said of one program that was asked about: first what claims something, then what explains it.
pub(crate) fn of_program(report: &WarmReport, program: &KeptProgram) -> (String, String) {
    let name = one_line(&program.program);
    if report.question == WarmQuestion::Why {
        return match &program.against {
            Some(reasons) if !reasons.is_empty() => {
                (format!("{name} would be started as usual"), format!(": {}.", one_line(&reasons.join("; "))))
            }
            Some(_) => (format!("{name} would be started from a snapshot"), format!("{}.", details(program))),
            None => (format!("{name} would be started as usual"), ": there is no store.".to_owned()),
        };
    }
    match &program.state {
        WarmState::Warm => (format!("{name} is warm"), format!("{}.", details(program))),
        WarmState::Stale(why) => (format!("{name} has to be taken anew"), format!(": {}.", one_line(why))),
        WarmState::Refused(why) => (format!("{name} is refused"), format!(": {}.", one_line(why))),
        WarmState::Script { .. } => (format!("{name} is a script"), format!("{}.", details(program))),
        WarmState::Unknown => {
            (format!("{name} is not known"), ": it has not been started, or not been taken yet.".to_owned())
        }
    }
}

fn details(program: &KeptProgram) -> String {
    if let WarmState::Script { interpreter, argument } = &program.state {
        let argument = argument.as_ref().map_or_else(String::new, |argument| format!(" {}", one_line(argument)));
        return format!(" of {}{argument}", one_line(interpreter));
    }
    let copies = count(program.copies as usize, "snapshot", "snapshots");
    let hook = if program.hook_inside { ", with the hook in it" } else { "" };
    format!(": {copies} of {} together{hook}", memory(program.size.0 as f64))
}

/// The cells of a program's row.
pub(crate) fn row(report: &WarmReport, program: &KeptProgram) -> [String; HEADS.len()] {
    let number =
        |number: &Reading<u64>| number.as_ref().map_or_else(|_| "–".to_owned(), |number| thousands(*number as usize));
    let copies = if program.copies == 0 { "–".to_owned() } else { program.copies.to_string() };
    let size = if program.size.0 == 0 { "–".to_owned() } else { memory(program.size.0 as f64) };
    let taken = program.taken.as_ref().map_or_else(|_| "–".to_owned(), |taken| ago(report.now, *taken));
    [
        program.state.name().to_owned(),
        number(&program.warm_launches),
        number(&program.usual_launches),
        copies,
        size,
        taken,
        one_line(&program.program),
    ]
}

/// How long before another moment one was.
fn ago(now: Timestamp, then: Timestamp) -> String {
    match now.0.saturating_sub(then.0) {
        0 => "now".to_owned(),
        seconds => {
            format!("{}{TIE}ago", duration(Nanos(seconds.saturating_mul(1_000_000_000))).replace(".0\u{a0}", "\u{a0}"))
        }
    }
}

/// Why programs of the table are not warm: their paths, and the reasons.
pub(crate) fn reasons(report: &WarmReport) -> Vec<(String, String)> {
    let why = |program: &KeptProgram| match &program.state {
        WarmState::Stale(why) | WarmState::Refused(why) => Some((one_line(&program.program), one_line(why))),
        _ => None,
    };
    report.programs.iter().filter_map(why).collect()
}

/// How launches went: a number each, those that never happened left out.
pub(crate) fn launches(store: &WarmStore) -> Vec<(&'static str, String)> {
    match &store.launches {
        Err(absent) => vec![("launches", format!("absent: {}", one_line(&absent.0)))],
        Ok(all) if all.iter().all(|(_, number)| *number == 0) => vec![("launches", "none yet".to_owned())],
        Ok(all) => {
            let happened = all.iter().filter(|(_, number)| *number > 0);
            happened.map(|(outcome, number)| (of_outcome(*outcome), thousands(*number as usize))).collect()
        }
    }
}

/// What launches that went so are called.
fn of_outcome(outcome: LaunchOutcome) -> &'static str {
    match outcome {
        LaunchOutcome::Warm => "from a snapshot",
        LaunchOutcome::NoCard => "as usual, not taken yet",
        LaunchOutcome::Refused => "as usual, refused",
        LaunchOutcome::Changed => "as usual, changed",
        LaunchOutcome::Environment => "as usual, for a variable",
        LaunchOutcome::Limits => "as usual, for limits",
        LaunchOutcome::NotExecuted => "as usual, not executed",
        LaunchOutcome::Broken => "as usual, unreadable",
        LaunchOutcome::OtherWay => "as usual, another way",
        LaunchOutcome::OtherName => "as usual, another name",
    }
}

/// What else there is to say of a store.
pub(crate) fn facts(store: &WarmStore) -> Vec<(&'static str, String)> {
    let cpu = match &store.cpu {
        Ok(cpu) => format!("{} of CPU time", time(cpu.seconds())),
        Err(absent) => format!("absent: {}", one_line(&absent.0)),
    };
    let wanted = match store.wanted {
        0 => "nothing".to_owned(),
        number => format!("{}, to be taken", count(number, "program", "programs")),
    };
    let keeper = if store.keeper { "works now" } else { "none now; one comes with each command" };
    let mut facts = vec![
        ("taking took", cpu),
        ("wanted", wanted),
        ("keeper", keeper.to_owned()),
        ("folder", one_line(&store.folder.display().to_string())),
    ];
    facts.extend(store.trouble.as_ref().map(|trouble| ("last failure", one_line(trouble))));
    facts
}
