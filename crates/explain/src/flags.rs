//! The options of `steady explain`.

use std::ffi::OsString;

use clap::Args;
use steady_feature::flags::{FileFlags, FormatFlag, IgnoredFailures, OutputFlags, duration};
use steady_model::Nanos;

const EXAMPLES: &str = "\
Examples:
  Where does the time of a command go?
      steady explain -- git status
  Which of its processes need it, and its report as a page
      steady explain --by-process --export-html build.html -- make -j2
  What are its system calls? Each is stopped, so its times are not its own
      steady explain --trace -- gzip -k file
  Why does the new one need longer? Both run in turns; lines have intervals
      steady explain './old input.txt' './new input.txt'

Behind -- stands one command, which runs once, with its own input and output,
and the report goes to standard error. Two commands, each one string as in
compare, are run again and again.

Exit status of 'steady explain -- COMMAND':
  that of the command; if a signal ended it, steady ends by the same signal
  (128 + n in a shell)
  125  steady itself failed, wrong usage included
  126  the command cannot be executed
  127  there is no such command
Exit status of 'steady explain OLD NEW':
  0    done
  2    wrong usage, no such program
  3    a command failed or ran too long
  125  steady itself failed
  130  interrupted";

/// The options of `steady explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "steady explain [OPTIONS] -- COMMAND...\n       steady explain [OPTIONS] 'OLD' 'NEW'")]
pub(crate) struct ExplainFlags {
    /// Count system calls by name: a tracer stops the command at each, so that its times are not its own
    #[arg(long)]
    pub(crate) trace: bool,

    /// List its processes one by one
    #[arg(long)]
    pub(crate) by_process: bool,

    /// Measure again what events cost here; else it is measured once per boot
    #[arg(long)]
    pub(crate) fresh: bool,

    #[command(flatten)]
    pub(crate) pairs: PairsFlags,

    /// What standard output gets of two commands [default: text]
    #[arg(help_heading = PAIRS, long, value_enum)]
    pub(crate) format: Option<FormatFlag>,

    #[command(flatten)]
    pub(crate) files: FileFlags,

    /// No report as text
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Keep nothing of this in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// Two commands, each one string, split into words as a shell does and run without one
    #[arg(value_name = "OLD NEW", num_args = 0..)]
    pub(crate) commands: Vec<String>,

    /// One command and its words, behind --
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// Where the help lists what is for two commands only.
const PAIRS: &str = "For two commands";

/// How two commands are run.
#[derive(Debug, Args)]
pub(crate) struct PairsFlags {
    /// Run pairs of them this long in all: 10s, 1m30s, 500ms [default: 10s]
    #[arg(help_heading = PAIRS, short, long, value_name = "TIME", value_parser = duration)]
    pub(crate) budget: Option<Nanos>,

    /// Run this many pairs instead
    #[arg(help_heading = PAIRS, short, long, value_name = "PAIRS", conflicts_with = "budget", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: Option<u64>,

    /// Run them in a shell; its start-up is part of the cost
    #[arg(help_heading = PAIRS, long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "sh")]
    pub(crate) shell: Option<String>,

    /// Pairs to run and throw away first [default: as many as the commands need]
    #[arg(help_heading = PAIRS, short, long, value_name = "PAIRS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) warmup: Option<u32>,

    /// Count runs that exit with another status than 0 as successes: all of them, or those with these statuses
    #[arg(help_heading = PAIRS, short, long, value_name = "STATUS,...", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) ignore_failure: Option<IgnoredFailures>,

    /// The longest that one run may last
    #[arg(help_heading = PAIRS, long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Nanos>,

    /// The seed of all coins [default: from the system; the report names it]
    #[arg(help_heading = PAIRS, long)]
    pub(crate) seed: Option<u64>,

    /// Put the raw samples into the JSON
    #[arg(help_heading = PAIRS, long)]
    pub(crate) samples: bool,

    /// Show the commands' own output, on standard error [default: thrown away]
    #[arg(help_heading = PAIRS, long)]
    pub(crate) show_output: bool,
}

impl PairsFlags {
    /// The first option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--budget", self.budget.is_some()),
            ("--runs", self.runs.is_some()),
            ("--shell", self.shell.is_some()),
            ("--warmup", self.warmup.is_some()),
            ("--ignore-failure", self.ignore_failure.is_some()),
            ("--timeout", self.timeout.is_some()),
            ("--seed", self.seed.is_some()),
            ("--samples", self.samples),
            ("--show-output", self.show_output),
        ];
        given.into_iter().find_map(|(option, given)| given.then_some(option))
    }
}

impl ExplainFlags {
    /// Where its report goes.
    pub(crate) fn output(&self) -> OutputFlags {
        OutputFlags { format: self.format.unwrap_or(FormatFlag::Text), files: self.files.clone(), quiet: self.quiet }
    }
}
