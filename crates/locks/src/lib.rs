//! `steady locks`: which locks the threads of a command wait for, and where in its code.
#![forbid(unsafe_code)]

mod csv;
mod document;
mod flags;
mod record;
mod run;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Helper, RecordKind, Session, Status, attended};
use steady_linux::clock;

use flags::LocksFlags;
use run::{Circumstances, Symbols, locks, named, watchable};

pub use record::{
    CodePlace, FutexWaits, LockKind, LockOrder, LockSite, LockThread, LockUse, LockedProcess, LocksRecord, SCHEMA,
};
pub use run::{Bytes, of_area};

/// The feature `locks`, for the table of features in `steady_cli`.
pub const FEATURE: Feature = Feature {
    name: "locks",
    about: "Report which locks the threads of a command wait for, where, and what removing the waits would gain",
    flags: Feature::flags_of::<LocksFlags>,
    run,
    status: |_| Status::OfTheCommand,
    records: &[RecordKind {
        kind: record::KIND,
        read: |text| Ok(Box::new(LocksRecord::read(text)?)),
        log: None,
        join: None,
    }],
    helpers: &[Helper { word: run::ARGUMENT, main: guard }],
};

/// Runs the command, watches its locks, and writes the report.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = LocksFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    session.open(&flags.output(), false, Status::OfTheCommand)?;
    let command = session.command(&flags.words)?;
    watchable(&command.program).map_err(|why| Failure::Own(why.to_string()))?;
    let started = clock::time_of_day();
    let environment = session.environment();
    let folders = folders(&environment);
    let ran =
        locks(&command, &flags.words, environment, folders).map_err(|error| attended::failure(&command, &error))?;
    let circumstances = Circumstances {
        command: command.into(),
        started,
        host: session.host(),
        revision: session.revision(),
        order: flags.sort,
    };
    let record = named(circumstances, ran, &mut Symbols::default());
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    Ok(attended::status(record.ended))
}

/// Directories for the watcher library, in order of preference. Programs of other users load it too, so directories
/// that only this user can read come last.
fn folders(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let value = |name: &str| Some(PathBuf::from(&environment.iter().find(|variable| variable.0 == name)?.1));
    let cache = value("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let home = value("HOME").map(|home| home.join(".cache"));
    [Some(PathBuf::from("/tmp")), Some(PathBuf::from("/var/tmp")), cache.or(home)].into_iter().flatten().collect()
}

/// Entry point of the guardian process.
fn guard(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::guard(words);
    ExitCode::SUCCESS
}
