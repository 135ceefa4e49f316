//! Seven hundred small, different functions.

pub(super) type Function = fn(u64) -> u64;

/// Returns the hash of a number (splitmix64).
pub(super) const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The function with number `N`. Its constants are immediate operands, so that its code is long but takes only
/// a few cycles.
#[inline(never)]
fn function<const N: u64>(value: u64) -> u64 {
    let value = (value ^ const { mix(8 * N) }).rotate_left(19).wrapping_add(const { mix(8 * N + 1) });
    let value = (value ^ const { mix(8 * N + 2) }).rotate_left(29).wrapping_add(const { mix(8 * N + 3) });
    let value = (value ^ const { mix(8 * N + 4) }).rotate_left(11).wrapping_add(const { mix(8 * N + 5) });
    (value ^ const { mix(8 * N + 6) }).rotate_left(37).wrapping_add(const { mix(8 * N + 7) })
}

/// Ten functions, from number `10 * $base` on.
macro_rules! ten {
    ($base:expr) => {
        [
            function::<{ $base * 10 }> as Function,
            function::<{ $base * 10 + 1 }>,
            function::<{ $base * 10 + 2 }>,
            function::<{ $base * 10 + 3 }>,
            function::<{ $base * 10 + 4 }>,
            function::<{ $base * 10 + 5 }>,
            function::<{ $base * 10 + 6 }>,
            function::<{ $base * 10 + 7 }>,
            function::<{ $base * 10 + 8 }>,
            function::<{ $base * 10 + 9 }>,
        ]
    };
}

/// A hundred functions, from number `100 * $base` on.
macro_rules! hundred {
    ($base:expr) => {
        [
            ten!($base * 10),
            ten!($base * 10 + 1),
            ten!($base * 10 + 2),
            ten!($base * 10 + 3),
            ten!($base * 10 + 4),
            ten!($base * 10 + 5),
            ten!($base * 10 + 6),
            ten!($base * 10 + 7),
            ten!($base * 10 + 8),
            ten!($base * 10 + 9),
        ]
    };
}

const HUNDREDS: usize = 7;

const ROWS: [[[Function; 10]; 10]; HUNDREDS] =
    [hundred!(0), hundred!(1), hundred!(2), hundred!(3), hundred!(4), hundred!(5), hundred!(6)];

/// The functions, in the order of their numbers.
pub(super) const FUNCTIONS: [Function; HUNDREDS * 100] = flat();

const fn flat() -> [Function; HUNDREDS * 100] {
    let mut all = [ROWS[0][0][0]; HUNDREDS * 100];
    let mut number = 0;
    while number < all.len() {
        all[number] = ROWS[number / 100][number / 10 % 10][number % 10];
        number += 1;
    }
    all
}
