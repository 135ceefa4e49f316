//! `steady warm`: programs started from snapshots of themselves, each taken at the program's entry point.
//!
//! ```text
//! take (the program under ptrace(2), twice) -> Taken -> compose (what differs, and why) -> Snapshot -> image (an ELF file)
//! store (a folder per user and boot) <- keeper (takes what is wanted, in the background); the hook reads it
//! ```
#![forbid(unsafe_code)]

mod ask;
pub mod bench;
mod command;
pub mod compose;
mod csv;
mod document;
mod flags;
pub mod identity;
pub mod image;
pub mod images;
pub mod inspect;
pub mod keeper;
pub mod launch;
pub mod make;
mod own;
mod plan;
mod record;
pub mod status;
pub mod store;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub mod take;
pub mod taken;

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Helper, RecordKind, Session, Status};
use steady_linux::process;
use steady_model::RunKind;
use steady_preload::card::EXCEPT_VARIABLE;

use flags::{WarmCommands, WarmFlags};
use make::{Maker, Traced};
use store::Store;

pub use own::available;
pub use plan::Bench;
pub use record::{
    Answer, BenchKind, BenchPlan, BenchProgram, BenchRecord, BenchSession, BenchTrial, BreakEven, Effect, Export,
    KeptProgram, LaunchMode, Launches, Mean, Means, Measure, ModeFigures, PaidBack, ProgramState, Question, SCHEMA,
    SessionCounts, Spent, StatusRecord, StoreFacts,
};

/// The feature.
pub const FEATURE: Feature = Feature {
    name: "warm",
    about: "Start the programs of a script from snapshots of themselves, taken once they were started",
    flags: Feature::flags_of::<WarmFlags>,
    run,
    status: Status::of_words,
    records: &[RecordKind { kind: RunKind::Warm, read: |text| Ok(Box::new(BenchRecord::read(text)?)), log: None }],
    helpers: &[
        Helper { word: keeper::ARGUMENT, main: keep },
        Helper { word: bench::STAGE, main: stage },
        Helper { word: bench::DRIVER, main: drive },
    ],
};

/// Runs a command, or reports what is kept; the exit status.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = WarmFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match &flags.question {
        Some(WarmCommands::Status(flags)) => ask::status(flags, session),
        Some(WarmCommands::Why(flags)) => ask::why(flags, session),
        Some(WarmCommands::Snapshot(flags)) => ask::snapshot(flags, session),
        Some(WarmCommands::Clear) => ask::clear(session),
        Some(WarmCommands::Bench(flags)) => bench::run(flags, session),
        None if flags.words.is_empty() => Err(Failure::Own(
            "no command: steady warm -- COMMAND; steady warm --help names what else there is".to_owned(),
        )),
        None => command::run(&flags, session),
    }
}

/// The whole life of a keeper: until the process that standard input stands for has ended. Nobody listens to what it might say.
fn keep(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    let Some(Ok(Some(store))) = words.next().map(|folder| Store::at(PathBuf::from(folder))) else {
        return ExitCode::FAILURE;
    };
    let Ok(command) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    process::keep_priority();
    let except = env::var_os(EXCEPT_VARIABLE).unwrap_or_default();
    let mut maker = Maker::new(&store, Traced, environment());
    if keeper::keep(&mut maker, command, &except).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The whole life of a process that makes the sessions of a bench.
fn stage(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    bench::serve(&environment());
    ExitCode::SUCCESS
}

/// The whole life of a driver, which launches a program many times.
fn drive(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    if bench::drive(words) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn environment() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}
