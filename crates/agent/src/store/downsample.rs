//! Downsampling: combines the seconds of a ten-second interval into one block, by adding up rows with the same key.
//! Rows of requests in slots keep their second, because an interval may have several slots.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::mem;

use rusqlite::TransactionBehavior;
use steady_model::{Assignment, HostSecond, ProcessRow, ReleaseRow, ReleaseRulerRow as RulerRow, WallRow};

use super::pack::Block;
use super::schema::whole;
use super::writer::insert_block;
use super::{StoreError, Writer};

/// The length of an interval, in seconds.
pub(super) const SECONDS: u32 = 10;
/// The value of the column `grain` for blocks that were downsampled.
pub(super) const DOWNSAMPLED: u32 = 1;

/// Downsamples the oldest interval that has not been yet, if it ends before second `before`. Returns whether there was
/// one.
pub(super) fn oldest(writer: &mut Writer, before: u64) -> Result<bool, StoreError> {
    let transaction = writer.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let query = "SELECT min(second) FROM blocks WHERE grain = 0";
    let oldest: Option<i64> = transaction.query_row(query, [], |row| row.get(0))?;
    let Some(oldest) = oldest.and_then(|second| u64::try_from(second).ok()) else { return Ok(false) };
    let seconds = u64::from(SECONDS);
    let begin = oldest / seconds * seconds;
    if begin + seconds > before {
        return Ok(false);
    }
    let (mut ids, mut owners) = (Vec::new(), BTreeMap::<(u32, u32), Vec<(u64, Block)>>::new());
    {
        let query = "SELECT id, service, host, second, rows FROM blocks
            WHERE grain = 0 AND second >= ?1 AND second < ?2 ORDER BY second";
        let mut query = transaction.prepare_cached(query)?;
        let mut found = query.query((whole(begin), whole(begin + seconds)))?;
        while let Some(row) = found.next()? {
            ids.push(row.get::<_, i64>(0)?);
            let second = u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
            let damaged = |why| StoreError::Damaged { second, why };
            let bytes = row.get_ref(4)?.as_blob().map_err(|_| damaged("the column rows is not a blob"))?;
            // A damaged block is removed, because it cannot be read later either.
            if let Ok(block) = Block::unpack(bytes, second, 0) {
                owners.entry((row.get(1)?, row.get(2)?)).or_default().push((second, block));
            }
        }
    }
    for ((service, host), blocks) in owners {
        for (second, block) in downsampled(begin, blocks) {
            insert_block(&transaction, service, host, second, DOWNSAMPLED, &block)?;
        }
    }
    let mut remove = transaction.prepare_cached("DELETE FROM blocks WHERE id = ?1")?;
    for id in ids {
        remove.execute([id])?;
    }
    drop(remove);
    transaction.commit()?;
    Ok(true)
}

/// Sets the number of seconds that the rows of a downsampled block cover, which its blob does not have. Rows of slots
/// still cover their slot.
pub(super) fn set_span(block: &mut Block) {
    let combined = block.requests.iter_mut().filter(|row| row.assignment != Assignment::Slot);
    combined.for_each(|row| row.span_seconds = SECONDS);
}

/// Returns one block in place of those of the interval from second `begin`, and one for each second in which a slot
/// begins.
fn downsampled(begin: u64, blocks: Vec<(u64, Block)>) -> BTreeMap<u64, Block> {
    let mut all = BTreeMap::<u64, Block>::new();
    let mut sum = Block::default();
    for (second, mut block) in blocks {
        let (slots, rest) =
            mem::take(&mut block.requests).into_iter().partition(|row| row.assignment == Assignment::Slot);
        block.requests = rest;
        let (of_slots, rest) = mem::take(&mut block.processes).into_iter().partition(|row| row.slot_seconds > 0);
        block.processes = rest;
        let slots = Block { requests: slots, processes: of_slots, ..Block::default() };
        // Rulers that ran before requests in slots keep the second of the slot.
        if !slots.is_empty() {
            let rulers = mem::take(&mut block.rulers);
            let slots = Block { rulers, ..slots };
            append(all.entry(second).or_default(), slots);
        }
        append(&mut sum, block);
    }
    sum.requests.iter_mut().for_each(|row| row.second = begin);
    sum.rulers.iter_mut().for_each(|row| row.second = begin);
    sum.processes.iter_mut().for_each(|row| row.second = begin);
    sum.seconds = mean_second(&sum.seconds, begin).into_iter().collect();
    append(all.entry(begin).or_default(), sum);
    all.values_mut().for_each(merge);
    all.retain(|_, block| !block.is_empty());
    all
}

/// Adds up the rows of a block that have the same key.
pub(super) fn merge(block: &mut Block) {
    block.requests = merged(mem::take(&mut block.requests), request_key, |sum, row| sum.sums += row.sums);
    block.rulers = merged(mem::take(&mut block.rulers), ruler_key, |sum, row| sum.sums += row.sums);
    block.walls = merged(mem::take(&mut block.walls), wall_key, add_wall);
    block.processes = merged(mem::take(&mut block.processes), process_key, |sum, row| {
        sum.cpu += row.cpu;
        sum.requests_cpu += row.requests_cpu;
    });
}

/// Appends the rows of another block, and adds its counts.
pub(super) fn append(block: &mut Block, mut other: Block) {
    block.folded += other.folded;
    block.lost = block.lost.saturating_add(other.lost);
    block.requests.append(&mut other.requests);
    block.rulers.append(&mut other.rulers);
    block.walls.append(&mut other.walls);
    block.seconds.append(&mut other.seconds);
    block.processes.append(&mut other.processes);
}

/// Combines the load of the host in several seconds into one row: the mean of each reading over the seconds that have
/// it.
pub(super) fn mean_second(seconds: &[HostSecond], second: u64) -> Option<HostSecond> {
    let last = seconds.last()?;
    let mean = |reading: fn(&HostSecond) -> Option<f64>| {
        let readings: Vec<f64> = seconds.iter().filter_map(reading).collect();
        (!readings.is_empty()).then(|| readings.iter().sum::<f64>() / readings.len() as f64)
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

/// Adds the counts of a row; both have their buckets in ascending order, and so has the sum.
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
