//! A histogram of each probe, as a drawing in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use steady_model::CostsReport;

use crate::failure::Failure;
use crate::output::Export;

const OPTION: &str = "--plots";

/// The folder, found writable before anything is measured.
pub(super) struct Plots(PathBuf);

impl Plots {
    /// Makes the folder, if there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let refused = |why: String| Failure::Usage(format!("{OPTION} '{}': {why}", folder.display()));
        fs::create_dir_all(folder).map_err(|error| refused(error.to_string()))?;
        let probe = folder.join(format!(".steady-{}.tmp", std::process::id()));
        fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)).map_err(|error| refused(error.to_string()))?;
        Ok(Plots(folder.to_owned()))
    }

    /// Draws all that was measured.
    pub(super) fn draw(&self, report: &CostsReport) -> Result<(), Failure> {
        let costs = report.costs.iter().flat_map(|(_, cost)| cost);
        costs
            .map(|cost| {
                let file = Export::open(OPTION, &self.0.join(format!("{}.svg", cost.probe.name())))?;
                file.save(&steady_report::costs_histogram_svg(cost))
            })
            .fold(Ok(()), Result::and)
    }
}
