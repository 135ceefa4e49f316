//! The options of `steady warm`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use steady_feature::flags::OutputFlags;

use super::WarmBenchFlags;

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
    Bench(Box<WarmBenchFlags>),
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
