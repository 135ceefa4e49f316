//! The area of restartable sequences, in which the kernel writes on which CPU the thread runs.

use std::ops::Range;

use crate::warm::taken::Taken;

/// `cpu_id_start` and `cpu_id`.
const CPU: Range<usize> = 0..8;
/// `cpu_id_start` 0, and `cpu_id` as it is before it is registered (`RSEQ_CPU_ID_UNINITIALIZED`).
const UNREGISTERED: [u8; 8] = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
/// `node_id` and `mm_cid`.
const NODE: Range<usize> = 20..28;

/// The take, as if the area had not been registered yet: the stub registers it.
pub(super) fn without(taken: &Taken) -> Taken {
    let mut taken = taken.clone();
    let Some((address, bytes, _)) = taken.thread.rseq else { return taken };
    let region = taken.regions.iter_mut().find(|region| {
        let end = region.address + region.bytes.len() as u64;
        region.address <= address && address + u64::from(bytes) <= end
    });
    if let Some(region) = region {
        let area = &mut region.bytes[(address - region.address) as usize..][..bytes as usize];
        area.get_mut(CPU).into_iter().for_each(|cpu| cpu.copy_from_slice(&UNREGISTERED));
        area.get_mut(NODE).into_iter().for_each(|node| node.fill(0));
    }
    taken
}
