//! The best readings of this host, stored from run to run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Version of the file format.
const VERSION: u32 = 1;
/// Bins per factor of e. Each bin is 0.1 % wide.
const BINS: f64 = 1000.0;
/// Number of bins that are kept, the lowest ones. Readings above cannot be among the best.
const MOST_BINS: usize = 500;
/// The best is this quantile of all readings, so that moments of a raised clock rate do not count...
const QUANTILE: f64 = 0.05;
/// ... but never one of the lowest two if there are more, so that a single outlier does not count.
const SKIPPED: u64 = 2;
/// When there are more readings than this, all counts are halved, so that old readings fade.
const MOST_READINGS: u64 = 20_000;

/// Counts of readings by time per unit, for each ruler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Best {
    all: Rulers,
    /// Readings that are not in the file yet.
    fresh: Rulers,
}

/// Readings by key of the ruler.
type Rulers = BTreeMap<String, Readings>;

/// Content of the file.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    rulers: Rulers,
}

/// Readings of one ruler: the total count, and the lowest bins on a logarithmic scale.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Readings {
    total: u64,
    low: BTreeMap<i32, u64>,
}

impl Best {
    /// Loads the file. The result is empty if the file is missing or invalid.
    pub fn load(path: &Path) -> Best {
        let read = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Content>(&bytes).ok());
        let content = read.filter(|content| content.version == VERSION);
        Best { all: content.map(|content| content.rulers).unwrap_or_default(), fresh: Rulers::new() }
    }

    /// Adds a reading of the ruler with this key.
    pub(crate) fn note(&mut self, key: &str, seconds_per_unit: f64) {
        for rulers in [&mut self.all, &mut self.fresh] {
            rulers.entry(key.to_owned()).or_default().add(bin(seconds_per_unit));
        }
    }

    /// Returns the best time per unit of the ruler with this key, in seconds, if it was ever read.
    pub(crate) fn of(&self, key: &str) -> Option<f64> {
        // A file may contain bins that are not times.
        self.all.get(key)?.best().map(seconds).filter(|seconds| seconds.is_normal())
    }

    /// Adds the new readings to those in the file now, and replaces the file atomically.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn save(&mut self, path: &Path) -> io::Result<()> {
        let mut rulers = Best::load(path).all;
        for (key, readings) in &self.fresh {
            rulers.entry(key.clone()).or_default().join(readings);
        }
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        let text = serde_json::to_vec(&Content { version: VERSION, rulers })?;
        let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
        match written {
            Ok(()) => self.fresh.clear(),
            // If the temporary file cannot be removed, it was not created either.
            Err(_) => drop(fs::remove_file(&temporary)),
        }
        written
    }
}

impl Readings {
    fn add(&mut self, bin: i32) {
        self.join(&Readings { total: 1, low: BTreeMap::from([(bin, 1)]) });
    }

    fn join(&mut self, other: &Readings) {
        for (bin, count) in &other.low {
            let known = self.low.entry(*bin).or_default();
            *known = known.saturating_add(*count);
        }
        self.total = self.total.saturating_add(other.total);
        self.trim();
    }

    fn trim(&mut self) {
        while self.low.len() > MOST_BINS {
            self.low.pop_last();
        }
        while self.total > MOST_READINGS {
            self.total /= 2;
            self.low.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
    }

    /// Returns the bin of the best reading.
    fn best(&self) -> Option<i32> {
        let skipped = ((QUANTILE * self.total as f64) as u64).max(SKIPPED).min(self.total.saturating_sub(1));
        let mut passed = 0_u64;
        let found = self.low.iter().find(|(_, count)| {
            passed = passed.saturating_add(**count);
            passed > skipped
        });
        found.or_else(|| self.low.last_key_value()).map(|(bin, _)| *bin)
    }
}

fn bin(seconds: f64) -> i32 {
    (seconds.ln() * BINS).round() as i32
}

fn seconds(bin: i32) -> f64 {
    (f64::from(bin) / BINS).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("steady-best-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn of(readings: impl IntoIterator<Item = f64>) -> Best {
        let mut best = Best::load(Path::new("/nowhere"));
        readings.into_iter().for_each(|reading| best.note("alu", reading));
        best
    }

    fn near(best: &Best, expected: f64) -> bool {
        best.of("alu").is_some_and(|found| (found / expected - 1.0).abs() < 1.0 / BINS)
    }

    #[test]
    fn a_single_outlier_is_not_the_best() {
        assert!(near(&of([4e-9]), 4e-9), "a single reading is the best");
        assert!(near(&of([1e-9, 4e-9, 4.1e-9, 4.2e-9, 9e-9]), 4.1e-9), "with few readings, the third lowest");
        let many = (0..1000).map(|n| if n < 45 { 1e-9 } else { 4e-9 + f64::from(n) * 1e-14 });
        assert!(near(&of(many), 4e-9), "with many readings, the 5 % quantile");
        assert_eq!(of([]).of("alu"), None);
    }

    #[test]
    fn old_readings_fade() {
        let mut best = of(std::iter::repeat_n(1e-9, 300));
        assert!(near(&best, 1e-9));
        (0..400_000).for_each(|_| best.note("alu", 2e-9));
        assert!(near(&best, 2e-9), "the host has changed");
    }

    #[test]
    fn readings_are_added_to_those_on_file() {
        let path = folder("added").join("rulers.json");
        of([4e-9, 4e-9, 4e-9]).save(&path).unwrap();
        let mut best = Best::load(&path);
        of([5e-9, 5e-9, 5e-9]).save(&path).unwrap();
        best.note("alu", 6e-9);
        (0..2).for_each(|_| best.save(&path).unwrap());
        assert_eq!(Best::load(&path).all["alu"].total, 7, "no reading is lost or counted twice");
        assert!(near(&Best::load(&path), 4e-9));
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn an_invalid_file_is_ignored() {
        let path = folder("broken").join("rulers.json");
        for broken in ["", "{", "[]", "{\"version\":1}", "{\"version\":99,\"rulers\":{}}"] {
            fs::write(&path, broken).unwrap();
            assert_eq!(Best::load(&path), of([]), "{broken}");
            of([4e-9]).save(&path).unwrap();
            assert!(near(&Best::load(&path), 4e-9), "{broken}");
        }
        let most = "18446744073709551615";
        let huge =
            format!("{{\"version\":1,\"rulers\":{{\"alu\":{{\"total\":{most},\"low\":{{\"2147483647\":{most}}}}}}}}}");
        fs::write(&path, huge).unwrap();
        let mut best = Best::load(&path);
        assert_eq!((best.all.len(), best.of("alu")), (1, None), "the bin is not a valid time");
        (0..9).for_each(|_| best.note("alu", 4e-9));
        assert!(of([4e-9]).save(Path::new("/nowhere/rulers.json")).is_err());
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn the_file_stays_small() {
        let best = of((0..20_000).map(|n| 1e-9 * (1.0 + f64::from(n) * 1e-3)));
        assert_eq!(best.all["alu"].low.len(), MOST_BINS);
        assert!(serde_json::to_vec(&best.all).unwrap().len() < 10_000);
    }
}
