//! `steady history`: what is kept of runs of all kinds, listed, shown, reported again and removed.

mod home;
mod import;
mod keeper;
mod run;

use steady_feature::Record;
use steady_history::{History, HistoryError, Selection, Which};
use steady_history::{runs_json_text, runs_text};
use steady_linux::clock;
use steady_model::{Kept, Nanos, Timestamp};

use crate::failure::Failure;
use crate::flags::{HistoryCommands, HistoryFlags, ListFormat, RemoveFlags};
use crate::letters::readable;
use crate::output::{Destinations, print, style};

pub(crate) use home::Home;
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
                ListFormat::Text => readable(runs_text(&runs, style())),
                ListFormat::Json => runs_json_text(&runs),
            })
        }
        HistoryCommands::Show(flags) => {
            let (kept, run) = run_of(&history, flags.run)?;
            let shown = run::shown(&*run, &kept, flags.format);
            say(&if flags.format == ListFormat::Text { readable(shown) } else { shown })
        }
        HistoryCommands::Report(flags) => {
            let (_, run) = run_of(&history, flags.run)?;
            Destinations::open(&flags.output, flags.samples)?.write(&*run)?;
            Ok(run.status())
        }
        HistoryCommands::Remove(flags) => {
            let removed = history.remove(&selection(flags)).map_err(failure)?;
            say(&format!("Removed {removed} {}.\n", if removed == 1 { "run" } else { "runs" }))
        }
    }
}

/// A run, judged again where there is something to judge.
fn run_of(history: &History, which: Which) -> Result<(Kept, Box<dyn Record>), Failure> {
    let kept = history.find(which).map_err(failure)?;
    let text = history.record(kept.id).map_err(failure)?;
    let run = run::read(kept.facts.kind, &text)
        .map_err(|why| failure(HistoryError::Damaged { id: kept.id, why: why.to_string() }))?;
    Ok((kept, run))
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
