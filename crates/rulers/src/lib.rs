//! Rulers: how much slower each resource of this machine is right now than at its best.
//!
//! [`Rulers`] reads them on the calling thread, on that thread's clock of CPU time; [`measure`] does so beside a growing
//! number of neighbours, each a process of its own.
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
pub use serve::{NEIGHBOUR, be, serve};
pub use sizes::Sizes;
pub use stage::{Live, NEIGHBOURS};

use gauge::Gauge;

/// The order in which a working set is walked is the same on every run: readings of different runs are compared.
const SEED: u64 = 1;
/// How often each ruler is read at first, so that there is a best to compare with.
const FIRST_READINGS: usize = 5;
/// How often the clock is looked at to find out what that takes.
const CLOCK_READINGS: usize = 64;

/// The rulers of this machine, warmed and ready to be read.
pub struct Rulers {
    gauges: Vec<(Resource, Reading<Gauge>)>,
    cpu_model: String,
    best: Best,
}

impl Rulers {
    /// The rulers for a thread that runs on any of the CPUs that may be used. Takes some tens of milliseconds of CPU
    /// time and some 13 MiB of memory at most.
    pub fn new(root: &Root, best: Best) -> Self {
        let allowed = topology::allowed_cpus(root).unwrap_or_default();
        let sizes = Sizes::of(&Topology::probe(root), &allowed);
        let clock_cost = clock_cost(&mut clock::thread_cpu);
        let gauge = |resource| {
            kernel(resource, &sizes).map(|kernel| Gauge::new(resource, kernel, clock_cost, &mut clock::thread_cpu))
        };
        let gauges = Resource::ALL.into_iter().map(|resource| (resource, gauge(resource))).collect();
        let cpu_model = procfs::cpu_model(root).unwrap_or_else(|_| "unknown CPU".to_owned());
        let mut rulers = Rulers { gauges, cpu_model, best };
        for _ in 0..FIRST_READINGS {
            for resource in Resource::ALL {
                // One that cannot be read now may be later.
                let _ = rulers.read(resource);
            }
        }
        rulers
    }

    /// Reads one ruler now.
    ///
    /// # Errors
    /// Absent where the machine does not have the resource or does not tell how large it is, and where it is too slow at
    /// the moment for a reading within [`limit`].
    pub fn read(&mut self, resource: Resource) -> Reading<RulerReading> {
        let found = self.gauges.iter_mut().find(|(of, _)| *of == resource).map(|(_, gauge)| gauge);
        let gauge = found
            .ok_or_else(|| Absent::because("there is no such ruler"))?
            .as_mut()
            .map_err(|absent| absent.clone())?;
        let measured = gauge.read(&mut clock::thread_cpu)?;
        let working_set = gauge.working_set();
        let key = key(&self.cpu_model, resource, working_set);
        self.best.note(&key, measured.seconds_per_unit);
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

    /// What a reading of it cost the last time, whether there was anything to tell from it or not.
    pub fn cost(&self, resource: Resource) -> Reading<Nanos> {
        let found = self.gauges.iter().find(|(of, _)| *of == resource).map(|(_, gauge)| gauge);
        let gauge = found.ok_or_else(|| Absent::because("there is no such ruler"))?;
        gauge.as_ref().map(|gauge| gauge.cost).map_err(Clone::clone)
    }

    /// The best time per unit that is known of a ruler by now.
    fn best_of(&self, resource: Resource) -> Option<f64> {
        let (_, gauge) = self.gauges.iter().find(|(of, _)| *of == resource)?;
        self.best.of(&key(&self.cpu_model, resource, gauge.as_ref().ok()?.working_set()))
    }

    /// The best that this host has shown, these readings included.
    pub fn best(&mut self) -> &mut Best {
        &mut self.best
    }
}

/// What readings may be compared with one another.
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
            None => Err(Absent::because("no way is known here to put memory out of the caches of this kind of CPU")),
        },
        Resource::Fetch => Ok(Box::new(Fetch::new(SEED))),
        Resource::SystemCall => Ok(Box::new(SystemCall)),
    }
}

/// What looking at the clock takes, undisturbed.
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
    fn every_ruler_reads_or_says_why_not() {
        let mut rulers = Rulers::new(&Root::default(), Best::load(Path::new("/nowhere")));
        for resource in Resource::ALL {
            match rulers.read(resource) {
                Ok(reading) => {
                    assert_eq!(reading.resource, resource);
                    // From a tenth of a nanosecond to what no load or call takes.
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
    fn what_is_compared_is_alike() {
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
