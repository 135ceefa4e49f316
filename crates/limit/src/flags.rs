//! The options of `steady limit`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use steady_feature::flags::{FileFlags, FormatFlag, OutputFlags, duration};
use steady_model::Nanos;

use crate::record::CpuSource;

const EXAMPLES: &str = "\
Examples:
  End a job once it has used 5 s of CPU time, its threads and children included
      steady limit --cpu 5s -- ./solve input.txt
  The same, its report in a file and nothing on the terminal
      steady limit --cpu 5s --quiet --export-json r.json -- ./solve input.txt
  A job that may wait long for others: 20 s on the clock for each of CPU time
      steady limit --cpu 1m --wall-factor 20 -- make -j8
  Look once a second only, as an experiment that is to be repeated did
      steady limit --cpu 5s --poll 1s -- ./hashes

The wall limit is for commands that hang. Time in which the command waited for
a CPU does not count towards it, nor does time in which it was stopped. At a
limit all processes of the command get SIGTERM, and SIGKILL after
--kill-after. What it leaves behind is ended with it.

Exit status:
  that of the command; if a signal ended it, steady ends by the same signal
  (128 + n in a shell)
  124  a limit was reached
  125  steady itself failed, wrong usage included
  126  the command cannot be executed
  127  there is no such command";

/// The options of `steady limit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LimitFlags {
    /// The CPU time that the command may use, all of its threads and children together: 5s, 500ms, 1m30s; at most a day
    #[arg(long, value_name = "TIME", value_parser = within_a_day)]
    pub(crate) cpu: Nanos,

    /// How many times as long it may take on the clock, waiting for a CPU not counted
    #[arg(long, value_name = "FACTOR", default_value = "4", value_parser = factor)]
    pub(crate) wall_factor: f64,

    /// Look at these intervals only [default: as often as exactness needs]
    #[arg(long, value_name = "TIME", value_parser = within_a_day)]
    pub(crate) poll: Option<Nanos>,

    /// How long after SIGTERM what is left gets SIGKILL; 0 for at once
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time_or_nothing)]
    pub(crate) kill_after: Nanos,

    #[command(flatten)]
    pub(crate) files: FileFlags,

    /// No report on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Keep nothing of this in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// Where CPU time is read while the command runs, for tests of that source
    #[arg(long, hide = true, value_enum)]
    pub(crate) source: Option<SourceFlag>,

    /// The command and its words
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

impl LimitFlags {
    /// Where its report goes; standard output is the command's.
    pub(crate) fn output(&self) -> OutputFlags {
        OutputFlags { format: FormatFlag::Text, files: self.files.clone(), quiet: self.quiet }
    }
}

/// `--source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceFlag {
    CgroupV2,
    CgroupV1,
    TaskClock,
    Proc,
}

impl From<SourceFlag> for CpuSource {
    fn from(flag: SourceFlag) -> CpuSource {
        match flag {
            SourceFlag::CgroupV2 => CpuSource::CgroupV2,
            SourceFlag::CgroupV1 => CpuSource::CgroupV1,
            SourceFlag::TaskClock => CpuSource::TaskClock,
            SourceFlag::Proc => CpuSource::Proc,
        }
    }
}

/// A time above zero and of at most a day.
fn within_a_day(text: &str) -> Result<Nanos, String> {
    const DAY: Nanos = Nanos(86_400_000_000_000);
    let time = duration(text)?;
    if time <= DAY { Ok(time) } else { Err("it must be at most a day".to_owned()) }
}

/// The same, or nothing.
fn time_or_nothing(text: &str) -> Result<Nanos, String> {
    if text.trim().parse() == Ok(0.0) { Ok(Nanos::ZERO) } else { within_a_day(text) }
}

fn factor(text: &str) -> Result<f64, String> {
    /// Beyond it a wall limit is none.
    const LARGEST: f64 = 1_000_000.0;
    let factor: f64 = text.trim().parse().map_err(|_| "write a number, such as 4".to_owned())?;
    if (1.0..=LARGEST).contains(&factor) {
        Ok(factor)
    } else {
        Err("it must be at least 1, and at most a million".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_of_this_world() {
        assert_eq!(within_a_day("1m30s"), Ok(Nanos(90_000_000_000)));
        assert_eq!(within_a_day("24h"), Ok(Nanos(86_400_000_000_000)));
        for wrong in ["0", "0s", "-1s", "25h", "3days", "x", ""] {
            assert!(within_a_day(wrong).is_err(), "{wrong}");
        }
        assert_eq!((time_or_nothing("0"), time_or_nothing("1s")), (Ok(Nanos::ZERO), Ok(Nanos(1_000_000_000))));
        assert!(time_or_nothing("-1").is_err());
    }

    #[test]
    fn a_wall_limit_leaves_room_for_the_work() {
        assert_eq!((factor("4"), factor("1.5")), (Ok(4.0), Ok(1.5)));
        for wrong in ["0", "0.5", "-4", "nan", "inf", "x", "1e9"] {
            assert!(factor(wrong).is_err(), "{wrong}");
        }
    }
}
