//! Rulers: how much slower each resource of this machine is right now than at its best.
//!
//! [`Rulers`] reads the rulers on the calling thread, with its CPU-time clock. [`measure`] reads them while different
//! numbers of neighbour processes run.
#![forbid(unsafe_code)]

mod best;
mod gauge;
mod pace;
mod reading;
mod rows;
mod serve;
mod sizes;
mod stage;

use steady_linux::topology::Topology;
use steady_linux::{Root, clock, procfs, topology};
use steady_model::{Absent, Bytes, Nanos, Reading, Resource};
use steady_workloads::rulers::{Alu, Chase, Fetch, Flushed, Kernel, Pages, SystemCall, VERSION};

pub use best::Best;
pub use gauge::limit;
pub use pace::{Pace, alu_seconds};
pub use reading::{Neighbour, RulerReading, RulerRow};
pub use rows::{Event, Measured, RulerPlan, Stage, Stop, measure};
pub use serve::{NEIGHBOUR, run_neighbour, serve};
pub use sizes::Sizes;
pub use stage::{Live, NEIGHBOURS};

use gauge::Gauge;

/// The order in which a working set is walked is the same in all runs, because readings of different runs are compared.
const SEED: u64 = 1;
/// Readings of each ruler at the start, so that there is a best to compare with.
const FIRST_READINGS: usize = 5;
/// Readings of the clock to find the cost of a reading.
const CLOCK_READINGS: usize = 64;

/// The rulers of this machine, ready to be read.
pub struct Rulers {
    gauges: Vec<(Resource, Reading<Gauge>)>,
    cpu_model: String,
    best: Best,
    has_earlier_readings: bool,
}

impl Rulers {
    /// Creates the rulers for a thread that may run on any allowed CPU. This takes tens of milliseconds of CPU time and
    /// at most 13 MiB of memory.
    pub fn new(root: &Root, best: Best) -> Self {
        let allowed = topology::allowed_cpus(root).unwrap_or_default();
        let sizes = Sizes::of(&Topology::probe(root), &allowed);
        let clock_cost = clock_cost(&mut clock::thread_cpu);
        let gauge = |resource| {
            kernel(resource, &sizes).map(|kernel| Gauge::new(resource, kernel, clock_cost, &mut clock::thread_cpu))
        };
        let gauges = Resource::ALL.into_iter().map(|resource| (resource, gauge(resource))).collect();
        let cpu_model = procfs::cpu_model(root).unwrap_or_else(|_| "unknown CPU".to_owned());
        let mut rulers = Rulers { gauges, cpu_model, best, has_earlier_readings: false };
        rulers.has_earlier_readings = Resource::ALL.into_iter().any(|resource| rulers.best_of(resource).is_some());
        for _ in 0..FIRST_READINGS {
            for resource in Resource::ALL {
                // A ruler that cannot be read now may be readable later.
                let _ = rulers.read(resource);
            }
        }
        rulers
    }

    /// Reads the ruler of one resource.
    ///
    /// # Errors
    /// Absent if the machine does not have the resource, if its size is not known, or if the machine is at present too
    /// slow for a reading within [`limit`].
    pub fn read(&mut self, resource: Resource) -> Reading<RulerReading> {
        self.measured(resource, true)
    }

    /// Reads the ruler of one resource as [`Rulers::read`] does, next to neighbours that this program has started. The
    /// reading says nothing about the best of this host.
    ///
    /// # Errors
    /// As for [`Rulers::read`].
    pub fn read_beside_neighbours(&mut self, resource: Resource) -> Reading<RulerReading> {
        self.measured(resource, false)
    }

    fn measured(&mut self, resource: Resource, may_be_best: bool) -> Reading<RulerReading> {
        let found = self.gauges.iter_mut().find(|(of, _)| *of == resource).map(|(_, gauge)| gauge);
        let gauge = found
            .ok_or_else(|| Absent::because("there is no ruler for this resource"))?
            .as_mut()
            .map_err(|absent| absent.clone())?;
        let measured = gauge.read(&mut clock::thread_cpu)?;
        let working_set = gauge.working_set();
        let key = key(&self.cpu_model, resource, working_set);
        if may_be_best {
            self.best.note(&key, measured.seconds_per_unit);
        }
        let best = self.best.of(&key).unwrap_or(measured.seconds_per_unit);
        Ok(RulerReading {
            resource,
            working_set,
            seconds_per_unit: measured.seconds_per_unit,
            spread_ratio: measured.spread_ratio,
            slowdown_ratio: measured.seconds_per_unit / best,
            cost: measured.cost,
        })
    }

