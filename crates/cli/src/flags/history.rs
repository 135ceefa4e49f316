//! The options of `steady history`.

use clap::{ArgAction, Args, Subcommand, ValueEnum};
use humantime::parse_rfc3339_weak;
use steady_feature::flags::{age, whole_number};
use steady_history::Which;
use steady_model::{Nanos, Timestamp};

use super::OutputFlags;

const HISTORY_STATUS: &str = "\
Exit status:
  0    done
  1    a stored --fail-if condition holds (report); 3 and 4 as the command that
       measured
  2    wrong usage, or no such run
  125  steady itself failed";

/// The options of `steady history`.
#[derive(Debug, Args)]
#[command(after_help = HISTORY_STATUS)]
pub(crate) struct HistoryFlags {
    #[command(subcommand)]
    pub(crate) command: HistoryCommands,
}

/// The subcommands of `steady history`.
#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommands {
    /// List all runs, the last one at the end
    List(ListFlags),
    /// Show the facts and the verdict of one run
    Show(ShowFlags),
    /// Print the full report of one run again, with the same digits
    Report(ReportFlags),
    /// Remove runs from the history
    Remove(RemoveFlags),
}

/// The options of `steady history list`.
#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// List only this number of runs, the last ones
    #[arg(short, long, value_name = "RUNS", value_parser = whole_number::<u32>(1..))]
    pub(crate) limit: Option<u32>,

    /// The format of standard output
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub(crate) format: ListFormat,
}

/// The options of `steady history show`.
#[derive(Debug, Args)]
pub(crate) struct ShowFlags {
    /// The number of a run, or last
    #[arg(value_name = "ID")]
    pub(crate) run: Which,

    /// The format of standard output
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub(crate) format: ListFormat,
}

/// The options of `steady history report`.
#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// The number of a run, or last
    #[arg(value_name = "ID")]
    pub(crate) run: Which,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Add the raw samples to the JSON
    #[arg(long)]
    pub(crate) samples: bool,
}

/// The options of `steady history remove`.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct RemoveFlags {
    /// The numbers of the runs to remove, or last
    #[arg(value_name = "ID", action = ArgAction::Append)]
    pub(crate) runs: Vec<Which>,

    /// Remove all runs of the history
    #[arg(long)]
    pub(crate) all: bool,

    /// Remove the runs that started before this day or time, in UTC: 2026-05-31, '2026-05-31 12:00:00'
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub(crate) before: Option<Timestamp>,

    /// Remove the runs that started longer ago than this: 30d, 12h, 1year
    #[arg(long, value_name = "TIME", value_parser = age)]
    pub(crate) older_than: Option<Nanos>,
}

/// The value of `--format` for lists and facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Text for a terminal
    Text,
    /// JSON, for other programs
    Json,
}

fn date(text: &str) -> Result<Timestamp, String> {
    let time = parse_rfc3339_weak(text).or_else(|_| parse_rfc3339_weak(&format!("{text} 00:00:00")));
    let time = time.map_err(|_| "write 2026-05-31 or '2026-05-31 12:00:00'".to_owned())?;
    let since = time.duration_since(std::time::UNIX_EPOCH).map_err(|_| "it must be after 1970".to_owned())?;
    Ok(Timestamp(since.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_read() {
        assert_eq!(date("1970-01-02"), Ok(Timestamp(86_400)));
        assert_eq!(date("1970-01-02 00:00:01"), Ok(Timestamp(86_401)));
        assert_eq!(date("1970-01-02T00:00:01Z"), Ok(Timestamp(86_401)));
        for wrong in ["", "1970", "yesterday", "1970-13-01", "1970-01-02 25:00:00", "0001-01-01"] {
            assert!(date(wrong).is_err(), "{wrong}");
        }
    }
}
