//! The command line of `steady costs`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use steady_feature::flags::{OutputFlags, span};
use steady_host::QuietHostFlags;
use steady_model::Nanos;

const EXAMPLES: &str = "\
Examples:
  What do calls, switches, faults, processes and the like cost here?
      steady costs
  Which clock is to be used for what, and what does a reading cost?
      steady costs clocks
  Two of them, with a histogram of each in the terminal; all there are
      steady costs --only system_call,process_switch
      steady costs --list
  System calls by name; both ways to switch between threads
      steady costs --only call
      steady costs --only thread_switch
  Does the result hang on how long the timed loop is, and why?
      steady costs --sweep-loops --only function_call,system_call
  A page with charts; the histograms as drawings (SVG)
      steady costs --export-html costs.html
      steady costs --plots histograms/

Each cost is that of an event which was counted (switches, faults, returns
that are right), less that of the same loop without it. Both are timed in
turns, in an order drawn by coin, on one CPU. Repetitions in which somebody
else had that CPU are set apart. Ctrl-C ends it and shows what is whole.

Exit status:
  0    done
  2    wrong usage, no such probe
  125  steady itself failed, or lost a process that measures
  130  interrupted";

/// What is measured beside what `--only` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostsOf {
    /// The clocks alone, with what each is good for
    Clocks,
}

/// The options of `steady costs`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CostsFlags {
    /// clocks: the table of the clocks alone
    #[arg(value_enum, value_name = "clocks", hide_possible_values = true)]
    pub(crate) of: Option<CostsOf>,

    /// The probes to measure; what several names begin with stands for all of them: call, clock, load, thread_switch
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "of")]
    pub(crate) only: Option<Vec<String>>,

    /// List the probes and what each is the cost of, and measure nothing
    #[arg(long, conflicts_with_all = ["of", "only"])]
    pub(crate) list: bool,

    /// How often each is repeated
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(6..=100_000))]
    pub(crate) repetitions: u32,

    /// Measure at most this long in all; where it is short there are fewer repetitions
    #[arg(short, long, value_name = "TIME", default_value = "15s", value_parser = span)]
    pub(crate) budget: Nanos,

    /// The CPU to measure on [default: one that is far from the first core]
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<usize>,

    /// The seed of the order [default: from the system; the report names it]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// Show the cost by the length of the timed loop, from 10 rounds to 10,000,000, and why it differs [default: of
    /// function_call, system_call and process_switch]
    #[arg(long, conflicts_with = "of")]
    pub(crate) sweep_loops: bool,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Write the histogram of each probe into this folder, as a drawing (SVG)
    #[arg(long, value_name = "DIR", conflicts_with = "sweep_loops")]
    pub(crate) plots: Option<PathBuf>,

    /// Put the repetitions into the JSON
    #[arg(long)]
    pub(crate) samples: bool,

    /// Keep nothing of this in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}
