//! `steady`: performance verdicts that hold on a machine that cannot be kept quiet.
//!
//! This file parses the flags, calls the subcommand, prints its error and returns the exit status.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "this program prints its errors")]

#[cfg(test)]
mod commands;
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
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, FromArgMatches};
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
        Err(error) => return misuse(error),
    };
    let done = match features::named(&matches) {
        Some((feature, matches)) => (feature.run)(matches, &mut CommandLine::default()),
        None => match Flags::from_arg_matches(&matches) {
            Ok(flags) => run(flags),
            Err(error) => return misuse(error),
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

/// Runs a subcommand that is not a feature. Returns the exit status.
fn run(flags: Flags) -> Result<u8, Failure> {
    match flags.command {
        Subcommands::History(flags) => history::run(&flags),
        Subcommands::Completions(flags) => completions::run(&flags),
        Subcommands::Man(flags) => manual::run(&flags),
    }
}

/// Runs a helper process, if the first argument selects one: launchers, guardians, crowds, workers and neighbours are
/// this program with a hidden first argument. They start before anything else is initialised, so that they use little
/// memory.
fn helper() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let word = words.next()?;
    if let Some(helper) = FEATURES.iter().flat_map(|feature| feature.helpers).find(|helper| word == helper.word) {
        return Some((helper.main)(&mut words));
    }
    // The launcher belongs to no single feature.
    (word == launcher::ARGUMENT).then(|| {
        launcher::serve(&std::env::vars_os().collect::<Vec<_>>(), &|scope| counters::open(&HARDWARE, scope));
        ExitCode::SUCCESS
    })
}

/// Returns advice on an unknown option that clap would pass as a value, as `-- -k`. It probably belongs to the user's
/// command.
fn advice(error: &clap::Error) -> Option<String> {
    error.get(ContextKind::Suggested).filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let name = std::env::args_os().nth(1)?;
    let mut steady = Flags::with_features();
    steady.build();
    let feature = steady.get_subcommands().find(|command| name == command.get_name())?;
    let is_command = |argument: &&Arg| argument.get_value_names().is_some_and(|names| names == ["COMMAND"]);
    let words = feature.get_positionals().find(is_command)?;
    let name = feature.get_name();
    Some(match words.is_last_set() {
        true => format!("write -- before the command, as in 'steady {name} -- gzip -k file'"),
        false => format!("give each command as one string, as in \"steady {name} 'gzip -1 file' 'gzip -9 file'\""),
    })
}

/// Prints what is wrong with the flags, or the help or the version if that was requested.
fn misuse(mut error: clap::Error) -> ExitCode {
    if let Some(advice) = advice(&error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    let printed = error.print().and_then(|()| io::stdout().flush());
    if !error.use_stderr() {
        return match printed {
            // A reader such as `head` needs no more.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let failure = Failure::Own(format!("the help cannot be written: {error}"));
                failure::notice(&failure.to_string());
                ExitCode::from(failure.status())
            }
            _ => ExitCode::SUCCESS,
        };
    }
    // If the message cannot be printed, the exit status still reports the error.
    // A subcommand that returns the user's command's status uses a status for its own errors that commands seldom have.
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let status = words.split_first().map_or(Status::Own, |(name, words)| features::status(name, words));
    let failure = if status == Status::OfTheCommand { Failure::Own } else { Failure::Usage };
    ExitCode::from(failure(String::new()).status())
}
