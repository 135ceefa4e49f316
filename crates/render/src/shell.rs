//! Command lines, quoted for a shell.

use steady_model::Nanos;

use crate::letters::misleads;

/// Returns words on one line, quoted if a shell would read them differently.
pub fn line(words: &[String]) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-+=:,./%".contains(letter);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false if word.chars().all(printable) => shell_words::quote(word).into_owned(),
        false => spelled_out(word),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Returns whether a letter can be printed as it is: it neither controls the terminal nor reverses the text direction.
pub fn printable(letter: char) -> bool {
    matches!(letter, '\n' | '\t') || !misleads(letter)
}

/// Returns a word that has unprintable letters in the `$'...'` form, which Bash, Zsh and others read.
fn spelled_out(word: &str) -> String {
    let letter = |letter: char| match letter {
        '\'' | '\\' => format!("\\{letter}"),
        _ if printable(letter) => letter.to_string(),
        // Fixed lengths of three and four digits, because a following digit must not become part of the escape.
        _ if letter.is_ascii() => format!("\\{:03o}", u32::from(letter)),
        _ => format!("\\u{:04x}", u32::from(letter)),
    };
    format!("$'{}'", word.chars().map(letter).collect::<String>())
}

/// Formats a time for use as an option's value: only whole numbers of seconds have a unit.
pub fn seconds(time: Nanos) -> String {
    let unit = if time.0.is_multiple_of(1_000_000_000) { "s" } else { "" };
    format!("{}{unit}", time.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_if_a_shell_would_read_them_differently() {
        let words = |words: &[&str]| line(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["gzip", "-9", "a|b", ""]), "gzip -9 'a|b' ''");
        assert_eq!(words(&["\u{1b}"]), "$'\\033'");
        assert_eq!([seconds(Nanos(2_000_000_000)), seconds(Nanos(1_500_000))], ["2s", "0.0015"]);
    }
}
