//! Paths in JSON: as text if they are UTF-8, otherwise as bytes. For `#[serde(with = "steady_model::path")]`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a path: text, or {\"bytes\": [..]}")]
#[schemars(rename = "Path")]
pub enum Form {
    /// A path that is valid UTF-8.
    Text(String),
    /// A path that is not valid UTF-8.
    Bytes {
        /// All bytes of the path.
        bytes: Vec<u8>,
    },
}

impl From<&Path> for Form {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Form::Text(text.to_owned()),
            None => Form::Bytes { bytes: path.as_os_str().as_bytes().to_vec() },
        }
    }
}

impl From<Form> for PathBuf {
    fn from(form: Form) -> Self {
        match form {
            Form::Text(text) => text.into(),
            Form::Bytes { bytes } => OsStr::from_bytes(&bytes).into(),
        }
    }
}

/// Writes a path.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Form::from(path).serialize(serializer)
}

/// Reads a path.
///
/// # Errors
/// The value is neither text nor bytes.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Form::deserialize(deserializer).map(PathBuf::from)
}

/// Paths that may be null in JSON.
pub mod optional {
    use super::{Deserialize, Deserializer, Form, PathBuf, Serializer};

    /// Writes a path, or null.
    ///
    /// # Errors
    /// The errors of the serializer.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        match path {
            Some(path) => super::serialize(path, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a path, or null. A missing field is an error.
    ///
    /// # Errors
    /// The value is neither text, nor bytes, nor null.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Form>::deserialize(deserializer)?.map(PathBuf::from))
    }
}
