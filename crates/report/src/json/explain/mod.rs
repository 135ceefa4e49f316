//! The JSON of an explanation, and the way back into the record that it was made of.
//!
//! One command and the difference of two have one schema: that of one has `command`, that of two has `commands`.

mod one;
mod pair;
mod wire;

use steady_model::{AluTime, Interval, Reading};

pub use one::{explain_json, explain_json_text, read_explain_record};
pub use pair::{explain_pair_json, explain_pair_json_text, read_explain_pair_record};

use super::ReadError;
use super::object::Object;
use steady_render::json::Schema;

/// The name and version of what [`explain_json`] and [`explain_pair_json`] write.
pub const EXPLAIN_SCHEMA: &str = "steady.explain/1";

/// The same, to be read.
const SCHEMA: Schema = Schema { name: EXPLAIN_SCHEMA, what: "an explanation" };

/// Whether an explanation is that of two commands, told by what stands in it.
///
/// # Errors
/// Where it is no explanation.
pub fn explains_a_pair(json: &str) -> Result<bool, ReadError> {
    Ok(SCHEMA.value(json)?.get("commands").is_some())
}

/// A figure with its interval, under a name that ends with its unit: `NAME_seconds`, `NAME_low_seconds`,
/// `NAME_high_seconds`.
fn with_interval(object: &mut Object, name: &str, unit: &str, reading: &Reading<(f64, Interval)>) {
    object.reading(&format!("{name}{unit}"), &reading.clone().map(|(value, _)| value));
    let interval = reading.clone().map(|(_, interval)| interval);
    object.interval(&format!("{name}_low{unit}"), &format!("{name}_high{unit}"), &interval);
}

/// What is missing, and why.
fn missing(missing: &[(String, String)]) -> serde_json::Value {
    let one = |(what, why): &(String, String)| serde_json::json!({ "what": what, "why": why });
    missing.iter().map(one).collect()
}

/// How fast the CPU's clock ran at the run.
fn put_alu(object: &mut Object, alu: &Reading<AluTime>) {
    match alu {
        Ok(alu) => {
            with_interval(object, "alu", "_seconds", &Ok((alu.seconds, alu.interval)));
            object.put("alu_readings", alu.readings);
        }
        Err(absent) => object.absent("alu_seconds", &absent.0),
    }
}
