//! Text helpers: display width, shortening, escaping of control characters, counts.

use crate::units::{TIE, thousands};

/// Returns the text with its first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Returns `name` on one line, with control and direction characters escaped.
pub fn one_line(name: &str) -> String {
    let mut line = String::with_capacity(name.len());
    for letter in name.chars() {
        if misleads(letter) {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    line
}

/// Returns whether a letter could end the line, move the cursor, change the terminal or reverse the text direction.
pub fn misleads(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes the letters of `text` that could move the cursor, except line feeds and tabs. This is the last step for
/// outputs whose parts were not escaped one by one.
pub fn harmless(text: String) -> String {
    let kept = |letter: char| matches!(letter, '\n' | '\t') || !misleads(letter);
    if text.chars().all(kept) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if kept(letter) { out.push(letter) } else { out.extend(letter.escape_default()) }
    }
    out
}

/// Returns how many terminal columns `text` occupies.
pub fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// Shortens `text` to at most `columns`. It removes the middle, because names usually differ at their ends.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let keep = columns.saturating_sub(1);
    let take = |letters: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let fits = letters.take_while(|letter| {
            used += unicode_width::UnicodeWidthChar::width(*letter).unwrap_or(0);
            used <= room
        });
        fits.collect::<Vec<char>>()
    };
    let head = take(&mut text.chars(), keep.div_ceil(2));
    let tail = take(&mut text.chars().rev(), keep / 2);
    head.into_iter().chain(['…']).chain(tail.into_iter().rev()).collect()
}

/// Longest name between quotes, in columns. The hash of a commit fits.
const QUOTED: usize = 64;

/// Returns `name` between quotes, for an error: on one line, and cut if it is long.
pub fn quoted(name: &str) -> String {
    format!("'{}'", cut(&one_line(name), QUOTED))
}

/// Joins the items of a list in a sentence: `v1`, `v1 and v3`, `v1, v3 and v4`.
pub fn listed(items: &[impl AsRef<str>]) -> String {
    listed_with_more(items, 0)
}

/// Joins items as [`listed`] does, and counts others that are not among them: `v1, v3 and 2 more`.
pub fn listed_with_more(items: &[impl AsRef<str>], more: usize) -> String {
    let mut all: Vec<String> = items.iter().map(|item| item.as_ref().to_owned()).collect();
    all.extend((more > 0).then(|| format!("{} more", thousands(more))));
    match &all[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => all.concat(),
    }
}

/// Formats a number with the singular or plural of what it counts: `1 pair`, `2 pairs`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number}{TIE}{}", if number == 1 { one } else { many })
}

/// Formats a number as [`count`] does, with separators between thousands: `1 request`, `12,400 requests`.
pub fn numbered(number: u64, one: &str, many: &str) -> String {
    let digits = thousands(usize::try_from(number).unwrap_or(usize::MAX));
    format!("{digits}{TIE}{}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(cut("sha256sum a.bin", 20), "sha256sum a.bin");
        assert_eq!(cut("sha256sum --binary first.bin", 15), "sha256s…rst.bin");
        assert_eq!(width(&cut("日本語日本語日本語", 10)), 9);
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn lists_have_commas_and_one_and() {
        assert_eq!([&["a"][..], &["a", "b"], &["a", "b", "c"]].map(listed), ["a", "a and b", "a, b and c"]);
        assert_eq!(listed_with_more(&["a", "b"], 3), "a, b and 3 more");
        assert_eq!([listed(&[""; 0]), listed_with_more(&["a"], 1)], ["", "a and 1 more"]);
    }

    #[test]
    fn quoted_names_are_short_and_on_one_line() {
        assert_eq!([quoted("it's"), quoted("a\nb")], ["'it's'", "'a\\nb'"]);
        assert_eq!(width(&quoted(&"x".repeat(500))), QUOTED + 2);
    }

    #[test]
    fn one_of_a_thing_is_in_the_singular() {
        let requests = |number| numbered(number, "request", "requests").replace(TIE, " ");
        assert_eq!([0, 1, 12_400].map(requests), ["0 requests", "1 request", "12,400 requests"]);
    }
}
