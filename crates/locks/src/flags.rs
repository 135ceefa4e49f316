//! The options of `steady locks`.

use std::ffi::OsString;

use clap::Args;
use steady_feature::flags::{FileFlags, FormatFlag, OutputFlags};

use crate::record::LockOrder;

const EXAMPLES: &str = "\
Examples:
  Which lock do the threads of a program wait for?
      steady locks -- ./server --threads 8
  Which locks are acquired most often, contended or not?
      steady locks --sort acquisitions -- xz -T2 -k file
  All locks, as JSON and as a page of HTML
      steady locks --export-json all.json --export-html all.html -- ./build.sh

steady watches mutexes, rwlocks, spinlocks, condition variables and semaphores
of POSIX threads, in the command and in all processes that it starts. It does
not see locks inside the C library, nor locks that a language builds on futexes
directly; the report has one line for the time that threads waited for those.
steady puts its library first in the command's LD_PRELOAD, before the libraries
that LD_PRELOAD already names.

Exit status:
  that of the command; if a signal ended it, steady ends by the same signal
  (128 + n in a shell)
  125  steady itself failed: for example wrong usage, or a command that cannot
       be watched
  126  the command cannot be executed
  127  the command does not exist";

/// The parsed options of `steady locks`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LocksFlags {
    /// Sort the locks by this, largest first
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub(crate) sort: LockOrder,

    #[command(flatten)]
    pub(crate) files: FileFlags,

    /// Do not write the report to standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Do not store the result in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// The command to run, with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

impl LocksFlags {
    /// Returns where the report goes. Standard output belongs to the command.
    pub(crate) fn output(&self) -> OutputFlags {
        OutputFlags { format: FormatFlag::Text, files: self.files.clone(), quiet: self.quiet }
    }
}
