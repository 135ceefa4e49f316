//! Records as JSON, and the way back.
//!
//! A record is its JSON: its types derive serde, and their fields are named as in JSON. This module adds what serde has no word
//! for: the name of the schema, and a [`Reading`](steady_model::Reading) that is its value, or null with the reason in
//! `<name>_absent` next to it. An element of an array, or of a map whose keys are data, is the value or `{"absent": reason}`; a
//! value that is such an object itself stands in `{"present": value}`. What is a reading follows from the types alone, so that
//! names and texts of users may be any.

mod describe;
mod error;
mod group;
mod number;
pub mod pretty;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

pub use describe::description;
pub use error::ReadError;
pub use group::{Group, group};
pub use number::{ends, finite};
pub use schema::Schema;

/// What serde calls a reading, and the two that it may be.
const READING: &str = "Result";
const OK: &str = "Ok";
const ERR: &str = "Err";
/// What follows the name of a field that holds the reason for another one's absence.
const ABSENT: &str = "_absent";
/// The one field of an element that is absent.
const ABSENT_ELEMENT: &str = "absent";
/// The one field of an element whose value has one field that is called like these two.
const PRESENT_ELEMENT: &str = "present";

/// A record as indented JSON that ends with a newline, its schema first.
pub fn text<T: Serialize>(schema: &Schema, record: &T) -> String {
    text_by_lines(schema, record, pretty::BLOCKS)
}

/// The same, with a field whose elements stay on one line each.
pub fn text_by_lines<T: Serialize>(schema: &Schema, record: &T, field: &str) -> String {
    pretty::indented_but(&value(schema, record), field)
}

/// A record as JSON, its schema first.
pub fn value<T: Serialize>(schema: &Schema, record: &T) -> Value {
    let mut top = Map::new();
    top.insert("schema".to_owned(), Value::from(schema.name));
    if let Value::Object(fields) = part(record) {
        top.extend(fields);
    }
    Value::Object(top)
}

/// A part of a record as JSON, or a record without its schema.
pub fn part<T: Serialize>(part: &T) -> Value {
    // Records have text for keys and nothing that can fail.
    write::written(part).unwrap_or_default()
}

/// The record in a JSON text, exactly as it was.
///
/// # Errors
/// What is wrong with it, and where; no input makes it panic.
pub fn record<T: DeserializeOwned>(schema: &Schema, json: &str) -> Result<T, ReadError> {
    of_value(schema.value(json)?)
}

/// The record in JSON whose schema is known.
///
/// # Errors
/// As [`record`].
pub fn of_value<T: DeserializeOwned>(value: Value) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(read::Reader::new(value)).map_err(|error| {
        // A reading that is there is no level of its own in the text.
        let is_level = |level: &&Segment| !matches!(level, Segment::Enum { variant } if variant == OK);
        let levels = error.path().iter().filter(is_level);
        let path = levels.enumerate().map(|(at, level)| match level {
            Segment::Seq { .. } => level.to_string(),
            _ if at == 0 => level.to_string(),
            _ => format!(".{level}"),
        });
        ReadError::field(&path.collect::<String>(), error.inner().to_string())
    })
}
