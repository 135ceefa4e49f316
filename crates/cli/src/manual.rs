//! Runs `steady man`, which makes manual pages from the help of the command line.

use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use roff::{Roff, roman};
use steady_feature::help::headed;

use crate::failure::Failure;
use crate::flags::{Flags, ManFlags};
use crate::output;

/// Prints one page or writes all pages. Returns the exit status.
pub(crate) fn run(flags: &ManFlags) -> Result<u8, Failure> {
    let mut steady = Flags::with_features().disable_help_subcommand(true);
    steady.build();
    if let Some(folder) = &flags.dir {
        let written = std::fs::create_dir_all(folder).and_then(|()| write_all(&steady, folder));
        written.map_err(|error| Failure::Usage(format!("--dir '{}': {error}", folder.display())))?;
        return Ok(0);
    }
    let command = find(&steady, &flags.subcommand)?;
    let printed = page(command).and_then(|page| output::print(&page));
    printed.map_err(|error| Failure::Own(format!("standard output: {error}")))?;
    Ok(0)
}

fn find<'a>(steady: &'a Command, words: &[String]) -> Result<&'a Command, Failure> {
    let unknown =
        |word: &String| Failure::Usage(format!("there is no subcommand '{word}'; 'steady --help' lists them"));
    words.iter().try_fold(steady, |command, word| {
        let found = command.find_subcommand(word).filter(|found| !found.is_hide_set());
        found.ok_or_else(|| unknown(word))
    })
}

fn write_all(command: &Command, folder: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        write_all(subcommand, folder)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    std::fs::write(folder.join(format!("{name}.1")), page(command)?)
}

/// A page in roff. Most of its sections come from clap_mangen. The synopsis has one line instead of thirty options, and
/// the lines of the text after the options must not be joined.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let after = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let lists = [command.get_arguments().next().is_some(), command.has_subcommands()];
    let man = Man::new(command.override_usage(usage))
        .manual("Steadyhand")
        .source(concat!("steady ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if lists[0] {
        man.render_options_section(&mut page)?;
    }
    if lists[1] {
        man.render_subcommands_section(&mut page)?;
    }
    after_help(after.as_deref().unwrap_or_default()).to_writer(&mut page)?;
    Ok(page)
}

/// The text after the options. A paragraph that begins with `Heading:` becomes a section with unchanged lines. Any
/// other paragraph becomes a section with filled text.
fn after_help(text: &str) -> Roff {
    let mut roff = Roff::new();
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let headed = headed(paragraph);
        let (heading, lines) = headed.unwrap_or(("Notes", paragraph));
        roff.control("SH", [heading.to_uppercase().as_str()]);
        if headed.is_some() {
            // The lines are indented already, and fit on a terminal only without the page's indent.
            roff.control("in", ["0"]);
            roff.control("nf", []);
        }
        for line in lines.lines() {
            roff.text([roman(line)]);
        }
        if headed.is_some() {
            roff.control("fi", []);
            roff.control("in", []);
        }
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headed_paragraphs_keep_their_lines() {
        let page = after_help("Examples:\n  one\n      .two 'x'\n\nSome text\nover lines.").to_roff();
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines[..5], [".SH EXAMPLES", ".in 0", ".nf", "  one", "      .two 'x'"]);
        assert_eq!(lines[5..], [".fi", ".in", ".SH NOTES", "Some text", "over lines."]);
    }

    #[test]
    fn the_text_after_the_options_fits_on_a_terminal() {
        let mut steady = Flags::with_features();
        steady.build();
        let mut commands = vec![&steady];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands());
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.split("\n\n").filter_map(headed).flat_map(|(_, lines)| lines.lines()) {
                assert!(line.chars().count() < 80, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn subcommands_are_found_by_their_words() {
        let mut steady = Flags::with_features();
        steady.build();
        assert_eq!(find(&steady, &[]).unwrap().get_name(), "steady");
        assert_eq!(find(&steady, &["judge".to_owned()]).unwrap().get_name(), "judge");
        assert!(find(&steady, &["nothing".to_owned()]).is_err());
    }
}
