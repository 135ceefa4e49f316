//! `steady agent status` and `steady agent library`.

use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session, Status};
use steady_model::{Absent, Bytes, Reading, Timestamp};
use steady_preload::{RULERS, RULERS_BESIDE, RULERS_NAME};
use steady_process::unpacked::{self, Carried};

use crate::flags::{AgentPathFlags, AgentStatusFlags, LibraryFlags};
use crate::paths;
use crate::record::{AgentStatus, AgentStore, StoredService};
use crate::run::{AgentError, status_of, unreachable_agent};
use crate::socket::{Listener, fits, listener};
use crate::store::{Reader, ServiceFacts, StoreError};

/// Reports whether an agent runs, and what its store contains. Returns the exit status: 0 if an agent runs, and 1 if
/// none does or it is not known.
pub(crate) fn status(flags: &AgentStatusFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    session.open(&flags.output, false, Status::Own)?;
    let socket = paths::socket(flags.paths.socket.as_deref(), session);
    // No agent can listen at a path that is too long, so this is a usage error and not the status of an agent.
    let path = || socket.display().to_string();
    fits(&socket).map_err(|error| Failure::Usage(AgentError::Socket { path: path(), error }.to_string()))?;
    let listener = listener(&socket);
    let agent = match &listener {
        Listener::Present => status_of(&socket),
        Listener::Missing(why) => unreachable_agent(&socket).ok_or_else(|| why.clone()),
        Listener::Unknown(why) => Err(why.clone()),
    };
    let of_agent = agent.as_ref().ok().map(|agent| agent.store.as_str());
    let own = || paths::store(None, session).map_err(|failure| Absent::because(failure.to_string()));
    let path = store_path(&flags.paths, of_agent, own);
    let store = path.as_ref().map_err(Clone::clone).and_then(|path| store(path));
    let status = AgentStatus {
        running: listener == Listener::Present,
        running_known: !matches!(listener, Listener::Unknown(_)),
        socket: socket.display().to_string(),
        agent,
        store_path: path.map(|path| path.display().to_string()),
        store,
    };
    session.write(&status).map(|()| u8::from(!status.running))
}

/// Returns the store that the user named, else the running agent's, else this user's default. An agent at a socket that
/// the user named may have another store than the default, so without its status the store is not known.
fn store_path(
    named: &AgentPathFlags,
    of_agent: Option<&str>,
    own: impl FnOnce() -> Reading<PathBuf>,
) -> Reading<PathBuf> {
    match (&named.store, of_agent, &named.socket) {
        (Some(path), _, _) => Ok(path.clone()),
        (None, Some(path), _) => Ok(PathBuf::from(path)),
        (None, None, Some(_)) => Err(Absent::because("only an agent at this socket can say; name it with --store")),
        (None, None, None) => own(),
    }
}

/// Reads the facts about a store.
fn store(path: &Path) -> Reading<AgentStore> {
    let read = || {
        let reader = Reader::open(path)?;
        Ok((reader.facts()?, reader.services()?))
    };
    let (facts, services) = read().map_err(|error: StoreError| Absent::because(error.to_string()))?;
    let service = |facts: ServiceFacts| {
        let ServiceFacts { name, versions, first, last, requests } = facts;
        let versions = versions.into_iter().map(|version| version.name).collect();
        StoredService { name, versions, first: Timestamp(first), last: Timestamp(last), requests }
    };
    let services = services.into_iter().map(service).collect();
    let moment = |second: Option<u64>| second.map(Timestamp).ok_or_else(|| Absent::because("the store is empty"));
    Ok(AgentStore { bytes: Bytes(facts.bytes), first: moment(facts.first), last: moment(facts.last), services })
}

/// Writes the files of the rulers' library, prints their directory, and returns the exit status.
pub(crate) fn library(flags: &LibraryFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    if RULERS.is_empty() {
        return Err(Failure::Own(
            "this build of steady has no library of rulers: it could not be linked where steady was built".to_owned(),
        ));
    }
    let files = files();
    let folder = match &flags.folder {
        Some(folder) => {
            let error = |error| Failure::Usage(format!("'{}': {error}", folder.display()));
            unpacked::write(&files, folder).map_err(error)?;
            std::path::absolute(folder).map_err(error)?
        }
        None => unpacked::unpack(&files, &paths::caches(session))
            .map_err(|error| Failure::Own(format!("the library of rulers cannot be unpacked: {error}")))?,
    };
    let text = folder
        .to_str()
        .ok_or_else(|| Failure::Usage(format!("'{}' cannot be printed: it is not valid UTF-8", folder.display())))?;
    session.print(&format!("{text}\n")).map(|()| 0)
}

fn files() -> Vec<Carried<'static>> {
    let beside = RULERS_BESIDE.map(|(name, text)| (name, text.as_bytes()));
    beside.into_iter().chain([(RULERS_NAME, RULERS)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_store_is_not_shown_as_that_of_another_socket() {
        let path = |socket: Option<&str>, store: Option<&str>, of_agent| {
            let named = AgentPathFlags { socket: socket.map(PathBuf::from), store: store.map(PathBuf::from) };
            store_path(&named, of_agent, || Ok(PathBuf::from("own"))).ok()
        };
        assert_eq!(path(None, None, None), Some(PathBuf::from("own")));
        assert_eq!(path(Some("other.sock"), None, None), None);
        assert_eq!(path(Some("other.sock"), None, Some("other")), Some(PathBuf::from("other")));
        assert_eq!(path(Some("other.sock"), Some("named"), None), Some(PathBuf::from("named")));
    }
}
