//! Indented JSON that keeps small things, and every block of samples, on one line.

use serde_json::Value;

/// The columns up to which an object or array stays on one line.
const LINE: usize = 110;
/// The field whose elements stay on one line each, whatever their length: one line is one pair.
const BLOCKS: &str = "blocks";

/// `value` as indented text that ends with a newline.
pub(super) fn indented(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, "", &mut out);
    out.push('\n');
    out
}

/// Writes `value`, which stands in a field called `name`, at a depth.
fn write(value: &Value, depth: usize, name: &str, out: &mut String) {
    let parts: Vec<(Option<&str>, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (Some(key.as_str()), value)).collect(),
        Value::Array(elements) => elements.iter().map(|value| (None, value)).collect(),
        scalar => return out.push_str(&scalar.to_string()),
    };
    let one_line = (depth > 0 && name != BLOCKS).then(|| inline(value, LINE)).flatten();
    if let Some(line) = one_line.filter(|line| line.len() + 2 * depth <= LINE) {
        return out.push_str(&line);
    }
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    out.push(open);
    for (index, (key, part)) in parts.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            out.push_str(&Value::from(*key).to_string());
            out.push_str(": ");
        }
        // Elements of `blocks` have no key: they are the pairs.
        if name == BLOCKS && value.is_array() {
            out.push_str(&part.to_string());
        } else {
            write(part, depth + 1, key.unwrap_or_default(), out);
        }
    }
    if !parts.is_empty() {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(close);
}

/// `value` on one line, with spaces to read it by; `None` as soon as that takes more than `room`.
fn inline(value: &Value, room: usize) -> Option<String> {
    let mut out = String::new();
    let mut add = |lead: &str, part: Option<String>| {
        out.push_str(lead);
        out.push_str(&part?);
        (out.len() <= room).then_some(())
    };
    match value {
        Value::Object(fields) => {
            for (index, (key, field)) in fields.iter().enumerate() {
                add(if index == 0 { "{ " } else { ", " }, Some(Value::from(key.as_str()).to_string()))?;
                add(": ", inline(field, room))?;
            }
            add(if fields.is_empty() { "{" } else { " " }, Some("}".to_owned()))?;
        }
        Value::Array(elements) => {
            add("[", Some(String::new()))?;
            for (index, element) in elements.iter().enumerate() {
                add(if index == 0 { "" } else { ", " }, inline(element, room))?;
            }
            add("]", Some(String::new()))?;
        }
        scalar => add("", Some(scalar.to_string()))?,
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn small_things_and_blocks_take_a_line() {
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
