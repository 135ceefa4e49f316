//! The options of `steady warm`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use steady_feature::flags::{OutputFlags, duration, span};
use steady_model::Nanos;

const EXAMPLES: &str = "\
Examples:
  Run a script; what it starts again starts faster from the second time on
      steady warm -- ./build.sh
  Have those it will start ready before it begins
      steady warm --mode prewarm --programs sed,cat,basename -- ./build.sh
  What is kept, and how launches went
      steady warm status
  Why is a program not started from a snapshot, here and now?
      steady warm why ./server
  Forget everything
      steady warm clear
  What does a launch gain, and after how many is the taking paid back?
      steady warm bench --programs 'true,sort /etc/passwd'

A program's first launch is as usual. Meanwhile a snapshot of it is taken in
the background, loaded and linked, at its entry; later launches execute that.
Whenever anything speaks against a snapshot (the program or a library has
changed, a variable, a limit), the launch is as usual. Snapshots are this
user's alone and last until the next boot.

Do not start services this way: /proc/PID/exe of a program that runs from a
snapshot is the snapshot, so that programs outside (pidof, start-stop-daemon)
do not find it by its file. What nohup, setsid and start-stop-daemon start is
started as usual.

Exit status of 'steady warm -- COMMAND':
  that of the command, which takes the place of steady
  125  steady itself failed, wrong usage included
  126  the command cannot be executed
  127  there is no such command
Exit status of the others:
  0    done
  1    snapshot: a program was refused
  2    wrong usage, no such program
  125  steady itself failed";

const BENCH_EXAMPLES: &str = "\
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

/// The options of `steady warm`.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    override_usage = "steady warm [--mode MODE] [--programs A,B] [--except A,B] -- COMMAND...\n       steady warm status|why|snapshot|clear|bench ..."
)]
pub(crate) struct WarmFlags {
    #[command(subcommand)]
    pub(crate) question: Option<WarmCommands>,

    /// When programs are taken
    #[arg(long, value_enum, default_value_t = ModeFlag::OnDemand)]
    pub(crate) mode: ModeFlag,

    /// The programs that prewarm takes first [default: those that the command's words and its script name]
    #[arg(long, value_name = "PROGRAM,...", value_delimiter = ',')]
    pub(crate) programs: Vec<PathBuf>,

    /// Start these programs as usual, always: paths, or names in any directory
    #[arg(long, value_name = "PROGRAM,...", value_delimiter = ',')]
    pub(crate) except: Vec<PathBuf>,

    /// The command and its words, behind --
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeFlag {
    /// In the background, once they have been started
    OnDemand,
    /// Before the command begins, on all CPUs; others on demand
    Prewarm,
    /// Not at all: the command runs as it is
    Off,
}

/// What else there is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum WarmCommands {
    /// What is kept, and how launches went
    Status(StatusFlags),
    /// Why a program is or is not started from a snapshot, here and now
    Why(ProgramsFlags),
    /// Take programs now; exit with 1 where one is refused
    Snapshot(ProgramsFlags),
    /// Forget all programs; those that run go on
    Clear,
    /// What keeping programs warm gains, and when it is paid back
    Bench(Box<BenchFlags>),
}

/// The options of `steady warm status`.
#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// Only these programs: paths, or names to be found in PATH
    #[arg(value_name = "PROGRAM")]
    pub(crate) programs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// The options of what is about programs.
#[derive(Debug, Args)]
pub(crate) struct ProgramsFlags {
    /// The programs: paths, or names to be found in PATH
    #[arg(required = true, value_name = "PROGRAM")]
    pub(crate) programs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// The options of `steady warm bench`.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES, override_usage = "steady warm bench [OPTIONS] DIR | --programs PROGRAM,...")]
pub(crate) struct BenchFlags {
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
