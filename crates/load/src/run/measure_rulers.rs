//! `steady load --rulers`: how much slower each resource is right now, alone and beside neighbours.

use steady_feature::{Failure, Interrupt, Session, Status, chosen_cpus};
use steady_linux::{Root, clock, process, topology};
use steady_model::{Ending, Machine};
use steady_rulers::{Event, Live, Measured, Neighbour, RulerPlan, measure};

use super::BestFile;
use crate::RulerRecord;
use crate::flags::LoadFlags;
use crate::plan::default_procs;

/// Reads the rulers and reports them; the exit status.
pub(crate) fn run(flags: &LoadFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let seed = session.seed(flags.seed)?;
    let cpus = chosen_cpus(flags.cpus.as_deref())?;
    let machine = topology::machine(&Root::default(), cpus.as_deref());
    let neighbour = flags.neighbour.map(Neighbour::from);
    let plan = RulerPlan { neighbour, counts: counts(flags, &machine)?, seed };
    session.open(&flags.output, flags.samples, Status::Own)?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    if let Some(cpus) = &cpus {
        process::keep_to(cpus).map_err(|error| Failure::Own(format!("--cpus: {error}")))?;
    }
    let started = clock::time_of_day();
    let revision = session.revision();
    session.progress(None, "looking for the best");
    let file = BestFile::find(session);
    let mut stage = Live::new(file.rulers(), neighbour, cpus, Some(readable));
    let measured = measure(&plan, &mut stage, &mut |event| session.progress(None, &message(&event)));
    file.keep(&mut stage.into_rulers(), session);
    let Measured { rows, elapsed, ending, failure } = measured;
    if rows.is_empty() {
        return Err(match failure {
            Some(why) => Failure::Own(format!("no row could be measured: {why}")),
            None => Failure::Interrupted(interrupt.signal()),
        });
    }
    let host = session.host();
    let record = RulerRecord { started, host, machine, revision, neighbour, seed, rows, elapsed, ending, failure };
    interrupt.release();
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    status(&record, &interrupt)
}

/// The exit status; what failed is told again where errors are told.
fn status(record: &RulerRecord, interrupt: &Interrupt) -> Result<u8, Failure> {
    match (&record.failure, record.ending) {
        (Some(why), _) => Err(Failure::Own(format!("not all rows could be measured: {why}"))),
        (None, Ending::Interrupted) => Ok(Failure::Interrupted(interrupt.signal()).status()),
        (None, _) => Ok(0),
    }
}

/// The numbers of neighbours: none, and those that were asked for, or as many as a load experiment has rows.
fn counts(flags: &LoadFlags, machine: &Machine) -> Result<Vec<u32>, Failure> {
    if flags.neighbour.is_none() {
        return match &flags.procs {
            Some(_) => Err(Failure::Usage("--procs goes with --neighbour KIND: it says how many of them".to_owned())),
            None => Ok(vec![0]),
        };
    }
    let procs = flags.procs.as_ref().map_or_else(|| default_procs(machine), |procs| procs.0.clone());
    Ok(std::iter::once(0).chain(procs).collect())
}

fn message(event: &Event) -> String {
    let row = event.done + 1;
    format!("row {row} of {}: {} neighbours", event.rows, event.neighbours)
}
