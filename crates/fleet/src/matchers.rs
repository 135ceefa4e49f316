//! Matchers of labels, in the syntax of PromQL.

use std::str::{Chars, FromStr};

/// The comparison of a label with a text or a regular expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Matches,
    NotMatches,
}

impl Operator {
    fn text(self) -> &'static str {
        match self {
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::Matches => "=~",
            Operator::NotMatches => "!~",
        }
    }
}

/// Conditions on labels, such as `job="steady",dc=~"eu-.*"`. Their texts are escaped in queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matchers(Vec<(String, Operator, String)>);

impl Matchers {
    /// Adds a condition: the label has this value.
    pub(crate) fn and(&self, label: &str, text: &str) -> Matchers {
        self.with(label, Operator::Equal, text.to_owned())
    }

    /// Adds a condition: the label has one of these values.
    pub(crate) fn and_one_of(&self, label: &str, texts: &[&str]) -> Matchers {
        let any: Vec<String> = texts.iter().map(|text| plain(text)).collect();
        self.with(label, Operator::Matches, any.join("|"))
    }

    fn with(&self, label: &str, operator: Operator, text: String) -> Matchers {
        let mut more = self.clone();
        more.0.push((label.to_owned(), operator, text));
        more
    }
}

impl std::fmt::Display for Matchers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("{")?;
        for (at, (label, operator, text)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(formatter, "{comma}{label}{}{}", operator.text(), quoted(text))?;
        }
        formatter.write_str("}")
    }
}

impl FromStr for Matchers {
    type Err = String;

    fn from_str(text: &str) -> Result<Matchers, String> {
        let text = text.trim();
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let mut letters = inner.chars();
        let mut matchers = Vec::new();
        while !letters.as_str().trim().is_empty() {
            matchers.push(matcher(&mut letters)?);
            let rest = letters.as_str().trim_start();
            if let Some(after) = rest.strip_prefix(',') {
                letters = after.chars();
            } else if rest.is_empty() {
                break;
            } else {
                return Err(format!("a comma is missing before '{}'", rest.escape_debug()));
            }
        }
        Ok(Matchers(matchers))
    }
}

/// Parses one matcher at the beginning of the text.
fn matcher(letters: &mut Chars<'_>) -> Result<(String, Operator, String), String> {
    const OPERATORS: [Operator; 4] = [Operator::Matches, Operator::NotMatches, Operator::NotEqual, Operator::Equal];
    let rest = letters.as_str().trim_start();
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
    let name = label(&rest[..end]).map_err(|why| format!("{why}; write LABEL=\"VALUE\""))?;
    let rest = rest[end..].trim_start();
    let found = OPERATORS.into_iter().find_map(|one| Some((one, rest.strip_prefix(one.text())?)));
    let (operator, rest) = found.ok_or_else(|| format!("{name} must be followed by =, !=, =~ or !~"))?;
    *letters = rest.trim_start().chars();
    let value = value(letters).ok_or_else(|| format!("the value of {name} must be in quotes, such as \"web\""))?;
    Ok((name, operator, value))
}

/// Parses a text in quotes.
fn value(letters: &mut Chars<'_>) -> Option<String> {
    let quote = letters.next().filter(|quote| ['"', '\''].contains(quote))?;
    let mut text = String::new();
    loop {
        match letters.next()? {
            letter if letter == quote => return Some(text),
            '\\' => text.push(match letters.next()? {
                'n' => '\n',
                't' => '\t',
                letter @ ('\\' | '"' | '\'') => letter,
                _ => return None,
            }),
            letter => text.push(letter),
        }
    }
}

/// Checks the name of a label, and returns it.
///
/// # Errors
/// The text is not a valid name of a label.
pub fn label(text: &str) -> Result<String, String> {
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    let is_word = text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match begins && is_word {
        true => Ok(text.to_owned()),
        false => Err(format!("'{}' is not a valid label name", text.escape_debug())),
    }
}

/// Quotes and escapes a text for a query.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            '\n' => quoted.push_str("\\n"),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a regular expression that matches only this text.
fn plain(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<String, String> {
        text.parse::<Matchers>().map(|matchers| matchers.to_string())
    }

    #[test]
    fn matchers_are_read_in_the_syntax_of_promql() {
        let is = |text: &str| Ok(text.to_owned());
        assert_eq!(read(""), is("{}"));
        assert_eq!(read("job=\"steady\""), is("{job=\"steady\"}"));
        assert_eq!(
            read("{ job = 'a\"b' , dc=~\"eu-.*\", x!=\"\\n\",y!~'z' , }"),
            is("{job=\"a\\\"b\",dc=~\"eu-.*\",x!=\"\\n\",y!~\"z\"}")
        );
        for wrong in
            ["job", "job=steady", "=\"x\"", "1a=\"x\"", "a=\"x", "a=\"x\" b=\"y\"", "a=\"\\q\"", "a==\"x\"", "}"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn versions_are_escaped_in_patterns() {
        let matchers = Matchers::default().and("service", "a\"} or x{").and_one_of("version", &["1.2", "v(2)"]);
        assert_eq!(matchers.to_string(), r#"{service="a\"} or x{",version=~"1\\.2|v\\(2\\)"}"#);
    }

    proptest! {
        #[test]
        fn printed_matchers_can_be_parsed(texts in proptest::collection::vec("\\PC{0,9}", 0..4)) {
            let matchers = texts.iter().fold(Matchers::default(), |matchers, text| matchers.and("a", text));
            prop_assert_eq!(matchers.to_string().parse::<Matchers>(), Ok(matchers));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[a-z=!~\"'\\\\,{} ]{0,16}|\\PC{0,16}") {
            if let Ok(matchers) = text.parse::<Matchers>() {
                prop_assert_eq!(matchers.to_string().parse::<Matchers>(), Ok(matchers));
            }
        }
    }
}
