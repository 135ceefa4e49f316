//! The options of `steady host`, and those by which others have a host made quiet.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use steady_feature::flags::OutputFlags;
use steady_model::Knob;

const EXAMPLES: &str = "\
Examples:
  What makes this host noisy, what of it can be set, and what is that worth?
      steady host status
  Make it quiet; then put back exactly what was there
      sudo steady host quiet
      sudo steady host restore
  Quiet for one command only, whatever becomes of it
      sudo steady host quiet -- ./bench.sh
  Some knobs only; all but some
      sudo steady host quiet --only governor,turbo
      sudo steady host quiet --except smt,caches -- ./bench.sh
  The same addresses on every run, for this command and not for the host
      steady host quiet --only aslr -- ./prog

Knobs: turbo, governor, epp, min-frequency, smt, aslr (only if it is named),
nmi-watchdog, perf-sample-rate, irq-affinity, thp, swap, caches. What was
there is written to /var/lib/steady-host/host.json before anything is changed.

Exit status:
  0    done
  1    not all of what was asked for could be set or put back
  2    wrong usage
  125  steady itself failed; nothing was changed, unless it says so
Exit status of 'steady host quiet -- COMMAND':
  that of the command; if a signal ended it, steady ends by the same signal
  (128 + n in a shell)
  125  steady itself failed, wrong usage included, or could not put the host
       back
  126  the command cannot be executed
  127  there is no such command";

/// The options of `steady host`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HostFlags {
    #[command(subcommand)]
    pub(crate) command: HostCommands,
}

/// What to do with the host.
#[derive(Debug, Subcommand)]
pub(crate) enum HostCommands {
    /// Tell how quiet it is, what can be set and what that is worth
    Status(HostStatusFlags),
    /// Set what may be set; with a command, put it back afterwards
    Quiet(HostQuietFlags),
    /// Put back exactly what was there
    Restore(HostRestoreFlags),
}

/// The options of `steady host status`.
#[derive(Debug, Args)]
pub(crate) struct HostStatusFlags {
    /// Do not read the rulers, which takes a second
    #[arg(long)]
    pub(crate) no_rulers: bool,

    #[command(flatten)]
    pub(crate) root: RootFlag,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// The options of `steady host quiet`.
#[derive(Debug, Args)]
#[command(override_usage = "steady host quiet [OPTIONS] [-- COMMAND...]")]
pub(crate) struct HostQuietFlags {
    /// Only these knobs: turbo,governor
    #[arg(long, value_name = "KNOB,...", value_delimiter = ',', value_parser = knob)]
    pub(crate) only: Vec<Knob>,

    /// All knobs but these
    #[arg(long, value_name = "KNOB,...", value_delimiter = ',', value_parser = knob)]
    pub(crate) except: Vec<Knob>,

    #[command(flatten)]
    pub(crate) root: RootFlag,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Be killed after so many steps, for tests of that
    #[arg(long, hide = true, value_name = "STEPS")]
    pub(crate) die_at: Option<u32>,

    /// The command and its words, behind --
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// The options of `steady host restore`.
#[derive(Debug, Args)]
pub(crate) struct HostRestoreFlags {
    /// Put back what somebody else has changed meanwhile, too
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) root: RootFlag,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Be killed after so many steps, for tests of that
    #[arg(long, hide = true, value_name = "STEPS")]
    pub(crate) die_at: Option<u32>,
}

/// Where the host is.
#[derive(Debug, Args)]
pub(crate) struct RootFlag {
    /// Read and write the /proc and /sys below this folder, a copy, and journal there
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
}

/// What commands that measure do about the host.
#[derive(Debug, Args)]
pub struct QuietHostFlags {
    /// Make the host quiet meanwhile, as `steady host quiet` does, and put it back
    #[arg(long)]
    pub quiet_host: bool,

    /// The same of a copy of /proc and /sys, for tests
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// A knob by its name.
fn knob(name: &str) -> Result<Knob, String> {
    Knob::named(name).ok_or_else(|| {
        let names: Vec<&str> = Knob::ALL.into_iter().map(Knob::name).collect();
        format!("there are {}", names.join(", "))
    })
}
