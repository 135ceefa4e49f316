//! The agent: listens to the services of a host, keeps rows of their requests, and reads them back.
//!
//! Datagrams are read ([`mod@line`]) and added to the rows of the second that is open ([`table`]); once a second they
//! are handed to the thread that writes them ([`store`]) and added to what scrapes are shown ([`metrics`]). Threads of
//! their own run the agent's rulers, count requests from outside and answer scrapes.
#![forbid(unsafe_code)]

mod keeper;
pub mod line;
pub mod metrics;
pub mod outside;
mod run;
pub mod socket;
mod stop;
pub mod store;
pub mod table;
pub mod time;
mod witness;

pub use run::{AgentError, Event, Settings, ask, run};
