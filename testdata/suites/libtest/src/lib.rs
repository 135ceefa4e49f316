//! What the benchmarks use, and benchmarks of it beside the code.
#![cfg_attr(test, feature(test))]

/// A pseudorandom sequence.
pub fn numbers(count: usize) -> Vec<u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    (0..count).map(|_| next(&mut state)).collect()
}

/// The next number of a pseudorandom sequence.
pub fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(test)]
mod tests {
    extern crate test;
    use super::*;
    use test::{black_box, Bencher};

    // A test among the benchmarks.
    #[test]
    fn numbers_differ() {
        assert_ne!(numbers(2)[0], numbers(2)[1]);
    }

    #[bench]
    fn changed(b: &mut Bencher) {
        let rounds = std::env::var("SAMPLE_WORK").map_or(1000, |text| text.parse().unwrap());
        b.iter(|| {
            let mut state = black_box(1);
            (0..rounds).fold(0, |sum: u64, _| sum.wrapping_add(next(&mut state)))
        });
    }

    #[bench]
    fn fill(b: &mut Bencher) {
        b.iter(|| numbers(black_box(100)));
    }

    mod sort {
        use super::*;

        #[bench]
        fn small(b: &mut Bencher) {
            let data = numbers(100);
            b.iter(|| {
                let mut data = data.clone();
                data.sort_unstable();
                data
            });
        }

        #[bench]
        fn large(b: &mut Bencher) {
            let data = numbers(10_000);
            b.iter(|| {
                let mut data = data.clone();
                data.sort();
                data
            });
        }

        #[bench]
        fn sorted(b: &mut Bencher) {
            let data: Vec<u64> = (0..10_000).collect();
            b.iter(|| {
                let mut data = data.clone();
                data.sort();
                data
            });
        }
    }
}
