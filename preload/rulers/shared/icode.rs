//! The ruler "icode": calls seven hundred small functions in permuted order. It depends on instruction fetch, and on
//! what a program that ran other code before has to load again.

use core::hint::black_box;

use super::functions::{FUNCTIONS, Function, mix};

/// A fixed permutation without a pattern, computed at compile time.
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
