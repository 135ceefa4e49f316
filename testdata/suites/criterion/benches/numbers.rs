//! Arithmetic, hashing, sorting and maps.
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;

use criterion::{criterion_group, criterion_main, BatchSize, BenchmarkId, Criterion, Throughput};
use sample_criterion::{next, numbers, work};

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

fn arithmetic(c: &mut Criterion) {
    let rounds = work();
    c.bench_function("changed", |b| {
        b.iter(|| {
            let mut state = black_box(1);
            (0..rounds).fold(0, |sum: u64, _| sum.wrapping_add(next(&mut state)))
        })
    });
    c.bench_function("gcd", |b| b.iter(|| gcd(black_box(12_586_269_025), black_box(7_778_742_049))));
    c.bench_function("sieve", |b| {
        b.iter(|| {
            let mut composite = vec![false; black_box(2000)];
            for one in 2..composite.len() {
                for multiple in (one * one..composite.len()).step_by(one) {
                    composite[multiple] = true;
                }
            }
            composite.iter().filter(|one| !**one).count()
        })
    });
}

fn hashing(c: &mut Criterion) {
    let mut group = c.benchmark_group("hash");
    for size in [500, 4096] {
        let data = vec![7_u8; size];
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_with_input(BenchmarkId::new("sip", size), &data, |b, data| {
            b.iter(|| {
                let mut hasher = DefaultHasher::new();
                hasher.write(black_box(data));
                hasher.finish()
            })
        });
    }
    group.finish();
}

fn sorting(c: &mut Criterion) {
    let mut group = c.benchmark_group("sort");
    for size in [100, 10_000] {
        let data = numbers(size);
        group.bench_with_input(BenchmarkId::from_parameter(size), &data, |b, data| {
            b.iter_batched(
                || data.clone(),
                |mut data| {
                    data.sort_unstable();
                    data
                },
                BatchSize::SmallInput,
            )
        });
    }
    group.finish();
}

fn collections(c: &mut Criterion) {
    let keys = numbers(500);
    c.bench_function("map/hash", |b| {
        b.iter(|| {
            let pairs = black_box(&keys).iter().map(|key| (*key, key >> 3));
            pairs.collect::<HashMap<_, _, BuildHasherDefault<DefaultHasher>>>()
        })
    });
    c.bench_function("map/tree", |b| {
        b.iter(|| black_box(&keys).iter().map(|key| (*key, key >> 3)).collect::<BTreeMap<_, _>>())
    });
    c.bench_function("heap", |b| {
        b.iter(|| black_box(&keys).iter().copied().collect::<BinaryHeap<_>>().into_sorted_vec())
    });
}

criterion_group!(benches, arithmetic, hashing, sorting, collections);
criterion_main!(benches);
