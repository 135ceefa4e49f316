//! A feature as a value.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};

use crate::{Failure, RecordKind, Session};

/// A feature: a subcommand of `steady`.
pub struct Feature {
    /// The subcommand.
    pub name: &'static str,
    /// What it does, in a line of the help.
    pub about: &'static str,
    /// Adds its flags to its subcommand.
    pub flags: fn(Command) -> Command,
    /// Does what its flags say; the exit status.
    pub run: Run,
    /// Whose status a call returns, by the words after the feature's name. Called for wrong usage too: the words need not make
    /// sense.
    pub status: fn(&[OsString]) -> Status,
    /// The kinds of records that it leaves in the history.
    pub records: &'static [RecordKind],
    /// The processes that it starts of this same program.
    pub helpers: &'static [Helper],
}

/// Does what the flags say; the exit status.
pub type Run = fn(&ArgMatches, &mut dyn Session) -> Result<u8, Failure>;

/// Whose exit status a feature returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its own: 2 for wrong usage.
    Own,
    /// That of the user's command, which may be any up to 123: wrong usage is 125.
    OfTheCommand,
}

impl Status {
    /// Returns [`Status::OfTheCommand`] if the words contain `--`, which a command of the user's follows.
    pub fn of_words(words: &[OsString]) -> Self {
        if words.iter().any(|word| word == "--") { Status::OfTheCommand } else { Status::Own }
    }
}

/// A process that is this same program, called with a word that nobody types. It stays small: it begins before the flags are read.
pub struct Helper {
    /// Its first argument.
    pub word: &'static str,
    /// Its whole life, from the words behind the first.
    pub main: fn(&mut dyn Iterator<Item = OsString>) -> ExitCode,
}

impl Feature {
    /// Its subcommand.
    pub fn command(&self) -> Command {
        (self.flags)(Command::new(self.name)).about(self.about)
    }

    /// Adds the flags of a type: what [`Feature::flags`] is made of.
    pub fn flags_of<F: Args>(command: Command) -> Command {
        F::augment_args(command)
    }
}
