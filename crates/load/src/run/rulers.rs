//! The rulers, read while a row runs, within a share of the CPU time that the row takes; and the best that this host has shown, in
//! a small file of the data directory.

use std::path::PathBuf;

use steady_feature::Session;
use steady_linux::Root;
use steady_model::{Nanos, Resource};
use steady_rulers::{Best, RulerReading, Rulers};

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
