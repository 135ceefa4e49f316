//! Strings, parsing and allocation. Names have characters that are special in regular expressions and in shells.
use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion};
use sample_criterion::numbers;

const TEXT: &str = "It was the best of times, it was the worst of times, it was the age of wisdom";

fn strings(c: &mut Criterion) {
    c.bench_function("join words", |b| {
        let words: Vec<&str> = TEXT.split(' ').cycle().take(100).collect();
        b.iter(|| black_box(&words).join(", "))
    });
    let text = TEXT.repeat(20);
    c.bench_function("replace (was|is)+ [x]*", |b| b.iter(|| black_box(TEXT).replace("was", "is")));
    c.bench_function("find 'ages' $1 \\d", |b| b.iter(|| black_box(&text).find("ages")));
    c.bench_function("reverse: benchmark", |b| b.iter(|| black_box(TEXT).chars().rev().collect::<String>()));
    c.bench_function("upper", |b| b.iter(|| black_box(&text).to_uppercase()));
    let mut group = c.benchmark_group("count/words");
    for times in [1, 100] {
        let text = TEXT.repeat(times);
        group.bench_function(format!("{times}x"), |b| b.iter(|| black_box(&text).split_whitespace().count()));
    }
    group.finish();
}

fn parsing(c: &mut Criterion) {
    let texts: Vec<String> = numbers(200).iter().map(|number| number.to_string()).collect();
    c.bench_function("parse::<u64>", |b| {
        b.iter(|| black_box(&texts).iter().filter_map(|text| text.parse::<u64>().ok()).fold(0, u64::wrapping_add))
    });
    c.bench_function("format µ", |b| b.iter(|| format!("{:>12} {:.3}", black_box(123_456), black_box(2.5))));
}

fn allocation(c: &mut Criterion) {
    c.bench_function("boxes", |b| b.iter(|| (0..black_box(100_u64)).map(Box::new).collect::<Vec<_>>()));
}

criterion_group! {
    name = benches;
    // The options of the command line override this sample size.
    config = Criterion::default().sample_size(20);
    targets = strings, parsing, allocation
}
criterion_main!(benches);
