//! What events cost here, net: an event's price holds nothing of what it brings about and what is counted by itself.

mod clock;
mod file;
mod net;
mod rate;

use steady_linux::{Root, procfs};
use steady_model::{AluTime, CostsPlan, Interval, KernelCall, Nanos, Price, Priced, Prices, Probe, Reading, Seed};

pub use file::{keep, kept};
pub use net::net;
use rate::at_rate;
pub use rate::at_run;

use super::experiment::{Done, Event, Setting, measure};
use super::judge::report;
use super::runner::{CostsError, CostsRunner};

/// What measuring the prices may take.
const BUDGET: Nanos = Nanos(5_000_000_000);
const REPETITIONS: u32 = 50;

/// Everything that has a price.
pub fn all() -> impl Iterator<Item = Priced> {
    let made = [Priced::Fork, Priced::Vfork, Priced::Thread, Priced::Exec];
    let plain = [Priced::MinorFault, Priced::MinorFaultMany, Priced::MinorFaultCold, Priced::Switch]
        .into_iter()
        .chain(made)
        .chain([Priced::KernelEntry]);
    plain.chain(KernelCall::ALL.into_iter().map(Priced::Call))
}

/// The boot that prices hold for.
pub fn boot(root: &Root) -> Reading<String> {
    root.read_line("/proc/sys/kernel/random/boot_id")
}

/// The prices of this host: those of `known`, and those that it lacks measured now. Takes 5 s at most, and less where
/// nothing much else runs.
///
/// # Errors
/// [`CostsError::Interrupted`]; any other that leaves nothing measured.
pub fn measured<R: CostsRunner>(
    known: Option<Prices>,
    setting: impl FnOnce() -> Setting,
    (cpus, seed): ((usize, Reading<usize>), Seed),
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Result<Prices, CostsError> {
    let lacking: Vec<Priced> = all().filter(|priced| !holds(known.as_ref(), *priced)).collect();
    if let Some(known) = known.clone().filter(|_| lacking.is_empty()) {
        return Ok(known);
    }
    let plan =
        CostsPlan { probes: probes(&lacking), repetitions: REPETITIONS, budget: BUDGET, cpus, sweep: false, seed };
    let (setting, root) = (setting(), Root::default());
    let measured = setting.started;
    let Done { mut record, stopped, beside } = measure(&plan, setting, runner, events);
    if let Some(stopped) = stopped
        && (stopped == CostsError::Interrupted || record.measured.iter().all(|(_, measured)| measured.is_err()))
    {
        return Err(stopped);
    }
    let alu = clock::at_its_mean(&mut record, &beside);
    let fresh = net(&report(record), &lacking);
    let fresh = Prices { measured, kernel: procfs::kernel(&root), boot: boot(&root), alu, prices: fresh };
    Ok(known.map_or(fresh.clone(), |known| joined(known, fresh)))
}

/// Those that were kept, with those that they lacked, all at the rate that the clock has now.
fn joined(known: Prices, fresh: Prices) -> Prices {
    let alu = known.alu.clone().and(fresh.alu.clone());
    // The rate that prices are told at is a convention, and so known to the last.
    let rate =
        fresh.alu.clone().map(|alu| AluTime { interval: Interval { low: alu.seconds, high: alu.seconds }, ..alu });
    let kept = at_rate(&known, &rate).prices;
    let lacked = |(priced, _): &(Priced, Reading<Price>)| !fresh.prices.iter().any(|(of, _)| of == priced);
    let prices = kept.into_iter().filter(lacked).chain(fresh.prices.clone()).collect();
    Prices { alu, prices, ..fresh }
}

fn holds(known: Option<&Prices>, priced: Priced) -> bool {
    known.is_some_and(|known| known.prices.iter().any(|(of, _)| *of == priced))
}

/// The probes that prices are made of, without doubles.
fn probes(priced: &[Priced]) -> Vec<Probe> {
    let wanted: Vec<Probe> = priced.iter().flat_map(|priced| priced.probes()).collect();
    Probe::all().filter(|probe| wanted.contains(probe)).collect()
}
