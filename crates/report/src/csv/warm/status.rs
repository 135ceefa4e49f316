//! What is kept of programs, as comma-separated values.

use steady_model::{KeptProgram, WarmReport, WarmState};

use crate::csv::{field, quoted};

/// The columns.
const COLUMNS: [&str; 10] = [
    "program",
    "state",
    "reason",
    "copies",
    "size_bytes",
    "warm_launches",
    "usual_launches",
    "taken_unix_seconds",
    "hook_inside",
    "against",
];

/// The programs, a line each below a line of names.
pub fn warm_status_csv(report: &WarmReport) -> String {
    let lines = report.programs.iter().map(|program| line(program).join(","));
    std::iter::once(COLUMNS.join(",")).chain(lines).map(|line| line + "\n").collect()
}

fn line(program: &KeptProgram) -> [String; COLUMNS.len()] {
    let reason = match &program.state {
        WarmState::Stale(why) | WarmState::Refused(why) => why.as_str(),
        WarmState::Script { interpreter, .. } => interpreter.as_str(),
        WarmState::Warm | WarmState::Unknown => "",
    };
    [
        quoted(&program.program),
        program.state.name().to_owned(),
        quoted(reason),
        program.copies.to_string(),
        program.size.0.to_string(),
        field(program.warm_launches.as_ref().ok()),
        field(program.usual_launches.as_ref().ok()),
        field(program.taken.as_ref().ok().map(|taken| taken.0)),
        program.hook_inside.to_string(),
        program.against.as_ref().map_or_else(String::new, |against| quoted(&against.join("; "))),
    ]
}
