//! Splits commands that are typed as one string into words, as a shell does.

use crate::Failure;

/// Words that have a meaning in a shell. A program that is started without a shell gets them as arguments.
const SHELL_WORDS: [&str; 8] = ["|", "||", "&", "&&", ";", ">", ">>", "<"];

/// Returns the words to start a command with, at least one: the words of `text`, or those of `shell` with `-c` and the
/// whole text.
///
/// # Errors
/// There are no words, or a quote is not closed.
pub fn words(text: &str, shell: Option<&str>) -> Result<Vec<String>, Failure> {
    let argv = match shell {
        Some(_) if text.trim().is_empty() => vec![],
        Some(shell) => [split(shell)?, vec!["-c".to_owned(), text.to_owned()]].concat(),
        None => split(text)?,
    };
    match argv.is_empty() {
        true => {
            Err(Failure::Usage("a command is empty: give each command as one string, as in 'sort -u file'".to_owned()))
        }
        false => Ok(argv),
    }
}

/// Returns whether one of the words was probably meant for a shell.
pub fn has_shell_word(argv: &[String]) -> bool {
    argv.iter().any(|word| SHELL_WORDS.contains(&word.as_str()))
}

fn split(text: &str) -> Result<Vec<String>, Failure> {
    shell_words::split(text).map_err(|error| Failure::Usage(format!("'{text}': {error}")))
}
