//! Commands as typed, each in one string: split into words as a shell splits them.

use crate::Failure;

/// Words that a shell acts on, and that a program started without one gets as they are.
const SHELL_WORDS: [&str; 8] = ["|", "||", "&", "&&", ";", ">", ">>", "<"];

/// Returns the words that a command is started with, never none: its own, or those of `shell` with all of the command as the last.
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
        true => Err(Failure::Usage("a command is empty: give each as one string, as in 'sort -u file'".to_owned())),
        false => Ok(argv),
    }
}

/// Returns whether one of the words looks as if it was meant for a shell.
pub fn has_shell_word(argv: &[String]) -> bool {
    argv.iter().any(|word| SHELL_WORDS.contains(&word.as_str()))
}

fn split(text: &str) -> Result<Vec<String>, Failure> {
    shell_words::split(text).map_err(|error| Failure::Usage(format!("'{text}': {error}")))
}
