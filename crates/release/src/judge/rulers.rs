//! Readings of rulers, relative to their means.

use std::collections::BTreeMap;

use steady_model::{ReleaseRows, ReleaseRulerRow, RequestRuler};

/// Readings of one ruler in one process within one second, minus their mean over the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Second of the readings, or the first second of their slot.
    pub(crate) second: u64,
    /// Index of the host in the rows.
    pub(crate) host: u32,
    /// Index of the version of the requests that followed the readings. `None` for the agent's readings.
    pub(crate) version: Option<u32>,
    /// Kind of the ruler that was read.
    pub(crate) ruler: RequestRuler,
    /// Number of readings in the sum.
    pub(crate) readings: f64,
    /// Sum of the logarithms of the readings minus their mean.
    pub(crate) sum: f64,
}

/// Returns all readings within the window in a fixed order: of the workers, or of the agents. From each reading, the
/// mean of all readings with the same key of `centre` is subtracted.
pub(crate) fn readings<K: Ord>(
    rows: &ReleaseRows,
    window: std::ops::Range<u64>,
    workers: bool,
    centre: impl Fn(&ReleaseRulerRow) -> K,
) -> Vec<Reading> {
    let mut chosen: Vec<&ReleaseRulerRow> = rows
        .rulers
        .iter()
        .filter(|row| (row.process != 0) == workers && row.sums.readings > 0 && window.contains(&row.second))
        .collect();
    chosen.sort_by_key(|row| (row.second, row.host, row.process, row.version, row.ruler, row.sums.log.to_bits()));
    let mut means: BTreeMap<K, (f64, f64)> = BTreeMap::new();
    for row in &chosen {
        let mean = means.entry(centre(row)).or_default();
        mean.0 += row.sums.log;
        mean.1 += row.sums.readings as f64;
    }
    let centred = |row: &&ReleaseRulerRow| {
        let (log, count) = means[&centre(row)];
        let (mean, readings) = (log / count, row.sums.readings as f64);
        let sum = row.sums.log - readings * mean;
        let ReleaseRulerRow { second, host, version, ruler, .. } = **row;
        Reading { second, host, version, ruler, readings, sum }
    };
    chosen.iter().map(centred).collect()
}
