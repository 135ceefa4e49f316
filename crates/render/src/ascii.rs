//! Replaces letters that an ASCII-only terminal cannot show.

/// Letters of charts and numbers with their ASCII replacements. Each replacement is one letter, which keeps columns
/// aligned, except that of `±`.
const PLAIN: [(char, &str); 38] = [
    ('▁', "."),
    ('▂', ":"),
    ('▃', "-"),
    ('▄', "="),
    ('▅', "+"),
    ('▆', "*"),
    ('▇', "%"),
    ('█', "#"),
    ('░', "."),
    ('▒', ":"),
    ('▓', "*"),
    ('▏', "|"),
    ('▎', "|"),
    ('▍', "|"),
    ('▌', "|"),
    ('▋', "|"),
    ('▊', "#"),
    ('▉', "#"),
    ('─', "-"),
    ('━', "="),
    ('╌', "-"),
    ('│', "|"),
    ('├', "["),
    ('┤', "]"),
    ('┼', "+"),
    ('└', "+"),
    ('┊', ":"),
    ('▲', "^"),
    ('●', "*"),
    ('○', "o"),
    ('◉', "@"),
    ('µ', "u"),
    ('–', "-"),
    ('×', "x"),
    ('→', ">"),
    ('…', "~"),
    ('·', "-"),
    ('±', "+-"),
];

/// Returns a text in which the letters of charts and numbers are ASCII. Other letters, such as those of users' names,
/// stay unchanged.
pub fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match PLAIN.iter().find(|(known, _)| *known == letter) {
            Some((_, plain)) => out.push_str(plain),
            None => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_keep_columns_aligned() {
        let drawn = "  34 ┤  ▁▄█▂\n     │ ●○◉ ┊\n     └─├┼┤▲  12.3 µs – 2× …";
        let plain = ascii(drawn);
        assert!(plain.is_ascii(), "{plain}");
        let columns = |text: &str| text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
        assert_eq!(columns(&plain), columns(drawn));
        assert_eq!(ascii("12.3 ms ±0.4"), "12.3 ms +-0.4");
        assert_eq!(ascii("grep 日本"), "grep 日本");
    }
}
