//! Net prices of events on this machine. The price of an event does not include other events that it causes, if they
//! have prices of their own.

pub mod alu;
mod file;
mod net;
mod price;
mod rate;

use std::cell::RefCell;

use steady_feature::{Failure, Session};
use steady_linux::{Root, procfs};
use steady_model::{AluTime, Interval, Nanos, Probe, Reading};

pub use file::{keep, kept};
pub use net::net;
pub use price::{Price, Priced, Prices};
use rate::at_rate;
pub use rate::at_run;

use crate::judge::judged;
use crate::record::CostsPlan;
use crate::run::{Circumstances, CostsError, CostsRunner, Done, Event, ProberRunner, measure};
use crate::{circumstances, plan, show};

/// Time limit for measuring the prices.
const BUDGET: Nanos = Nanos(5_000_000_000);
/// Repetitions of each probe.
const REPETITIONS: u32 = 50;

/// Name of the file with prices in the user's data folder.
const FILE: &str = "prices.json";

/// Reads the identity of the current boot.
pub fn boot(root: &Root) -> Reading<String> {
    root.read_line("/proc/sys/kernel/random/boot_id")
}

/// Returns the prices of this host for the current boot and kernel. Prices that are not in their file are measured,
/// which takes 5 s at most; `fresh` measures all of them. Signals are not caught during that time.
///
/// # Errors
/// The prices could not be measured.
pub fn prices(session: &mut dyn Session, fresh: bool, quiet: bool) -> Result<Prices, Failure> {
    let root = Root::default();
    let file = session.data_folder().map(|folder| folder.join(FILE));
    let known = file.as_ref().ok().filter(|_| !fresh).and_then(|file| kept(file, &root));
    let machine = plan::machine();
    let affinity = plan::affinity(&machine, None)?;
    let seed = session.seed(None)?;
    let mut runner = ProberRunner::new(affinity.clone(), None);
    let before = known.clone();
    // Both closures use the session, the first one before the second one is called.
    let shared = RefCell::new(&mut *session);
    let circumstances = || circumstances(&**shared.borrow(), machine, affinity, seed);
    let found = measured(known, circumstances, &mut runner, &mut |event| {
        if !quiet {
            show(&mut **shared.borrow_mut(), &event);
        }
    });
    drop(runner);
    let found = found.map_err(|error| match error {
        CostsError::Interrupted => Failure::Own("interrupted".to_owned()),
        error => Failure::Own(format!("prices could not be measured: {error}")),
    })?;
    if before.as_ref() != Some(&found) {
        let saved =
            file.and_then(|file| keep(&file, &root, &found).map_err(|why| format!("'{}': {why}", file.display())));
        if let Err(why) = saved {
            session.notice(&format!(
                "the prices of this host could not be stored, so later runs measure them again: {why}"
            ));
        }
    }
    Ok(found)
}

/// Measures the prices that `known` lacks, and returns all of them. This takes 5 s at most, and less on a quiet
/// machine; up to 10 s on a machine that is too busy to repeat each probe 6 times in 5 s.
///
/// # Errors
/// [`CostsError::Interrupted`], or another error after which nothing was measured.
pub fn measured<R: CostsRunner>(
    known: Option<Prices>,
    circumstances: impl FnOnce() -> Circumstances,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Result<Prices, CostsError> {
    let lacking: Vec<Priced> = Priced::all().filter(|priced| !holds(known.as_ref(), *priced)).collect();
    if let Some(known) = known.clone().filter(|_| lacking.is_empty()) {
        return Ok(known);
    }
    let plan = CostsPlan {
        probes: probes(&lacking),
        repetitions: REPETITIONS,
        budget_seconds: BUDGET,
        sweep: false,
        as_published: false,
    };
    let (circumstances, root) = (circumstances(), Root::default());
    let measured = circumstances.started;
    let Done { mut record, stopped, alu: readings } = measure(&plan, circumstances, runner, events);
    if let Some(stopped) = stopped
        && (stopped == CostsError::Interrupted || record.probes.iter().all(|probe| probe.samples.is_err()))
    {
        return Err(stopped);
    }
    let alu = rate::scale_to_mean(&mut record, &readings);
    let fresh = net(&judged(record), &lacking);
    let fresh = Prices { measured, kernel: procfs::kernel(&root), boot: boot(&root), alu, prices: fresh };
    Ok(known.map_or(fresh.clone(), |known| joined(known, fresh)))
}

/// Joins stored prices with newly measured ones, all scaled to the clock rate of the new ones.
fn joined(known: Prices, fresh: Prices) -> Prices {
    let alu = known.alu.clone().and(fresh.alu.clone());
    // The rate that prices refer to is a convention, so it is exact.
    let rate =
        fresh.alu.clone().map(|alu| AluTime { interval: Interval { low: alu.seconds, high: alu.seconds }, ..alu });
    let kept = at_rate(&known, &rate).prices;
    let is_lacking = |one: &(Priced, Reading<Price>)| !fresh.prices.iter().any(|(of, _)| *of == one.0);
    let prices = kept.into_iter().filter(is_lacking).chain(fresh.prices.clone()).collect();
    Prices { alu, prices, measured: known.measured.min(fresh.measured), ..fresh }
}

fn holds(known: Option<&Prices>, priced: Priced) -> bool {
    known.is_some_and(|known| known.prices.iter().any(|(of, _)| *of == priced))
}

/// The probes that these prices are computed from, without duplicates.
fn probes(priced: &[Priced]) -> Vec<Probe> {
    let wanted: Vec<Probe> = priced.iter().flat_map(|priced| priced.probes()).collect();
    Probe::all().filter(|probe| wanted.contains(probe)).collect()
}
