//! The command line of `steady load`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use steady_feature::flags::{OutputFlags, span};
use steady_host::QuietHostFlags;
use steady_model::{Nanos, Neighbour};

use super::procs::Procs;

const EXAMPLES: &str = "\
Examples:
  How far can CPU time be trusted here, and how far wall time? 1 to 32 at once,
  each hashing for 5 s of its own CPU time
      steady load --workload hash --cpu-time 5s --procs 1..32
  The user time of fixed work: each process sums 100,000,001 random numbers
      steady load --workload sum --work 100000001 --procs 1,2,4,8,16
  The same about a program of your own: copies at once, for 2 s a row
      steady load -- gzip -9 -kc file
      steady load --window 10s --procs 1..8 -- ./prog input
  The CPU budget enforced by a thread that wakes every second, as scripts do
      steady load --poll 1s --procs 1..32
  How much slower is this machine right now, by what is used of it?
      steady load --rulers
      steady load --rulers --neighbour stream --procs 1..4
  A quick look; a page with charts
      steady load --cpu-time 200ms
      steady load --export-html load.html

Each row is so many processes at once. They get ready, set off together, and
are timed from then on. The rows' order is drawn from the seed, so that a load
that drifts is not taken for one that grows with the number of processes.
Ctrl-C ends it and keeps the rows that are whole.

Exit status:
  0    done
  2    wrong usage, no such program, more processes than there may be
  3    the command failed, a process was killed, or no more could be started
  125  steady itself failed
  130  interrupted";

/// `--workload`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkloadFlag {
    /// Hashes of random input until so much CPU time is used
    Hash,
    /// The sum of so many random numbers
    Sum,
}

/// `--neighbour`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NeighbourFlag {
    /// Keeps a CPU busy, and no memory
    Spin,
    /// Streams through more memory than the caches hold
    Stream,
    /// Hashes, out of the first level of cache
    Hash,
}

impl From<NeighbourFlag> for Neighbour {
    fn from(flag: NeighbourFlag) -> Neighbour {
        match flag {
            NeighbourFlag::Spin => Neighbour::Spin,
            NeighbourFlag::Stream => Neighbour::Stream,
            NeighbourFlag::Hash => Neighbour::Hash,
        }
    }
}

/// The options of `steady load`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoadFlags {
    /// What each process does [default: hash]
    #[arg(short, long, value_enum, value_name = "WORK", conflicts_with_all = ["command", "rulers"])]
    pub(crate) workload: Option<WorkloadFlag>,

    /// hash: the CPU time of each process [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with_all = ["command", "rulers", "work"])]
    pub(crate) cpu_time: Option<Nanos>,

    /// sum: how many numbers each process sums [default: 100000001]
    #[arg(long, value_name = "NUMBERS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["command", "rulers"])]
    pub(crate) work: Option<u64>,

    /// The numbers of processes, a row for each: 1..32, 1,2,4 or 1..4,8 [default: 1 to twice the CPUs that may be used,
    /// thinned out beyond 16]
    #[arg(short, long, value_name = "NUMBERS")]
    pub(crate) procs: Option<Procs>,

    /// hash: let a thread asleep in each process look so often whether its CPU time is used [default: exact]
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with_all = ["command", "rulers", "work"])]
    pub(crate) poll: Option<Nanos>,

    /// COMMAND: begin no run later than this in a row. Runs that end later ran beside fewer others; they count only in
    /// a place where none ended in time [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = span, requires = "command")]
    pub(crate) window: Option<Nanos>,

    /// The CPUs to use: 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    /// The seed of the rows' order and of the work's random numbers [default: from the system; the report names it]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// Read the rulers instead: how much slower each resource of this machine is right now
    #[arg(long, conflicts_with = "command")]
    pub(crate) rulers: bool,

    /// --rulers: read them beside so many of these at once, a row for each number of --procs
    #[arg(long, value_enum, value_name = "KIND", requires = "rulers")]
    pub(crate) neighbour: Option<NeighbourFlag>,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Write the chart of work by number of processes to this file, as a drawing (SVG)
    #[arg(long, value_name = "FILE", conflicts_with = "rulers")]
    pub(crate) export_svg: Option<PathBuf>,

    /// Put each process's own figures into the JSON
    #[arg(long)]
    pub(crate) samples: bool,

    /// Keep nothing of this in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// A program of your own and its words, after --: copies of it are run instead of steady's own work
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
