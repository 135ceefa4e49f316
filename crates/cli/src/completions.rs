//! Runs `steady completions`, which prints a completion script for a shell.

use std::collections::BTreeSet;

use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::flags::{CompletionsFlags, Flags};
use crate::output;

/// Prints the script. Returns the exit status.
pub(crate) fn run(flags: &CompletionsFlags) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut with_pages(Flags::with_features()), "steady", &mut script);
    if flags.shell == Shell::Bash {
        script = after_equals_sign(&script);
    }
    output::print(&script).map_err(|error| Failure::Own(format!("standard output: {error}")))?;
    Ok(0)
}

/// Lists the pages of `steady man` as values of its argument.
fn with_pages(steady: Command) -> Command {
    // Features define their subcommands when they are built.
    let mut all = steady.clone().disable_help_subcommand(true);
    all.build();
    let pages = PossibleValuesParser::new(names(&all));
    steady.mut_subcommand("man", |man| man.mut_arg("subcommand", |words| words.value_parser(pages)))
}

/// Returns the names of the subcommands of `command` and of theirs. They are static, as clap needs them.
fn names(command: &Command) -> BTreeSet<&'static str> {
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    shown
        .flat_map(|subcommand| {
            let mut names = names(subcommand);
            names.insert(subcommand.get_name().to_owned().leak());
            names
        })
        .collect()
}

/// Lets the script for bash complete values after an equals sign. Bash makes it a word of its own, so the word before
/// the value is not the option.
fn after_equals_sign(script: &[u8]) -> Vec<u8> {
    const PREVIOUS: &str = "    prev=\"$3\"\n";
    const OF_OPTION: &str = "    [[ $prev != = ]] || prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n";
    String::from_utf8_lossy(script).replacen(PREVIOUS, &format!("{PREVIOUS}{OF_OPTION}"), 1).into_bytes()
}
