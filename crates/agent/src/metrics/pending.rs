//! Connections that have not sent a request yet, and the choice of the one that a new connection replaces.
//!
//! A client that may read the metrics sends its request within milliseconds. When all connections are in use, the
//! server closes the oldest connection without a request, of the peer with the most such connections. So a flood of
//! idle connections replaces itself. It delays neither the scrapes of other peers nor those of its own host for longer
//! than they need to send a request.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// The most connections of one peer that are answered at a time.
const ANSWERED: usize = 32;

/// The connections that have not sent a request yet, and the number of connections of each peer that are being
/// answered.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingConnections(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// By age, the oldest first.
    connections: BTreeMap<u64, Connection>,
    answered: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct Connection {
    peer: IpAddr,
    /// Aborts the task of the connection; `None` until the task has been started.
    task: Option<AbortHandle>,
}

impl PendingConnections {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection that has just been accepted.
    pub(super) fn add(&self, peer: IpAddr) -> ConnectionEntry {
        let mut state = self.state();
        let (number, peer) = (state.next, network(peer));
        state.next += 1;
        state.connections.insert(number, Connection { peer, task: None });
        ConnectionEntry { pending: self.clone(), number, peer, is_answered: AtomicBool::new(false) }
    }

    /// Closes the oldest connection of the peer with the most pending connections.
    pub(super) fn close_one(&self) {
        let mut state = self.state();
        let mut numbers: HashMap<IpAddr, usize> = HashMap::new();
        for connection in state.connections.values().filter(|one| one.task.is_some()) {
            *numbers.entry(connection.peer).or_default() += 1;
        }
        let most = numbers.values().copied().max().unwrap_or(0);
        let is_of_most = |one: &Connection| one.task.is_some() && numbers.get(&one.peer) == Some(&most);
        let oldest = state.connections.iter().find(|(_, one)| is_of_most(one)).map(|(number, _)| *number);
        if let Some(task) = oldest.and_then(|oldest| state.connections.remove(&oldest)).and_then(|one| one.task) {
            task.abort();
        }
    }
}

/// The entry of a connection in [`PendingConnections`]. Dropping it removes the entry.
#[derive(Debug)]
pub(super) struct ConnectionEntry {
    pending: PendingConnections,
    number: u64,
    peer: IpAddr,
    is_answered: AtomicBool,
}

impl ConnectionEntry {
    /// Sets the task of the connection. From now on, the connection can be closed.
    pub(super) fn set_task(&self, task: AbortHandle) {
        if let Some(connection) = self.pending.state().connections.get_mut(&self.number) {
            connection.task = Some(task);
        }
    }

    /// Notes that the client has sent an authorized request, so that the connection is no longer closed for a new one.
    /// Returns false if too many connections of its peer are being answered.
    pub(super) fn start_answer(&self) -> bool {
        let mut state = self.pending.state();
        let answered = state.answered.entry(self.peer).or_default();
        if *answered >= ANSWERED {
            return false;
        }
        if !self.is_answered.swap(true, Ordering::Relaxed) {
            *answered += 1;
        }
        state.connections.remove(&self.number);
        true
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        let mut state = self.pending.state();
        state.connections.remove(&self.number);
        if *self.is_answered.get_mut()
            && let Some(answered) = state.answered.get_mut(&self.peer)
        {
            *answered -= 1;
            if *answered == 0 {
                state.answered.remove(&self.peer);
            }
        }
    }
}

/// Returns the address that identifies a peer. For IPv6 this is the /64 network, because one host can have any number
/// of addresses in it.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_connection_of_the_peer_with_the_most_is_closed() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let pending = PendingConnections::default();
            let enter = |peer: &str| {
                let entry = Arc::new(pending.add(peer.parse().unwrap()));
                let task = tokio::spawn(std::future::pending::<()>());
                entry.set_task(task.abort_handle());
                (entry, task)
            };
            let [alone, first, second, answered] = ["10.0.0.1", "2001:db8::1", "2001:db8::2", "2001:db8::3"].map(enter);
            assert!(answered.0.start_answer());
            let mut ended = Vec::new();
            for _ in 0..4 {
                pending.close_one();
                tokio::task::yield_now().await;
                ended.push([&alone, &first, &second, &answered].map(|(_, task)| task.is_finished()));
            }
            assert_eq!(ended[0], [false, true, false, false], "the oldest of the network with two connections");
            assert_eq!(ended[1], [true, true, false, false], "then the oldest of all");
            assert_eq!(ended[3], [true, true, true, false], "never one that is being answered");
            drop((alone, first, second, answered));
            assert!(pending.state().connections.is_empty() && pending.state().answered.is_empty());
        });
    }

    #[test]
    fn the_connections_of_one_peer_are_limited() {
        let pending = PendingConnections::default();
        let request = |peer: [u8; 4]| {
            let entry = pending.add(IpAddr::from(peer));
            (entry.start_answer(), entry)
        };
        let mut many: Vec<_> = (0..ANSWERED + 1).map(|_| request([10, 0, 0, 1])).collect();
        assert_eq!(many.iter().filter(|(is_answered, _)| *is_answered).count(), ANSWERED);
        assert!(request([10, 0, 0, 2]).0);
        many.remove(0);
        assert!(request([10, 0, 0, 1]).0);
    }
}
