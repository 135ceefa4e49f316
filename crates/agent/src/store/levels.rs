//! The sums of CPU time in levels as bytes. Sums that follow from others, as most do in rows of one request, are left
//! out: a mask has a bit for each that is written.

use steady_model::{LevelSums, RequestSums};

use super::bytes::{Bytes, Why, put, put_signed};

/// How many values [`LevelSums::values`] has.
const VALUES: usize = 14;
/// The positions in [`LevelSums::values`] of the mask's bits, the lowest bit first. Those that are written for most rows
/// of several requests come first, so that the mask takes one byte for them.
const ORDER: [usize; VALUES] = [5, 9, 6, 7, 10, 11, 13, 0, 1, 2, 3, 4, 8, 12];
/// The mask's bits of the two counts, which are written before the values.
const REQUESTS: u64 = 1 << VALUES;
const EXCEEDING: u64 = 1 << (VALUES + 1);

/// The number of requests if it is left out.
fn usual_requests(sums: &RequestSums) -> u64 {
    sums.requests
}

/// A value that is left out, from those before it and the row's other sums.
fn usual_value(sums: &RequestSums, requests: u64, position: usize, before: &[f64]) -> f64 {
    // Added to 0 as sums are, so that a product that is -0 becomes 0.
    let product = |one: usize, other: usize| 0.0 + before[one] * before[other];
    match position {
        _ if requests == 0 => 0.0,
        0 => sums.cpu,
        1 if before[0].to_bits() == sums.cpu.to_bits() => sums.cpu_squared,
        1 => product(0, 0),
        2 => sums.cpu - before[0],
        3 => product(2, 2),
        4 => product(0, 2),
        6 => product(5, 5),
        7 => product(5, 0),
        8 => product(5, 2),
        10 => product(9, 9),
        11 => product(9, 0),
        12 => product(9, 2),
        13 => product(5, 9),
        _ => 0.0,
    }
}

/// Appends `sums.levels`.
pub(super) fn put_levels(out: &mut Vec<u8>, sums: &RequestSums) {
    let levels = &sums.levels;
    let values = levels.values();
    let is_written = |position: usize| {
        let usual = usual_value(sums, levels.requests, position, &values[..position]);
        values[position].to_bits() != usual.to_bits()
    };
    let written = ORDER.iter().enumerate().filter(|(_, position)| is_written(**position));
    let mut mask = written.fold(0, |mask, (bit, _)| mask | 1 << bit);
    mask |= if levels.requests == usual_requests(sums) { 0 } else { REQUESTS };
    mask |= if levels.exceeding == 0 { 0 } else { EXCEEDING };
    put(out, mask);
    if mask & REQUESTS != 0 {
        put(out, levels.requests);
    }
    if mask & EXCEEDING != 0 {
        put(out, levels.exceeding);
    }
    for (_, position) in ORDER.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1) {
        put_signed(out, values[*position]);
    }
}

/// Reads the levels of a row whose other sums are `sums`.
pub(super) fn levels(bytes: &mut Bytes<'_>, sums: &RequestSums) -> Result<LevelSums, Why> {
    let mask = bytes.whole()?;
    if mask >> (VALUES + 2) != 0 {
        return Err("a row has sums that nobody knows");
    }
    let requests = if mask & REQUESTS == 0 { usual_requests(sums) } else { bytes.whole()? };
    let exceeding = if mask & EXCEEDING == 0 { 0 } else { bytes.whole()? };
    let mut written = [None; VALUES];
    for (_, position) in ORDER.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1) {
        written[*position] = Some(bytes.signed()?);
    }
    let mut values = [0.0; VALUES];
    for position in 0..VALUES {
        let usual = || usual_value(sums, requests, position, &values[..position]);
        values[position] = written[position].unwrap_or_else(usual);
    }
    Ok(LevelSums::from_values(requests, exceeding, values))
}
