//! Runs `steady history`, which lists, shows, reports again and removes runs of all kinds.

mod home;
mod import;
mod run;
mod run_log;

use std::io::{self, IsTerminal};

use steady_feature::Record;
use steady_history::{History, HistoryError, Selection, Which};
use steady_history::{runs_json_text, runs_text};
use steady_linux::clock;
use steady_model::{Kept, Nanos, Timestamp};
use steady_render::Style;
use steady_render::json::ReadError;

use crate::failure::{self, Failure};
use crate::features;
use crate::flags::{HistoryCommands, HistoryFlags, ListFormat, RemoveFlags};
use crate::letters::readable;
use crate::output::{Destinations, print, style};

pub(crate) use home::Home;
pub(crate) use run_log::RunLog;

/// The style of the list: programs that read it get the commands in full, which a terminal may have no room for.
fn list_style() -> Style {
    let style = style();
    if io::stdout().is_terminal() { style } else { Style { width: usize::MAX, ..style } }
}

/// Runs a subcommand of `steady history`. Returns the exit status.
pub(crate) fn run(flags: &HistoryFlags) -> Result<u8, Failure> {
    let own = |why: String| Failure::Own(format!("the history: {why}"));
    let home = Home::find().map_err(own)?;
    let mut history = home.history_if_any().map_err(own)?;
    import::or_warn(&home, &mut history);
    match &flags.command {
        HistoryCommands::List(flags) => {
            let runs = history.list(flags.limit).map_err(failure)?;
            print_out(&match flags.format {
                ListFormat::Text => readable(runs_text(&runs, list_style())),
                ListFormat::Json => runs_json_text(&runs),
            })
        }
        HistoryCommands::Show(flags) => {
            let (kept, run) = run_of(&history, flags.run)?;
            let shown = run::shown(&*run, &kept, flags.format);
            print_out(&if flags.format == ListFormat::Text { readable(shown) } else { shown })
        }
        HistoryCommands::Report(flags) => {
            let (_, run) = run_of(&history, flags.run)?;
            failure::last(Destinations::open(&flags.output, flags.samples)?.write(&*run))?;
            Ok(run.status())
        }
        HistoryCommands::Remove(flags) => {
            let removed = history.remove(&selection(flags)).map_err(failure)?;
            print_out(&format!("Removed {removed} {}.\n", if removed == 1 { "run" } else { "runs" }))
        }
    }
}

/// Finds a run and reads its record, with its verdicts computed again.
fn run_of(history: &History, which: Which) -> Result<(Kept, Box<dyn Record>), Failure> {
    let kept = history.find(which).map_err(failure)?;
    let text = history.record(kept.id).map_err(failure)?;
    let kind = kept.facts.kind.name();
    let known = features::record_kind(kind).ok_or_else(|| unknown_kind(kept.id, kind))?;
    let run = (known.read)(&text).map_err(|why| match why {
        // It is not damaged: another version can print it.
        ReadError::NewerVersion { .. } => {
            Failure::Own(format!("the history: run {} cannot be printed: {why}", kept.id))
        }
        _ => failure(HistoryError::Damaged { id: kept.id, why: why.to_string() }),
    })?;
    Ok((kept, run))
}

/// The failure for a record that a version with other features stored. It is listed, and can be removed.
fn unknown_kind(id: i64, kind: &str) -> Failure {
    Failure::Own(format!(
        "the history: run {id} cannot be printed: this version of steady does not know records of kind '{kind}'; a \
         newer version stored it, so upgrade steady"
    ))
}

fn selection(flags: &RemoveFlags) -> Selection {
    match (flags.before, flags.older_than) {
        (Some(time), _) => Selection::Before(time),
        (None, Some(age)) => Selection::Before(ago(age)),
        (None, None) if flags.all => Selection::All,
        (None, None) => Selection::These(flags.runs.clone()),
    }
}

fn ago(age: Nanos) -> Timestamp {
    Timestamp(clock::time_of_day().0.saturating_sub(age.seconds() as u64))
}

fn print_out(text: &str) -> Result<u8, Failure> {
    print(text.as_bytes()).map_err(|error| Failure::Own(format!("standard output: {error}")))?;
    Ok(0)
}

/// The failure for an error. A run that does not exist is wrong usage; other errors are failures of `steady`.
fn failure(error: HistoryError) -> Failure {
    match error {
        HistoryError::Unknown(_) | HistoryError::Empty => Failure::Usage(error.to_string()),
        HistoryError::TooNew { .. } | HistoryError::Damaged { .. } | HistoryError::Database(_) => {
            Failure::Own(format!("the history: {error}"))
        }
    }
}
