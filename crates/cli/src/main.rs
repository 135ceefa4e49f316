//! `steady`: performance verdicts that hold on a machine that cannot be kept quiet.
//!
//! This file only wires: it parses the flags, calls what they name, prints an error and picks the exit status.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "errors are this program's to print")]

mod completions;
mod failure;
mod features;
mod flags;
mod history;
mod letters;
mod manual;
mod output;
mod programs;
mod progress;
mod session;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use steady_feature::Status;
use steady_linux::counters::{self, HARDWARE};
use steady_linux::signals;
use steady_process::launcher;

use failure::Failure;
use features::FEATURES;
use flags::{Flags, Subcommands};
use session::CommandLine;

fn main() -> ExitCode {
    signals::survive_file_size_limit();
    if let Some(status) = helper() {
        return status;
    }
    let matches = match Flags::with_features().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return misuse(&error),
    };
    let done = match features::named(&matches) {
        Some((feature, matches)) => (feature.run)(matches, &mut CommandLine::default()),
        None => match Flags::from_arg_matches(&matches) {
            Ok(flags) => run(flags),
            Err(error) => return misuse(&error),
        },
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            failure::notice(&failure.to_string());
            ExitCode::from(failure.status())
        }
    }
}

/// Does what the flags say, for what is no feature of the table; the exit status.
fn run(flags: Flags) -> Result<u8, Failure> {
    match flags.command {
        Subcommands::History(flags) => history::run(&flags),
        Subcommands::Completions(flags) => completions::run(&flags),
        Subcommands::Man(flags) => manual::run(&flags),
    }
}

/// Does the work of a helper process, if this is one: launchers, guardians, crowds, workers and neighbours are this same
/// program, called with a hidden word. They stay small: nothing else of it is touched on their way.
fn helper() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let word = words.next()?;
    if let Some(helper) = FEATURES.iter().flat_map(|feature| feature.helpers).find(|helper| word == helper.word) {
        return Some((helper.main)(&mut words));
    }
    // What several features start commands with.
    (word == launcher::ARGUMENT).then(|| {
        launcher::serve(&std::env::vars_os().collect::<Vec<_>>(), &|scope| counters::open(&HARDWARE, scope));
        ExitCode::SUCCESS
    })
}

/// Says what is wrong with the flags, or what was asked for in place of an experiment: help, the version.
fn misuse(error: &clap::Error) -> ExitCode {
    // Where nobody listens, the exit status speaks.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    // Of what returns a command's own status, only those that no command is likely to have are its own.
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let status = words.split_first().map_or(Status::Own, |(name, words)| features::status(name, words));
    let failure = if status == Status::OfTheCommand { Failure::Own } else { Failure::Usage };
    ExitCode::from(failure(String::new()).status())
}
