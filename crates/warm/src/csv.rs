//! The records of `steady warm` as comma-separated values.

use steady_model::{Interval, Reading};
use steady_render::csv::{Column, Row, table, text};

use crate::record::{BenchProgram, BenchRecord, KeptProgram, Measure, ModeFigures, ProgramState, StatusRecord};

/// The columns of the table of programs.
fn columns() -> [Column<KeptProgram>; 10] {
    [
        ("program", |program| program.program.clone()),
        ("state", |program| program.state.name().to_owned()),
        ("reason", |program| match &program.state {
            ProgramState::Script { interpreter, .. } => interpreter.clone(),
            state => state.reason().unwrap_or_default().to_owned(),
        }),
        ("snapshots", |program| program.snapshots.to_string()),
        ("size_bytes", |program| program.size_bytes.0.to_string()),
        ("warm_launches", |program| field(program.warm_launches.as_ref().ok())),
        ("missed_launches", |program| field(program.missed_launches.as_ref().ok())),
        ("created_unix_seconds", |program| field(program.created.as_ref().ok().map(|created| created.0))),
        ("hook_inside", |program| program.hook_inside.to_string()),
        ("against", |program| program.answer.as_ref().map_or_else(String::new, |answer| answer.against.join("; "))),
    ]
}

/// Formats the programs: a header, then a line for each program.
pub(crate) fn status_csv(record: &StatusRecord) -> String {
    table(&columns(), &record.programs)
}

/// Formats the means and differences: a header, then a line for each program and mode. If a program could not be
/// measured, its last field says why. A number of launches after which a snapshot pays for itself is empty if there is
/// none, with the reason in the column `..._absent`.
pub(crate) fn bench_csv(record: &BenchRecord) -> String {
    let rows = record.programs.iter().flat_map(|program| match &program.modes {
        Ok(modes) => modes.iter().map(|figures| row(program, Some(figures))).collect(),
        Err(_) => vec![row(program, None)],
    });
    text(&rows.collect::<Vec<_>>())
}

fn row(program: &BenchProgram, figures: Option<&ModeFigures>) -> Row {
    let mean = |measure| figures.and_then(|figures| figures.mean(measure).ok());
    let mut row = Row::new()
        .with("program", &program.command.name)
        .with("mode", field(figures.map(|figures| figures.mode.name())))
        .with("sessions", field(mean(Measure::Wall).map(|mean| mean.sessions)))
        .with("warm_ratio", field(figures.and_then(|figures| figures.warm_ratio.as_ref().ok())));
    for measure in Measure::ALL {
        let mean = mean(measure);
        let [value, deviation, _] = measure.fields();
        row = row
            .with(value, number(mean.map(|mean| mean.mean)))
            .with(deviation, number(mean.and_then(|mean| mean.deviation)));
    }
    for measure in Measure::JUDGED {
        let effect = figures.and_then(|figures| figures.effect(measure));
        let interval: Option<Interval> = effect.and_then(|effect| effect.interval().ok());
        let column = |what: &str| format!("{}_{what}", measure.base());
        row = row
            .with(column("verdict"), field(effect.map(|effect| effect.verdict.name())))
            .with(column("change"), field(effect.and_then(|effect| effect.change.as_ref().ok())))
            .with(column("low"), number(interval.map(|interval| interval.low)))
            .with(column("high"), number(interval.map(|interval| interval.high)));
    }
    let both = figures.and_then(|figures| figures.break_even.as_ref().ok());
    let none = figures.and_then(|figures| figures.break_even.as_ref().err());
    for (time, one) in [("wall", both.map(|both| &both.wall)), ("cpu", both.map(|both| &both.cpu))] {
        row = row
            .with(format!("{time}_capture_seconds"), number(one.and_then(|one| known(&one.capture_seconds))))
            .with(format!("{time}_break_even"), field(one.and_then(|one| known(&one.launches))))
            .with(format!("{time}_break_even_extrapolated"), field(one.map(|one| one.extrapolated)))
            .with(format!("{time}_break_even_absent"), field(none.or(one.and_then(|one| one.launches.as_ref().err()))))
            .with(format!("{time}_certain_launches"), field(one.and_then(|one| known(&one.certain_launches))));
    }
    row.with("absent", program.modes.as_ref().err().map_or("", |absent| absent.0.as_str()))
}

fn known<T: Copy>(reading: &Reading<T>) -> Option<T> {
    reading.as_ref().ok().copied()
}

fn field<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Formats a number with all its digits; empty if it is not finite.
fn number(value: Option<f64>) -> String {
    field(value.filter(|value| value.is_finite()))
}
