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

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::builder::StyledStr;
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
            ExitCode::from(match failure {
                Failure::Usage(_) => status_of_misuse(&std::env::args_os().skip(1).collect::<Vec<_>>()),
                failure => failure.status(),
            })
        }
    }
}

/// Returns the exit status of wrong usage. A subcommand that returns the status of the user's command uses a status for
/// its own errors that commands seldom have.
fn status_of_misuse(words: &[OsString]) -> u8 {
    let status = words.split_first().map_or(Status::Own, |(name, words)| features::status(name, words));
    let failure = if status == Status::OfTheCommand { Failure::Own } else { Failure::Usage };
    failure(String::new()).status()
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

/// What to say about an option that does not exist.
enum Advice {
    /// This, in place of the whole message.
    Message(String),
    /// This tip, in place of clap's, which passes the option as a value: `-- -k`.
    Tip(String),
    /// No tip.
    Nothing,
}

/// Returns what to say about an unknown option or word. A path in place of a subcommand is probably one of two
/// commands. After the first word of a command, an option probably belongs to the command.
fn advice(error: &clap::Error, words: &[OsString]) -> Option<Advice> {
    let name = words.first()?;
    if error.kind() == ErrorKind::InvalidSubcommand {
        let is_program = name.to_string_lossy().contains(['/', ' ']);
        let tip = "commands are compared with 'steady compare', as in \"steady compare './old file' './new file'\"";
        return is_program.then(|| Advice::Tip(tip.to_owned()));
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let mut steady = Flags::with_features();
    steady.build();
    let feature = steady.get_subcommands().find(|command| name == command.get_name())?;
    let words = &words[1..];
    let at = words.iter().position(|word| word.to_string_lossy().starts_with(unknown.as_str()))?;
    let word = words[at].to_string_lossy();
    if let Some(subcommand) = words[..at].iter().find_map(|word| feature.find_subcommand(word)) {
        return one_service(subcommand, feature.get_name(), &word);
    }
    let is_number =
        word.starts_with('-') && word[1..].starts_with(|first: char| first.is_ascii_digit() || first == '.');
    if let Some(option) = words[..at].last().and_then(|last| option_with_value(feature, &last.to_string_lossy()))
        && is_number
    {
        let option = option.to_string();
        let option = option.split(' ').next().unwrap_or_default();
        return Some(Advice::Message(format!("'{word}' is negative: {option} takes no negative values")));
    }
    let is_command = |argument: &&Arg| argument.get_value_names().is_some_and(|names| names == ["COMMAND"]);
    let command = feature.get_positionals().find(is_command)?;
    let name = feature.get_name();
    let is_range = |argument: &Arg| argument.get_value_names().is_some_and(|names| names == ["GOOD..BAD"]);
    if feature.get_positionals().any(is_range) {
        match &positionals(feature, &words[..at])[..] {
            _ if unknown == "--rev" => {
                let tip = format!("the range is the first word, as in \"steady {name} v1..HEAD './prog file'\"");
                return Some(Advice::Tip(tip));
            }
            [good, bad, ..] if !word.starts_with('-') && !good.contains("..") => {
                return Some(Advice::Tip(format!("the range is one word: write {good}..{bad}")));
            }
            _ => {}
        }
    }
    if command.is_last_set() && !positionals(feature, &words[..=at]).is_empty() {
        return Some(Advice::Tip(format!("write -- before the command, as in 'steady {name} -- gzip -k file'")));
    }
    if word.starts_with('-') {
        error.get(ContextKind::Suggested)?;
    }
    if command.is_last_set() || positionals(feature, &words[..at]).len() < command.get_index().unwrap_or(1) {
        return Some(Advice::Nothing);
    }
    let others =
        feature.get_positionals().filter(|argument| !is_command(argument)).map(|argument| format!("{argument} "));
    let others: String = others.collect::<String>().replace(['<', '>'], "");
    let takes_several = command.get_num_args().is_some_and(|range| range.max_values() > 1);
    Some(Advice::Tip(if takes_several {
        format!("give each command as one string, as in \"steady {name} 'gzip -1 file' 'gzip -9 file'\"")
    } else {
        format!("give the command as one string, as in \"steady {name} {others}'gzip -9 file'\"")
    }))
}

/// Returns a tip about a word too many for a subcommand that has versions of a service as its words, and the service as
/// an option.
fn one_service(subcommand: &clap::Command, feature: &str, word: &str) -> Option<Advice> {
    let versions: Vec<&str> = subcommand.get_positionals().map(|argument| argument.get_id().as_str()).collect();
    let has_service = subcommand.get_arguments().any(|argument| argument.get_long() == Some("service"));
    let tip =
        format!("the service is an option, as in 'steady {feature} {} --service shop v1 v2'", subcommand.get_name());
    (has_service && versions == ["old", "new"] && !word.starts_with('-')).then_some(Advice::Tip(tip))
}

/// Returns the option of `feature` that `word` names, if its value is the next word.
fn option_with_value<'a>(feature: &'a clap::Command, word: &str) -> Option<&'a Arg> {
    let is_named = |argument: &&Arg| match word.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => word.strip_prefix('-').is_some_and(|letters| {
            argument.get_short().is_some_and(|short| letters.chars().eq(std::iter::once(short)))
        }),
    };
    let option = feature.get_arguments().find(is_named)?;
    (option.get_action().takes_values() && !option.is_require_equals_set()).then_some(option)
}

/// Returns the words that are neither options nor their values.
fn positionals<'a>(feature: &clap::Command, words: &'a [OsString]) -> Vec<Cow<'a, str>> {
    let mut words = words.iter().map(|word| word.to_string_lossy());
    let mut found = vec![];
    while let Some(word) = words.next() {
        if option_with_value(feature, &word).is_some() {
            words.next();
        } else if !word.starts_with('-') {
            found.push(word);
        }
    }
    found
}

/// Returns the usage of the subcommand of `command` that these words name.
fn usage(command: &mut clap::Command, words: &[OsString]) -> StyledStr {
    let (name, rest) = words.split_first().unzip();
    match name.and_then(|name| command.find_subcommand_mut(name)) {
        Some(found) => usage(found, rest.unwrap_or_default()),
        None => command.render_usage(),
    }
}

/// Prints what is wrong with the flags, or the help or the version if that was requested.
fn misuse(mut error: clap::Error) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match advice(&error, &words) {
        Some(Advice::Message(text)) => {
            let steady = Flags::with_features();
            error = clap::Error::raw(ErrorKind::InvalidValue, text + "\n").with_cmd(&steady);
        }
        Some(Advice::Tip(tip)) => {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        Some(Advice::Nothing) => {
            error.remove(ContextKind::Suggested);
        }
        None => {}
    }
    // clap's usage after an error has the options that were given, although they exclude each other.
    if error.get(ContextKind::Usage).is_some() {
        let mut steady = Flags::with_features();
        steady.build();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage(&mut steady, &words)));
    }
    // clap lists the most similar name last.
    if let Some(ContextValue::Strings(names)) = error.remove(ContextKind::SuggestedSubcommand) {
        let names = names.into_iter().rev().collect();
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
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
    ExitCode::from(status_of_misuse(&words))
}
