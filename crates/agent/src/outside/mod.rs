//! Counting from outside, for applications that cannot be touched: the CPU time of a control group or a process tree, and the counter
//! of requests that the application shows for Prometheus, both read once a second.

mod counter;
mod http;
mod metric;

use std::mem;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::record::AgentOutside;
use steady_model::{Assignment, ReleaseRow, ReleaseRows, RequestSums};

use crate::Event;
use crate::table::Now;
use crate::time::{Clocks, SECOND, Stop};
use counter::{Counter, Increase};

pub use counter::CpuOf;
pub use http::Endpoint;
pub use metric::Metric;

/// The route of requests that are counted from outside.
pub const ALL_ROUTES: &str = "(all)";
/// An answer that takes longer than this is none.
const PATIENCE: Duration = Duration::from_millis(900);
/// Rows that wait to be fetched, at most.
const ROWS: usize = 600;

/// What is counted from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsidePlan {
    /// The service.
    pub service: String,
    /// Its version, where no label tells.
    pub version: Option<String>,
    /// The label of the metric that tells the version.
    pub version_label: Option<String>,
    /// Whose CPU time.
    pub cpu: CpuOf,
    /// Which counter counts requests, and where.
    pub requests: Metric,
}

#[derive(Debug)]
struct State {
    rows: Vec<(u64, String, RequestSums)>,
    told: AgentOutside,
}

/// The thread that counts.
pub(crate) struct Outside {
    state: Arc<Mutex<State>>,
    thread: JoinHandle<()>,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outside {
    /// Begins, or says why there is no such CPU time.
    pub(crate) fn begin(
        plan: &OutsidePlan,
        ahead: i64,
        stop: Arc<Stop>,
        events: Sender<Event>,
    ) -> Result<Self, String> {
        let counter = Counter::new(plan.clone(), PATIENCE)?;
        let told = AgentOutside {
            service: plan.service.clone(),
            version: plan.version.clone(),
            readings: 0,
            failures: 0,
            trouble: None,
            requests: 0,
        };
        let state = Arc::new(Mutex::new(State { rows: Vec::new(), told }));
        let theirs = Arc::clone(&state);
        let thread = thread::Builder::new().spawn(move || count(counter, ahead, &theirs, &stop, &events));
        let thread = thread.map_err(|error| format!("a thread could not be started: {error}"))?;
        Ok(Outside { state, thread })
    }

    /// The rows since it was asked last.
    pub(crate) fn fetch(&self, host: &str) -> Option<ReleaseRows> {
        let mut state = locked(&self.state);
        let rows = mem::take(&mut state.rows);
        let service = state.told.service.clone();
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

    /// How it goes.
    pub(crate) fn told(&self) -> AgentOutside {
        locked(&self.state).told.clone()
    }

    /// Waits for its end, which was asked for.
    pub(crate) fn join(self) {
        // One that panicked has ended too.
        let _ = self.thread.join();
    }
}

/// Counts at the end of each second, until it is to stop.
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
        state.told.readings += 1;
        match read {
            Ok(increase) => {
                if state.told.trouble.take().is_some() {
                    let _ = events.send(Event::Counted);
                }
                if let Some(Increase { version, requests, cpu }) = increase {
                    state.told.version = Some(version.clone());
                    state.told.requests += requests;
                    let sums = RequestSums { requests, cpu: cpu as f64, ..RequestSums::default() };
                    if state.rows.len() < ROWS {
                        // What is read at the end of a second is of that second.
                        state.rows.push((now.second().saturating_sub(1), version, sums));
                    }
                }
            }
            Err(why) => {
                state.told.failures += 1;
                if state.told.trouble.as_ref() != Some(&why) {
                    let _ = events.send(Event::NotCounted(why.clone()));
                }
                state.told.trouble = Some(why);
            }
        }
    }
}
