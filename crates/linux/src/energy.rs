//! The energy that the CPU packages of the machine use, from their counters (RAPL).
//!
//! Source: `Documentation/power/powercap/powercap.rst`. The counters are those of the whole machine, so they include
//! what other processes cause. Since Linux 5.10 only root may read them, because they reveal what others compute
//! (CVE-2020-8694).

use std::fs::File;
use std::os::unix::fs::FileExt;

use steady_model::{Absent, Nanos, Reading};

use crate::Root;
use crate::root::unreadable;

/// The directory of the counters. It has the same name on processors of AMD.
const PLACE: &str = "/sys/class/powercap";
/// The maximum number of packages that are searched for.
const PACKAGES_MAX: usize = 64;

/// The counters of all packages.
pub struct EnergyMeter {
    packages: Vec<Package>,
}

struct Package {
    counter: File,
    name: String,
    /// The counter begins at zero again after this many microjoules.
    range: u64,
}

/// The readings of all packages at one time, in microjoules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnergyCount(Vec<u64>);

impl EnergyMeter {
    /// Opens the counters.
    ///
    /// # Errors
    /// The machine has none, or this user may not read them.
    pub fn open(root: &Root) -> Reading<Self> {
        let mut packages = Vec::new();
        for number in 0..PACKAGES_MAX {
            let place = format!("{PLACE}/intel-rapl:{number}");
            // Other domains at this level are the whole platform (psys), which includes the packages.
            if !root.read_line(&format!("{place}/name")).is_ok_and(|name| name.starts_with("package-")) {
                continue;
            }
            let name = format!("{place}/energy_uj");
            let counter = File::open(root.path(&name)).map_err(|error| unreadable(&name, &error))?;
            let range = root.read_line(&format!("{place}/max_energy_range_uj"))?;
            let range = range.parse().map_err(|_| Absent::because(format!("'{range}' is not a range of energy")))?;
            packages.push(Package { counter, name, range });
        }
        match packages.is_empty() {
            true => Err(Absent::because(format!("there are no counters of energy in {PLACE}"))),
            false => Ok(EnergyMeter { packages }),
        }
    }

    /// Reads all counters.
    ///
    /// # Errors
    /// A counter cannot be read.
    pub fn read(&self) -> Reading<EnergyCount> {
        self.packages.iter().map(Package::read).collect::<Reading<Vec<u64>>>().map(EnergyCount)
    }

    /// Returns the time in which no counter can reach the same count again.
    pub fn unambiguous(&self) -> Nanos {
        /// More than a package uses.
        const MOST_WATTS: u64 = 600;
        let range = self.packages.iter().map(|package| package.range).min().unwrap_or(0);
        Nanos((range / MOST_WATTS).saturating_mul(1_000))
    }

    /// Returns the energy between two readings, in joules. There must be less than [`EnergyMeter::unambiguous`] between
    /// them.
    pub fn joules(&self, before: &EnergyCount, after: &EnergyCount) -> f64 {
        let of = |package: &Package, before: u64, after: u64| match after.checked_sub(before) {
            Some(energy) => energy,
            None => package.range.saturating_sub(before).saturating_add(after),
        };
        let each = self.packages.iter().zip(before.0.iter().zip(&after.0));
        each.map(|(package, counts)| of(package, *counts.0, *counts.1)).sum::<u64>() as f64 * 1e-6
    }
}

impl Package {
    fn read(&self) -> Reading<u64> {
        let mut text = [0; 32];
        let length = self.counter.read_at(&mut text, 0).map_err(|error| unreadable(&self.name, &error))?;
        let count = std::str::from_utf8(&text[..length]).ok().and_then(|text| text.trim().parse().ok());
        count.ok_or_else(|| Absent::because(format!("{} has no number", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::tree;

    #[test]
    fn the_energy_of_all_packages_is_summed() {
        let meter = EnergyMeter::open(&tree("energy")).unwrap();
        assert_eq!(meter.read(), Ok(EnergyCount(vec![1_000_000, 262_143_000_000])));
        let (before, after) = (EnergyCount(vec![1_000_000, 0]), EnergyCount(vec![1_500_000, 250_000]));
        assert_eq!(meter.joules(&before, &after), 0.75);
        assert_eq!(meter.joules(&before, &before), 0.0);
    }

    #[test]
    fn a_counter_may_begin_again() {
        let meter = EnergyMeter::open(&tree("energy")).unwrap();
        let (before, after) = (EnergyCount(vec![1, 262_143_000_000]), EnergyCount(vec![1, 1_000_000]));
        assert!((meter.joules(&before, &after) - 1.328_850).abs() < 1e-9);
        // The range of 262 kJ lasts for seven minutes at 600 W.
        assert!((430.0..440.0).contains(&meter.unambiguous().seconds()), "{:?}", meter.unambiguous());
    }

    #[test]
    fn machines_without_counters_have_a_reason() {
        let absent = EnergyMeter::open(&tree("broken")).err().unwrap();
        assert!(absent.to_string().contains("no counters of energy"), "{absent}");
    }
}
