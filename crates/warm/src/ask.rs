//! What is kept: reported, created now, removed.

use std::path::PathBuf;

use steady_feature::{Failure, Session, Status};
use steady_linux::Root;
use steady_model::{Absent, Reading};

use crate::flags::{ProgramsFlags, StatusFlags};
use crate::launch::Here;
use crate::make::{Made, Maker, Traced};
use crate::own::{absolute, executed, place, store};
use crate::record::{Question, StatusRecord};
use crate::status::status as asked;
use crate::store::Store;

/// Reports what is kept.
pub(crate) fn status(flags: &StatusFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let programs = found(&flags.programs, session)?;
    session.open(&flags.output, false, Status::Own)?;
    session.write(&record(Question::Status, &programs, session)?).map(|()| 0)
}

/// Reports how programs would be started.
pub(crate) fn why(flags: &ProgramsFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let programs = found(&flags.programs, session)?;
    session.open(&flags.output, false, Status::Own)?;
    session.write(&record(Question::Why, &programs, session)?).map(|()| 0)
}

/// Creates snapshots of programs now.
pub(crate) fn snapshot(flags: &ProgramsFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let programs = found(&flags.programs, session)?;
    session.open(&flags.output, false, Status::Own)?;
    let store = store(session).map_err(|why| Failure::Own(format!("not available here: {why}")))?;
    let mut maker = Maker::new(&store, Traced, session.environment());
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
                session.notice(&format!("'{}': {why}", program.display()));
                unmade = Some(Failure::Own("not all could be taken".to_owned()));
            }
        }
    }
    session.write(&record(Question::Snapshot, &programs, session)?)?;
    unmade.map_or(Ok(u8::from(refused)), Err)
}

/// Removes everything that is kept.
pub(crate) fn clear(session: &dyn Session) -> Result<u8, Failure> {
    let cleared = kept(session)?.map_or(Ok(()), |store| store.clear());
    cleared.map(|()| 0).map_err(|error| Failure::Own(format!("not all could be forgotten: {error}")))
}

/// The store, if there is one.
fn kept(session: &dyn Session) -> Result<Option<Store>, Failure> {
    place(session).and_then(|place| Store::find(&place).map_err(|why| why.0)).map_err(Failure::Own)
}

fn record(question: Question, programs: &[PathBuf], session: &dyn Session) -> Result<StatusRecord, Failure> {
    let found = kept(session)?;
    let store: Reading<Store> = found.ok_or_else(|| Absent::because("nothing has been kept since the last boot"));
    let (environment, root) = (session.environment(), Root::default());
    let here = Here { environment: &environment, root: &root };
    Ok(asked(question, &store, programs, (question == Question::Why).then_some(here)))
}

/// The programs that were named.
fn found(names: &[PathBuf], session: &dyn Session) -> Result<Vec<PathBuf>, Failure> {
    let path = |name: &PathBuf| match executed(name.as_os_str(), session) {
        Ok(path) if path.exists() => Ok(absolute(&path)),
        Ok(path) => Err(Failure::Usage(format!("there is no file '{}'", path.display()))),
        Err(failure) => Err(Failure::Usage(failure.to_string())),
    };
    names.iter().map(path).collect()
}
