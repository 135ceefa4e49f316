//! The options of `steady locks`.

use std::ffi::OsString;

use clap::Args;
use steady_feature::flags::{FileFlags, FormatFlag, OutputFlags};

use crate::record::LockOrder;

const EXAMPLES: &str = "\
Examples:
  Which lock do the threads of a program wait for?
      steady locks -- ./server --threads 8
  Which locks are taken most often, waited for or not
      steady locks --sort acquisitions -- xz -T2 -k file
  All locks, in a file, and a page to look at
      steady locks --export-json all.json --export-html all.html -- ./build.sh

Mutexes, rwlocks, spinlocks, condition variables and semaphores of POSIX
threads are watched, in the command and in all that it starts. Locks inside
the C library and those that a language makes of futexes by itself are out of
sight: waits for futexes that belong to nothing watched stand in a line of
their own.
The command's LD_PRELOAD names the watcher first, then what it named before.

Exit status:
  that of the command; if a signal ended it, steady ends by the same signal
  (128 + n in a shell)
  125  steady itself failed, wrong usage and a command that cannot be watched
       included
  126  the command cannot be executed
  127  there is no such command";

/// The options of `steady locks`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LocksFlags {
    /// By what the locks are put in order, the most first
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub(crate) sort: LockOrder,

    #[command(flatten)]
    pub(crate) files: FileFlags,

    /// No report on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Keep nothing of this in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// The command and its words
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

impl LocksFlags {
    /// Where its report goes; standard output is the command's.
    pub(crate) fn output(&self) -> OutputFlags {
        OutputFlags { format: FormatFlag::Text, files: self.files.clone(), quiet: self.quiet }
    }
}
