//! Places in the code.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{CodePlace, LockSite};

use crate::json::ReadError;
use crate::json::object::Object;
use crate::json::wire::{Seconds, join, required};

/// Puts a place's fields into an object.
fn put(object: &mut Object, place: &CodePlace) {
    object.text("function", &place.function);
    object.text("line", &place.line);
    object.text("module", &place.module);
    object.put("offset", place.offset);
}

/// A place.
pub(super) fn value(place: &CodePlace) -> Value {
    let mut object = Object::new();
    put(&mut object, place);
    object.into()
}

/// A call site.
pub(super) fn site(site: &LockSite) -> Value {
    let mut object = Object::new();
    put(&mut object, &site.place);
    object.put("acquisitions", site.acquisitions);
    object.put("contended", site.contended);
    object.put("wait_seconds", Seconds(site.wait).as_f64());
    object.into()
}

/// A place, to be read.
#[derive(Deserialize)]
pub(super) struct PlaceWire {
    #[serde(deserialize_with = "required")]
    function: Option<String>,
    #[serde(default)]
    function_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    line: Option<String>,
    #[serde(default)]
    line_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    module: Option<String>,
    #[serde(default)]
    module_absent: Option<String>,
    offset: u64,
}

impl PlaceWire {
    pub(super) fn into_place(self) -> Result<CodePlace, ReadError> {
        Ok(CodePlace {
            module: join("module", self.module, self.module_absent)?,
            offset: self.offset,
            function: join("function", self.function, self.function_absent)?,
            line: join("line", self.line, self.line_absent)?,
        })
    }
}

/// A call site, to be read.
#[derive(Deserialize)]
pub(super) struct SiteWire {
    #[serde(flatten)]
    place: PlaceWire,
    acquisitions: u64,
    contended: u64,
    wait_seconds: Seconds,
}

impl SiteWire {
    pub(super) fn into_site(self) -> Result<LockSite, ReadError> {
        Ok(LockSite {
            place: self.place.into_place()?,
            acquisitions: self.acquisitions,
            contended: self.contended,
            wait: self.wait_seconds.0,
        })
    }
}
