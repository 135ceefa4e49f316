//! Calls of some seven hundred small functions in permuted order: the fetching of instructions, with all that a program that was
//! just doing something else has to get back.

use core::hint::black_box;

use super::functions::{FUNCTIONS, Function, mix};

/// Any fixed order without a pattern would do; this one is drawn while compiling.
static ORDER: [Function; FUNCTIONS.len()] = permuted(FUNCTIONS);

const fn permuted<const N: usize>(mut functions: [Function; N]) -> [Function; N] {
    let mut left = N;
    while left > 1 {
        let drawn = (mix(left as u64) % left as u64) as usize;
        left -= 1;
        functions.swap(left, drawn);
    }
    functions
}

pub(super) fn run() {
    black_box(ORDER.iter().fold(black_box(1), |value, function| function(value)));
}
