//! `steady history`: what is kept of comparisons, listed, shown, reported again and removed.

mod home;
mod import;
mod keeper;

use steady_experiments::judge;
use steady_history::{History, HistoryError, Selection, Which};
use steady_linux::clock;
use steady_model::{Kept, Nanos, Report, Timestamp};
use steady_report::{read_record, run_json_text, run_text, runs_json_text, runs_text};

use crate::compare::status;
use crate::failure::Failure;
use crate::flags::{HistoryCommands, HistoryFlags, ListFormat, RemoveFlags};
use crate::output::{Destinations, print, style};

use home::Home;
pub(crate) use keeper::Keeper;

/// Does what the flags say; the exit status.
pub(crate) fn run(flags: &HistoryFlags) -> Result<u8, Failure> {
    let own = |why: String| Failure::Own(format!("the history: {why}"));
    let home = Home::find().map_err(own)?;
    let mut history = home.history_if_any().map_err(own)?;
    import::or_warn(&home, &mut history);
    match &flags.command {
        HistoryCommands::List(flags) => {
            let runs = history.list(flags.limit).map_err(failure)?;
            say(&match flags.format {
                ListFormat::Text => runs_text(&runs, style()),
                ListFormat::Json => runs_json_text(&runs),
            })
        }
        HistoryCommands::Show(flags) => {
            let (kept, report) = report_of(&history, flags.run)?;
            say(&match flags.format {
                ListFormat::Text => run_text(&kept, &report, style()),
                ListFormat::Json => run_json_text(&kept, &report),
            })
        }
        HistoryCommands::Report(flags) => {
            let (_, report) = report_of(&history, flags.run)?;
            Destinations::open(&flags.output, flags.samples)?.write(&report)?;
            Ok(status(&report))
        }
        HistoryCommands::Remove(flags) => {
            let removed = history.remove(&selection(flags)).map_err(failure)?;
            say(&format!("Removed {removed} {}.\n", if removed == 1 { "run" } else { "runs" }))
        }
    }
}

/// A run and its report, judged again.
fn report_of(history: &History, which: Which) -> Result<(Kept, Report), Failure> {
    let kept = history.find(which).map_err(failure)?;
    let text = history.record(kept.id).map_err(failure)?;
    let record =
        read_record(&text).map_err(|why| failure(HistoryError::Damaged { id: kept.id, why: why.to_string() }))?;
    Ok((kept, judge(record)))
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

fn say(text: &str) -> Result<u8, Failure> {
    print(text.as_bytes()).map_err(|error| Failure::Own(format!("standard output: {error}")))?;
    Ok(0)
}

/// A run that is not there is wrong usage; all else is the history's own fault.
fn failure(error: HistoryError) -> Failure {
    match error {
        HistoryError::Unknown(_) | HistoryError::Empty => Failure::Usage(error.to_string()),
        HistoryError::TooNew { .. } | HistoryError::Damaged { .. } | HistoryError::Database(_) => {
            Failure::Own(format!("the history: {error}"))
        }
    }
}
