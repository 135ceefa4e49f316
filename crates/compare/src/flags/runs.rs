//! Options about the runs, which `compare` and `bisect` share.

use clap::{ArgAction, Args};
use steady_feature::flags::{IgnoredFailures, duration, whole_number};
use steady_model::{MetricInput, MetricSource, Nanos};

use super::around::AroundFlags;
use super::values::{ChosenMetric, LayoutFlag, MetricParser, metric_input, metric_source};

/// The options about what is measured, and how commands are run.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// The quantity that is compared. auto: the first of --metric-from, or else CPU time, unless the commands mostly
    /// wait. Of several, separated by commas, the first decides
    #[arg(short, long, value_name = "METRIC,...", value_parser = MetricParser, default_value = "auto", value_delimiter = ',')]
    pub(crate) metric: Vec<ChosenMetric>,

    /// Compare a number that the commands report themselves. latency[ms]: it is in a line 'steady: latency 12.5 ms'.
    /// latency[ms]=regex:EXPRESSION: in the only group of its last match; a group named unit may have its unit.
    /// latency[ms]=least:EXPRESSION: the least value in all matches. latency[ms]=json:POINTER: there in the JSON.
    /// rate[1/s,more]: more is better. Can be given several times
    #[arg(long, value_name = "NAME[UNIT]", value_parser = metric_source, action = ArgAction::Append)]
    pub(crate) metric_from: Vec<MetricSource>,

    /// Where the commands report these numbers: stdout, stderr, or a file that every run writes [default: stdout]
    #[arg(long, value_name = "WHERE", value_parser = metric_input, requires = "metric_from")]
    pub(crate) metric_input: Option<MetricInput>,

    /// How the runs of a pair are arranged: in turns, concurrently on two CPUs, or a mix of both
    #[arg(long, value_enum, default_value_t = LayoutFlag::Auto)]
    pub(crate) layout: LayoutFlag,

    /// Pairs of each layout to run first and discard, at least 1 [default: as many as the commands need]
    #[arg(short, long, value_name = "PAIRS", value_parser = whole_number::<u32>(1..))]
    pub(crate) warmup: Option<u32>,

    /// Run without a shell. This is the default; the option exists for compatibility with hyperfine
    #[arg(short = 'N', long, conflicts_with = "shell")]
    pub(crate) no_shell: bool,

    /// Run the commands in a shell; its start-up is part of the cost. `none`: without a shell
    #[arg(short = 'S', long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "sh", value_parser = shell)]
    pub(crate) shell: Option<String>,

    /// Count runs with an exit status other than 0 as successes: all of them, or only those with one of these statuses
    #[arg(short, long, value_name = "STATUS,...", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) ignore_failure: Option<IgnoredFailures>,

    /// The maximum duration of one run. A run that takes longer is killed
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Nanos>,

    /// The seed of all random choices [default: from the system; the report contains it]
    #[arg(long, value_parser = whole_number::<u64>(..))]
    pub(crate) seed: Option<u64>,

    /// The CPUs to use: 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    #[command(flatten)]
    pub(crate) around: AroundFlags,
}

/// Parses the value of `--shell`.
fn shell(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("it is empty: write the name of a shell, or none".to_owned()),
        false => Ok(text.to_owned()),
    }
}

impl RunFlags {
    /// Whether the output of commands and builds is shown.
    pub fn shows_output(&self) -> bool {
        self.around.show_output
    }

    /// The shell for the commands. `None`: they run without a shell.
    pub fn shell(&self) -> Option<&str> {
        self.shell.as_deref().filter(|shell| *shell != "none")
    }
}
