//! Finding a symbol by its name, by the tables that linkers write for that.

use steady_linux::debuggee::Debuggee;

use super::super::taken::NotTaken;
use super::failed;
use super::modules::word;

/// The places of symbols that may be called so, by the table that newer linkers write.
pub(super) fn by_gnu_hash(debuggee: &Debuggee, table: u64, name: &str) -> Result<Vec<u32>, NotTaken> {
    const LONGEST: u32 = 1 << 16;
    let hash = name.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
    let header = debuggee.bytes(table, 16).map_err(failed)?;
    let [buckets, first, bloom] = [0, 4, 8].map(|place| word(&header, place));
    if buckets == 0 {
        return Ok(vec![]);
    }
    let bucket = table + 16 + u64::from(bloom) * 8;
    let chain = bucket + u64::from(buckets) * 4;
    let start = word(&debuggee.bytes(bucket + u64::from(hash % buckets) * 4, 4).map_err(failed)?, 0);
    let mut found = vec![];
    if start >= first {
        for index in start..start.saturating_add(LONGEST) {
            let entry = word(&debuggee.bytes(chain + u64::from(index - first) * 4, 4).map_err(failed)?, 0);
            if entry | 1 == hash | 1 {
                found.push(index);
            }
            if entry & 1 == 1 {
                break;
            }
        }
    }
    Ok(found)
}

/// The same by the older table.
pub(super) fn by_hash(debuggee: &Debuggee, table: u64, name: &str) -> Result<Vec<u32>, NotTaken> {
    let hash = name.bytes().fold(0_u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    });
    let header = debuggee.bytes(table, 8).map_err(failed)?;
    let [buckets, symbols] = [0, 4].map(|place| word(&header, place));
    if buckets == 0 {
        return Ok(vec![]);
    }
    let entry = |place: u64| Ok::<u32, NotTaken>(word(&debuggee.bytes(table + 8 + place * 4, 4).map_err(failed)?, 0));
    let mut index = entry(u64::from(hash % buckets))?;
    let mut found = vec![];
    while index != 0 && index < symbols && found.len() < symbols as usize {
        found.push(index);
        index = entry(u64::from(buckets) + u64::from(index))?;
    }
    Ok(found)
}
