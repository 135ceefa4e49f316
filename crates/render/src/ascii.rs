//! Letters for terminals that have no others.

/// What is drawn or measured with, and what stands in its place: a letter for a letter, so that columns stay where they are,
/// but for the sign of an uncertainty, which no one letter tells.
const PLAIN: [(char, &str); 36] = [
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

/// A text of ours in letters that every terminal has. Names that others gave stay what they are.
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
    fn columns_stay_where_they_are() {
        let drawn = "  34 ┤  ▁▄█▂\n     │ ●○◉ ┊\n     └─├┼┤▲  12.3 µs – 2× …";
        let plain = ascii(drawn);
        assert!(plain.is_ascii(), "{plain}");
        let columns = |text: &str| text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
        assert_eq!(columns(&plain), columns(drawn));
        assert_eq!(ascii("12.3 ms ±0.4"), "12.3 ms +-0.4");
        assert_eq!(ascii("grep 日本"), "grep 日本");
    }
}
