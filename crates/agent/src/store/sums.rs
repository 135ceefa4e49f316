//! The sums of a row as bytes. What follows from the sums before it, as most do in rows of one request, is left out: a mask tells
//! which stand there.

use steady_model::{LevelSums, RequestSums};

use super::bytes::{Bytes, Why, put, put_double, put_signed, put_whole};

/// The format of a block, which is its first byte. New blocks have the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Without sums in levels, classes and CPU time of processes.
    First = 1,
    /// With them.
    Levels = 2,
}

/// The sums that may be left out, in the order of the mask's bits, the lowest first: whole numbers, ...
const COUNTS: usize = 4;
/// ... doubles that are mostly whole, ...
const WHOLE: usize = 4;
/// ... and others.
const DOUBLES: usize = 7;

/// What is always there.
#[derive(Clone, Copy)]
struct Known {
    requests: u64,
    cpu: f64,
    log: f64,
    wall: f64,
}

/// What the counts are unless something else is said: those of warming and failed, with a request before, watched.
fn usual_counts(requests: u64) -> [u64; COUNTS] {
    [0, 0, requests, requests]
}

/// The square of CPU time; watched CPU time, wall time and delay; their order is that of [`whole_of`].
fn usual_whole(known: &Known, watched: u64) -> [f64; WHOLE] {
    let [cpu, wall] = if watched == 0 { [0.0; 2] } else { [known.cpu, known.wall] };
    [known.cpu * known.cpu, cpu, wall, 0.0]
}

fn counts_of(sums: &RequestSums) -> [u64; COUNTS] {
    [sums.warming, sums.failed, sums.with_before, sums.watched]
}

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

/// What the others are, of those before them.
fn usual_double(known: &Known, with_before: u64, place: usize, so_far: &[f64; DOUBLES]) -> f64 {
    let [before, wall_log] = [so_far[0], so_far[1]];
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
    let (usual, usually) = (usual_counts(known.requests), usual_whole(&known, sums.watched));
    let is_told = |place: usize| match place {
        _ if place < COUNTS => counts[place] != usual[place],
        _ if place < COUNTS + WHOLE => whole[place - COUNTS].to_bits() != usually[place - COUNTS].to_bits(),
        _ => {
            let place = place - COUNTS - WHOLE;
            doubles[place].to_bits() != usual_double(&known, sums.with_before, place, &doubles).to_bits()
        }
    };
    let mask = (0..COUNTS + WHOLE + DOUBLES).filter(|&place| is_told(place)).fold(0, |mask, place| mask | 1 << place);
    put(out, known.requests);
    put_whole(out, known.cpu);
    put_double(out, known.log);
    put_whole(out, known.wall);
    put(out, mask);
    counts.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1).for_each(|(_, &value)| put(out, value));
    let rest = |values: &[f64], first: usize, put: fn(&mut Vec<u8>, f64), out: &mut Vec<u8>| {
        let told = values.iter().enumerate().filter(|(place, _)| mask >> (first + place) & 1 == 1);
        told.for_each(|(_, &value)| put(out, value));
    };
    rest(&whole, COUNTS, put_whole, out);
    rest(&doubles, COUNTS + WHOLE, put_double, out);
    put_levels(out, sums);
}

/// The sums of a row.
pub(super) fn sums(bytes: &mut Bytes<'_>, format: Format) -> Result<RequestSums, Why> {
    let requests = bytes.whole()?;
    let known = Known { requests, cpu: bytes.whole_double()?, log: bytes.double()?, wall: bytes.whole_double()? };
    let mask = bytes.whole()?;
    if mask >> (COUNTS + WHOLE + DOUBLES) != 0 {
        return Err("a row has sums that nobody knows");
    }
    let mut counts = usual_counts(requests);
    for (_, count) in counts.iter_mut().enumerate().filter(|(place, _)| mask >> place & 1 == 1) {
        *count = bytes.whole()?;
    }
    let [warming, failed, with_before, watched] = counts;
    let mut whole = usual_whole(&known, watched);
    for (_, value) in whole.iter_mut().enumerate().filter(|(place, _)| mask >> (COUNTS + place) & 1 == 1) {
        *value = bytes.whole_double()?;
    }
    let mut doubles = [0.0; DOUBLES];
    for place in 0..DOUBLES {
        let told = mask >> (COUNTS + WHOLE + place) & 1 == 1;
        doubles[place] = if told { bytes.double()? } else { usual_double(&known, with_before, place, &doubles) };
    }
    let [cpu_squared, watched_cpu, watched_wall, watched_delay] = whole;
    let [before, wall_log, log_squared, before_squared, before_log, log_with_before, wall_log_squared] = doubles;
    let Known { cpu, log, wall, .. } = known;
    let mut sums = RequestSums {
        requests,
        warming,
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
