//! Benchmarks of different kinds: with arguments, types, constants, inputs, groups and names with special characters.
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use divan::counter::BytesCount;
use divan::{black_box, Bencher};
use sample_divan::{next, numbers, work};

const TEXT: &str = "It was the best of times, it was the worst of times, it was the age of wisdom";

fn main() {
    divan::main();
}

#[divan::bench]
fn changed(bencher: Bencher) {
    let rounds = work();
    bencher.bench(|| {
        let mut state = black_box(1);
        (0..rounds).fold(0, |sum: u64, _| sum.wrapping_add(next(&mut state)))
    });
}

#[divan::bench]
fn gcd() -> u64 {
    let (mut a, mut b) = black_box((12_586_269_025_u64, 7_778_742_049));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[divan::bench]
fn matrix() -> [[f64; 8]; 8] {
    let a = black_box([[1.5_f64; 8]; 8]);
    std::array::from_fn(|row| std::array::from_fn(|column| (0..8).map(|one| a[row][one] * a[one][column]).sum()))
}

// The measured time is that of the suite, unless a command overrides it.
#[divan::bench(min_time = 0.5, max_time = 1)]
fn boxes() -> Vec<Box<u64>> {
    (0..black_box(100)).map(Box::new).collect()
}

#[divan::bench(args = [100, 10_000])]
fn sort(bencher: Bencher, size: usize) {
    bencher.with_inputs(|| numbers(size)).bench_values(|mut data| {
        data.sort_unstable();
        data
    });
}

#[divan::bench(types = [Vec<u64>, VecDeque<u64>, BTreeSet<u64>])]
fn collect<T: FromIterator<u64>>() -> T {
    (0..black_box(1000)).filter(|number| number % 3 == 0).collect()
}

#[divan::bench(consts = [500, 4096])]
fn hash<const SIZE: usize>(bencher: Bencher) {
    let data = [7_u8; SIZE];
    bencher.counter(BytesCount::of_slice(&data)).bench(|| {
        let mut hasher = DefaultHasher::new();
        hasher.write(black_box(&data));
        hasher.finish()
    });
}

#[divan::bench_group(name = "maps and sets")]
mod maps {
    use super::*;

    #[divan::bench]
    fn tree(bencher: Bencher) {
        let keys = numbers(500);
        bencher.bench(|| black_box(&keys).iter().map(|key| (*key, key >> 3)).collect::<BTreeMap<_, _>>());
    }

    #[divan::bench]
    fn hash(bencher: Bencher) {
        let keys = numbers(500);
        bencher.bench(|| {
            let pairs = black_box(&keys).iter().map(|key| (*key, key >> 3));
            pairs.collect::<HashMap<_, _, BuildHasherDefault<DefaultHasher>>>()
        });
    }
}

mod text {
    use super::*;

    #[divan::bench(name = "replace (was|is)+ [x]*")]
    fn replace() -> String {
        black_box(TEXT).replace("was", "is")
    }

    #[divan::bench(name = "find 'ages'/$1")]
    fn find(bencher: Bencher) {
        let text = TEXT.repeat(20);
        bencher.bench(|| black_box(&text).find("ages"));
    }

    #[divan::bench(args = ["a b", "x", "1.5 µs"])]
    fn upper(text: &str) -> String {
        text.repeat(200).to_uppercase()
    }

    #[divan::bench]
    fn reverse() -> String {
        black_box(TEXT).chars().rev().collect()
    }

    #[divan::bench]
    fn parse(bencher: Bencher) {
        let texts: Vec<String> = numbers(200).iter().map(|number| number.to_string()).collect();
        bencher
            .bench(|| black_box(&texts).iter().filter_map(|text| text.parse::<u64>().ok()).fold(0, u64::wrapping_add));
    }
}
