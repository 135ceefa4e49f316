//! The rulers: read while a row runs, within a share of the CPU time that the row takes; and `steady load --rulers`, alone and
//! next to neighbours. The best that this host has shown is in a small file of the data directory.

use std::path::PathBuf;

use steady_feature::{Failure, Interrupt, Session, Status, chosen_cpus};
use steady_linux::{Root, clock, process, topology};
use steady_model::{Ending, Machine, Nanos, Resource};
use steady_rulers::{Best, Event, Live, Measured, Neighbour, RulerPlan, RulerReading, Rulers, measure};

use crate::RulerRecord;
use crate::flags::LoadFlags;
use crate::plan::default_procs;

/// The share of a row's CPU time that the readings may take: all that `steady` does is to stay within 0.5 %.
const COST_RATIO: f64 = 0.003;

/// Reads the rulers in turns, from row to row.
pub(super) struct RowRulers {
    rulers: Rulers,
    next: usize,
    /// CPU time that was used for the present row.
    spent: Nanos,
    /// What was read in the present row.
    read: Vec<RulerReading>,
}

impl RowRulers {
    pub(super) fn new(rulers: Rulers) -> Self {
        RowRulers { rulers, next: 0, spent: Nanos::ZERO, read: Vec::new() }
    }

    /// A row begins.
    pub(super) fn begin(&mut self) {
        (self.spent, self.read) = (Nanos::ZERO, Vec::new());
    }

    /// Reads as many rulers as a row may afford that has taken so much CPU time by now.
    pub(super) fn read(&mut self, taken: Nanos) {
        for _ in Resource::ALL {
            let resource = Resource::ALL[self.next % Resource::ALL.len()];
            let cost = self.rulers.cost(resource).unwrap_or_default();
            if (self.spent + cost).seconds() > COST_RATIO * taken.seconds() {
                return;
            }
            self.next += 1;
            // What cannot be read now may be later; of a ruler that this machine does not have, there is no reading.
            self.read.extend(self.rulers.read(resource));
            self.spent += self.rulers.cost(resource).unwrap_or_default();
        }
    }

    /// What was read in the row.
    pub(super) fn readings(&mut self) -> Vec<RulerReading> {
        std::mem::take(&mut self.read)
    }

    /// The rulers, with all that they have read.
    pub(super) fn rulers(&mut self) -> &mut Rulers {
        &mut self.rulers
    }
}

/// Where the best is kept, or why it cannot be.
pub(crate) struct BestFile(Result<PathBuf, String>);

impl BestFile {
    pub(crate) fn find(session: &dyn Session) -> Self {
        BestFile(session.data_folder().map(|folder| folder.join("rulers.json")))
    }

    /// The rulers, with what the file says of the best.
    pub(crate) fn rulers(&self) -> Rulers {
        Rulers::new(&Root::default(), self.0.as_ref().map_or_else(|_| Best::default(), |file| Best::load(file)))
    }

    /// Keeps what the rulers have read for later runs. That it cannot be kept is said, and is no failure.
    pub(crate) fn keep(self, rulers: &mut Rulers, session: &dyn Session) {
        let saved =
            self.0.and_then(|file| rulers.best().save(&file).map_err(|error| format!("'{}': {error}", file.display())));
        if let Err(why) = saved {
            session.notice(&format!("the best of this host is not kept for later runs: {why}"));
        }
    }
}

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
