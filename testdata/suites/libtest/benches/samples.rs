//! Benchmarks of different kinds.
#![feature(test)]
extern crate test;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use sample_libtest::numbers;
use test::{black_box, Bencher};

const TEXT: &str = "It was the best of times, it was the worst of times, it was the age of wisdom";

#[bench]
fn gcd(b: &mut Bencher) {
    b.iter(|| {
        let (mut a, mut b) = black_box((12_586_269_025_u64, 7_778_742_049));
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    });
}

#[bench]
fn matrix(b: &mut Bencher) {
    b.iter(|| {
        let a = black_box([[1.5_f64; 8]; 8]);
        let product = |row: usize, column: usize| (0..8).map(|one| a[row][one] * a[one][column]).sum::<f64>();
        std::array::from_fn::<_, 8, _>(|row| std::array::from_fn::<_, 8, _>(|column| product(row, column)))
    });
}

#[bench]
fn sieve(b: &mut Bencher) {
    b.iter(|| {
        let mut composite = vec![false; black_box(2000)];
        for one in 2..composite.len() {
            for multiple in (one * one..composite.len()).step_by(one) {
                composite[multiple] = true;
            }
        }
        composite.iter().filter(|one| !**one).count()
    });
}

#[bench]
fn boxes(b: &mut Bencher) {
    b.iter(|| (0..black_box(100_u64)).map(Box::new).collect::<Vec<_>>());
}

mod hash {
    use super::*;

    fn sip(b: &mut Bencher, size: usize) {
        let data = vec![7_u8; size];
        b.bytes = size as u64;
        b.iter(|| {
            let mut hasher = DefaultHasher::new();
            hasher.write(black_box(&data));
            hasher.finish()
        });
    }

    #[bench]
    fn sip_500(b: &mut Bencher) {
        sip(b, 500);
    }

    #[bench]
    fn sip_4096(b: &mut Bencher) {
        sip(b, 4096);
    }
}

mod collections {
    use super::*;

    #[bench]
    fn tree(b: &mut Bencher) {
        let keys = numbers(500);
        b.iter(|| black_box(&keys).iter().map(|key| (*key, key >> 3)).collect::<BTreeMap<_, _>>());
    }

    #[bench]
    fn hash(b: &mut Bencher) {
        let keys = numbers(500);
        b.iter(|| {
            let pairs = black_box(&keys).iter().map(|key| (*key, key >> 3));
            pairs.collect::<HashMap<_, _, BuildHasherDefault<DefaultHasher>>>()
        });
    }

    #[bench]
    fn heap(b: &mut Bencher) {
        let keys = numbers(500);
        b.iter(|| black_box(&keys).iter().copied().collect::<BinaryHeap<_>>().into_sorted_vec());
    }
}

mod text {
    use super::*;

    #[bench]
    fn join(b: &mut Bencher) {
        let words: Vec<&str> = TEXT.split(' ').cycle().take(100).collect();
        b.iter(|| black_box(&words).join(", "));
    }

    #[bench]
    fn replace(b: &mut Bencher) {
        b.iter(|| black_box(TEXT).replace("was", "is"));
    }

    #[bench]
    fn reverse(b: &mut Bencher) {
        b.iter(|| black_box(TEXT).chars().rev().collect::<String>());
    }

    // Its name begins with that of another benchmark.
    #[bench]
    fn reverse_words(b: &mut Bencher) {
        b.iter(|| black_box(TEXT).split(' ').rev().collect::<Vec<_>>());
    }

    #[bench]
    fn parse(b: &mut Bencher) {
        let texts: Vec<String> = numbers(200).iter().map(|number| number.to_string()).collect();
        b.iter(|| black_box(&texts).iter().filter_map(|text| text.parse::<u64>().ok()).fold(0, u64::wrapping_add));
    }

    #[bench]
    fn format(b: &mut Bencher) {
        b.iter(|| format!("{:>12} {:.3}", black_box(123_456), black_box(2.5)));
    }
}
