//! Command-line options of `steady explain`.

use std::ffi::OsString;

use clap::Args;
use steady_feature::flags::{FileFlags, FormatFlag, IgnoredFailures, OutputFlags, duration, whole_number};
use steady_model::Nanos;

const EXAMPLES: &str = "\
Examples:
  Where does the time of a command go?
      steady explain -- git status
  Which of its processes use the time? Write the report as an HTML page too
      steady explain --by-process --export-html build.html -- make -j2
  What are its system calls? The tracer stops each one, which distorts times
      steady explain --trace -- gzip -k file
  Why does the new command take longer? Pairs of runs give intervals
      steady explain './old input.txt' './new input.txt'

One command follows --. It runs once, with its own input and output, and the
report goes to standard error. Two commands are one string each, as in
'steady compare'. They run repeatedly, in pairs.

Exit status of 'steady explain -- COMMAND':
  that of the command; if a signal ended it, steady ends by the same signal
  (128 + n in a shell)
  125  steady itself failed, or wrong usage
  126  the command cannot be executed
  127  there is no such command
Exit status of 'steady explain OLD NEW':
  0    done
  2    wrong usage, or a program was not found
  3    a command failed or exceeded --timeout
  125  steady itself failed
  130  interrupted";

/// Options of `steady explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "steady explain [OPTIONS] -- COMMAND...\n       steady explain [OPTIONS] 'OLD' 'NEW'")]
pub(crate) struct ExplainFlags {
    /// Count system calls by name. A tracer stops the command at each call, which distorts its times
    #[arg(long)]
    pub(crate) trace: bool,

    /// List each process of the command
    #[arg(long)]
    pub(crate) by_process: bool,

    /// Measure the prices of events again [default: once per boot]
    #[arg(long)]
    pub(crate) fresh: bool,

    #[command(flatten)]
    pub(crate) pairs: PairsFlags,

    /// What to print on standard output for two commands [default: text]
    #[arg(help_heading = PAIRS, long, value_enum)]
    pub(crate) format: Option<FormatFlag>,

    #[command(flatten)]
    pub(crate) files: FileFlags,

    /// Print no text report
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Do not store the result in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// Two commands, one string each. They are split into words as a shell does, and run without a shell
    #[arg(value_name = "OLD NEW", num_args = 0..)]
    pub(crate) commands: Vec<String>,

    /// One command with its arguments, after --
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// Heading in the help for the options that need two commands.
const PAIRS: &str = "For two commands";

/// Options for running two commands in pairs.
#[derive(Debug, Args)]
pub(crate) struct PairsFlags {
    /// Time for the pairs: 10s, 1m30s, 500ms. Up to twice as long if load leaves time for fewer than 6 pairs; six runs with a tracer follow [default: 10s]
    #[arg(help_heading = PAIRS, short, long, value_name = "TIME", value_parser = duration)]
    pub(crate) budget: Option<Nanos>,

    /// Run this many pairs instead of filling a time
    #[arg(help_heading = PAIRS, short, long, value_name = "PAIRS", conflicts_with = "budget", value_parser = whole_number::<u64>(1..))]
    pub(crate) runs: Option<u64>,

    /// Run the commands in a shell. Its start-up is part of the cost
    #[arg(help_heading = PAIRS, long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "sh")]
    pub(crate) shell: Option<String>,

    /// Pairs to run and discard first [default: as many as the commands need]
    #[arg(help_heading = PAIRS, short, long, value_name = "PAIRS", value_parser = whole_number::<u32>(1..))]
    pub(crate) warmup: Option<u32>,

    /// Count runs with an exit status other than 0 as successes: any status, or only these
    #[arg(help_heading = PAIRS, short, long, value_name = "STATUS,...", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) ignore_failure: Option<IgnoredFailures>,

    /// Time limit for one run
    #[arg(help_heading = PAIRS, long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Nanos>,

    /// Seed of all random choices [default: from the system; the report shows it]
    #[arg(help_heading = PAIRS, long)]
    pub(crate) seed: Option<u64>,

    /// Include the raw samples in the JSON
    #[arg(help_heading = PAIRS, long)]
    pub(crate) samples: bool,

    /// Show the commands' output on standard error [default: discarded]
    #[arg(help_heading = PAIRS, long)]
    pub(crate) show_output: bool,
}

impl PairsFlags {
    /// Returns the first option for pairs on the command line.
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
    /// Where the report goes, and in which form.
    pub(crate) fn output(&self) -> OutputFlags {
        OutputFlags { format: self.format.unwrap_or(FormatFlag::Text), files: self.files.clone(), quiet: self.quiet }
    }
}
