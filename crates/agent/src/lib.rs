//! `steady agent`: listens to the services of a host, keeps rows of their requests, and reads them back.
//!
//! Datagrams are read ([`mod@line`]) and added to the rows of the second that is open ([`table`]); once a second they
//! are handed to the thread that writes them ([`store`]) and added to what scrapes are shown ([`metrics`]). Threads of
//! their own run the agent's rulers, count requests from outside and answer scrapes.
#![forbid(unsafe_code)]

mod document;
mod flags;
mod keeper;
pub mod line;
pub mod metrics;
pub mod outside;
mod place;
mod record;
mod run;
mod serve;
pub mod socket;
mod status;
pub mod store;
pub mod table;
pub mod time;
mod witness;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Session, Status};

use flags::{AgentCommands, AgentFlags};

pub use place::store as store_file;
pub use record::{
    AgentClock, AgentMetrics, AgentOutside, AgentRulers, AgentService, AgentStatus, AgentStore, AgentWriting, Arrived,
    LineFault, RunningAgent, SCHEMA, StoredService,
};
pub use run::{AgentError, Event, Settings, ask, run};

/// The feature.
pub const FEATURE: Feature = Feature {
    name: "agent",
    about: "Listen to services and keep what their requests cost; what they load for that",
    flags: Feature::flags_of::<AgentFlags>,
    run: dispatch,
    status: |_| Status::Own,
    records: &[],
    helpers: &[],
};

/// Runs the subcommand and returns the exit status.
fn dispatch(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = AgentFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match &flags.question {
        Some(AgentCommands::Status(flags)) => status::status(flags, session),
        Some(AgentCommands::Library(flags)) => status::library(flags, session),
        None => serve::serve(&flags, session),
    }
}
