//! Values of labels, as they are written.

use std::sync::Arc;

/// A value as it stands between its quotes, in both formats the same.
pub(super) type Label = Arc<str>;

/// The label of a text. Parsers of the formats take a NUL for the end, and there is no way to write one: it becomes
/// what stands for letters that cannot be had.
pub(super) fn label(text: &str) -> Label {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => written.push_str("\\\\"),
            '"' => written.push_str("\\\""),
            '\n' => written.push_str("\\n"),
            '\0' => written.push(char::REPLACEMENT_CHARACTER),
            other => written.push(other),
        }
    }
    written.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_label_is_escaped() {
        assert_eq!(&*label("/a\\b\"c\nd\0\r\u{1f40c}"), "/a\\\\b\\\"c\\nd\u{fffd}\r\u{1f40c}");
    }
}
