//! The command line as typed. Nothing is looked up or decided here.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use steady_model::{FailIf, Nanos, Output, parse_percent};

/// Performance verdicts that hold on a Linux machine that cannot be kept quiet.
#[derive(Debug, Parser)]
#[command(name = "steady", version, about, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Subcommands,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Subcommands {
    /// Tell whether a command costs less than another, on this machine as it is
    Compare(Box<CompareFlags>),
    /// Judge saved samples again, to the same digits
    Judge(JudgeFlags),
}

const EXAMPLES: &str = "\
Examples:
  Does the new build need less CPU time?
      steady compare './old input.txt' './new input.txt'
  Be sure to half a percent, and take up to a minute for it
      steady compare --resolution 0.5% --budget 1m './old' './new'
  Three candidates against the first; pipes need a shell
      steady compare --shell 'sort f | uniq' 'sort -u f' 'awk \"!s[\\$0]++\" f'
  In CI: fail only if it is surely more than 2 % slower
      steady compare --fail-if 'slower>2%' './main' './branch'
  A server's client waits rather than works: judge the time on the wall
      steady compare --metric wall 'curl -s localhost:8000/a' 'curl -s localhost:8000/b'
  Keep the samples, and judge them again
      steady compare --samples --export-json r.json ./old ./new; steady judge r.json

A verdict is 'faster', 'slower', 'same' (no difference beyond the resolution) or 'undecided'
(the budget was too small for this load; the report says which would do). The error rate of
5 % holds under any load, because the order and the CPU of every pair are drawn by coin.

Exit status:
  0  done                                  3  a measured command failed or ran too long
  1  the --fail-if condition is met        4  undecided, with --require-verdict
  2  wrong usage, no such program          125  steady itself failed; 130  interrupted";

/// The options of `steady compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareFlags {
    /// The commands, each one string, split into words as a shell does and run without one. All are judged against
    /// the first; one alone is measured.
    #[arg(required = true, value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,

    /// Run without a shell: the default, accepted for hyperfine's sake
    #[arg(short = 'N', long, conflicts_with = "shell")]
    pub(crate) no_shell: bool,

    /// Run the commands in a shell; its start-up is part of the cost
    #[arg(long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "sh")]
    pub(crate) shell: Option<String>,

    /// Measure at most this long in all: 10s, 1m30s, 500ms. It stops early once the verdict is in
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) budget: Nanos,

    /// Measure this many pairs instead, and judge them once
    #[arg(short, long, value_name = "PAIRS", conflicts_with = "budget", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: Option<u64>,

    /// A change smaller than this is as good as none
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = resolution)]
    pub(crate) resolution: f64,

    /// The confidence of verdicts and intervals
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = confidence)]
    pub(crate) confidence: f64,

    /// What the verdict is about. auto: CPU time, unless the commands mostly wait
    #[arg(short, long, value_enum, default_value_t = MetricFlag::Auto)]
    pub(crate) metric: MetricFlag,

    /// How pairs are run: in turns, both at once on two CPUs, or both ways by what resolves more
    #[arg(long, value_enum, default_value_t = LayoutFlag::Auto)]
    pub(crate) layout: LayoutFlag,

    /// Pairs of each layout to run and throw away first [default: as many as the commands need]
    #[arg(short, long, value_name = "PAIRS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) warmup: Option<u32>,

    /// A shell command to run once before a command's first run; once for all commands, or once per command, as with
    /// the three that follow
    #[arg(short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) setup: Vec<String>,

    /// A shell command to run before every run, unmeasured
    #[arg(short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) prepare: Vec<String>,

    /// A shell command to run after every run, unmeasured
    #[arg(short = 'C', long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) conclude: Vec<String>,

    /// A shell command to run once after a command's last run, however the comparison ended
    #[arg(short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) cleanup: Vec<String>,

    /// The file that every run reads as standard input [default: /dev/null]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Show the commands' own output, on standard error [default: thrown away]
    #[arg(long)]
    pub(crate) show_output: bool,

    /// Where the commands' standard output goes: null, pipe (read and thrown away), inherit, or a file, written anew by
    /// every run; once for all commands, or once per command [default: null]
    #[arg(long = "output", value_name = "WHERE", value_parser = child_output, action = ArgAction::Append, conflicts_with = "show_output")]
    pub(crate) child_output: Vec<Output>,

    /// Count runs that exit with another status than 0 as successes: all of them, or those with these statuses
    #[arg(short, long, value_name = "STATUS,...", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) ignore_failure: Option<IgnoredFailures>,

    /// The longest that one run may last
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Nanos>,

    /// The seed of all coins [default: from the system; the report names it]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// The CPUs to use: 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    /// Exit with 1 if this surely holds, by the whole interval: 'slower>1%', 'faster>2%'
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Option<FailIf>,

    /// Exit with 4 if the verdict is undecided
    #[arg(long)]
    pub(crate) require_verdict: bool,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Put the raw samples into the JSON, so that `steady judge` can judge them again
    #[arg(long)]
    pub(crate) samples: bool,
}

