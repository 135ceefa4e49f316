//! The command line of `steady warm bench`.

use std::path::PathBuf;

use clap::Args;
use steady_feature::flags::{OutputFlags, duration, span};
use steady_model::Nanos;

const EXAMPLES: &str = "\
Examples:
  What does a launch of these gain, and when is the snapshot paid back?
      steady warm bench --programs 'true,cat /dev/null,sort /etc/passwd'
  The same on files that are not in memory (as root)
      steady warm bench --programs true --cold
  Launches with time between them, as in a script
      steady warm bench --programs true --count 10 --pause 50ms
  All programs of a folder, each without arguments
      steady warm bench ./bin --runs 20 --export-html bench.html

Each run has a session of every mode, in an order drawn by coin: normal,
prewarm (the snapshot is taken before the first launch), on-demand (it is
taken beside the launches). A session is one process that launches the program
so many times by posix_spawn, in a store of its own that is empty at its
start: the user's is not touched. Standard input, output and error are
/dev/null; a program that does not end by itself then is left out.

Exit status:
  0    done
  2    wrong usage, no such program
  3    no program could be measured
  125  steady itself failed
  130  interrupted";

/// The options of `steady warm bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "steady warm bench [OPTIONS] DIR | --programs PROGRAM,...")]
pub(crate) struct WarmBenchFlags {
    /// A folder: the programs in it are launched, without arguments
    #[arg(value_name = "DIR", required_unless_present = "programs")]
    pub(crate) folder: Option<PathBuf>,

    /// Programs with their arguments, split into words as a shell does
    #[arg(long, value_name = "PROGRAM,...", value_delimiter = ',')]
    pub(crate) programs: Vec<String>,

    /// How often a session launches its program
    #[arg(short, long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) count: u32,

    /// How many sessions there are of each mode
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: u32,

    /// Rest so long between the launches of a session; that counts nowhere
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) pause: Option<Nanos>,

    /// Drop the page cache before each session (as root)
    #[arg(long)]
    pub(crate) cold: bool,

    /// How long a launch may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) timeout: Nanos,

    /// The seed of the order [default: from the system; the report names it]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Put the sessions into the JSON
    #[arg(long)]
    pub(crate) samples: bool,

    /// Keep nothing of this in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}
