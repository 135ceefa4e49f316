//! What is kept of programs, and what keeping them warm gains: in every form, against files in `testdata/reports`, and the way
//! back from JSON. `STEADY_BLESS=1 cargo test` rewrites the files.

mod bench;
#[path = "../../../report/tests/reports/goldens.rs"]
#[allow(dead_code, reason = "shared with other features")]
mod goldens;
mod made;
#[path = "../../../report/tests/reports/made.rs"]
#[allow(dead_code, reason = "shared with other features")]
mod shared;
mod status;

use steady_render::json::description;
use steady_warm::{Export, SCHEMA};

#[test]
fn the_schema_is_as_recorded() {
    goldens::hold_schema(&SCHEMA, description::<Export>(&SCHEMA));
}
