//! `steady warm`: starts programs from snapshots of themselves, each captured at the program's entry point.
//!
//! ```text
//! capture (the program under ptrace(2), twice) -> Captured -> compose (what differs, and why) -> Snapshot
//!     -> image (an ELF file)
//! store (a directory per user and boot) <- keeper (captures requested programs in the background);
//!     the hook reads the store
//! ```
#![forbid(unsafe_code)]

pub mod bench;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub mod capture;
pub mod captured;
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
mod plan;
mod record;
pub mod status;
pub mod store;
mod subcommands;
mod user_store;

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches, Subcommand};
use steady_feature::{Failure, Feature, Helper, RecordKind, Session, Status};
use steady_linux::process;
use steady_preload::card::EXCEPT_VARIABLE;

use flags::{WarmCommands, WarmFlags};
use make::{Maker, Traced};
use store::Store;

pub use plan::Bench;
pub use record::{
    Answer, BenchKind, BenchPlan, BenchProgram, BenchRecord, BenchSession, BenchTrial, BreakEven, Effect, Export,
    KeptProgram, LaunchMode, Launches, Mean, Means, Measure, ModeFigures, PaidBack, ProgramState, Question, SCHEMA,
    SessionCounts, Spent, StatusRecord, StoreFacts,
};
pub use user_store::available;

/// The entry of `steady warm` in the table of features.
pub const FEATURE: Feature = Feature {
    name: "warm",
    about: "Speed up a script that starts many short programs: they start from snapshots of themselves",
    flags: Feature::flags_of::<WarmFlags>,
    run,
    status,
    records: &[RecordKind {
        kind: record::KIND,
        read: |text| Ok(Box::new(BenchRecord::read(text)?)),
        log: None,
        join: None,
    }],
    helpers: &[
        Helper { word: keeper::ARGUMENT, main: keep },
        Helper { word: bench::STAGE, main: stage },
        Helper { word: bench::DRIVER, main: drive },
    ],
};

/// Returns whose exit status a call returns: all words but a subcommand are about a command to run.
fn status(words: &[OsString]) -> Status {
    let is_subcommand = |word: &OsString| word.to_str().is_some_and(WarmCommands::has_subcommand);
    if words.first().is_none_or(is_subcommand) { Status::Own } else { Status::OfTheCommand }
}

/// Runs a command or a subcommand; returns the exit status.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = WarmFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match &flags.question {
        Some(WarmCommands::Status(flags)) => subcommands::status(flags, session),
        Some(WarmCommands::Why(flags)) => subcommands::why(flags, session),
        Some(WarmCommands::Snapshot(flags)) => subcommands::snapshot(flags, session),
        Some(WarmCommands::Clear) => subcommands::clear(session),
        Some(WarmCommands::Bench(flags)) => bench::run(flags, session),
        None if flags.words.is_empty() => Err(Failure::Usage(
            "no command: use steady warm -- COMMAND; steady warm --help lists the subcommands".to_owned(),
        )),
        None => command::run(&flags, session),
    }
}

/// The main function of a keeper. Runs until the process whose pidfd is standard input has ended. It reports no errors,
/// because no process reads its streams.
fn keep(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    let Some(Ok(Some(store))) = words.next().map(|folder| Store::at(PathBuf::from(folder))) else {
        return ExitCode::FAILURE;
    };
    let Ok(command) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    if command.try_clone().and_then(keeper::end_in_time).is_err() {
        return ExitCode::FAILURE;
    }
    process::keep_priority();
    let except = env::var_os(EXCEPT_VARIABLE).unwrap_or_default();
    let mut maker = Maker::new(&store, Traced, environment());
    let kept = keeper::keep(&mut maker, command, &except, process::give_way);
    if kept.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The main function of the process that runs the sessions of a bench.
fn stage(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    bench::serve(&environment());
    ExitCode::SUCCESS
}

/// The main function of a driver, which launches a program many times.
fn drive(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    if bench::drive(words) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn environment() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}
