//! Checks that a JSON text is an export of the expected kind and version.

use serde::Deserialize;
use serde_json::Value;

use super::ReadError;

/// The maximum number of characters of an unknown schema's name in an error.
const LONGEST_NAME: usize = 60;

/// The only field that is read before the whole text is parsed into values.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Option<Value>,
}

/// A kind of export, with its version.
pub struct Schema {
    /// The name and version, such as `steady.compare/1`.
    pub name: &'static str,
    /// The kind of record, for error messages: `a comparison`.
    pub what: &'static str,
}

impl Schema {
    /// Parses a JSON text whose schema has this name and version.
    pub fn value(&self, json: &str) -> Result<Value, ReadError> {
        self.check(json)?;
        serde_json::from_str(json).map_err(|error| ReadError::NotJson(error.to_string()))
    }

    /// Checks that a text is JSON with this name and version. Only the name is kept in memory, because a parsed text
    /// takes 36 times its size.
    fn check(&self, json: &str) -> Result<(), ReadError> {
        let other = |found: String| Err(ReadError::OtherSchema { what: self.what, known: self.name, found });
        let head: Head = match serde_json::from_str(json) {
            Ok(head) => head,
            // The text is JSON, but not an object.
            Err(error) if error.is_data() => return other("missing".to_owned()),
            Err(error) => return Err(ReadError::NotJson(error.to_string())),
        };
        match head.schema {
            Some(Value::String(found)) if found == self.name => Ok(()),
            Some(Value::String(found)) if self.version(&found) > self.version(self.name) => {
                Err(ReadError::NewerVersion { known: self.name, found })
            }
            Some(found) => other(found.to_string().chars().take(LONGEST_NAME).collect()),
            None => other("missing".to_owned()),
        }
    }

    /// Returns the version in a schema's name, if the schema is of this kind.
    fn version(&self, schema: &str) -> Option<u64> {
        let (kind, _) = self.name.split_once('/')?;
        schema.strip_prefix(kind)?.strip_prefix('/')?.parse().ok()
    }
}

/// Returns the kind of an export, such as `load` for `steady.load/1`; `None` if the text is not an export.
pub fn kind(json: &str) -> Option<String> {
    let head: Head = serde_json::from_str(json).ok()?;
    let (kind, _) = head.schema.as_ref()?.as_str()?.strip_prefix("steady.")?.split_once('/')?;
    Some(kind.to_owned())
}
