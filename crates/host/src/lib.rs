//! `steady host`: reports how quiet a host is, makes it quiet, and restores it exactly.
#![forbid(unsafe_code)]

mod actions;
mod around;
mod document;
mod flags;
mod plan;
mod record;
mod run;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Helper, Session, Status};

use flags::{HostCommands, HostFlags};

pub use around::around;
pub use flags::QuietHostFlags;
pub use record::{
    Attempt, AttemptOutcome, HostQuestion, HostRecord, JournalFacts, KnobEffect, KnobRecord, LeftKnob, NoiseEffects,
    QuietRun, RulerSpread, SCHEMA,
};

/// The feature `host`, for the table of features in `steady_cli`.
pub const FEATURE: Feature = Feature {
    name: "host",
    about: "Report how quiet this host is, make it quiet, and restore it exactly",
    flags: Feature::flags_of::<HostFlags>,
    run,
    status: Status::of_words,
    records: &[],
    helpers: &[Helper { word: run::GUARD, main: guard }, Helper { word: run::ATTENDANT, main: attend }],
};

/// Runs the subcommand and returns the exit status.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = HostFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match &flags.command {
        HostCommands::Status(flags) => actions::status(flags, session),
        HostCommands::Quiet(flags) => actions::quiet(flags, session),
        HostCommands::Restore(flags) => actions::restore(flags, session),
    }
}

/// Entry point of the guard process, which keeps a host quiet.
fn guard(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::serve();
    ExitCode::SUCCESS
}

/// Entry point of the guardian of a command on a quiet host.
fn attend(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::attend(words);
    ExitCode::SUCCESS
}
