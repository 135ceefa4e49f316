//! Encodes the sums of a row. A value that equals the one expected from the values before it is left out, as most are
//! in rows of one request. A bit mask has a bit for each value that is written. docs/agent.md documents the format.

use steady_model::{LevelSums, RequestSums};

use super::bytes::{Bytes, Why, put, put_double, put_signed, put_whole};

/// The format of a blob, which is its first byte. New blobs have the last format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Has no sums in levels, classes or CPU time of processes.
    First = 1,
    /// Has sums in levels, classes and CPU time of processes.
    Levels = 2,
}

/// The number of counts that may be left out. They have the lowest bits of the mask.
const COUNTS: usize = 4;
/// The number of doubles with usually whole values that may be left out. Their bits follow.
const WHOLE: usize = 4;
/// The number of other doubles that may be left out. Their bits follow.
const DOUBLES: usize = 7;

/// The sums that are always written.
#[derive(Clone, Copy)]
struct Known {
    requests: u64,
    cpu: f64,
    log: f64,
    wall: f64,
}

/// Returns the expected counts: first requests of a process, failed, with a request before, watched.
fn expected_counts(requests: u64) -> [u64; COUNTS] {
    [0, 0, requests, requests]
}

/// Returns the expected values in the order of [`whole_of`].
fn expected_whole(known: &Known, watched: u64) -> [f64; WHOLE] {
    let [cpu, wall] = if watched == 0 { [0.0; 2] } else { [known.cpu, known.wall] };
    [known.cpu * known.cpu, cpu, wall, 0.0]
}

fn counts_of(sums: &RequestSums) -> [u64; COUNTS] {
    [sums.first_requests, sums.failed, sums.with_before, sums.watched]
}

/// Squares of CPU time; CPU time, wall time and delay of watched requests.
fn whole_of(sums: &RequestSums) -> [f64; WHOLE] {
    [sums.cpu_squared, sums.watched_cpu, sums.watched_wall, sums.watched_delay]
}

fn doubles_of(sums: &RequestSums) -> [f64; DOUBLES] {
    [
        sums.before,
        sums.wall_log,
        sums.log_squared,
        sums.before_squared,
        sums.before_log,
        sums.log_with_before,
        sums.wall_log_squared,
    ]
}

/// Returns the expected value at a place in [`doubles_of`], from the values at the places before it.
fn expected_double(known: &Known, with_before: u64, place: usize, values: &[f64; DOUBLES]) -> f64 {
    let [before, wall_log] = [values[0], values[1]];
    match place {
        2 => known.log * known.log,
        3 => before * before,
        4 => before * known.log,
        5 if with_before > 0 => known.log,
        6 => wall_log * wall_log,
        _ => 0.0,
    }
}

/// Appends the sums of a row.
pub(super) fn put_sums(out: &mut Vec<u8>, sums: &RequestSums) {
    let known = Known { requests: sums.requests, cpu: sums.cpu, log: sums.log, wall: sums.wall };
    let (counts, whole, doubles) = (counts_of(sums), whole_of(sums), doubles_of(sums));
    let (expected, expected_whole) = (expected_counts(known.requests), expected_whole(&known, sums.watched));
    let is_written = |place: usize| match place {
        _ if place < COUNTS => counts[place] != expected[place],
        _ if place < COUNTS + WHOLE => whole[place - COUNTS].to_bits() != expected_whole[place - COUNTS].to_bits(),
        _ => {
            let place = place - COUNTS - WHOLE;
            doubles[place].to_bits() != expected_double(&known, sums.with_before, place, &doubles).to_bits()
        }
    };
    let mask =
        (0..COUNTS + WHOLE + DOUBLES).filter(|&place| is_written(place)).fold(0, |mask, place| mask | 1 << place);
    put(out, known.requests);
    put_whole(out, known.cpu);
    put_double(out, known.log);
    put_whole(out, known.wall);
    put(out, mask);
    counts.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1).for_each(|(_, &value)| put(out, value));
    let rest = |values: &[f64], first: usize, put: fn(&mut Vec<u8>, f64), out: &mut Vec<u8>| {
        let written = values.iter().enumerate().filter(|(place, _)| mask >> (first + place) & 1 == 1);
        written.for_each(|(_, &value)| put(out, value));
    };
    rest(&whole, COUNTS, put_whole, out);
    rest(&doubles, COUNTS + WHOLE, put_double, out);
    put_levels(out, sums);
}

