//! Text with placeholders for parameters: `{NAME}`.

use super::Values;

/// A text split at its placeholders.
///
/// `{{NAME}}` is the text `{NAME}`, `${NAME}` is left to the shell, and other text in braces is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(String),
}

impl Template {
    /// Splits a text at its placeholders.
    pub(crate) fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at(start);
            literal.push_str(before);
            let shells = literal.ends_with('$');
            if let Some(name) = doubled(from).filter(|_| !shells) {
                literal.push_str(&format!("{{{name}}}"));
                rest = &from[name.len() + 4..];
            } else if let Some(name) = placeholder(from).filter(|_| !shells) {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
                pieces.push(Piece::Place(name.to_owned()));
                rest = &from[name.len() + 2..];
            } else {
                literal.push('{');
                rest = &from[1..];
            }
        }
        literal.push_str(rest);
        pieces.push(Piece::Text(literal));
        Template(pieces)
    }

    /// The names of the parameters that have a placeholder.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Place(name) => Some(name.as_str()),
        })
    }

    /// The text with the values in place of the placeholders. The error is the name of a parameter without a value.
    pub(crate) fn fill(&self, values: &Values) -> Result<String, String> {
        let mut text = String::new();
        for piece in &self.0 {
            text.push_str(match piece {
                Piece::Text(literal) => literal,
                Piece::Place(name) => {
                    values.iter().find(|(known, _)| known == name).map(|(_, value)| value).ok_or(name.clone())?
                }
            });
        }
        Ok(text)
    }
}

/// Returns whether a word is a valid name of a parameter.
pub(super) fn is_name(word: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    word.bytes().next().is_some_and(letter)
        && word.bytes().all(|byte| letter(byte) || byte.is_ascii_digit() || byte == b'-')
}

/// The name in `{NAME}` at the beginning of a text.
fn placeholder(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    is_name(name).then_some(name)
}

/// The name in `{{NAME}}` at the beginning of a text.
fn doubled(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let name = placeholder(inner)?;
    inner[name.len() + 2..].starts_with('}').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        Template::new(text).fill(&vec![("n".to_owned(), "1".to_owned()), ("m-x".to_owned(), "{n}".to_owned())])
    }

    #[test]
    fn values_replace_placeholders() {
        assert_eq!(filled("a{n}b{n}").unwrap(), "a1b1");
        assert_eq!(filled("{m-x}").unwrap(), "{n}", "braces in a value are text");
        assert_eq!(filled("{other}"), Err("other".to_owned()));
    }

    #[test]
    fn other_braces_are_text() {
        for text in ["awk '{print $1}'", "{ n }", "{}", "{1}", "${n}", "{n", "n}", "", "é{ü}"] {
            assert_eq!(filled(text).unwrap(), text, "{text}");
        }
        assert_eq!(filled("{{n}}").unwrap(), "{n}");
        assert_eq!(filled("awk '{{print}}'").unwrap(), "awk '{print}'");
        assert_eq!(filled("{{n}").unwrap(), "{1", "not doubled on both sides");
    }

    proptest::proptest! {
        #[test]
        fn a_template_filled_with_its_names_is_unchanged(text in "([a-z {}$']|\\{[a-z]\\}){0,30}") {
            // Doubled braces are an escape, so they do not stay as they are.
            proptest::prop_assume!(!text.contains("{{") && !text.contains("}}"));
            let template = Template::new(&text);
            let values: Values = template.names().map(|name| (name.to_owned(), format!("{{{name}}}"))).collect();
            proptest::prop_assert_eq!(template.fill(&values).unwrap(), text);
        }

        #[test]
        fn any_text_can_be_split(text in ".*|[{}a$]{0,30}") {
            let template = Template::new(&text);
            let values: Values = template.names().map(|name| (name.to_owned(), String::new())).collect();
            proptest::prop_assert!(template.fill(&values).unwrap().len() <= text.len());
        }
    }
}
