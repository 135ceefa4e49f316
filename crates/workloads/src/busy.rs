//! Work without an end of its own: neighbours that take a resource from others.

use std::hint::black_box;

use crate::{Hashes, alu};

/// About a microsecond of work: short beside any switch, long beside asking whether to stop.
const STEPS_BETWEEN_QUESTIONS: u64 = 256;

/// Some microseconds of hashing.
const HASHES_BETWEEN_QUESTIONS: u64 = 16;

/// 256 KiB: tens of microseconds of streaming between two questions.
const WORDS_BETWEEN_QUESTIONS: usize = 1 << 15;

/// Keeps one CPU busy, and no memory, until `done` says so.
pub fn spin(mut done: impl FnMut() -> bool) {
    while !done() {
        alu(STEPS_BETWEEN_QUESTIONS);
    }
}

/// Hashes on one CPU, out of the first level of its cache, until `done` says so.
pub fn hash(mut done: impl FnMut() -> bool) {
    let mut hashes = Hashes::new(0);
    while !done() {
        hashes.next(HASHES_BETWEEN_QUESTIONS);
    }
}

/// Reads and writes all of `memory` from its start to its end, over and over, until `done` says so.
///
/// With more memory than the caches hold this takes memory bandwidth and the shared cache from others.
pub fn stream(memory: &mut [u64], mut done: impl FnMut() -> bool) {
    loop {
        // Asked here too, for a slice without words has no chunks.
        if done() {
            return;
        }
        for chunk in memory.chunks_mut(WORDS_BETWEEN_QUESTIONS) {
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

    /// Says "done" from the question after `questions` on.
    fn after(questions: usize) -> impl FnMut() -> bool {
        let mut asked = 0;
        move || {
            asked += 1;
            asked > questions
        }
    }

    #[test]
    fn all_end_when_told() {
        spin(after(3));
        hash(after(3));
        stream(&mut [], after(3));
    }

    #[test]
    fn a_stream_goes_over_all_of_the_memory_in_order() {
        let mut memory = vec![0; 2 * WORDS_BETWEEN_QUESTIONS + 1];
        // One question up front and one per chunk: three chunks, then the first once more.
        stream(&mut memory, after(5));
        assert_eq!((memory[0], memory[WORDS_BETWEEN_QUESTIONS - 1]), (2, 2));
        assert_eq!((memory[WORDS_BETWEEN_QUESTIONS], memory[2 * WORDS_BETWEEN_QUESTIONS]), (1, 1));
    }
}
