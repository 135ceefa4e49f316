//! `steady agent library`: the rulers as files that a service loads or is linked with.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use steady_preload::{RULERS, RULERS_BESIDE, RULERS_NAME};
use steady_process::unpacked::{self, Carried};

use crate::failure::Failure;
use crate::flags::LibraryFlags;
use crate::output;

/// Writes the files and prints their folder; the exit status.
pub(crate) fn run(flags: &LibraryFlags) -> Result<u8, Failure> {
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
        None => unpacked::unpack(&files, &folders())
            .map_err(|error| Failure::Own(format!("the rulers cannot be unpacked: {error}")))?,
    };
    let line = [folder.as_os_str().as_bytes(), b"\n"].concat();
    output::print(&line).map_err(|error| Failure::Own(format!("standard output: {error}")))?;
    Ok(0)
}

fn files() -> Vec<Carried<'static>> {
    let beside = RULERS_BESIDE.map(|(name, text)| (name, text.as_bytes()));
    beside.into_iter().chain([(RULERS_NAME, RULERS)]).collect()
}

/// Where they may be put. A service's user often has no home of its own.
fn folders() -> Vec<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.into_iter().chain(["/var/tmp", "/tmp"].map(PathBuf::from)).collect()
}