/// Reads the sums of a row.
pub(super) fn sums(bytes: &mut Bytes<'_>, format: Format) -> Result<RequestSums, Why> {
    let requests = bytes.whole()?;
    let known = Known { requests, cpu: bytes.whole_double()?, log: bytes.double()?, wall: bytes.whole_double()? };
    let mask = bytes.whole()?;
    if mask >> (COUNTS + WHOLE + DOUBLES) != 0 {
        return Err("a row has sums of an unknown kind");
    }
    let mut counts = expected_counts(requests);
    for (_, count) in counts.iter_mut().enumerate().filter(|(place, _)| mask >> place & 1 == 1) {
        *count = bytes.whole()?;
    }
    let [first_requests, failed, with_before, watched] = counts;
    let mut whole = expected_whole(&known, watched);
    for (_, value) in whole.iter_mut().enumerate().filter(|(place, _)| mask >> (COUNTS + place) & 1 == 1) {
        *value = bytes.whole_double()?;
    }
    let mut doubles = [0.0; DOUBLES];
    for place in 0..DOUBLES {
        let is_written = mask >> (COUNTS + WHOLE + place) & 1 == 1;
        doubles[place] =
            if is_written { bytes.double()? } else { expected_double(&known, with_before, place, &doubles) };
    }
    let [cpu_squared, watched_cpu, watched_wall, watched_delay] = whole;
    let [before, wall_log, log_squared, before_squared, before_log, log_with_before, wall_log_squared] = doubles;
    let Known { cpu, log, wall, .. } = known;
    let mut sums = RequestSums {
        requests,
        first_requests,
        failed,
        cpu,
        cpu_squared,
        log,
        log_squared,
        with_before,
        before,
        before_squared,
        before_log,
        log_with_before,
        wall,
        wall_log,
        wall_log_squared,
        watched,
        watched_cpu,
        watched_wall,
        watched_delay,
        levels: LevelSums::default(),
    };
    if format == Format::Levels {
        sums.levels = levels(bytes, &sums)?;
    }
    Ok(sums)
}

/// The length of [`LevelSums::values`].
const VALUES: usize = 14;
/// The positions in [`LevelSums::values`] of the mask's bits, the lowest bit first. Values that are written for most
/// rows of several requests have the lowest bits, so that their mask needs only one byte.
const ORDER: [usize; VALUES] = [5, 9, 6, 7, 10, 11, 13, 0, 1, 2, 3, 4, 8, 12];
/// The mask's bits for the two counts, which are written before the values.
const REQUESTS: u64 = 1 << VALUES;
const EXCEEDING: u64 = 1 << (VALUES + 1);

/// Returns the expected number of requests in the sums in levels.
fn expected_requests(sums: &RequestSums) -> u64 {
    sums.requests
}

/// Returns the expected value at a position in [`LevelSums::values`], from the values before it and the row's other
/// sums.
fn expected_value(sums: &RequestSums, requests: u64, position: usize, before: &[f64]) -> f64 {
    // Sums start at 0, so a product of -0 gives a sum of 0.
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

/// Appends the sums in levels of a row.
pub(super) fn put_levels(out: &mut Vec<u8>, sums: &RequestSums) {
    let levels = &sums.levels;
    let values = levels.values();
    let is_written = |position: usize| {
        let expected = expected_value(sums, levels.requests, position, &values[..position]);
        values[position].to_bits() != expected.to_bits()
    };
    let written = ORDER.iter().enumerate().filter(|(_, position)| is_written(**position));
    let mut mask = written.fold(0, |mask, (bit, _)| mask | 1 << bit);
    mask |= if levels.requests == expected_requests(sums) { 0 } else { REQUESTS };
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

/// Reads the sums in levels of a row whose other sums are `sums`.
pub(super) fn levels(bytes: &mut Bytes<'_>, sums: &RequestSums) -> Result<LevelSums, Why> {
    let mask = bytes.whole()?;
    if mask >> (VALUES + 2) != 0 {
        return Err("a row has sums of an unknown kind");
    }
    let requests = if mask & REQUESTS == 0 { expected_requests(sums) } else { bytes.whole()? };
    let exceeding = if mask & EXCEEDING == 0 { 0 } else { bytes.whole()? };
    let mut written = [None; VALUES];
    for (_, position) in ORDER.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1) {
        written[*position] = Some(bytes.signed()?);
    }
    let mut values = [0.0; VALUES];
    for position in 0..VALUES {
        let expected = || expected_value(sums, requests, position, &values[..position]);
        values[position] = written[position].unwrap_or_else(expected);
    }
    Ok(LevelSums::from_values(requests, exceeding, values))
}
