//! Which memory every launch is going to write to, so that it is worth getting it ready at once: a fault for each page costs
//! more.

use steady_preload::table::Ahead;

use super::elf::WRITE;
use super::segments::{PAGE, Segment};
use crate::snapshot::Snapshot;

/// Longer stretches of pages are left to be touched: not all of them may be.
const MOST: usize = 8;

/// The pages that the stub writes to, together with those beside them that hold something: the variables of the C library and
/// of the loader, which the first steps of every program write to.
pub(super) fn ahead(snapshot: &Snapshot, segments: &[Segment]) -> Vec<Ahead> {
    let written = segments.iter().filter(|segment| segment.flags & WRITE != 0);
    written.flat_map(|segment| stretches(snapshot, segment)).collect()
}

fn stretches(snapshot: &Snapshot, segment: &Segment) -> Vec<Ahead> {
    let pages = segment.bytes.iter().flat_map(|part| part.chunks(PAGE as usize));
    let held: Vec<bool> = pages.map(|page| page.iter().any(|byte| *byte != 0)).collect();
    let mut stretches = vec![];
    let mut address = segment.address;
    for run in held.chunk_by(|one, other| one == other) {
        let bytes = run.len() as u64 * PAGE;
        let patched = || snapshot.patches.iter().any(|patch| (address..address + bytes).contains(&patch.address));
        if run[0] && (2..=MOST).contains(&run.len()) && patched() {
            stretches.push(Ahead { address, bytes });
        }
        address += bytes;
    }
    stretches
}
