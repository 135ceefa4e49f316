//! Sixteen numbers of 32 bits at once, as AVX-512 has them: what goes between such registers and memory.
//!
//! Source: "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2.

use std::arch::x86_64::*;

use crate::signature::Groups;

/// How many numbers there are at once.
pub(crate) const LANES: usize = 16;

/// A number of each lane.
pub(crate) type Row = [u32; LANES];

/// So many rows that an index can be kept within them by its bits.
pub(crate) const ROWS: usize = 512;

/// Rows, of which each lane may want another.
pub(crate) type Rows = [Row; ROWS];

/// 64 bits of each lane, so many rows of them.
pub(crate) const PAIRS: usize = 256;

/// A table of such rows.
pub(crate) type Pairs = [[u64; LANES]; PAIRS];

/// That this CPU, and the system with it, have what the functions here need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HasLanes(());

impl HasLanes {
    /// Asks the CPU.
    pub(crate) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        let has = has && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl");
        has.then_some(HasLanes(()))
    }

    /// The sum of the hashes of the blocks of `bytes`, of which there are no more than `groups` have lanes.
    pub(crate) fn sum(self, groups: &mut Groups, bytes: &[u8]) -> u64 {
        // SAFETY: that the CPU has the features was found out where this was made, and no others are asked for there.
        unsafe { groups.sum(bytes) }
    }
}

/// A whole row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn load(row: &Row) -> __m512i {
    // SAFETY: a row is 64 bytes, and no alignment is asked for.
    unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
}

/// Puts a whole row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn store(row: &mut Row, lanes: __m512i) {
    // SAFETY: a row is 64 bytes, and no alignment is asked for.
    unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), lanes) }
}

/// Puts the lanes that are asked for, and leaves the others.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn store_some(row: &mut Row, some: __mmask16, lanes: __m512i) {
    // SAFETY: a row is 64 bytes, and no alignment is asked for.
    unsafe { _mm512_mask_storeu_epi32(row.as_mut_ptr().cast(), some, lanes) }
}

/// What lies at each lane's index, counted in numbers from the first row's first on. An index beyond the end is taken from the
/// beginning again.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn gather(rows: &Rows, index: __m512i) -> __m512i {
    let within = _mm512_and_si512(index, _mm512_set1_epi32((ROWS * LANES - 1) as i32));
    // SAFETY: no index is below zero or beyond the last number, since the number of numbers is a power of two.
    unsafe { _mm512_i32gather_epi32::<4>(within, rows.as_ptr().cast()) }
}

/// Puts the lanes that are asked for where their indices say, as [`gather`] understands them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn scatter(rows: &mut Rows, some: __mmask16, index: __m512i, lanes: __m512i) {
    let within = _mm512_and_si512(index, _mm512_set1_epi32((ROWS * LANES - 1) as i32));
    // SAFETY: no index is below zero or beyond the last number, since the number of numbers is a power of two.
    unsafe { _mm512_mask_i32scatter_epi32::<4>(rows.as_mut_ptr().cast(), some, within, lanes) }
}

/// Of each line the number in this column.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn column<const LENGTH: usize>(lines: &[[u32; LENGTH]; LANES], column: usize) -> __m512i {
    assert!(column < LENGTH, "no column of these lines");
    let lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let index =
        _mm512_add_epi32(_mm512_mullo_epi32(lane, _mm512_set1_epi32(LENGTH as i32)), _mm512_set1_epi32(column as i32));
    // SAFETY: the column is one of each of the lines.
    unsafe { _mm512_i32gather_epi32::<4>(index, lines.as_ptr().cast()) }
}

/// Sixteen small numbers, made wider.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn widened(numbers: &[u16; LANES]) -> __m512i {
    // SAFETY: they are 32 bytes, and no alignment is asked for.
    _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) })
}

/// Puts all lanes into a line from `at` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn lay_down(line: &mut [u32], at: usize, lanes: __m512i) {
    let place: &mut Row = (&mut line[at..at + LANES]).try_into().expect("it is as long as a row");
    store(place, lanes);
}

/// Of eight lanes, those with `upper` the upper eight: 64 bits of the row that the lane names, where it is asked for; else what
/// `otherwise` has. A number beyond the rows is taken from the beginning again.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn gather_pairs(pairs: &Pairs, upper: bool, some: __mmask8, row: __m512i, otherwise: __m512i) -> __m512i {
    let first = if upper { LANES as i64 / 2 } else { 0 };
    let lane = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(first));
    let row = _mm512_and_si512(row, _mm512_set1_epi64(PAIRS as i64 - 1));
    let index = _mm512_add_epi64(_mm512_mullo_epi64(row, _mm512_set1_epi64(LANES as i64)), lane);
    // SAFETY: the row is one of the table's, since their number is a power of two, and the lane is one of the row's.
    unsafe { _mm512_mask_i64gather_epi64::<8>(otherwise, some, index, pairs.as_ptr().cast()) }
}

/// Puts the 64 bits of eight lanes into a row: with `upper` those of the upper eight.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn store_pairs(row: &mut [u64; LANES], upper: bool, pairs: __m512i) {
    let half = if upper { &mut row[LANES / 2..] } else { &mut row[..LANES / 2] };
    // SAFETY: half of a row is 64 bytes, and no alignment is asked for.
    unsafe { _mm512_storeu_si512(half.as_mut_ptr().cast(), pairs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is gathered, and the rows after a lane was scattered.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn gathered_and_scattered(mut rows: Box<Rows>, index: Row) -> (Row, Box<Rows>) {
        let mut gathered = [0; LANES];
        store(&mut gathered, gather(&rows, load(&index)));
        scatter(&mut rows, 0b1, load(&index), _mm512_set1_epi32(-1));
        (gathered, rows)
    }

    #[test]
    fn no_index_leads_beyond_the_rows() {
        if HasLanes::detect().is_none() {
            return;
        }
        let numbered = |row| std::array::from_fn(|lane| (row * LANES + lane) as u32);
        let rows: Box<Rows> = Box::new(std::array::from_fn(numbered));
        let index = [8192, 0, 1, 8191, u32::MAX, 1 << 31, 8193, 77, 4000, 5, 6, 7, 8, 9, 10, 11];
        // SAFETY: the CPU has the features.
        let (gathered, rows) = unsafe { gathered_and_scattered(rows, index) };
        assert_eq!(gathered, index.map(|index| index % (ROWS * LANES) as u32));
        let changed: Vec<usize> = (0..ROWS * LANES).filter(|at| rows[at / LANES][at % LANES] != *at as u32).collect();
        assert_eq!(changed, [0]);
    }
}
