//! How many system calls a probe's loop makes, counted by a tracer: a call that a library answers by itself, or one that
//! a compiler removed, is seen there.

use std::ffi::OsString;

use steady_linux::process;
use steady_model::{Absent, Reading};
use steady_workloads::probes;

use super::protocol::Setup;
use super::serve::place;

/// Counts the calls of a round, all who take part together.
pub(super) fn per_loop(_: &Setup) -> Reading<f64> {
    Err(Absent::because("there is no tracer to count them"))
}

/// The whole life of what is traced: goes round a probe's loop. `words` are what stands behind [`ROUNDS`] on its command
/// line. Whether it did.
pub fn rounds(words: &mut dyn Iterator<Item = OsString>) -> bool {
    let Some(setup) = words.next().and_then(|word| serde_json::from_str::<Setup>(word.to_str()?).ok()) else {
        return false;
    };
    let Some(rounds) = words.next().and_then(|word| word.to_str()?.parse().ok()) else { return false };
    if process::keep_to(&[setup.cpus.0]).is_err() {
        return false;
    }
    let opened = probes::open(setup.probe, &place(&setup));
    opened.is_ok_and(|mut primitive| primitive.run(rounds).is_ok())
}
