//! Reads rulers: while a row runs, within a share of the CPU time of the row; and for `steady load --rulers`, alone and
//! next to neighbours. A small file in the data directory keeps the best readings of this host.

use std::path::PathBuf;

use steady_feature::{Failure, Interrupt, Session, Status, chosen_cpus};
use steady_linux::{Root, clock, process, topology};
use steady_model::{Ending, Machine, Nanos, Resource};
use steady_rulers::{Best, Event, Live, Measured, Neighbour, RulerPlan, RulerReading, Rulers, measure};

use crate::RulerRecord;
use crate::flags::LoadFlags;
use crate::plan::default_procs;

/// Maximum share of the CPU time of a row for the readings. Everything that `steady` does must stay within 0.5 %.
const COST_RATIO: f64 = 0.003;

/// Reads the rulers in turn, from row to row.
pub(super) struct RowRulers {
    rulers: Rulers,
    next: usize,
    /// CPU time of the readings in the current row.
    spent: Nanos,
    /// The readings in the current row.
    read: Vec<RulerReading>,
}

impl RowRulers {
    pub(super) fn new(rulers: Rulers) -> Self {
        RowRulers { rulers, next: 0, spent: Nanos::ZERO, read: Vec::new() }
    }

    /// Starts a row, without readings.
    pub(super) fn begin(&mut self) {
        (self.spent, self.read) = (Nanos::ZERO, Vec::new());
    }

    /// Reads as many rulers as fit into the share of the CPU time that the row has used so far.
    pub(super) fn read(&mut self, cpu_time: Nanos) {
        for _ in Resource::ALL {
            let resource = Resource::ALL[self.next % Resource::ALL.len()];
            let cost = self.rulers.cost(resource).unwrap_or_default();
            if (self.spent + cost).seconds() > COST_RATIO * cpu_time.seconds() {
                return;
            }
            self.next += 1;
            // A ruler that fails now may work later. Resources that the machine lacks have no reading.
            self.read.extend(self.rulers.read(resource));
            self.spent += self.rulers.cost(resource).unwrap_or_default();
        }
    }

    /// Returns the readings in the row.
    pub(super) fn readings(&mut self) -> Vec<RulerReading> {
        std::mem::take(&mut self.read)
    }

    /// Returns the rulers, with all their readings.
    pub(super) fn rulers(&mut self) -> &mut Rulers {
        &mut self.rulers
    }
}

/// The file with the best readings of this host, or why there is none.
pub(crate) struct BestFile(Result<PathBuf, String>);

impl BestFile {
    pub(crate) fn find(session: &dyn Session) -> Self {
        BestFile(session.data_folder().map(|folder| folder.join("rulers.json")))
    }

    /// Returns rulers with the best readings from the file.
    pub(crate) fn rulers(&self) -> Rulers {
        Rulers::new(&Root::default(), self.0.as_ref().map_or_else(|_| Best::default(), |file| Best::load(file)))
    }

    /// Saves the readings for later runs. If that fails, prints a notice; it is not an error.
    pub(crate) fn keep(self, rulers: &mut Rulers, session: &dyn Session) {
        let saved =
            self.0.and_then(|file| rulers.best().save(&file).map_err(|error| format!("'{}': {error}", file.display())));
        if let Err(why) = saved {
            session.notice(&format!("the best readings of this host are not kept for later runs: {why}"));
        }
    }
}

/// Reads the rulers, writes the report, and returns the exit status.
pub(crate) fn run(flags: &LoadFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let seed = session.seed(flags.seed)?;
    let cpus = chosen_cpus(flags.cpus.as_deref())?;
    let machine = topology::machine(&Root::default(), cpus.as_deref());
    let neighbour = flags.neighbour.map(Neighbour::from);
    let plan = RulerPlan { neighbour, counts: counts(flags, &machine)?, seed };
    session.open(&flags.output, flags.samples, Status::Own)?;
    let (interrupt, readable) =
        Interrupt::catch().map_err(|error| Failure::Own(format!("signal handlers cannot be installed: {error}")))?;
    if let Some(cpus) = &cpus {
        process::keep_to(cpus).map_err(|error| {
            Failure::Own(format!("--cpus: this process cannot be restricted to these CPUs: {error}"))
        })?;
    }
    let started = clock::time_of_day();
    let revision = session.revision();
    session.progress(None, "measuring each resource at its best");
    let file = BestFile::find(session);
    let rulers = file.rulers();
    let earlier_readings = rulers.has_earlier_readings();
    let mut stage = Live::new(rulers, neighbour, cpus, Some(readable));
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
    let record = RulerRecord {
        seed,
        started,
        elapsed,
        neighbour,
        earlier_readings,
        host,
        machine,
        revision,
        rows,
        ending,
        failure,
    };
    interrupt.release();
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    status(&record, &interrupt)
}

/// Returns the exit status. A failure that is in the report is also returned as an error.
fn status(record: &RulerRecord, interrupt: &Interrupt) -> Result<u8, Failure> {
    match (&record.failure, record.ending) {
        (Some(why), _) => Err(Failure::Own(format!("not all rows could be measured: {why}"))),
        (None, Ending::Interrupted) => Ok(Failure::Interrupted(interrupt.signal()).status()),
        (None, _) => Ok(0),
    }
}

/// Returns the numbers of neighbours: 0, and those of `--procs` or the default of a load experiment.
fn counts(flags: &LoadFlags, machine: &Machine) -> Result<Vec<u32>, Failure> {
    if flags.neighbour.is_none() {
        return match &flags.procs {
            Some(_) => Err(Failure::Usage(
                "with --rulers, --procs needs --neighbour KIND: it is the number of neighbours".to_owned(),
            )),
            None => Ok(vec![0]),
        };
    }
    let procs = flags.procs.as_ref().map_or_else(|| default_procs(machine), |procs| procs.0.clone());
    Ok(std::iter::once(0).chain(procs).collect())
}

fn message(event: &Event) -> String {
    let row = event.done + 1;
    let unit = if event.neighbours == 1 { "neighbour" } else { "neighbours" };
    format!("row {row} of {}: {} {unit}", event.rows, event.neighbours)
}
