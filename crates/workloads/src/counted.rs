//! Workloads counted in units of equal cost. Each call does the requested number of units and continues after the
//! previous call.

use std::hint::black_box;

use sha2::{Digest, Sha256};

use crate::random::Numbers;

/// The input of one hash: with padding, one block of SHA-256.
const INPUT_BYTES: usize = 32;

/// SHA-256 hashes of random input, with 32 new bytes for each hash.
#[derive(Clone, Debug)]
pub struct Hashes {
    numbers: Numbers,
    digest: u64,
}

impl Hashes {
    /// Creates the sequence of hashes for `seed`.
    pub fn new(seed: u64) -> Self {
        Hashes { numbers: Numbers::new(seed), digest: 0 }
    }

    /// Computes `count` more hashes. Returns a digest of all hashes so far, which does not depend on how they were
    /// split into calls.
    pub fn next(&mut self, count: u64) -> u64 {
        for _ in 0..count {
            let hash = Sha256::digest(self.input());
            self.digest = add_to_digest(self.digest, &hash);
        }
        black_box(self.digest)
    }

    fn input(&mut self) -> [u8; INPUT_BYTES] {
        let mut input = [0; INPUT_BYTES];
        for word in input.as_chunks_mut().0 {
            *word = self.numbers.bits().to_le_bytes();
        }
        input
    }
}

/// Adds a hash to the digest, which depends on every bit and on the order of the hashes.
fn add_to_digest(digest: u64, hash: &[u8]) -> u64 {
    hash.as_chunks().0.iter().fold(digest, |digest, word| digest.rotate_left(7) ^ u64::from_le_bytes(*word))
}

/// The sum of random 64-bit numbers, modulo 2^64.
#[derive(Clone, Debug)]
pub struct NumberSum {
    numbers: Numbers,
    sum: u64,
}

impl NumberSum {
    /// Creates the sequence of numbers for `seed`.
    pub fn new(seed: u64) -> Self {
        NumberSum { numbers: Numbers::new(seed), sum: 0 }
    }

    /// Adds `count` more numbers. Returns the sum of all numbers so far, which does not depend on how they were split
    /// into calls.
    pub fn next(&mut self, count: u64) -> u64 {
        // Local copies, which the loop can keep in registers.
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
    fn the_digest_does_not_depend_on_how_the_work_is_split() {
        let (mut hashes, mut sums) = (Hashes::new(7), NumberSum::new(7));
        let cut = [0, 1, 2, 97].map(|count| (hashes.next(count), sums.next(count)));
        assert_eq!(cut[3], (Hashes::new(7).next(100), NumberSum::new(7).next(100)));
        assert_eq!(cut[0], (0, 0), "no work yet");
    }

    #[test]
    fn another_seed_or_amount_gives_another_digest() {
        assert_ne!(Hashes::new(1).next(10), Hashes::new(2).next(10));
        assert_ne!(Hashes::new(1).next(10), Hashes::new(1).next(11));
        assert_ne!(NumberSum::new(1).next(10), NumberSum::new(2).next(10));
        assert_ne!(NumberSum::new(1).next(10), NumberSum::new(1).next(11));
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
        assert_eq!(hashes.next(1), add_to_digest(0, &first));
    }

    #[test]
    fn the_sum_is_the_sum_of_the_generated_numbers() {
        let mut numbers = Numbers::new(5);
        let expected = (0..1000).fold(0_u64, |sum, _| sum.wrapping_add(numbers.bits()));
        assert_eq!(NumberSum::new(5).next(1000), expected);
    }
}
