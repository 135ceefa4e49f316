//! A thousand small functions, no two of them alike.

use crate::random::mix;

/// A function of some tens of bytes.
pub(super) type Function = fn(u64) -> u64;

/// The function with number `N`: its constants are its own, and stand in its code, so that it is of some length but
/// takes only a few cycles.
#[inline(never)]
fn function<const N: u64>(value: u64) -> u64 {
    let value = (value ^ const { mix(4 * N + 1) }).rotate_left(19).wrapping_add(const { mix(4 * N + 2) });
    (value ^ const { mix(4 * N + 3) }).rotate_left(29).wrapping_add(const { mix(4 * N + 4) })
}

/// What `$each` makes of sixteen numbers from 16 x `$base` on.
macro_rules! sixteen {
    ($each:ident, $base:expr) => {
        [
            $each!($base * 16),
            $each!($base * 16 + 1),
            $each!($base * 16 + 2),
            $each!($base * 16 + 3),
            $each!($base * 16 + 4),
            $each!($base * 16 + 5),
            $each!($base * 16 + 6),
            $each!($base * 16 + 7),
            $each!($base * 16 + 8),
            $each!($base * 16 + 9),
            $each!($base * 16 + 10),
            $each!($base * 16 + 11),
            $each!($base * 16 + 12),
            $each!($base * 16 + 13),
            $each!($base * 16 + 14),
            $each!($base * 16 + 15),
        ]
    };
}

/// The function with a number.
macro_rules! one {
    ($number:expr) => {
        function::<{ $number }> as Function
    };
}

/// Sixteen functions.
macro_rules! sixteen_functions {
    ($base:expr) => {
        sixteen!(one, $base)
    };
}

/// Sixteen times sixteen functions.
macro_rules! sixteen_rows {
    ($base:expr) => {
        sixteen!(sixteen_functions, $base)
    };
}

/// The functions, in the order of their numbers.
pub(super) static FUNCTIONS: [[[Function; 16]; 16]; 4] =
    [sixteen_rows!(0), sixteen_rows!(1), sixteen_rows!(2), sixteen_rows!(3)];
