//! The command line of `steady costs`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use steady_feature::flags::{OutputFlags, span, whole_number};
use steady_host::QuietHostFlags;
use steady_model::Nanos;

const EXAMPLES: &str = "\
Examples:
  What do calls, switches, faults, processes and the like cost here?
      steady costs
  Which clock suits which purpose, and what does a reading cost?
      steady costs clocks
  Two of them, with a histogram of each; the list of all probes
      steady costs --only system_call,process_switch
      steady costs --list
  All system calls by name; both ways to switch between threads
      steady costs --only call
      steady costs --only thread_switch
  Does the result depend on the length of the timed loop, and why?
      steady costs --sweep-loops --only function_call,system_call
  Why do published costs differ from these?
      steady costs --as-published
  An HTML page with charts; the histograms as SVG files
      steady costs --export-html costs.html
      steady costs --plots histograms/

Each cost is per counted event (a switch, a fault, a correct return value),
minus the cost of the same loop without the event. Both loops run on one CPU,
one after the other in random order. Repetitions in which another process used
that CPU are excluded. Ctrl-C ends the run and reports what is complete.

Exit status:
  0    done
  2    wrong usage, or an unknown probe
  125  steady itself failed, or a process that measures ended early
  130  interrupted";

/// The positional argument of `steady costs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostsOf {
    /// Only the clocks, with the purpose of each
    Clocks,
}

/// Options of `steady costs`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CostsFlags {
    /// clocks: measure only the clocks
    #[arg(value_enum, value_name = "clocks", hide_possible_values = true)]
    pub(crate) of: Option<CostsOf>,

    /// Probes to measure. A common prefix selects all of a group: call, clock, load, thread_switch
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "of")]
    pub(crate) only: Option<Vec<String>>,

    /// List the probes and what each one measures, and exit
    #[arg(long, conflicts_with_all = ["of", "only"])]
    pub(crate) list: bool,

    /// Repetitions of each probe
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = whole_number::<u32>(6..=100_000))]
    pub(crate) repetitions: u32,

    /// Time limit for the whole run. A short one leads to fewer repetitions; a busy machine may take twice as long,
    /// until each cost has the 6 repetitions that an interval needs
    #[arg(short, long, value_name = "TIME", default_value = "15s", value_parser = span)]
    pub(crate) budget: Nanos,

    /// CPU to measure on [default: one that is far from the first core]
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>(..))]
    pub(crate) cpu: Option<usize>,

    /// Seed of the random order [default: from the system; the report shows it]
    #[arg(long, value_parser = whole_number::<u64>(..))]
    pub(crate) seed: Option<u64>,

    /// Measure with loops of 10 to 10,000,000 rounds, and explain why the costs differ [default probes: function_call,
    /// system_call, process_switch]
    #[arg(long, conflicts_with = "of")]
    pub(crate) sweep_loops: bool,

    /// Measure four primitives as in a publication that is often quoted, next to the correct measurement, and explain
    /// the differences
    #[arg(long, conflicts_with_all = ["of", "only", "list", "sweep_loops"])]
    pub(crate) as_published: bool,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Write the histogram of each probe into this folder, as SVG; with --sweep-loops, its cost by length of the loop
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,

    /// Include all repetitions in the JSON
    #[arg(long)]
    pub(crate) samples: bool,

    /// Do not store the result in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}