/// The options of `steady judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeFlags {
    /// A JSON report that was made with --samples; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Put the raw samples into the JSON again
    #[arg(long)]
    pub(crate) samples: bool,
}

/// Where the report goes.
#[derive(Debug, Args)]
pub(crate) struct OutputFlags {
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = FormatFlag::Text)]
    pub(crate) format: FormatFlag,

    /// Write the report as JSON to this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,

    /// No progress bar, and no text report
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// `--metric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricFlag {
    /// CPU time, or elapsed time or time on the wall where the commands mostly wait
    Auto,
    /// User and system time of the whole process tree
    Cpu,
    /// Time on the wall less waiting for a CPU (single-threaded commands)
    Elapsed,
    /// Time on the wall
    Wall,
    /// Peak resident memory
    Memory,
    /// Instructions retired, where the CPU's counters can be read
    Instructions,
}

/// `--layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutFlag {
    /// Both where both serve, shared out by what they resolve
    Auto,
    /// One after the other
    Turns,
    /// At the same time, each on a CPU of its own
    Duet,
}

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatFlag {
    /// For people
    Text,
    /// For programs
    Json,
}

/// `--ignore-failure`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IgnoredFailures {
    All,
    Codes(Vec<i32>),
}

impl std::str::FromStr for IgnoredFailures {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(IgnoredFailures::All);
        }
        let code = |word: &str| match word.trim().parse() {
            Ok(code) if (0..=255).contains(&code) => Ok(code),
            _ => Err(format!("'{word}' is no exit status; write 1 or 1,3")),
        };
        text.split(',').map(code).collect::<Result<_, _>>().map(IgnoredFailures::Codes)
    }
}

/// A time above zero: `10s`, `1m30s`, `500ms`, or a number of seconds.
pub(crate) fn duration(text: &str) -> Result<Nanos, String> {
    /// A year: beyond it the arithmetic of nanoseconds is not worth caring for.
    const LONGEST_SECONDS: f64 = 365.0 * 86_400.0;
    let seconds = match text.trim().parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => humantime::parse_duration(text)
            .map_err(|error| format!("{error}; write 10s, 1m30s or 500ms"))?
            .as_secs_f64(),
    };
    let nanos = Nanos::from_seconds(seconds);
    match seconds <= LONGEST_SECONDS && nanos > Nanos::ZERO {
        true => Ok(nanos),
        false => Err("it must be longer than nothing and at most a year".to_owned()),
    }
}

fn child_output(text: &str) -> Result<Output, String> {
    match text {
        "null" => Ok(Output::Null),
        "pipe" => Ok(Output::Pipe),
        "inherit" => Ok(Output::Inherit),
        "" => Err("write null, pipe, inherit or the name of a file".to_owned()),
        file => Ok(Output::File(file.into())),
    }
}

fn resolution(text: &str) -> Result<f64, String> {
    parse_percent(text)
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "write a share between 0 and 100 %, such as 1% or 0.01".to_owned())
}

fn confidence(text: &str) -> Result<f64, String> {
    parse_percent(text)
        .filter(|share| (0.5..1.0).contains(share))
        .ok_or_else(|| "write a share from 50 % to below 100 %, such as 95% or 0.95".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_well_formed() {
        Flags::command().debug_assert();
    }

    #[test]
    fn times_are_read_with_and_without_units() {
        assert_eq!(duration("10"), Ok(Nanos(10_000_000_000)));
        assert_eq!(duration("0.5"), Ok(Nanos(500_000_000)));
        assert_eq!(duration("1m30s"), Ok(Nanos(90_000_000_000)));
        assert_eq!(duration("500ms"), Ok(Nanos(500_000_000)));
        for wrong in ["", "0", "-1", "nan", "inf", "1e30", "10x", "ten", "2years"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn times_are_positive_or_refused(text in ".*|[0-9.]{0,12}(ns|us|ms|s|m|h|days|years)?") {
            if let Ok(time) = duration(&text) {
                proptest::prop_assert!(time > Nanos::ZERO);
            }
            let _ = text.parse::<IgnoredFailures>();
        }
    }

    #[test]
    fn ignored_statuses_are_read() {
        assert_eq!("all".parse(), Ok(IgnoredFailures::All));
        assert_eq!("1,3".parse(), Ok(IgnoredFailures::Codes(vec![1, 3])));
        for wrong in ["", "x", "256", "-1", "1,"] {
            assert!(wrong.parse::<IgnoredFailures>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_have_bounds() {
        assert_eq!(resolution("1%"), Ok(0.01));
        assert_eq!(confidence("0.99"), Ok(0.99));
        for wrong in ["0%", "100%", "x", "-1%"] {
            assert!(resolution(wrong).is_err(), "{wrong}");
        }
        for wrong in ["100%", "10%", "1.5"] {
            assert!(confidence(wrong).is_err(), "{wrong}");
        }
    }
}
