//! Compares the reports of `steady warm` in every form with files in `testdata/reports`, and reads records back from
//! JSON. `STEADY_BLESS=1 cargo test` rewrites the files.

mod bench;
mod made;
mod status;

use steady_render::json::description;
use steady_testing::{goldens, made as shared};
use steady_warm::{Export, SCHEMA};

#[test]
fn the_schema_is_as_recorded() {
    goldens::check_schema(&SCHEMA, description::<Export>(&SCHEMA));
}
