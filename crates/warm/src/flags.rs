//! The options of `steady warm`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use steady_feature::flags::{OutputFlags, duration, span, whole_number};
use steady_model::Nanos;

const EXAMPLES: &str = "\
Examples:
  Run a script; from their second launch, its programs start from snapshots
      steady warm -- ./build.sh
  Create the snapshots of some programs before the script begins
      steady warm --mode prewarm --programs sed,cat,basename -- ./build.sh
  List the stored programs, and how often snapshots were used
      steady warm status
  Explain whether a program would be started from a snapshot here and now
      steady warm why ./server
  Remove all snapshots
      steady warm clear
  Measure how much a launch gains, and when the snapshot pays for itself
      steady warm bench --programs 'true,sort /etc/passwd'

The first launch of a program is as usual. A background process then captures
the program at its entry point, after the loader has mapped and linked its
libraries. Later launches execute that snapshot. If a snapshot does not fit
(the program, a library, a variable or a limit has changed), the program
starts as usual. Snapshots belong to this user and last until the next boot.

Do not start services this way. /proc/PID/exe of a program that runs from a
snapshot is the snapshot, so other programs (pidof, start-stop-daemon) do not
find the service by its file. Programs that nohup, setsid and
start-stop-daemon start are started as usual; --except lists others.

Exit status of 'steady warm -- COMMAND':
  the status of the command, which replaces the process of steady
  125  steady itself failed, wrong usage included
  126  the command cannot be executed
  127  the command does not exist
Exit status of the subcommands, and of 'steady warm' alone:
  0    done
  1    snapshot: a program was refused
  2    wrong usage, or a program does not exist
  125  steady itself failed";

/// Printed between the purpose and the usage. The warning is near the top, because a service that is not found may be
/// started a second time.
const INTRODUCTION: &str = "\
Most of the time to start a short program goes into loading and linking its libraries. A snapshot is the \
program after that work. It pays off for scripts that start the same programs many times within ten \
minutes, such as builds and configure scripts: 'steady warm bench' measures the gain. Output and exit \
status stay the same.

Do not start services this way, or list them in --except: their /proc/PID/exe is the snapshot, so \
pidof and start-stop-daemon do not find them.

What a program does after that work is not saved: an interpreter imports its modules at every start.";

const BENCH_EXAMPLES: &str = "\
Examples:
  Measure how much a launch gains, and when the snapshot pays for itself
      steady warm bench --runs 10 --programs 'true,sort /etc/passwd'
  The same with the default of 100 runs: narrower intervals, several minutes
      steady warm bench --programs 'true,cat /dev/null,sort /etc/passwd'
  The same with programs that are not in the page cache (as root)
      steady warm bench --programs true --cold
  Pause between launches, as a script does
      steady warm bench --programs true --count 10 --pause 50ms
  All programs of a directory, each without arguments
      steady warm bench ./bin --runs 20 --export-html bench.html

Each run has one session of every mode, in random order: normal, prewarm (the
snapshot is captured before the first launch) and on-demand (it is captured
during the launches). A session is one process that launches the program by
posix_spawn, --count times. It uses a store of its own, which is empty at the
start; your store is not touched. Standard input, output and error are
/dev/null. A program that does not end by itself then is left out.

Exit status:
  0    done
  2    wrong usage, or a program does not exist
  3    no program could be measured
  125  steady itself failed
  130  interrupted";

/// The options of `steady warm`.
#[derive(Debug, Args)]
#[command(
    before_help = INTRODUCTION,
    help_template = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    override_usage = "steady warm [--mode MODE] [--programs A,B] [--except A,B] -- COMMAND...\n       steady warm status|why|snapshot|clear|bench ..."
)]
pub(crate) struct WarmFlags {
    #[command(subcommand)]
    pub(crate) question: Option<WarmCommands>,

    /// When programs are captured
    #[arg(long, value_enum, default_value_t = ModeFlag::OnDemand)]
    pub(crate) mode: ModeFlag,

    /// Programs to capture first in mode prewarm [default: those that the command line and its script name]
    #[arg(long, value_name = "PROGRAM,...", value_delimiter = ',')]
    pub(crate) programs: Vec<PathBuf>,

    /// Always start these programs as usual: paths, or names that match in any directory
    #[arg(long, value_name = "PROGRAM,...", value_delimiter = ',')]
    pub(crate) except: Vec<PathBuf>,

    /// The command and its arguments, after --
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// The values of `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeFlag {
    /// In the background, after their first launch
    OnDemand,
    /// Before the command begins, on all CPUs; other programs on demand
    Prewarm,
    /// Never: the command runs without snapshots
    Off,
}

/// The subcommands of `steady warm`.
#[derive(Debug, Subcommand)]
pub(crate) enum WarmCommands {
    /// List the stored programs, and how launches went
    Status(StatusFlags),
    /// Explain why a program would or would not be started from a snapshot here and now
    Why(ProgramsFlags),
    /// Capture programs now; exit with 1 if one is refused
    Snapshot(ProgramsFlags),
    /// Remove all snapshots; running programs continue
    Clear,
    /// Measure what snapshots gain, and after how many launches they pay for themselves
    Bench(Box<BenchFlags>),
}

const STATUS_HELP: &str = "\
States of a program:
  warm     it has snapshots
  stale    it or a file that it loads has changed; it is captured again after
           its next launch
  refused  it always starts as usual
  script   its interpreter can have snapshots, in a line of its own

Launches of a program are counted since its first capture, and later captures
do not reset the counts: 'from a snapshot', and 'as usual since', which did not
use the snapshot. Launches before the first capture are counted for all
programs together: 'as usual, no snapshot yet'.";

/// The options of `steady warm status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub(crate) struct StatusFlags {
    /// Only these programs: paths, or names to look up in PATH
    #[arg(value_name = "PROGRAM")]
    pub(crate) programs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// The options of `steady warm why` and `steady warm snapshot`.
#[derive(Debug, Args)]
pub(crate) struct ProgramsFlags {
    /// The programs: paths, or names to look up in PATH
    #[arg(required = true, value_name = "PROGRAM")]
    pub(crate) programs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// The options of `steady warm bench`.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES, override_usage = "steady warm bench [OPTIONS] DIR | --programs PROGRAM,...")]
pub(crate) struct BenchFlags {
    /// A directory: launch all programs in it, without arguments
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,

    /// Programs with their arguments, split into words as a shell does it; quote a comma in an argument
    #[arg(long, value_name = "PROGRAM,...")]
    pub(crate) programs: Vec<String>,

    /// Launches in each session
    #[arg(short, long, value_name = "N", default_value_t = 50, value_parser = whole_number::<u32>(1..=10_000))]
    pub(crate) count: u32,

    /// Sessions of each mode; with fewer than 7, there are no intervals and verdicts
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = whole_number::<u32>(1..=100_000))]
    pub(crate) runs: u32,

    /// Pause between the launches of a session; the pause is not counted
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) pause: Option<Nanos>,

    /// Drop the page cache before each session (as root)
    #[arg(long)]
    pub(crate) cold: bool,

    /// Send written data to disks before each launch (sync); it is not counted
    #[arg(long)]
    pub(crate) sync: bool,

    /// The longest time that a launch may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) timeout: Nanos,

    /// The seed of the order [default: from the system; the report names it]
    #[arg(long, value_parser = whole_number::<u64>(..))]
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