    /// CPU time of the last reading, whether it succeeded or not.
    pub fn cost(&self, resource: Resource) -> Reading<Nanos> {
        let found = self.gauges.iter().find(|(of, _)| *of == resource).map(|(_, gauge)| gauge);
        let gauge = found.ok_or_else(|| Absent::because("there is no ruler for this resource"))?;
        gauge.as_ref().map(|gauge| gauge.cost).map_err(Clone::clone)
    }

    /// The best known time per unit of a ruler, in seconds.
    fn best_of(&self, resource: Resource) -> Option<f64> {
        let (_, gauge) = self.gauges.iter().find(|(of, _)| *of == resource)?;
        self.best.of(&key(&self.cpu_model, resource, gauge.as_ref().ok()?.working_set()))
    }

    /// Whether `best` had a reading of one of these rulers when this object was created. Otherwise, slowdowns are
    /// relative to the readings of this object alone.
    pub fn has_earlier_readings(&self) -> bool {
        self.has_earlier_readings
    }

    /// The best readings of this host, including those of this object.
    pub fn best(&mut self) -> &mut Best {
        &mut self.best
    }
}

/// Key of readings that can be compared with each other.
fn key(cpu_model: &str, resource: Resource, working_set: Option<Bytes>) -> String {
    let bytes = working_set.map_or(0, |bytes| bytes.0);
    format!("{cpu_model}; {} {bytes}; version {VERSION}", resource.name())
}

fn kernel(resource: Resource, sizes: &Sizes) -> Reading<Box<dyn Kernel>> {
    let chase = |size: &Reading<Bytes>| -> Reading<Box<dyn Kernel>> {
        let size = size.clone()?;
        Ok(Box::new(Chase::new(size.0 as usize, SEED)))
    };
    match resource {
        Resource::Alu => Ok(Box::new(Alu)),
        Resource::L1 => chase(&sizes.l1),
        Resource::L2 => chase(&sizes.l2),
        Resource::Shared => Ok(Box::new(Pages::new(sizes.shared.clone()?.0 as usize, SEED))),
        Resource::Memory => match Flushed::new(SEED) {
            Some(flushed) => Ok(Box::new(flushed)),
            None => Err(Absent::because("there is no known way to flush the caches of this kind of CPU")),
        },
        Resource::Fetch => Ok(Box::new(Fetch::new(SEED))),
        Resource::SystemCall => Ok(Box::new(SystemCall)),
    }
}

/// Cost of an undisturbed reading of the clock.
fn clock_cost(clock: &mut dyn FnMut() -> Nanos) -> Nanos {
    let costs = (0..CLOCK_READINGS).map(|_| {
        let before = clock();
        clock() - before
    });
    costs.min().unwrap_or(Nanos::ZERO)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_ruler_has_a_reading_or_a_reason() {
        let mut rulers = Rulers::new(&Root::default(), Best::load(Path::new("/nowhere")));
        for resource in Resource::ALL {
            match rulers.read(resource) {
                Ok(reading) => {
                    assert_eq!(reading.resource, resource);
                    // From a tenth of a nanosecond to more than any load or call takes.
                    assert!((1e-10..1e-3).contains(&reading.seconds_per_unit), "{reading:?}");
                    assert!(reading.slowdown_ratio > 0.0 && reading.spread_ratio >= 0.0, "{reading:?}");
                    assert_eq!(rulers.cost(resource), Ok(reading.cost));
                }
                Err(absent) => assert!(!absent.0.is_empty()),
            }
        }
        for always in [Resource::Alu, Resource::Fetch, Resource::SystemCall] {
            assert!(rulers.read(always).is_ok(), "{always:?}");
        }
    }

    #[test]
    fn readings_next_to_neighbours_are_not_the_best() {
        let mut rulers = Rulers::new(&Root::default(), Best::load(Path::new("/nowhere")));
        let none = rulers.best.clone();
        rulers.read_beside_neighbours(Resource::Alu).unwrap();
        assert_eq!(rulers.best, none);
        rulers.read(Resource::Alu).unwrap();
        assert_ne!(rulers.best, none);
    }

    #[test]
    fn keys_differ_if_readings_cannot_be_compared() {
        let keys = [
            key("a", Resource::L1, Some(Bytes(1))),
            key("b", Resource::L1, Some(Bytes(1))),
            key("a", Resource::L2, Some(Bytes(1))),
            key("a", Resource::L1, Some(Bytes(2))),
            key("a", Resource::L1, None),
        ];
        assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), keys.len());
    }
}
