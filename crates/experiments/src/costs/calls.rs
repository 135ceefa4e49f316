//! How many system calls a probe's loop makes, counted by a tracer: a call that a library answers by itself, or one that
//! a compiler removed, is seen there.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use steady_linux::process::{Attached, Status};
use steady_linux::{process, tracer};
use steady_model::{Absent, Probe, Reading};
use steady_workloads::probes;

use super::ROUNDS;
use super::protocol::Setup;
use super::serve::place;
use steady_process::channel::OWN_PROGRAM;

/// Two loops are traced: what they differ by is what so many rounds make. The longer one has so many rounds that the few
/// calls by which two starts of a program differ are less than a hundredth of one a round.
const FEW: u64 = 2;
const MANY: u64 = 802;
/// Each round of these takes a millisecond where it is traced, and they begin alike.
const MANY_PROCESSES: u64 = 42;

/// Counts the calls of a round, all who take part together. In a process that has no other children.
pub(super) fn per_loop(setup: &Setup) -> Reading<f64> {
    let counted = |rounds: u64| -> Reading<f64> {
        let words = serde_json::to_string(setup).map_err(|error| Absent::because(error.to_string()))?;
        let number = rounds.to_string();
        let words = ["steady", ROUNDS, &words, &number].map(OsStr::new);
        let command =
            Attached::new(Path::new(OWN_PROGRAM), words).map_err(|error| Absent::because(error.to_string()))?;
        let counted = tracer::count(&command)?;
        match counted.status {
            Status::Exited(0) => Ok(counted.counts.calls() as f64),
            _ => Err(Absent::because("its loop could not be traced to its end")),
        }
    };
    let starts_processes = matches!(setup.probe, Probe::ForkExit | Probe::VforkExit | Probe::SpawnStatic);
    let many = if starts_processes { MANY_PROCESSES } else { MANY };
    Ok((counted(many)? - counted(FEW)?) / (many - FEW) as f64)
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
