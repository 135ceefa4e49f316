//! The rulers, read while a row runs, within a share of the CPU time that the row takes.

use steady_model::{Nanos, Resource, RulerReading};

use steady_rulers::Rulers;

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
