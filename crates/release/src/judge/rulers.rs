//! What rulers say of the load, beside what each reads on average in its process.

use std::collections::BTreeMap;

use steady_model::{ReleaseRows, ReleaseRulerRow, RequestRuler};

/// Readings of one ruler in one process within one second, less its mean there over the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// The second, or the first one of the slot.
    pub(crate) second: u64,
    /// The host.
    pub(crate) host: u32,
    /// The version of the requests behind them, as the rows number it.
    pub(crate) version: Option<u32>,
    /// Which ruler.
    pub(crate) ruler: RequestRuler,
    /// How many readings.
    pub(crate) readings: f64,
    /// Their sum, as logarithms.
    pub(crate) sum: f64,
}

/// All readings within the window, of workers or of the agents, in one order; each less the mean that `centre` puts it under.
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
    let beside = |row: &&ReleaseRulerRow| {
        let (log, count) = means[&centre(row)];
        let (mean, readings) = (log / count, row.sums.readings as f64);
        let sum = row.sums.log - readings * mean;
        let ReleaseRulerRow { second, host, version, ruler, .. } = **row;
        Reading { second, host, version, ruler, readings, sum }
    };
    chosen.iter().map(beside).collect()
}
