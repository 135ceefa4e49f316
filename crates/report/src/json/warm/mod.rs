//! The JSON of programs kept warm; what it tells of is its `kind`.

mod bench;
mod read;
mod status;
mod wire;

pub use bench::{warm_bench_json, warm_bench_json_text};
pub use read::read_warm_bench_record;
pub use status::{warm_status_json, warm_status_json_text};

use steady_render::json::Schema;

/// The name and version of what is told of programs kept warm.
pub const WARM_SCHEMA: &str = "steady.warm/1";

/// The same, to be read.
const SCHEMA: Schema = Schema { name: WARM_SCHEMA, what: "programs kept warm" };

/// The `kind` of a bench.
const BENCH: &str = "bench";
