//! Indented JSON that keeps small values, and every block of samples, on one line.

use std::fmt::Write;

use serde_json::Value;

use crate::letters::misleads;

/// The maximum width of an object or array on one line, in columns with its indentation.
const LINE: usize = 110;
/// The field whose elements are on one line each, however long: an element has the samples of one pair.
pub(super) const BLOCKS: &str = "blocks";

/// Returns `value` as indented text that ends with a newline.
pub fn indented(value: &Value) -> String {
    indented_but(value, BLOCKS)
}

/// Returns the same as [`indented`], with each element of the field `lines` on one line instead of those of `blocks`.
pub fn indented_but(value: &Value, lines: &str) -> String {
    let mut out = String::new();
    write(value, 0, "", lines, &mut out);
    out.push('\n');
    escaped(out)
}

/// Escapes control and direction characters that serde leaves unescaped. Such characters occur only inside strings.
fn escaped(json: String) -> String {
    let kept = |letter: char| letter == '\n' || !misleads(letter);
    if json.chars().all(kept) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        // All of these characters are in the Basic Multilingual Plane, where four digits are enough.
        if kept(letter) { out.push(letter) } else { out.push_str(&format!("\\u{:04x}", u32::from(letter))) }
    }
    out
}

/// Writes `value`, which is in the field `name` at a depth.
fn write(value: &Value, depth: usize, name: &str, lines: &str, out: &mut String) {
    let (open, close) = match value {
        Value::Object(_) => ('{', '}'),
        Value::Array(_) => ('[', ']'),
        scalar => return display(scalar, out),
    };
    if depth > 0 && name != lines {
        let before = out.len();
        if inline(value, before + LINE - (2 * depth).min(LINE), out) {
            return;
        }
        out.truncate(before);
    }
    out.push(open);
    let mut empty = true;
    let mut begin = |out: &mut String| {
        out.push_str(if empty { "\n" } else { ",\n" });
        (0..=depth).for_each(|_| out.push_str("  "));
        empty = false;
    };
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                begin(out);
                quoted(key, out);
                out.push_str(": ");
                write(field, depth + 1, key, lines, out);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                begin(out);
                // Elements of the field `lines` are the pairs: one line each.
                if name == lines { display(element, out) } else { write(element, depth + 1, "", lines, out) }
            }
        }
        _ => {}
    }
    if !empty {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    }
    out.push(close);
}

/// Writes `value` on one line, with spaces for readability. As soon as `out` is longer than `room`, it returns false
/// and leaves the incomplete output to the caller.
fn inline(value: &Value, room: usize, out: &mut String) -> bool {
    match value {
        Value::Object(fields) => {
            for (index, (key, field)) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "{ " } else { ", " });
                quoted(key, out);
                out.push_str(": ");
                if !inline(field, room, out) {
                    return false;
                }
            }
            out.push_str(if fields.is_empty() { "{}" } else { " }" });
        }
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                if !inline(element, room, out) {
                    return false;
                }
            }
            out.push(']');
        }
        scalar => display(scalar, out),
    }
    out.len() <= room
}

fn display(value: &Value, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

fn quoted(key: &str, out: &mut String) {
    if key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        out.push('"');
        out.push_str(key);
        out.push('"');
    } else {
        display(&Value::from(key), out);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn small_values_and_blocks_are_on_one_line() {
        let value =
            json!({ "a": [], "b": { "c": 1, "d": ["x", null] }, "blocks": [{ "e": 1.0 }, {}], "f": "g".repeat(200) });
        let expected = [
            "{",
            "  \"a\": [],",
            "  \"b\": { \"c\": 1, \"d\": [\"x\", null] },",
            "  \"blocks\": [",
            "    {\"e\":1.0},",
            "    {}",
            "  ],",
            &format!("  \"f\": \"{}\"", "g".repeat(200)),
            "}\n",
        ];
        assert_eq!(indented(&value), expected.join("\n"));
        assert_eq!(serde_json::from_str::<Value>(&indented(&value)).unwrap(), value);
    }
}
