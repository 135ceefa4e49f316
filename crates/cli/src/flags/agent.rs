//! The options of `steady agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The options of `steady agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentFlags {
    #[command(subcommand)]
    pub(crate) command: AgentCommands,
}

/// What the agent has for services besides listening to them.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommands {
    /// Where the rulers are that services run before a request: a library, its header and its file for pkg-config
    Library(LibraryFlags),
}

const LIBRARY_EXAMPLES: &str = "\
Examples:
  Build a service in C
      export PKG_CONFIG_PATH=\"$(steady agent library)\"
      cc service.c $(pkg-config --cflags --libs steady_rulers)
  Put them where they are to stay
      steady agent library /usr/local/lib/steady

Without a folder they are unpacked into one of this user's in ~/.cache or,
where that cannot be done, in /var/tmp or /tmp. It prints the folder.";

/// The options of `steady agent library`.
#[derive(Debug, Args)]
#[command(after_help = LIBRARY_EXAMPLES)]
pub(crate) struct LibraryFlags {
    /// The folder to write them to; it is made where it is missing
    pub(crate) folder: Option<PathBuf>,
}
