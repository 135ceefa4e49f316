//! Counts the requests of an application that cannot be changed. Once a second it reads the CPU time of a control group
//! or a process tree, and the counter of requests that the application publishes for Prometheus.

mod counter;
mod http;
mod metric;

use std::mem;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use steady_model::{Assignment, ReleaseRow, ReleaseRows, RequestSums};

use crate::Event;
use crate::record::AgentOutside;
use crate::table::Now;
use crate::time::{Clocks, SECOND, Stop};
use counter::{Counter, Increase};

pub use counter::CpuOf;
pub use http::Endpoint;
pub use metric::Metric;

/// The route of requests that are counted from outside.
pub const ALL_ROUTES: &str = "(all)";
/// The longest time that the page of the counter may take.
const TIMEOUT: Duration = Duration::from_millis(900);
/// The most rows that wait to be fetched.
const MOST_ROWS: usize = 600;

/// An application whose requests are counted from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsidePlan {
    /// The name of the service.
    pub service: String,
    /// The version, unless a label of the metric names it.
    pub version: Option<String>,
    /// The label of the metric that names the version.
    pub version_label: Option<String>,
    /// The processes whose CPU time is read.
    pub cpu: CpuOf,
    /// The counter of requests, and the page that has it.
    pub requests: Metric,
}

#[derive(Debug)]
struct State {
    /// Second, version and sums of the rows that wait to be fetched.
    rows: Vec<(u64, String, RequestSums)>,
    status: AgentOutside,
}

/// The thread that counts from outside.
pub(crate) struct Outside {
    state: Arc<Mutex<State>>,
    thread: JoinHandle<()>,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outside {
    /// Starts the thread. Returns an error if the CPU time cannot be read.
    pub(crate) fn start(
        plan: &OutsidePlan,
        ahead: i64,
        stop: Arc<Stop>,
        events: Sender<Event>,
    ) -> Result<Self, String> {
        let counter = Counter::new(plan.clone(), TIMEOUT)?;
        let status = AgentOutside {
            service: plan.service.clone(),
            version: plan.version.clone(),
            readings: 0,
            failures: 0,
            trouble: None,
            requests: 0,
        };
        let state = Arc::new(Mutex::new(State { rows: Vec::new(), status }));
        let theirs = Arc::clone(&state);
        let thread = thread::Builder::new().spawn(move || count(counter, ahead, &theirs, &stop, &events));
        let thread = thread.map_err(|error| format!("a thread could not be started: {error}"))?;
        Ok(Outside { state, thread })
    }

    /// Removes and returns the rows since the last call; `None` if there are none.
    pub(crate) fn fetch(&self, host: &str) -> Option<ReleaseRows> {
        let mut state = locked(&self.state);
        let rows = mem::take(&mut state.rows);
        let service = state.status.service.clone();
        drop(state);
        if rows.is_empty() {
            return None;
        }
        let mut versions: Vec<String> = rows.iter().map(|(_, version, _)| version.clone()).collect();
        versions.sort_unstable();
        versions.dedup();
        let row = |(second, version, sums): (u64, String, RequestSums)| ReleaseRow {
            second,
            host: 0,
            process: 0,
            version: versions.binary_search(&version).unwrap_or(0) as u32,
            route: 0,
            class: 0,
            assignment: Assignment::None,
            span_seconds: 1,
            slot_seconds: 0,
            second_of_pair: false,
            sums,
        };
        let requests = rows.into_iter().map(row).collect();
        let (hosts, routes) = (vec![host.to_owned()], vec![ALL_ROUTES.to_owned()]);
        Some(ReleaseRows { service, hosts, versions, routes, requests, ..ReleaseRows::default() })
    }

    /// Returns counts of readings, failures and requests.
    pub(crate) fn status(&self) -> AgentOutside {
        locked(&self.state).status.clone()
    }

    /// Waits until the thread has ended; its end must have been requested through [`Stop`].
    pub(crate) fn join(self) {
        // An error means that the thread panicked, so it has ended too.
        let _ = self.thread.join();
    }
}

/// Reads the counter at the end of each second, until the agent ends.
fn count(mut counter: Counter, ahead: i64, state: &Mutex<State>, stop: &Stop, events: &Sender<Event>) {
    let clocks = Clocks::default();
    loop {
        let now = clocks.monotonic();
        if stop.wait(Duration::from_nanos(SECOND - now % SECOND)) {
            return;
        }
        let now = Now { monotonic: clocks.monotonic(), ahead };
        let read = counter.read();
        let mut state = locked(state);
        state.status.readings += 1;
        match read {
            Ok(increase) => {
                if state.status.trouble.take().is_some() {
                    let _ = events.send(Event::CountResumed);
                }
                if let Some(Increase { version, requests, cpu }) = increase {
                    state.status.version = Some(version.clone());
                    state.status.requests += requests;
                    let sums = RequestSums { requests, cpu: cpu as f64, ..RequestSums::default() };
                    if state.rows.len() < MOST_ROWS {
                        // The second has just ended when its counter is read.
                        state.rows.push((now.second().saturating_sub(1), version, sums));
                    }
                }
            }
            Err(why) => {
                state.status.failures += 1;
                if state.status.trouble.as_ref() != Some(&why) {
                    let _ = events.send(Event::CountFailed(why.clone()));
                }
                state.status.trouble = Some(why);
            }
        }
    }
}
