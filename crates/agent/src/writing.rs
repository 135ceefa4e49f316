//! The thread that writes the store. Batches that cannot be written wait and are tried again; if too many rows wait,
//! further batches are given up, and their requests are counted.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::Event;
use crate::record::AgentWriting;
use crate::store::{Batch, Writer};

/// The most rows that wait to be written.
const MOST_ROWS: usize = 100_000;
/// The pause before a failed write is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Batch>,
    rows: usize,
    closing: bool,
    status: AgentWriting,
}

type Shared = (Mutex<State>, Condvar);

fn state(shared: &Shared) -> MutexGuard<'_, State> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that writes the store, and the batches that wait for it.
pub(crate) struct WriterThread {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl WriterThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread could not be started.
    pub(crate) fn start(writer: Writer, events: Sender<Event>) -> io::Result<WriterThread> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let write_loop = WriteLoop { writer, events };
        let thread = thread::Builder::new().spawn(move || write_loop.write_all(&theirs))?;
        Ok(WriterThread { shared, thread })
    }

    /// Queues a batch for writing. Returns the batch if too many rows wait already; its requests are then counted as
    /// given up. A batch without rows makes the thread check that the file still exists.
    pub(crate) fn hand_over(&self, batch: Batch) -> Option<Batch> {
        let mut state = state(&self.shared);
        let rows = batch.rows();
        if batch.is_empty() && !state.waiting.is_empty() {
            return None;
        }
        // A single batch may always wait, regardless of its size.
        if !state.waiting.is_empty() && state.rows + rows > MOST_ROWS {
            state.status.given_up += batch.requests();
            return Some(batch);
        }
        state.rows += rows;
        state.waiting.push_back(batch);
        self.shared.1.notify_all();
        None
    }

    /// Returns counts of what was written, what waits, and what failed.
    pub(crate) fn status(&self) -> AgentWriting {
        let state = state(&self.shared);
        AgentWriting { waiting: state.waiting.len(), ..state.status.clone() }
    }

    /// Writes the waiting batches, and ends the thread. If a write fails, the remaining batches are given up. Returns
    /// the final status and the number of rows given up here.
    pub(crate) fn end(self) -> (AgentWriting, usize) {
        state(&self.shared).closing = true;
        self.shared.1.notify_all();
        // An error means that the thread panicked, so it has ended too.
        let _ = self.thread.join();
        let mut state = state(&self.shared);
        state.status.given_up += state.waiting.iter().map(Batch::requests).sum::<u64>();
        (state.status.clone(), state.waiting.iter().map(Batch::rows).sum())
    }
}

/// The state that only the thread uses.
struct WriteLoop {
    writer: Writer,
    events: Sender<Event>,
}

impl WriteLoop {
    fn write_all(mut self, shared: &Shared) {
        while let Some(batch) = next(shared) {
            let second = batch.second;
            let written = self.writer.write(&batch);
            let mut state = state(shared);
            match &written {
                Ok(is_new) => {
                    if *is_new {
                        let _ = self.events.send(Event::StoreOpenedAgain);
                    }
                    state.rows = state.rows.saturating_sub(batch.rows());
                    state.status.rows += batch.rows() as u64;
                    if state.status.trouble.take().is_some() {
                        let _ = self.events.send(Event::WriteResumed { given_up: state.status.given_up });
                    }
                }
                Err(error) => {
                    state.waiting.push_front(batch);
                    state.status.failures += 1;
                    let why = error.to_string();
                    if state.status.trouble.is_none() {
                        let _ = self.events.send(Event::WriteFailed(why.clone()));
                    }
                    state.status.trouble = Some(why);
                    // When the agent ends, a failed write is not tried again.
                    let closing = state.closing;
                    if closing {
                        return;
                    }
                    let waited = shared.1.wait_timeout_while(state, RETRY_PAUSE, |state| !state.closing);
                    drop(waited);
                    continue;
                }
            }
            drop(state);
            // On an error, old rows are removed after a later write.
            let _ = self.writer.enforce_limits(second);
        }
    }
}

/// Waits for the next batch; returns `None` if the agent ends and no batch waits.
fn next(shared: &Shared) -> Option<Batch> {
    let state = state(shared);
    let waited = shared.1.wait_while(state, |state| state.waiting.is_empty() && !state.closing);
    waited.unwrap_or_else(PoisonError::into_inner).waiting.pop_front()
}
