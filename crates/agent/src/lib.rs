//! `steady agent`: listens to the services of a host, stores rows of sums over their requests, and reads them back.
//!
//! The main thread parses datagrams ([`mod@line`]) and adds each request to a row of the current second ([`table`]).
//! Once a second it passes the rows to the thread that writes the store ([`store`]), and adds them to the published
//! metrics ([`metrics`]). Further threads run the agent's rulers, count requests from outside, and answer scrapes.
#![forbid(unsafe_code)]

mod document;
mod flags;
pub mod line;
pub mod metrics;
pub mod outside;
mod own_rulers;
mod paths;
mod record;
mod run;
mod serve;
pub mod socket;
mod status;
pub mod store;
pub mod table;
pub mod time;
mod writing;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Session, Status};

use flags::{AgentCommands, AgentFlags};

pub use paths::{socket as socket_file, store as store_file};
pub use record::{
    AgentClock, AgentMetrics, AgentOutside, AgentRulers, AgentService, AgentStatus, AgentStore, AgentWriting, Arrived,
    LineFault, RunningAgent, SCHEMA, StoredService,
};
pub use run::{AgentError, Event, Settings, is_stopped, run, running_agent, trusted_store, unreachable_agent};

/// The feature `agent`, as the command line knows it.
pub const FEATURE: Feature = Feature {
    name: "agent",
    about: "Listen to services and store the CPU time of their requests",
    flags: Feature::flags_of::<AgentFlags>,
    run: dispatch,
    status: |_| Status::Own,
    records: &[],
    helpers: &[],
};

/// Runs the subcommand and returns the exit status.
fn dispatch(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = AgentFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match &flags.command {
        Some(AgentCommands::Status(flags)) => status::status(flags, session),
        Some(AgentCommands::Library(flags)) => status::library(flags, session),
        None => serve::serve(&flags, session),
    }
}
