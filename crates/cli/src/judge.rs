//! `steady judge`: the verdicts of saved samples, again.

use std::io::{self, Read};
use std::path::Path;

use steady_experiments::judge;

use crate::compare::status;
use crate::failure::Failure;
use crate::flags::JudgeFlags;
use crate::output::Destinations;

/// Judges a file and reports it; the exit status.
pub(crate) fn run(flags: &JudgeFlags) -> Result<u8, Failure> {
    let usage = |why: String| Failure::Usage(format!("'{}': {why}", flags.file.display()));
    let text = read(&flags.file).map_err(|error| usage(error.to_string()))?;
    let record = steady_report::read_record(&text).map_err(|error| usage(error.to_string()))?;
    let destinations = Destinations::open(&flags.output, flags.samples)?;
    let report = judge(record);
    destinations.write(&report)?;
    Ok(status(&report))
}

fn read(path: &Path) -> io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
}
