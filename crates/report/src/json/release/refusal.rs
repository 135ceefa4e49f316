//! Why there is no answer, and what the reader should know: a name, and figures.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Refusal, ReleaseWarning};

use crate::json::ReadError;
use crate::json::object::Object;
use crate::json::wire::to_value;
use steady_render::json::fields;

/// Why a figure is absent.
const INFINITE: &str = "infinite";

/// A reason.
pub(super) fn value(refusal: &Refusal) -> Value {
    finite(to_value(refusal)).into()
}

/// A warning.
pub(super) fn warning(warning: &ReleaseWarning) -> Object {
    finite(to_value(warning))
}

/// The fields as they are; a figure that JSON cannot hold has its reason beside it.
fn finite(value: Value) -> Object {
    let mut object = Object::new();
    for (name, field) in value.as_object().into_iter().flatten() {
        match field {
            Value::Null => object.absent(name, INFINITE),
            field => object.put(name, field.clone()),
        }
    }
    object
}

/// What [`value`] wrote.
pub(super) fn read(value: Value) -> Result<Refusal, ReadError> {
    let infinite = value.get("variance_inflation_absent").is_some();
    if infinite && value.get("variance_inflation").is_some_and(Value::is_null) {
        return Ok(Refusal::LoadsDoNotOverlap { variance_inflation: f64::INFINITY });
    }
    fields(value)
}

/// Whether it is a warning of earlier versions that none gives any more.
pub(super) fn is_gone(value: &Value) -> bool {
    value.get("kind").is_some_and(|kind| kind == "means-differ")
}

/// What [`warning`] wrote, its words aside.
pub(super) fn read_warning(value: Value) -> Result<ReleaseWarning, ReadError> {
    fields(value)
}

/// Something in a list of these.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Any(pub(super) Value);
