//! `steady`: performance verdicts that hold on a machine that cannot be kept quiet.
//!
//! This file only wires: it parses the flags, calls what they name, prints an error and picks the exit status.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "errors are this program's to print")]

mod compare;
mod compared;
mod completions;
mod failure;
mod flags;
mod history;
mod interrupt;
mod judge;
mod manual;
mod output;
mod parameters;
mod programs;
mod progress;
mod resolve;
mod revisions;

use std::process::ExitCode;

use clap::Parser;
use steady_experiments::launcher;
use steady_linux::counters::{self, HARDWARE};

use flags::{Flags, Subcommands};

fn main() -> ExitCode {
    // Launchers stay small: nothing else of this program is touched on their way.
    if std::env::args_os().nth(1).is_some_and(|word| word == launcher::ARGUMENT) {
        launcher::serve(&std::env::vars_os().collect::<Vec<_>>(), &|scope| counters::open(&HARDWARE, scope));
        return ExitCode::SUCCESS;
    }
    let done = match Flags::parse().command {
        Subcommands::Compare(flags) => compare::run(&flags),
        Subcommands::Judge(flags) => judge::run(&flags),
        Subcommands::History(flags) => history::run(&flags),
        Subcommands::Completions(flags) => completions::run(&flags),
        Subcommands::Man(flags) => manual::run(&flags),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            failure::notice(&failure.to_string());
            ExitCode::from(failure.status())
        }
    }
}
