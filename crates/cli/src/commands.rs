//! The page of the book that lists every command and option, `docs/commands.md`. A test generates it from the flags.

use clap::{Arg, ArgAction, Command};
use steady_feature::help::headed;
use steady_render::markdown::{code, plain};
use steady_testing::goldens;

use crate::flags::Flags;

const INTRODUCTION: &str = "\
# Commands

Every command and its options, as `steady help COMMAND` prints them. This page is generated from the program's flags;
`steady man` prints the same as manual pages.
";

#[test]
fn the_page_of_commands_lists_what_the_help_lists() {
    let mut steady = Flags::with_features().disable_help_subcommand(true);
    steady.build();
    let mut page = INTRODUCTION.to_owned();
    for command in shown(&steady) {
        append(&mut page, command, 2);
    }
    goldens::check_page("commands.md", page);
}

#[test]
fn an_option_is_shown_with_its_values_and_its_default() {
    let option = Arg::new("order").short('o').long("order").value_name("HOW").help("The <order> of runs, as in `a b`");
    let option = option.value_parser(["random", "fixed"]).default_value("random");
    let mut command = Command::new("steady").arg(option);
    command.build();
    let option = command.get_arguments().next().unwrap();
    assert_eq!(
        item(option),
        "- `-o`, `--order <HOW>`: The \\<order\\> of runs, as in `a b`. Values: `random`, `fixed`. Default: `random`.\n"
    );
}

/// Returns the subcommands that the help lists.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set())
}

/// Appends a command with its options, examples and subcommands, under a heading of this level.
fn append(page: &mut String, command: &Command, level: usize) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).replace('-', " ");
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    page.push_str(&format!("\n{} {name}\n\n", "#".repeat(level)));
    for paragraph in about.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        page.push_str(&format!("{}\n\n", prose(&sentence(&paragraph.replace('\n', " ")))));
    }
    page.push_str(&indented(usage));
    for (heading, arguments) in by_heading(command) {
        page.push_str(&format!("\n{heading}:\n\n"));
        page.extend(arguments.into_iter().map(item));
    }
    let after = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    for paragraph in after.unwrap_or_default().split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        match headed(paragraph) {
            Some((heading, lines)) => page.push_str(&format!("\n{}:\n\n{}", plain(heading), indented(lines))),
            None => page.push_str(&format!("\n{}\n", prose(&paragraph.replace('\n', " ")))),
        }
    }
    for subcommand in shown(command) {
        append(page, subcommand, level + 1);
    }
}

/// Returns the arguments that the help lists, under the headings of the help and in its order.
fn by_heading(command: &Command) -> Vec<(&str, Vec<&Arg>)> {
    let mut groups: Vec<(&str, Vec<&Arg>)> = Vec::new();
    let asks = |argument: &Arg| {
        matches!(
            argument.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        )
    };
    let listed = |argument: &&Arg| !argument.is_hide_set() && !asks(argument);
    for argument in command.get_arguments().filter(listed) {
        let usual = if argument.is_positional() { "Arguments" } else { "Options" };
        let heading = argument.get_help_heading().unwrap_or(usual);
        match groups.iter_mut().find(|(name, _)| *name == heading) {
            Some((_, arguments)) => arguments.push(argument),
            None => groups.push((heading, vec![argument])),
        }
    }
    groups
}

/// Returns an argument as an item of a list: its forms, its help, possible values and defaults.
fn item(argument: &Arg) -> String {
    let help = argument.get_long_help().or_else(|| argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = prose(&sentence(&help.split_whitespace().collect::<Vec<_>>().join(" ")));
    let codes = |values: Vec<String>| values.iter().map(|value| code(value)).collect::<Vec<_>>().join(", ");
    let takes_values = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let values = argument.get_possible_values();
    if takes_values && !argument.is_hide_possible_values_set() && !values.is_empty() {
        let names = values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name().to_owned());
        text.push_str(&format!(" Values: {}.", codes(names.collect())));
    }
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_values && !argument.is_hide_default_value_set() && !defaults.is_empty() {
        text.push_str(&format!(" Default: {}.", codes(defaults)));
    }
    format!("- {}: {text}\n", forms(argument))
}

/// Returns how an argument is typed: its short and its long form, with the names of its values.
fn forms(argument: &Arg) -> String {
    let typed = argument.to_string();
    match argument.get_short() {
        Some(short) if argument.get_long().is_some() => format!("`-{short}`, {}", code(&typed)),
        _ => code(&typed),
    }
}

/// Returns a text of the help as Markdown. The help has commands between backquotes, too.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { code(part) } else { plain(part) }).collect()
}

/// Ends a text with a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '?', '!', ':']) { text.to_owned() } else { format!("{text}.") }
}

/// Returns lines as a block of code.
fn indented(lines: &str) -> String {
    let indent = |line: &str| if line.trim().is_empty() { "\n".to_owned() } else { format!("    {line}\n") };
    lines.lines().map(indent).collect()
}
