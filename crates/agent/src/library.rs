//! `steady agent library`: the rulers as files that a service loads or is linked with.

use steady_feature::{Failure, Session};
use steady_preload::{RULERS, RULERS_BESIDE, RULERS_NAME};
use steady_process::unpacked::{self, Carried};

use crate::flags::LibraryFlags;
use crate::place;

/// Writes the files and prints their folder; the exit status.
pub(crate) fn library(flags: &LibraryFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    if RULERS.is_empty() {
        return Err(Failure::Own(
            "there are no rulers: their library could not be linked where steady was built".to_owned(),
        ));
    }
    let files = files();
    let folder = match &flags.folder {
        Some(folder) => {
            let error = |error| Failure::Usage(format!("'{}': {error}", folder.display()));
            unpacked::write(&files, folder).map_err(error)?;
            std::path::absolute(folder).map_err(error)?
        }
        None => unpacked::unpack(&files, &place::caches(session))
            .map_err(|error| Failure::Own(format!("the rulers cannot be unpacked: {error}")))?,
    };
    let text = folder.to_str().ok_or_else(|| Failure::Usage(format!("'{}' is no UTF-8 text", folder.display())))?;
    session.print(&format!("{text}\n")).map(|()| 0)
}

fn files() -> Vec<Carried<'static>> {
    let beside = RULERS_BESIDE.map(|(name, text)| (name, text.as_bytes()));
    beside.into_iter().chain([(RULERS_NAME, RULERS)]).collect()
}
