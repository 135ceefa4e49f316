//! Workloads that run until they are stopped: neighbours that take a resource from others.

use std::hint::black_box;

use crate::{Hashes, alu};

/// About a microsecond of work: short compared with a context switch, long compared with the check whether to stop.
const STEPS_BETWEEN_CHECKS: u64 = 256;

/// Some microseconds of hashing between two checks.
const HASHES_BETWEEN_CHECKS: u64 = 16;

/// 256 KiB: tens of microseconds of streaming between two checks.
const WORDS_BETWEEN_CHECKS: usize = 1 << 15;

/// Keeps one CPU busy without using memory, until `done` returns true.
pub fn spin(mut done: impl FnMut() -> bool) {
    while !done() {
        alu(STEPS_BETWEEN_CHECKS);
    }
}

/// Computes hashes on one CPU, with data in the first-level cache, until `done` returns true.
pub fn hash(mut done: impl FnMut() -> bool) {
    let mut hashes = Hashes::new(0);
    while !done() {
        hashes.next(HASHES_BETWEEN_CHECKS);
    }
}

/// Reads and writes all of `memory` from start to end repeatedly, until `done` returns true.
///
/// With more memory than the caches hold, this takes memory bandwidth and shared cache from other programs.
pub fn stream(memory: &mut [u64], mut done: impl FnMut() -> bool) {
    loop {
        // Check here too, because an empty slice has no chunks.
        if done() {
            return;
        }
        for chunk in memory.chunks_mut(WORDS_BETWEEN_CHECKS) {
            for word in chunk.iter_mut() {
                *word = word.wrapping_add(1);
            }
            black_box(chunk);
            if done() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a function that returns true from call `calls` + 1 on.
    fn after(calls: usize) -> impl FnMut() -> bool {
        let mut count = 0;
        move || {
            count += 1;
            count > calls
        }
    }

    #[test]
    fn all_workloads_end_when_done() {
        spin(after(3));
        hash(after(3));
        stream(&mut [], after(3));
    }

    #[test]
    fn a_stream_covers_all_of_the_memory_in_order() {
        let mut memory = vec![0; 2 * WORDS_BETWEEN_CHECKS + 1];
        // One check at the beginning and one for each chunk: three chunks, then the first one again.
        stream(&mut memory, after(5));
        assert_eq!((memory[0], memory[WORDS_BETWEEN_CHECKS - 1]), (2, 2));
        assert_eq!((memory[WORDS_BETWEEN_CHECKS], memory[2 * WORDS_BETWEEN_CHECKS]), (1, 1));
    }
}
