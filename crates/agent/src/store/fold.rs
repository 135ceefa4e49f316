//! Old seconds, folded together by tens. Rows of slots stay as they are, for a ten may hold several slots. Rows of the same key
//! are added up.

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

/// How many seconds are folded together.
const SECONDS: u32 = 10;
/// The grain of what has been gone through, folded or not.
pub(super) const GONE_THROUGH: u32 = 1;

/// Folds the oldest ten that has not been, where it lies before second `before` altogether; whether there was one.
pub(super) fn oldest(writer: &mut Writer, before: u64) -> Result<bool, StoreError> {
    let transaction = writer.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let query = "SELECT min(second) FROM blocks WHERE grain = 0";
    let oldest: Option<i64> = transaction.query_row(query, [], |row| row.get(0))?;
    let Some(oldest) = oldest.and_then(|second| u64::try_from(second).ok()) else { return Ok(false) };
    let seconds = u64::from(SECONDS);
    let ten = oldest / seconds * seconds;
    if ten + seconds > before {
        return Ok(false);
    }
    let (mut ids, mut whose) = (Vec::new(), BTreeMap::<(u32, u32), Vec<(u64, Block)>>::new());
    {
        let query = "SELECT id, service, host, second, rows FROM blocks
            WHERE grain = 0 AND second >= ?1 AND second < ?2 ORDER BY second";
        let mut query = transaction.prepare_cached(query)?;
        let mut found = query.query((whole(ten), whole(ten + seconds)))?;
        while let Some(row) = found.next()? {
            ids.push(row.get::<_, i64>(0)?);
            let second = u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
            let damaged = |why| StoreError::Damaged { second, why };
            let bytes = row.get_ref(4)?.as_blob().map_err(|_| damaged("it is no block"))?;
            // One that cannot be read is not kept for ever: what it held is lost either way.
            if let Ok(block) = Block::unpack(bytes, second, 0) {
                whose.entry((row.get(1)?, row.get(2)?)).or_default().push((second, block));
            }
        }
    }
    for ((service, host), blocks) in whose {
        for (second, block) in folded(ten, blocks) {
            insert_block(&transaction, service, host, second, GONE_THROUGH, &block)?;
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

/// Says of rows that were gone through how many seconds they stand for, which is not kept: those of slots stayed as
/// they were.
pub(super) fn stand_for_tens(block: &mut Block) {
    let folded = block.requests.iter_mut().filter(|row| row.assignment != Assignment::Slot);
    folded.for_each(|row| row.span_seconds = SECONDS);
}

/// One block in place of those of a ten, and one for each second in which a slot begins.
fn folded(ten: u64, blocks: Vec<(u64, Block)>) -> BTreeMap<u64, Block> {
    let mut all = BTreeMap::<u64, Block>::new();
    let mut sum = Block::default();
    for (second, mut block) in blocks {
        let (slots, rest) =
            mem::take(&mut block.requests).into_iter().partition(|row| row.assignment == Assignment::Slot);
        block.requests = rest;
        let (of_slots, rest) = mem::take(&mut block.processes).into_iter().partition(|row| row.slot_seconds > 0);
        block.processes = rest;
        let slots = Block { requests: slots, processes: of_slots, ..Block::default() };
        // Rulers that ran before requests of slots stay with them.
        if !slots.is_empty() {
            let rulers = mem::take(&mut block.rulers);
            let slots = Block { rulers, ..slots };
            append(all.entry(second).or_default(), slots);
        }
        append(&mut sum, block);
    }
    sum.requests.iter_mut().for_each(|row| row.second = ten);
    sum.rulers.iter_mut().for_each(|row| row.second = ten);
    sum.processes.iter_mut().for_each(|row| row.second = ten);
    sum.seconds = mean_second(&sum.seconds, ten).into_iter().collect();
    append(all.entry(ten).or_default(), sum);
    all.values_mut().for_each(merge);
    all.retain(|_, block| !block.is_empty());
    all
}

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
