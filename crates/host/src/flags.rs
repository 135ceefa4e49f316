//! The options of `steady host`, and `--quiet-host` of other features.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use steady_feature::flags::{OutputFlags, whole_number};
use steady_model::Knob;

const EXAMPLES: &str = "\
Examples:
  What makes this host noisy, what can be set, and what is that worth?
      steady host status
  Which of the knobs change the noise of a short command on this host?
      sudo steady host status --effects
  Make the host quiet; later, restore exactly what was there
      sudo steady host quiet
      sudo steady host restore
  Make it quiet for one command only, however that command ends
      sudo steady host quiet -- ./bench.sh
  Set only some knobs; set all except some
      sudo steady host quiet --only governor,turbo
      sudo steady host quiet --except smt,caches -- ./bench.sh
  Set what an often quoted script sets, and restore it after one command
      sudo steady host quiet --as-published -- ./bench.sh
  Use the same addresses in every run of one command; do not change the host
      steady host quiet --only aslr -- ./prog

Knobs: turbo, governor, epp, min-frequency, smt, aslr (only with --only),
nmi-watchdog, perf-sample-rate, irq-affinity, thp, swap, caches. The original
values are written to /var/lib/steady-host/host.json before the first change.

Exit status:
  0    success
  1    some requested knobs could not be set or restored
  2    wrong usage
  125  steady itself failed; nothing was changed, unless the message says so
Exit status of 'steady host quiet -- COMMAND':
  that of the command; if a signal ended it, steady ends by the same signal
  (128 + n in a shell)
  125  steady itself failed (wrong usage included), or could not restore the
       host
  126  the command cannot be executed
  127  the command does not exist";

/// The parsed options of `steady host`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HostFlags {
    #[command(subcommand)]
    pub(crate) command: HostCommands,
}

/// The subcommands of `steady host`.
#[derive(Debug, Subcommand)]
pub(crate) enum HostCommands {
    /// Report how quiet the host is, what can be set, and what that is worth
    Status(HostStatusFlags),
    /// Set what can be set; with a command, restore it when the command ends
    Quiet(HostQuietFlags),
    /// Restore exactly what was there
    Restore(HostRestoreFlags),
}

/// The parsed options of `steady host status`.
#[derive(Debug, Args)]
pub(crate) struct HostStatusFlags {
    /// Do not measure noise with rulers, which takes one second
    #[arg(long)]
    pub(crate) no_rulers: bool,

    /// Measure how each knob changes the noise of a short command: set and restore it repeatedly (as root)
    #[arg(long)]
    pub(crate) effects: bool,

    /// Seed of the random order of --effects [default: from the system; the report contains it]
    #[arg(long, requires = "effects", value_parser = whole_number::<u64>(..))]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) root: RootFlag,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// The parsed options of `steady host quiet`.
#[derive(Debug, Args)]
#[command(override_usage = "steady host quiet [OPTIONS] [-- COMMAND...]")]
pub(crate) struct HostQuietFlags {
    /// Set only these knobs, for example turbo,governor
    #[arg(long, value_name = "KNOB,...", value_delimiter = ',', value_parser = knob(), hide_possible_values = true)]
    pub(crate) only: Vec<Knob>,

    /// Set all knobs except these
    #[arg(long, value_name = "KNOB,...", value_delimiter = ',', value_parser = knob(), hide_possible_values = true)]
    pub(crate) except: Vec<Knob>,

    /// Set exactly the knobs of an often quoted script: turbo, governor, smt, aslr, nmi-watchdog and caches
    #[arg(long, conflicts_with_all = ["only", "except"])]
    pub(crate) as_published: bool,

    #[command(flatten)]
    pub(crate) root: RootFlag,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// For tests: kill this process after so many steps
    #[arg(long, hide = true, value_name = "STEPS")]
    pub(crate) die_at: Option<u32>,

    /// The command to run, with its arguments, after --
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// The parsed options of `steady host restore`.
#[derive(Debug, Args)]
pub(crate) struct HostRestoreFlags {
    /// Also restore what other programs have changed while the host was quiet
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) root: RootFlag,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// For tests: kill this process after so many steps
    #[arg(long, hide = true, value_name = "STEPS")]
    pub(crate) die_at: Option<u32>,
}

/// The option `--root`, the root directory of the host's files.
#[derive(Debug, Args)]
pub(crate) struct RootFlag {
    /// Read and write copies of /proc and /sys below this directory, and keep the journal there
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
}

/// The option `--quiet-host` of features that measure.
#[derive(Debug, Args)]
pub struct QuietHostFlags {
    /// Make the host quiet during the run, as `steady host quiet` does, and restore it afterwards
    #[arg(long)]
    pub quiet_host: bool,

    /// For tests: copies of /proc and /sys to use with --quiet-host
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// A parser of the names of knobs, which completion scripts offer.
fn knob() -> impl TypedValueParser<Value = Knob> {
    PossibleValuesParser::new(Knob::ALL.map(Knob::name)).try_map(|name| Knob::named(&name).ok_or("no such knob"))
}
