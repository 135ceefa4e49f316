//! The options of `steady limit`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use steady_feature::flags::{FileFlags, FormatFlag, OutputFlags, span};
use steady_model::Nanos;

use crate::record::CpuSource;

const EXAMPLES: &str = "\
Examples:
  End a job after 5 s of CPU time, including its threads and children
      steady limit --cpu 5s -- ./solve input.txt
  The same, with the report in a file and no report on the terminal
      steady limit --cpu 5s --quiet --export-json r.json -- ./solve input.txt
  Allow 20 times the CPU limit in wall time, for a job that waits for others
      steady limit --cpu 1m --wall-factor 20 -- make -j8
  Read CPU time only once per second, to repeat an earlier experiment
      steady limit --cpu 5s --poll 1s -- ./hashes

The wall limit is for commands that hang. Time in which the command waited for
a CPU or was stopped does not count towards it. At a limit, all processes of
the command get SIGTERM, and SIGKILL after --kill-after. When the command ends,
steady kills the processes that it leaves behind.

Exit status:
  that of the command; if a signal ended it, steady ends by the same signal
  (128 + n in a shell)
  124  a limit was reached
  125  steady itself failed, or wrong usage
  126  the command cannot be executed
  127  there is no such command";

/// Parsed options of `steady limit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LimitFlags {
    /// CPU time that the command may use, including all its threads and children, for example 5s, 500ms or 1m30s; at
    /// most 24h
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) cpu: Nanos,

    /// Wall time that the command may use, as a multiple of --cpu; waiting for a CPU and stops do not count
    #[arg(long, value_name = "FACTOR", default_value = "4", value_parser = factor)]
    pub(crate) wall_factor: f64,

    /// Read the CPU time only at this interval [default: as often as precision requires]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) poll: Option<Nanos>,

    /// Time between SIGTERM and SIGKILL at a limit; 0 sends SIGKILL immediately
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time_or_nothing)]
    pub(crate) kill_after: Nanos,

    #[command(flatten)]
    pub(crate) files: FileFlags,

    /// Print no report on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Do not store this run in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// Source of CPU time to use while the command runs, for tests of that source
    #[arg(long, hide = true, value_enum)]
    pub(crate) source: Option<SourceFlag>,

    /// Command to run, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

impl LimitFlags {
    /// Returns where the report goes. Standard output belongs to the command.
    pub(crate) fn output(&self) -> OutputFlags {
        OutputFlags { format: FormatFlag::Text, files: self.files.clone(), quiet: self.quiet }
    }
}

/// Values of the flag `--source`.
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

/// Parses a time of at most a day, or 0.
fn time_or_nothing(text: &str) -> Result<Nanos, String> {
    if text.trim().parse() == Ok(0.0) { Ok(Nanos::ZERO) } else { span(text) }
}

fn factor(text: &str) -> Result<f64, String> {
    /// A larger factor would make a wall limit pointless.
    const LARGEST: f64 = 1_000_000.0;
    let factor: f64 = text.trim().parse().map_err(|_| "write a number, such as 4".to_owned())?;
    if (1.0..=LARGEST).contains(&factor) {
        Ok(factor)
    } else {
        Err("it must be at least 1 and at most 1000000".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_limits_are_above_zero_and_at_most_a_day() {
        assert_eq!(span("1m30s"), Ok(Nanos(90_000_000_000)));
        assert_eq!(span("24h"), Ok(Nanos(86_400_000_000_000)));
        for wrong in ["0", "0s", "-1s", "25h", "3days", "x", ""] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
        assert_eq!((time_or_nothing("0"), time_or_nothing("1s")), (Ok(Nanos::ZERO), Ok(Nanos(1_000_000_000))));
        assert!(time_or_nothing("-1").is_err());
    }

    #[test]
    fn wall_factors_are_at_least_one_and_finite() {
        assert_eq!((factor("4"), factor("1.5")), (Ok(4.0), Ok(1.5)));
        for wrong in ["0", "0.5", "-4", "nan", "inf", "x", "1e9"] {
            assert!(factor(wrong).is_err(), "{wrong}");
        }
    }
}
