//! `steady agent status`.

use std::path::{Path, PathBuf};

use steady_agent::AgentError;
use steady_agent::store::{Reader, ServiceFacts, StoreError};
use steady_model::{Absent, AgentStatus, AgentStore, Bytes, Reading, StoredService};

use super::place;
use crate::failure::Failure;
use crate::flags::{AgentStatusFlags, ListFormat};
use crate::letters::readable;
use crate::output::{print, style};

/// Tells whether an agent runs, and what is kept.
pub(super) fn run(flags: &AgentStatusFlags) -> Result<u8, Failure> {
    let socket = place::socket(flags.place.socket.as_deref());
    // No agent can ever be there.
    let path = || socket.display().to_string();
    steady_agent::socket::fits(&socket)
        .map_err(|error| Failure::Usage(AgentError::Socket { path: path(), error }.to_string()))?;
    let agent = steady_agent::ask(&socket);
    // The one that was named, that of the agent, or this user's.
    let path: Reading<PathBuf> = match (&flags.place.store, &agent) {
        (Some(path), _) => Ok(path.clone()),
        (None, Ok(agent)) => Ok(PathBuf::from(&agent.store)),
        (None, Err(_)) => place::store(None).map_err(|failure| Absent::because(failure.to_string())),
    };
    let store = path.as_ref().map_err(Clone::clone).and_then(|path| store(path));
    let status = AgentStatus {
        socket: socket.display().to_string(),
        agent,
        store_path: path.map(|path| path.display().to_string()),
        store,
    };
    let text = match flags.format {
        ListFormat::Text => readable(steady_report::agent_text(&status, style())),
        ListFormat::Json => steady_report::agent_json_text(&status),
    };
    print(text.as_bytes()).map_err(|error| Failure::Own(format!("standard output: {error}")))?;
    Ok(0)
}

/// What is in a store.
fn store(path: &Path) -> Reading<AgentStore> {
    let read = || {
        let reader = Reader::open(path)?;
        Ok((reader.facts()?, reader.services()?))
    };
    let (facts, services) = read().map_err(|error: StoreError| Absent::because(error.to_string()))?;
    let service = |facts: ServiceFacts| {
        let ServiceFacts { name, versions, first, last, requests } = facts;
        StoredService { name, versions, first, last, requests }
    };
    let services = services.into_iter().map(service).collect();
    Ok(AgentStore { bytes: Bytes(facts.bytes), first: facts.first, last: facts.last, services })
}
