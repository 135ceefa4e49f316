//! The ruler "alu": a chain of dependent integer operations without memory accesses. It depends on the CPU's clock rate
//! and on hardware threads that share its execution units.

use core::hint::black_box;

/// Each step takes as long as a multiplication and two short operations.
const STEPS: u32 = 7_000;

pub(super) fn run() {
    let mut value: u64 = black_box(0x9e37_79b9_7f4a_7c15);
    for step in 0..STEPS {
        value = (value ^ u64::from(step)).wrapping_mul(0xd134_2543_de82_ef95).rotate_left(23);
    }
    black_box(value);
}
