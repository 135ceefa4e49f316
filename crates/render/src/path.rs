//! Paths in JSON: text where they are text, else their bytes. For `#[serde(with = "steady_render::path")]`.

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
    /// The usual case.
    Text(String),
    /// A name that is no UTF-8.
    Bytes {
        /// Every byte of it.
        bytes: Vec<u8>,
    },
}

/// Writes a path.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let form = match path.to_str() {
        Some(text) => Form::Text(text.to_owned()),
        None => Form::Bytes { bytes: path.as_os_str().as_bytes().to_vec() },
    };
    form.serialize(serializer)
}

/// Reads a path.
///
/// # Errors
/// Neither text nor bytes.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Form::deserialize(deserializer)? {
        Form::Text(text) => text.into(),
        Form::Bytes { bytes } => OsStr::from_bytes(&bytes).into(),
    })
}
