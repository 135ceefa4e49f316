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
    let compact = (depth > 0 && name != BLOCKS).then(|| value.to_string());
    if let Some(line) = compact.filter(|line| line.len() + 2 * depth <= LINE) {
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
