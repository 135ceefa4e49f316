//! The type of a feature.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};

use crate::help::with_joined_lines;
use crate::{Failure, RecordKind, Session};

/// A feature: a subcommand of `steady`.
pub struct Feature {
    /// The name of the subcommand.
    pub name: &'static str,
    /// The summary in the list of subcommands.
    pub about: &'static str,
    /// Adds its flags to its subcommand.
    pub flags: fn(Command) -> Command,
    /// The function that runs the feature.
    pub run: Run,
    /// Whose exit status a call returns, from the words after the subcommand. It is also called for wrong usage, with
    /// any words.
    pub status: fn(&[OsString]) -> Status,
    /// The kinds of records that it stores in the history.
    pub records: &'static [RecordKind],
    /// The helper processes of the same program that it starts.
    pub helpers: &'static [Helper],
}

/// Runs a feature with its flags. Returns the exit status.
pub type Run = fn(&ArgMatches, &mut dyn Session) -> Result<u8, Failure>;

/// Whose exit status a feature returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its own exit status, which is 2 for wrong usage.
    Own,
    /// The exit status of the user's command, which may be anything up to 123. Wrong usage is 125.
    OfTheCommand,
}

impl Status {
    /// Returns [`Status::OfTheCommand`] if the words contain `--`, after which the user's command follows.
    pub fn of_words(words: &[OsString]) -> Self {
        if words.iter().any(|word| word == "--") { Status::OfTheCommand } else { Status::Own }
    }
}

/// A helper process: the same program, started with a hidden first argument. It uses little memory, because it starts
/// before the flags are parsed.
pub struct Helper {
    /// The first argument, which selects the helper.
    pub word: &'static str,
    /// The main function of the helper. Its parameter is the other arguments.
    pub main: fn(&mut dyn Iterator<Item = OsString>) -> ExitCode,
}

impl Feature {
    /// Builds the subcommand. Its flags are added when they are needed, because those of all features would take half of
    /// the start-up time.
    pub fn command(&self) -> Command {
        Command::new(self.name).about(self.about).defer(self.flags)
    }

    /// Adds the flags of a clap type to a command. [`Feature::flags`] is an instance of this function.
    pub fn flags_of<F: Args>(command: Command) -> Command {
        // The derived function replaces the summary by the documentation of the type.
        let about = command.get_about().cloned().unwrap_or_default();
        with_joined_lines(F::augment_args(command).about(about))
    }
}
