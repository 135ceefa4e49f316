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

/// Returns whether a command was probably meant for a shell: by its text, or by its words if it has another name.
pub fn is_for_a_shell(name: &str, argv: &[String]) -> bool {
    match shell_words::split(name) {
        Ok(words) if words == argv => for_a_shell(name).is_some(),
        _ => argv.iter().any(|word| SHELL_WORDS.contains(&word.as_str())),
    }
}

/// Returns the first part of a command that a shell would expand or act on. Without a shell, the program gets it as it
/// is written. Quoted parts are not meant for a shell, except `$` and backquotes between double quotes.
pub fn for_a_shell(text: &str) -> Option<&str> {
    let is_name = |letter: char| letter.is_ascii_alphabetic() || "_{(".contains(letter);
    let (mut quote, mut begins_word, mut skip) = (None, true, false);
    for (at, letter) in text.char_indices() {
        if std::mem::take(&mut skip) {
            continue;
        }
        let rest = &text[at + letter.len_utf8()..];
        let expands = letter == '`' || letter == '$' && rest.starts_with(is_name);
        match quote {
            Some('\'') => quote = if letter == '\'' { None } else { quote },
            Some(_) if letter == '"' => quote = None,
            _ if letter == '\\' => skip = true,
            _ if expands => return Some(&text[at..=at]),
            Some(_) => {}
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None if "|&;<>()*?".contains(letter) || letter == '~' && begins_word => return Some(&text[at..=at]),
            None => {}
        }
        begins_word = letter.is_whitespace();
    }
    None
}

fn split(text: &str) -> Result<Vec<String>, Failure> {
    shell_words::split(text).map_err(|error| Failure::Usage(format!("'{text}': {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unquoted_parts_are_for_a_shell() {
        for (text, found) in [
            ("sort f | uniq", Some("|")),
            ("echo \"$HOME\"", Some("$")),
            ("echo `date`", Some("`")),
            ("ls *.c", Some("*")),
            ("cat ~/f", Some("~")),
            ("make 2>&1", Some(">")),
            ("awk '{ print $1 }' f", None),
            ("awk \"!s[\\$0]++\" f", None),
            ("grep -E '(a|b)*' f", None),
            ("find . -name \\*.c", None),
            ("cut -d~ -f1 100%", None),
            ("grep a$ f", None),
            ("git show HEAD~1", None),
        ] {
            assert_eq!(for_a_shell(text), found, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn quoted_words_are_for_no_shell(words in proptest::collection::vec(".*", 0..4)) {
            let text = shell_words::join(&words);
            proptest::prop_assert_eq!(for_a_shell(&text), None);
        }
    }
}
