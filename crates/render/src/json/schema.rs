//! Whether a text is an export of the one kind that is looked for.

use serde::Deserialize;
use serde_json::Value;

use super::ReadError;

/// The longest name of a schema that an error repeats.
const LONGEST_NAME: usize = 60;

/// The only field that is looked at before all of a text is turned into values.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Option<Value>,
}

/// A kind of export.
pub struct Schema {
    /// Its name and version, such as `steady.compare/1`.
    pub name: &'static str,
    /// What it is an export of: `a comparison`.
    pub what: &'static str,
}

impl Schema {
    /// The JSON in a text, if it says that it is of this kind and version.
    pub fn value(&self, json: &str) -> Result<Value, ReadError> {
        self.check(json)?;
        serde_json::from_str(json).map_err(|error| ReadError::NotJson(error.to_string()))
    }

    /// Whether a text is JSON of this kind and version. Nothing else of it is kept in memory: as values, a text takes 36
    /// times its size.
    fn check(&self, json: &str) -> Result<(), ReadError> {
        let other = |found: String| Err(ReadError::OtherSchema { what: self.what, known: self.name, found });
        let head: Head = match serde_json::from_str(json) {
            Ok(head) => head,
            // JSON, but no object.
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

    /// The version in the name of a schema of this kind.
    fn version(&self, schema: &str) -> Option<u64> {
        let (kind, _) = self.name.split_once('/')?;
        schema.strip_prefix(kind)?.strip_prefix('/')?.parse().ok()
    }
}
