//! The subcommands `status`, `why`, `snapshot` and `clear`.

use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session, Status};
use steady_linux::Root;
use steady_model::{Absent, Reading};
use steady_render::letters::count;

use crate::flags::{ProgramsFlags, StatusFlags};
use crate::launch::StartingProcess;
use crate::make::{Made, Maker, Traced};
use crate::record::{Question, StatusRecord};
use crate::status::{status as read_status, stored_by_path};
use crate::store::Store;
use crate::user_store::{absolute, executed, place, store};

/// Runs `steady warm status`: reports what is stored.
pub(crate) fn status(flags: &StatusFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let store = existing_store(session)?;
    // Programs that were removed since the capture are listed too.
    let is_listed = |path: &Path| store.as_ref().is_some_and(|store| stored_by_path(store, path).is_some());
    let (programs, missing) = found(&flags.programs, session, is_listed)?;
    session.open(&flags.output, false, Status::Own)?;
    session.write(&record(Question::Status, &programs, session)?)?;
    missing.map_or(Ok(0), Err)
}

/// Runs `steady warm why`: reports how programs would be started.
pub(crate) fn why(flags: &ProgramsFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let (programs, missing) = found(&flags.programs, session, |_| false)?;
    session.open(&flags.output, false, Status::Own)?;
    session.write(&record(Question::Why, &programs, session)?)?;
    missing.map_or(Ok(0), Err)
}

/// Runs `steady warm snapshot`: captures programs now.
pub(crate) fn snapshot(flags: &ProgramsFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let (programs, missing) = found(&flags.programs, session, |_| false)?;
    session.open(&flags.output, false, Status::Own)?;
    let store = store(session).map_err(|why| Failure::Own(format!("not available here: {why}")))?;
    let mut maker = Maker::new(&store, Traced, session.environment());
    let (mut refused, mut not_made) = (false, None);
    for program in &programs {
        // A script counts as warm if its interpreter has a snapshot.
        let warm = maker.make_patiently(program).and_then(|made| match made {
            Made::Warm => Ok(true),
            Made::Script(script) => maker.make_for(&script, program),
            Made::Refused(_) => Ok(false),
        });
        match warm {
            Ok(warm) => refused |= !warm,
            Err(why) => {
                session.notice(&format!("'{}': {why}", program.display()));
                not_made = Some(Failure::Own("not all programs could be captured".to_owned()));
            }
        }
    }
    session.write(&record(Question::Snapshot, &programs, session)?)?;
    not_made.or(missing).map_or(Ok(u8::from(refused)), Err)
}

/// Runs `steady warm clear`: removes all snapshots.
pub(crate) fn clear(session: &dyn Session) -> Result<u8, Failure> {
    let Some(store) = existing_store(session)? else {
        session.notice("there are no snapshots");
        return Ok(0);
    };
    let failed = |error| Failure::Own(format!("not all snapshots could be removed: {error}"));
    let programs = store.clear().map_err(failed)?;
    session.notice(&format!("removed what was stored on {}", count(programs, "program", "programs")));
    Ok(0)
}

/// Returns the store, if it exists.
fn existing_store(session: &dyn Session) -> Result<Option<Store>, Failure> {
    place(session).and_then(|place| Store::find(&place).map_err(|why| why.0)).map_err(Failure::Own)
}

fn record(question: Question, programs: &[PathBuf], session: &dyn Session) -> Result<StatusRecord, Failure> {
    let found = existing_store(session)?;
    let store: Reading<Store> = found.ok_or_else(|| Absent::because("nothing has been stored since the last boot"));
    let (environment, root) = (session.environment(), Root::default());
    let here = StartingProcess { environment: &environment, root: &root };
    Ok(read_status(question, &store, programs, (question == Question::Why).then_some(here)))
}

/// Resolves the names of programs to absolute paths. Also returns the failure to report after the others if some do not
/// exist; if none exists, there is nothing to report. Files that do not exist are accepted if `is_listed` says so.
fn found(
    names: &[PathBuf],
    session: &dyn Session,
    is_listed: impl Fn(&Path) -> bool,
) -> Result<(Vec<PathBuf>, Option<Failure>), Failure> {
    let (mut programs, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match executed(name.as_os_str(), session) {
            Ok(path) if path.exists() || is_listed(&absolute(&path)) => programs.push(absolute(&path)),
            Ok(path) => missing.push(format!("the file '{}' does not exist", path.display())),
            Err(failure) => missing.push(failure.to_string()),
        }
    }
    let failure = (!missing.is_empty()).then(|| Failure::Usage(missing.join("; ")));
    match failure {
        Some(failure) if programs.is_empty() => Err(failure),
        failure => Ok((programs, failure)),
    }
}
