//! Sixteen 32-bit numbers in an AVX-512 register, and transfers between such registers and memory.
//!
//! Source: "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2.

use std::arch::x86_64::*;

use crate::signature::Groups;

/// The number of lanes in a register.
pub(crate) const LANES: usize = 16;

/// One number for each lane.
pub(crate) type Row = [u32; LANES];

/// The number of rows, a power of two, so that an index can be limited by masking its bits.
pub(crate) const ROWS: usize = 512;

/// Rows, of which each lane may access a different one.
pub(crate) type Rows = [Row; ROWS];

/// The number of rows in a table of 64-bit values.
pub(crate) const PAIRS: usize = 256;

/// A table with rows of one 64-bit value for each lane.
pub(crate) type Pairs = [[u64; LANES]; PAIRS];

/// Proof that this CPU and the operating system support the features that the functions here need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HasLanes(());

impl HasLanes {
    /// Checks the features of the CPU.
    pub(crate) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        let has = has && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl");
        has.then_some(HasLanes(()))
    }

    /// Returns the sum of the hashes of the blocks of `bytes`, each of `block` bytes. There must not be more blocks than
    /// `groups` has lanes.
    pub(crate) fn sum(self, groups: &mut Groups, bytes: &[u8], block: usize) -> u64 {
        // SAFETY: `self` exists only if `detect` found exactly the features that the function enables.
        unsafe { groups.sum(bytes, block) }
    }
}

/// Loads a whole row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn load(row: &Row) -> __m512i {
    // SAFETY: a row is 64 bytes and valid for reading, and the instruction requires no alignment.
    unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
}

/// Stores a whole row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn store(row: &mut Row, lanes: __m512i) {
    // SAFETY: a row is 64 bytes and valid for writing, and the instruction requires no alignment.
    unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), lanes) }
}

/// Stores the lanes in the mask `some`, and leaves the others unchanged.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn store_some(row: &mut Row, some: __mmask16, lanes: __m512i) {
    // SAFETY: a row is 64 bytes and valid for writing, and the instruction requires no alignment.
    unsafe { _mm512_mask_storeu_epi32(row.as_mut_ptr().cast(), some, lanes) }
}

/// Loads a number for each lane. An index counts numbers from the beginning of the first row, modulo the total number.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn gather(rows: &Rows, index: __m512i) -> __m512i {
    let within = _mm512_and_si512(index, _mm512_set1_epi32((ROWS * LANES - 1) as i32));
    // SAFETY: the mask limits each index to the numbers in `rows`, because their total is a power of two.
    unsafe { _mm512_i32gather_epi32::<4>(within, rows.as_ptr().cast()) }
}

/// Stores the lanes in the mask `some` at their indexes, which count as in [`gather`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn scatter(rows: &mut Rows, some: __mmask16, index: __m512i, lanes: __m512i) {
    let within = _mm512_and_si512(index, _mm512_set1_epi32((ROWS * LANES - 1) as i32));
    // SAFETY: the mask limits each index to the numbers in `rows`, because their total is a power of two.
    unsafe { _mm512_mask_i32scatter_epi32::<4>(rows.as_mut_ptr().cast(), some, within, lanes) }
}

/// Loads the number in a column of each line.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn column<const LENGTH: usize>(lines: &[[u32; LENGTH]; LANES], column: usize) -> __m512i {
    assert!(column < LENGTH, "the lines have no such column");
    let lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let index =
        _mm512_add_epi32(_mm512_mullo_epi32(lane, _mm512_set1_epi32(LENGTH as i32)), _mm512_set1_epi32(column as i32));
    // SAFETY: each index is a column of a line, as `column` is less than `LENGTH` and the lanes are as many as the
    // lines.
    unsafe { _mm512_i32gather_epi32::<4>(index, lines.as_ptr().cast()) }
}

/// Converts sixteen 16-bit numbers to 32 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn widened(numbers: &[u16; LANES]) -> __m512i {
    // SAFETY: the numbers are 32 bytes and valid for reading, and the instruction requires no alignment.
    _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) })
}

/// Stores all lanes in a line, from index `at` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn store_at(line: &mut [u32], at: usize, lanes: __m512i) {
    let place: &mut Row = (&mut line[at..at + LANES]).try_into().expect("the slice has the length of a row");
    store(place, lanes);
}

/// Loads 64-bit values for eight lanes, the upper eight if `upper` is set. A lane in the mask `some` gets the value of
/// its row, modulo the number of rows; the others get their value in `otherwise`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn gather_pairs(pairs: &Pairs, upper: bool, some: __mmask8, row: __m512i, otherwise: __m512i) -> __m512i {
    let first = if upper { LANES as i64 / 2 } else { 0 };
    let lane = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(first));
    let row = _mm512_and_si512(row, _mm512_set1_epi64(PAIRS as i64 - 1));
    let index = _mm512_add_epi64(_mm512_mullo_epi64(row, _mm512_set1_epi64(LANES as i64)), lane);
    // SAFETY: the mask limits each row to those of the table, because their number is a power of two, and each lane is
    // one of the row's.
    unsafe { _mm512_mask_i64gather_epi64::<8>(otherwise, some, index, pairs.as_ptr().cast()) }
}

/// Stores the 64-bit values of eight lanes in a row: in its upper half if `upper` is set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn store_pairs(row: &mut [u64; LANES], upper: bool, pairs: __m512i) {
    let half = if upper { &mut row[LANES / 2..] } else { &mut row[..LANES / 2] };
    // SAFETY: half of a row is 64 bytes and valid for writing, and the instruction requires no alignment.
    unsafe { _mm512_storeu_si512(half.as_mut_ptr().cast(), pairs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns gathered numbers, and the rows after scattering one lane.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn gathered_and_scattered(mut rows: Box<Rows>, index: Row) -> (Row, Box<Rows>) {
        let mut gathered = [0; LANES];
        store(&mut gathered, gather(&rows, load(&index)));
        scatter(&mut rows, 0b1, load(&index), _mm512_set1_epi32(-1));
        (gathered, rows)
    }

    #[test]
    fn indexes_are_limited_to_the_rows() {
        if HasLanes::detect().is_none() {
            return;
        }
        let numbered = |row| std::array::from_fn(|lane| (row * LANES + lane) as u32);
        let rows: Box<Rows> = Box::new(std::array::from_fn(numbered));
        let index = [8192, 0, 1, 8191, u32::MAX, 1 << 31, 8193, 77, 4000, 5, 6, 7, 8, 9, 10, 11];
        // SAFETY: `detect` found the features of the CPU.
        let (gathered, rows) = unsafe { gathered_and_scattered(rows, index) };
        assert_eq!(gathered, index.map(|index| index % (ROWS * LANES) as u32));
        let changed: Vec<usize> = (0..ROWS * LANES).filter(|at| rows[at / LANES][at % LANES] != *at as u32).collect();
        assert_eq!(changed, [0]);
    }
}
