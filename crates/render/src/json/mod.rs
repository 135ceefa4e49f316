//! Records as JSON, and the way back.
//!
//! A record is its JSON: its types derive serde, and their fields are named as in JSON. This module adds what serde has no word
//! for: the name of the schema, and a [`Reading`](steady_model::Reading) that is its value, or null with the reason in
//! `<name>_absent` next to it.

mod codec;
mod describe;
mod error;
mod group;
pub mod pretty;
mod schema;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

pub use describe::description;
pub use error::ReadError;
pub use group::group;
pub use schema::{Schema, fields};

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
    // Records have text for keys and nothing that can fail.
    if let Ok(Value::Object(fields)) = serde_json::to_value(record).map(codec::written) {
        top.extend(fields);
    }
    Value::Object(top)
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
    let value = codec::readable(value)?;
    serde_path_to_error::deserialize(codec::Reader(value)).map_err(|error| {
        // A reading that is there is no level of its own in the text.
        let levels = error.path().iter().filter(|level| level.to_string() != codec::OK);
        let path = levels.enumerate().map(|(at, level)| match level {
            Segment::Seq { .. } => level.to_string(),
            _ if at == 0 => level.to_string(),
            _ => format!(".{level}"),
        });
        ReadError::field(&path.collect::<String>(), error.inner().to_string())
    })
}
