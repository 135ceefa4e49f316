//! What events cost here, net: an event's price holds nothing of what it brings about and what is counted by itself.

mod file;
mod net;

use steady_linux::{Root, procfs};
use steady_model::{CostsPlan, KernelCall, Nanos, Priced, Prices, Probe, Reading, Seed};

pub use file::{keep, kept};
pub use net::net;

use super::experiment::{Done, Event, Setting, measure};
use super::judge::report;
use super::runner::{CostsError, CostsRunner};

/// What measuring the prices may take.
const BUDGET: Nanos = Nanos(5_000_000_000);
const REPETITIONS: u32 = 50;

/// Everything that has a price.
pub fn all() -> impl Iterator<Item = Priced> {
    let made = [Priced::Fork, Priced::Vfork, Priced::Thread, Priced::Exec];
    let plain = [Priced::MinorFault, Priced::MinorFaultMany, Priced::Switch]
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
    let Done { record, stopped } = measure(&plan, setting, runner, events);
    if let Some(stopped) = stopped
        && (stopped == CostsError::Interrupted || record.measured.iter().all(|(_, measured)| measured.is_err()))
    {
        return Err(stopped);
    }
    let fresh = net(&report(record), &lacking);
    let prices = known.into_iter().flat_map(|known| known.prices).filter(|(priced, _)| !lacking.contains(priced));
    let prices = prices.chain(fresh).collect();
    Ok(Prices { measured, kernel: procfs::kernel(&root), boot: boot(&root), prices })
}

fn holds(known: Option<&Prices>, priced: Priced) -> bool {
    known.is_some_and(|known| known.prices.iter().any(|(of, _)| *of == priced))
}

/// The probes that prices are made of, without doubles.
fn probes(priced: &[Priced]) -> Vec<Probe> {
    let wanted: Vec<Probe> = priced.iter().flat_map(|priced| priced.probes()).collect();
    Probe::all().filter(|probe| wanted.contains(probe)).collect()
}
