//! The thread that writes: what it cannot write waits, and what there is no room for is given up, counted and told.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::record::AgentWriting;

use crate::Event;
use crate::store::{Batch, StoreError, Writer};

/// Rows that may wait.
const ROWS: usize = 100_000;
/// How long to wait before a write that failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Whether the file is still there is looked at every so many writes.
const WRITES_A_LOOK: u64 = 10;

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Batch>,
    rows: usize,
    closing: bool,
    told: AgentWriting,
}

type Shared = (Mutex<State>, Condvar);

fn state(shared: &Shared) -> MutexGuard<'_, State> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread, and what waits for it.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Begins to write to the store.
    ///
    /// # Errors
    /// No thread could be started.
    pub(crate) fn begin(writer: Writer, events: Sender<Event>) -> io::Result<Keeper> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let hand = Hand { writer, events, writes: 0, is_gone: false };
        let thread = thread::Builder::new().spawn(move || hand.write_all(&theirs))?;
        Ok(Keeper { shared, thread })
    }

    /// Hands a batch over; back comes one that there is no room for.
    pub(crate) fn hand_over(&self, batch: Batch) -> Option<Batch> {
        let mut state = state(&self.shared);
        let rows = batch.rows();
        // One may always wait, however large it is.
        if !state.waiting.is_empty() && state.rows + rows > ROWS {
            state.told.given_up += batch.requests();
            return Some(batch);
        }
        state.rows += rows;
        state.waiting.push_back(batch);
        self.shared.1.notify_all();
        None
    }

    /// How it goes.
    pub(crate) fn told(&self) -> AgentWriting {
        let state = state(&self.shared);
        AgentWriting { waiting: state.waiting.len(), ..state.told.clone() }
    }

    /// Writes what still waits, and ends; what could not be written is given up. How it went, and how many rows that are.
    pub(crate) fn end(self) -> (AgentWriting, usize) {
        state(&self.shared).closing = true;
        self.shared.1.notify_all();
        // One that panicked has ended too.
        let _ = self.thread.join();
        let mut state = state(&self.shared);
        state.told.given_up += state.waiting.iter().map(Batch::requests).sum::<u64>();
        (state.told.clone(), state.waiting.iter().map(Batch::rows).sum())
    }
}

/// The one that writes.
struct Hand {
    writer: Writer,
    events: Sender<Event>,
    writes: u64,
    /// Whether the file was removed and is not there again.
    is_gone: bool,
}

impl Hand {
    fn write_all(mut self, shared: &Shared) {
        while let Some(batch) = next(shared) {
            let second = batch.second;
            let written = self.write(&batch);
            let mut state = state(shared);
            match &written {
                Ok(()) => {
                    state.rows = state.rows.saturating_sub(batch.rows());
                    state.told.rows += batch.rows() as u64;
                    if state.told.trouble.take().is_some() {
                        let _ = self.events.send(Event::Written { given_up: state.told.given_up });
                    }
                }
                Err(error) => {
                    state.waiting.push_front(batch);
                    state.told.failures += 1;
                    let why = error.to_string();
                    if state.told.trouble.is_none() {
                        let _ = self.events.send(Event::NotWritten(why.clone()));
                    }
                    state.told.trouble = Some(why);
                    // The last write is tried once.
                    let closing = state.closing;
                    if closing {
                        return;
                    }
                    let waited = shared.1.wait_timeout_while(state, AGAIN, |state| !state.closing);
                    drop(waited);
                    continue;
                }
            }
            drop(state);
            // What cannot be removed now can be in a second.
            let _ = self.writer.tend(second);
        }
    }

    /// Writes a batch. A file that was removed is made anew: what is written to it nobody could read.
    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.writes += 1;
        if self.is_gone || self.writes.is_multiple_of(WRITES_A_LOOK) && !self.writer.path().exists() {
            self.is_gone = true;
            self.writer.open_again()?;
            self.is_gone = false;
        }
        self.writer.write(batch)
    }
}

/// The next batch; `None` once nothing waits and nothing comes.
fn next(shared: &Shared) -> Option<Batch> {
    let state = state(shared);
    let waited = shared.1.wait_while(state, |state| state.waiting.is_empty() && !state.closing);
    waited.unwrap_or_else(PoisonError::into_inner).waiting.pop_front()
}
