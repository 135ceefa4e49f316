//! What is shown and kept of a load experiment, and of the rulers.

use steady_feature::{Record, Report};
use steady_model::{Ending, Facts, LoadReport, LoadWork, RulerRecord, RunKind};
use steady_render::Chart;
use steady_render::document::Document;
use steady_render::json::ReadError;

use crate::document::rulers;
use crate::{csv, document};

/// A load experiment that has been judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Loads(pub LoadReport);

/// What the rulers read.
#[derive(Clone, Debug, PartialEq)]
pub struct Readings(pub RulerRecord);

impl Loads {
    /// The experiment in a JSON text, judged again.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        Ok(Loads(crate::report(steady_report::read_load_record(text)?)))
    }
}

impl Readings {
    /// The readings in a JSON text.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        Ok(Readings(steady_report::read_ruler_record(text)?))
    }
}

impl Report for Loads {
    fn document(&self) -> Document {
        document::document(&self.0)
    }

    fn csv(&self) -> String {
        csv::load(&self.0)
    }

    fn json(&self, samples: bool) -> String {
        steady_report::load_json_text(&self.0, samples)
    }

    fn drawing(&self) -> Option<Chart> {
        Some(document::drawing(&self.0))
    }
}

impl Record for Loads {
    fn facts(&self) -> Facts {
        let record = &self.0.record;
        let work = match &record.plan.work {
            LoadWork::Hash { cpu_time, .. } => format!("hash: {} s of CPU", cpu_time.seconds()),
            LoadWork::Sum { work } => format!("sum: {work} numbers"),
            LoadWork::Command { command, .. } => command.name.clone(),
        };
        let origin = (record.started, &record.host, &record.revision);
        Facts {
            seed: Ok(record.plan.seed),
            commands: vec![work],
            complete: record.ending != Ending::Interrupted && record.failure.is_none(),
            ..Facts::without_pairs(RunKind::Load, origin, document::summary(&self.0))
        }
    }

    fn sentences(&self) -> Vec<String> {
        document::sentences(&self.0)
    }
}

impl Report for Readings {
    fn document(&self) -> Document {
        rulers::document(&self.0)
    }

    fn csv(&self) -> String {
        csv::rulers(&self.0)
    }

    /// Its samples are its readings.
    fn json(&self, _samples: bool) -> String {
        steady_report::rulers_json_text(&self.0)
    }
}

impl Record for Readings {
    fn facts(&self) -> Facts {
        let record = &self.0;
        let beside = record.neighbour.map_or(String::new(), |one| format!(" beside {}", one.name()));
        let origin = (record.started, &record.host, &record.revision);
        Facts {
            seed: Ok(record.seed),
            commands: vec![format!("rulers{beside}")],
            complete: record.ending != Ending::Interrupted && record.failure.is_none(),
            ..Facts::without_pairs(RunKind::Rulers, origin, rulers::summary(record))
        }
    }
}
