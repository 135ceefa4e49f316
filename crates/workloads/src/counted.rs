//! Work that is counted: as many units as are asked for, each at the same cost, from where the last left off.

use std::hint::black_box;

use sha2::{Digest, Sha256};

use crate::random::Numbers;

/// What is hashed at once: with its padding one block of the hash.
const INPUT_BYTES: usize = 32;

/// SHA-256 hashes of random input, 32 bytes each, fresh for every hash.
#[derive(Clone, Debug)]
pub struct Hashes {
    numbers: Numbers,
    folded: u64,
}

impl Hashes {
    /// The hashes of `seed`.
    pub fn new(seed: u64) -> Self {
        Hashes { numbers: Numbers::new(seed), folded: 0 }
    }

    /// Makes `count` more; a digest of all so far, the same however they were asked for.
    pub fn next(&mut self, count: u64) -> u64 {
        for _ in 0..count {
            let hash = Sha256::digest(self.input());
            self.folded = fold(self.folded, &hash);
        }
        black_box(self.folded)
    }

    fn input(&mut self) -> [u8; INPUT_BYTES] {
        let mut input = [0; INPUT_BYTES];
        for word in input.as_chunks_mut().0 {
            *word = self.numbers.bits().to_le_bytes();
        }
        input
    }
}

/// Every bit of the hash counts, and so does the order of the hashes.
fn fold(folded: u64, hash: &[u8]) -> u64 {
    hash.as_chunks().0.iter().fold(folded, |folded, word| folded.rotate_left(7) ^ u64::from_le_bytes(*word))
}

/// The sum of random numbers of 64 bits, whatever does not fit left out.
#[derive(Clone, Debug)]
pub struct Sums {
    numbers: Numbers,
    sum: u64,
}

impl Sums {
    /// The numbers of `seed`.
    pub fn new(seed: u64) -> Self {
        Sums { numbers: Numbers::new(seed), sum: 0 }
    }

    /// Adds `count` more; the sum of all so far, the same however they were asked for.
    pub fn next(&mut self, count: u64) -> u64 {
        // Copies, so that the loop keeps them in registers.
        let (mut numbers, mut sum) = (self.numbers.clone(), self.sum);
        for _ in 0..count {
            sum = sum.wrapping_add(numbers.bits());
        }
        (self.numbers, self.sum) = (numbers, sum);
        black_box(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_does_not_depend_on_how_the_work_is_cut() {
        let (mut hashes, mut sums) = (Hashes::new(7), Sums::new(7));
        let cut = [0, 1, 2, 97].map(|count| (hashes.next(count), sums.next(count)));
        assert_eq!(cut[3], (Hashes::new(7).next(100), Sums::new(7).next(100)));
        assert_eq!(cut[0], (0, 0), "no work yet");
    }

    #[test]
    fn another_seed_or_amount_is_other_work() {
        assert_ne!(Hashes::new(1).next(10), Hashes::new(2).next(10));
        assert_ne!(Hashes::new(1).next(10), Hashes::new(1).next(11));
        assert_ne!(Sums::new(1).next(10), Sums::new(2).next(10));
        assert_ne!(Sums::new(1).next(10), Sums::new(1).next(11));
    }

    #[test]
    fn no_input_is_hashed_twice() {
        let mut hashes = Hashes::new(3);
        let inputs: std::collections::BTreeSet<_> = (0..1000).map(|_| hashes.input()).collect();
        assert_eq!(inputs.len(), 1000);
    }

    #[test]
    fn the_hash_is_sha_256() {
        // FIPS 180-4, one block: "abc".
        let hash = Sha256::digest(b"abc");
        assert_eq!(hash[..8], [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]);
        assert_eq!(hash[28..], [0xf2, 0x00, 0x15, 0xad]);
        let mut hashes = Hashes::new(3);
        let first = Sha256::digest(hashes.clone().input());
        assert_eq!(hashes.next(1), fold(0, &first));
    }

    #[test]
    fn the_sum_is_of_the_generator_s_numbers() {
        let mut numbers = Numbers::new(5);
        let expected = (0..1000).fold(0_u64, |sum, _| sum.wrapping_add(numbers.bits()));
        assert_eq!(Sums::new(5).next(1000), expected);
    }
}
