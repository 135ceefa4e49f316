//! What both programs of the suite use.

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

/// The amount of work of the benchmark `changed`.
pub fn work() -> u64 {
    std::env::var("SAMPLE_WORK").map_or(1000, |text| text.parse().expect("SAMPLE_WORK is a number"))
}
