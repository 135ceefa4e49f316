//! The text after the options in the help: paragraphs of prose, and lists under a heading, such as `Examples:`.

use clap::Command;

/// Joins the lines of the prose after the options of a command and its subcommands, so that the help breaks them at the
/// width of the terminal.
#[must_use]
pub fn with_joined_lines(mut command: Command) -> Command {
    for subcommand in command.get_subcommands_mut() {
        *subcommand = with_joined_lines(std::mem::take(subcommand));
    }
    let Some(text) = command.get_after_help().map(ToString::to_string) else { return command };
    let joined = |paragraph: &str| match headed(paragraph) {
        Some(_) => paragraph.to_owned(),
        None => paragraph.replace('\n', " "),
    };
    command.after_help(text.split("\n\n").map(joined).collect::<Vec<_>>().join("\n\n"))
}

/// Splits a paragraph that begins with `Heading:` into the heading and its lines, which are laid out by hand. `None` for
/// prose.
pub fn headed(paragraph: &str) -> Option<(&str, &str)> {
    paragraph.split_once(":\n").filter(|(heading, _)| !heading.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_prose_are_joined() {
        let text = "Examples:\n  one\n      two\n\nSome text\nover lines.";
        let command = with_joined_lines(Command::new("steady").subcommand(Command::new("x").after_help(text)));
        let found = command.find_subcommand("x").and_then(Command::get_after_help).map(ToString::to_string);
        assert_eq!(found.as_deref(), Some("Examples:\n  one\n      two\n\nSome text over lines."));
    }
}
