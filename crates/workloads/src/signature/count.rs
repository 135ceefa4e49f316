//! How often each value occurs in a block.

use super::BLOCK_BYTES;

/// So many tables that a byte is never counted in one that the byte before was just written to; and none of them can overflow,
/// for of 1,024 bytes 128 belong to each.
const TABLES: usize = 8;

const _: () = assert!(BLOCK_BYTES / TABLES <= u8::MAX as usize);

/// How often each of the 256 values occurs.
pub(super) type Counts = [u16; 256];

/// Counts the bytes of a block of at most [`BLOCK_BYTES`].
#[inline]
pub(super) fn count(block: &[u8]) -> Counts {
    let mut tables = [[0_u8; 256]; TABLES];
    let (eights, rest) = block.as_chunks::<TABLES>();
    for eight in eights {
        let eight = u64::from_le_bytes(*eight);
        for (at, table) in tables.iter_mut().enumerate() {
            table[usize::from((eight >> (8 * at)) as u8)] += 1;
        }
    }
    let mut counts = [0; 256];
    for table in &tables {
        for (count, some) in counts.iter_mut().zip(table) {
            *count += u16::from(*some);
        }
    }
    for byte in rest {
        counts[usize::from(*byte)] += 1;
    }
    counts
}
