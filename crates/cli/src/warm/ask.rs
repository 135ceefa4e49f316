//! What is kept: told, taken now, forgotten.

use std::path::PathBuf;

use steady_linux::Root;
use steady_model::{Absent, Reading, WarmQuestion, WarmReport};
use steady_warm::launch::Here;
use steady_warm::make::{Made, Maker, Traced};
use steady_warm::status;
use steady_warm::store::Store;

use super::{absolute, environment, place, store};
use crate::failure::{Failure, notice};
use crate::flags::{ProgramsFlags, StatusFlags};
use crate::output::Destinations;
use crate::programs::executed;

/// Tells what is kept.
pub(super) fn status(flags: &StatusFlags) -> Result<u8, Failure> {
    let programs = found(&flags.programs)?;
    let destinations = Destinations::open(&flags.output, false)?;
    destinations.write(&told(WarmQuestion::Status, &programs)?).map(|()| 0)
}

/// Tells how programs would be started.
pub(super) fn why(flags: &ProgramsFlags) -> Result<u8, Failure> {
    let programs = found(&flags.programs)?;
    let destinations = Destinations::open(&flags.output, false)?;
    destinations.write(&told(WarmQuestion::Why, &programs)?).map(|()| 0)
}

/// Takes programs now.
pub(super) fn snapshot(flags: &ProgramsFlags) -> Result<u8, Failure> {
    let programs = found(&flags.programs)?;
    let destinations = Destinations::open(&flags.output, false)?;
    let store = store().map_err(|why| Failure::Own(format!("not available here: {why}")))?;
    let mut maker = Maker::new(&store, Traced, environment());
    let (mut refused, mut unmade) = (false, None);
    for program in &programs {
        // A script is as warm as its interpreter.
        let warm = maker.make_patiently(program).and_then(|made| match made {
            Made::Warm => Ok(true),
            Made::Script(script) => maker.make_for(&script, program),
            Made::Refused(_) => Ok(false),
        });
        match warm {
            Ok(warm) => refused |= !warm,
            Err(why) => {
                notice(&format!("'{}': {why}", program.display()));
                unmade = Some(Failure::Own("not all could be taken".to_owned()));
            }
        }
    }
    destinations.write(&told(WarmQuestion::Snapshot, &programs)?)?;
    unmade.map_or(Ok(u8::from(refused)), Err)
}

/// Forgets everything.
pub(super) fn clear() -> Result<u8, Failure> {
    let found = place().and_then(|place| Store::find(&place).map_err(|why| why.0)).map_err(Failure::Own)?;
    let cleared = found.map_or(Ok(()), |store| store.clear());
    cleared.map(|()| 0).map_err(|error| Failure::Own(format!("not all could be forgotten: {error}")))
}

fn told(question: WarmQuestion, programs: &[PathBuf]) -> Result<WarmReport, Failure> {
    let found = place().and_then(|place| Store::find(&place).map_err(|why| why.0)).map_err(Failure::Own)?;
    let store: Reading<Store> = found.ok_or_else(|| Absent::because("nothing has been kept since the last boot"));
    let (environment, root) = (environment(), Root::default());
    let here = Here { environment: &environment, root: &root };
    Ok(status::status(question, &store, programs, (question == WarmQuestion::Why).then_some(here)))
}

/// The programs that were named.
fn found(names: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let path = |name: &PathBuf| match executed(name.as_os_str()) {
        Ok(path) if path.exists() => Ok(absolute(&path)),
        Ok(path) => Err(Failure::Usage(format!("there is no file '{}'", path.display()))),
        Err(failure) => Err(Failure::Usage(failure.to_string())),
    };
    names.iter().map(path).collect()
}
