//! Records as JSON, and JSON as records.
//!
//! A record is its JSON: its types derive serde, and its fields are named as in JSON. This module adds two things to
//! serde: the name of the schema, and the JSON of a [`Reading`](steady_model::Reading).
//!
//! - A field that is a reading becomes its value, or null and the reason in `<name>_absent` next to it.
//! - A field that is an option and `None`, also within a reading, becomes null with the reason `NONE`. No reading has
//!   this reason.
//! - An element of an array, or of a map whose keys are data, becomes the value or `{"absent": reason}`. A value that
//!   looks like such an object is wrapped: `{"present": value}`.
//!
//! Only the types decide what is a reading, so any names and texts of users are safe.

mod describe;
mod error;
mod group;
pub mod pretty;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use describe::description;
pub use error::ReadError;
pub use group::{Group, group};
pub use schema::{Schema, kind};
pub use steady_model::{ends, if_finite as finite};

/// The names by which serde passes a reading to a serializer or a deserializer: the enum and its two variants.
const READING: &str = "Result";
const OK: &str = "Ok";
const ERR: &str = "Err";
/// The suffix of the field that holds the reason why another field is not available.
const ABSENT: &str = "_absent";
/// The reason of a field that is `None`: an option that the user did not set, or a fact that does not apply.
const NONE: &str = "not set, or does not apply";
/// The only field of an element that is not available.
const ABSENT_ELEMENT: &str = "absent";
/// The only field of a wrapped element, whose value is an object with one field named `absent` or `present`.
const PRESENT_ELEMENT: &str = "present";

/// Returns a record as indented JSON that ends with a newline. The schema is the first field.
pub fn text<T: Serialize>(schema: &Schema, record: &T) -> String {
    text_by_lines(schema, record, pretty::BLOCKS)
}

/// Returns the same as [`text`], with each element of `field` on one line.
pub fn text_by_lines<T: Serialize>(schema: &Schema, record: &T, field: &str) -> String {
    pretty::indented_but(&value(schema, record), field)
}

/// Returns a record as a JSON value. The schema is the first field.
pub fn value<T: Serialize>(schema: &Schema, record: &T) -> Value {
    let mut top = Map::new();
    top.insert("schema".to_owned(), Value::from(schema.name));
    if let Value::Object(fields) = part(record) {
        top.extend(fields);
    }
    Value::Object(top)
}

/// Returns a part of a record, or a record without its schema, as a JSON value.
pub fn part<T: Serialize>(part: &T) -> Value {
    // Cannot fail: records have strings as keys, and serializers that return no errors.
    write::written(part).unwrap_or_default()
}

/// Reads the record in a JSON text. A record that was written by [`text`] is restored exactly.
///
/// # Errors
/// What is wrong with the text, and where. No input causes a panic.
pub fn record<T: DeserializeOwned>(schema: &Schema, json: &str) -> Result<T, ReadError> {
    of_value(schema.value(json)?)
}

/// Reads a record from a JSON value whose schema was checked before.
///
/// # Errors
/// As [`record`].
pub fn of_value<T: DeserializeOwned>(value: Value) -> Result<T, ReadError> {
    Ok(T::deserialize(read::Reader::new(value))?)
}
