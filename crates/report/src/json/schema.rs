//! Whether a text is an export of the one kind that is looked for.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ReadError;

/// A kind of export.
pub(super) struct Schema {
    /// Its name and version, such as `steady.compare/1`.
    pub(super) name: &'static str,
    /// What it is an export of: `a comparison`.
    pub(super) what: &'static str,
}

impl Schema {
    /// The JSON in a text, if it says that it is of this kind and version.
    pub(super) fn value(&self, json: &str) -> Result<Value, ReadError> {
        let value: Value = serde_json::from_str(json).map_err(|error| ReadError::NotJson(error.to_string()))?;
        let other = |found: String| Err(ReadError::OtherSchema { what: self.what, known: self.name, found });
        match value.get("schema") {
            Some(Value::String(found)) if found == self.name => Ok(value),
            Some(Value::String(found)) if self.version(found) > self.version(self.name) => {
                Err(ReadError::NewerVersion { known: self.name, found: found.clone() })
            }
            Some(found) => other(found.to_string()),
            None => other("missing".to_owned()),
        }
    }

    /// The version in the name of a schema of this kind.
    fn version(&self, schema: &str) -> Option<u64> {
        let (kind, _) = self.name.split_once('/')?;
        schema.strip_prefix(kind)?.strip_prefix('/')?.parse().ok()
    }
}

/// What the value holds, or the path to what it does not.
pub(super) fn fields<T: DeserializeOwned>(value: Value) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| ReadError::field(&error.path().to_string(), error.inner().to_string()))
}
