//! Rows of the same key, added up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::mem;

use steady_model::{HostSecond, ProcessRow, ReleaseRow, ReleaseRulerRow as RulerRow, WallRow};

use super::pack::Block;

/// Adds up the rows that have the same key.
pub(super) fn merge(block: &mut Block) {
    block.requests = merged(mem::take(&mut block.requests), request_key, |sum, row| sum.sums += row.sums);
    block.rulers = merged(mem::take(&mut block.rulers), ruler_key, |sum, row| sum.sums += row.sums);
    block.walls = merged(mem::take(&mut block.walls), wall_key, add_wall);
    block.processes = merged(mem::take(&mut block.processes), process_key, |sum, row| {
        sum.cpu += row.cpu;
        sum.requests_cpu += row.requests_cpu;
    });
}

/// Adds the rows of another block.
pub(super) fn append(block: &mut Block, mut other: Block) {
    block.folded += other.folded;
    block.lost += other.lost;
    block.requests.append(&mut other.requests);
    block.rulers.append(&mut other.rulers);
    block.walls.append(&mut other.walls);
    block.seconds.append(&mut other.seconds);
    block.processes.append(&mut other.processes);
}

/// One second's state of the host in place of several: means of what was told.
pub(super) fn mean_second(seconds: &[HostSecond], second: u64) -> Option<HostSecond> {
    let last = seconds.last()?;
    let mean = |reading: fn(&HostSecond) -> Option<f64>| {
        let told: Vec<f64> = seconds.iter().filter_map(reading).collect();
        (!told.is_empty()).then(|| told.iter().sum::<f64>() / told.len() as f64)
    };
    Some(HostSecond {
        second,
        busy: mean(|at| at.busy),
        steal: mean(|at| at.steal),
        pressure: mean(|at| at.pressure),
        running: mean(|at| at.running),
        ..*last
    })
}

fn request_key(row: &ReleaseRow) -> impl Eq + Hash + use<> {
    let slot = (row.span_seconds, row.slot_seconds, row.second_of_pair);
    (row.second, row.host, row.process, row.version, row.route, row.class, row.assignment, slot)
}

fn ruler_key(row: &RulerRow) -> impl Eq + Hash + use<> {
    (row.second, row.host, row.process, row.version, row.ruler)
}

fn process_key(row: &ProcessRow) -> impl Eq + Hash + use<> {
    (row.second, row.slot_seconds, row.host, row.process, row.version)
}

fn wall_key(row: &WallRow) -> impl Eq + Hash + use<> {
    (row.second, row.host, row.version, row.route)
}

/// Both rows' counts, in rising order.
fn add_wall(sum: &mut WallRow, row: WallRow) {
    let mut other = row.counts.into_iter().peekable();
    let mut both = Vec::with_capacity(sum.counts.len() + other.len());
    for (bucket, count) in mem::take(&mut sum.counts) {
        while let Some(before) = other.next_if(|(other, _)| *other < bucket) {
            both.push(before);
        }
        let same = other.next_if(|(other, _)| *other == bucket).map_or(0, |(_, count)| count);
        both.push((bucket, count.saturating_add(same)));
    }
    both.extend(other);
    sum.counts = both;
}

fn merged<R, K: Eq + Hash>(rows: Vec<R>, key: impl Fn(&R) -> K, add: impl Fn(&mut R, R)) -> Vec<R> {
    let mut places = HashMap::with_capacity(rows.len());
    let mut all: Vec<R> = Vec::with_capacity(rows.len());
    for row in rows {
        match places.entry(key(&row)) {
            Entry::Occupied(place) => add(&mut all[*place.get()], row),
            Entry::Vacant(place) => {
                place.insert(all.len());
                all.push(row);
            }
        }
    }
    all
}
