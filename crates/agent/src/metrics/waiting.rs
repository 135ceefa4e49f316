//! Connections that have not asked for anything yet, and which of them makes room for a new one.
//!
//! A client that is allowed to read asks within milliseconds. So when all places are taken, the connection that has
//! waited longest is closed, of the peer that has the most of them: a flood of idle connections replaces itself, and
//! neither delays scrapes of others nor those of its own host for longer than they take to ask.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// Connections of one peer that may be answered at a time.
const ANSWERED: usize = 32;

/// The connections that have not asked yet, and how many of each peer are being answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<Mutex<State>>);

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
    /// Ends its task; absent until the task has been started.
    task: Option<AbortHandle>,
}

impl Waiting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection.
    pub(super) fn enter(&self, peer: IpAddr) -> Ticket {
        let mut state = self.state();
        let (number, peer) = (state.next, network(peer));
        state.next += 1;
        state.connections.insert(number, Connection { peer, task: None });
        Ticket { waiting: self.clone(), number, peer, is_answered: AtomicBool::new(false) }
    }

    /// Closes the one that has waited longest, of the peer with the most that wait.
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

/// A connection's entry; it is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    waiting: Waiting,
    number: u64,
    peer: IpAddr,
    is_answered: AtomicBool,
}

impl Ticket {
    /// Lets the connection be closed from now on.
    pub(super) fn is_served_by(&self, task: AbortHandle) {
        if let Some(connection) = self.waiting.state().connections.get_mut(&self.number) {
            connection.task = Some(task);
        }
    }

    /// The client has asked for something that it may have: the connection is not closed for others. Returns whether it can
    /// be answered, or its peer has too many that are.
    pub(super) fn has_asked(&self) -> bool {
        let mut state = self.waiting.state();
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

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.waiting.state();
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

/// What one peer is known by: with IPv6 its network, since a host has as many addresses there as it likes.
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
    fn the_oldest_of_the_largest_crowd_makes_room() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let waiting = Waiting::default();
            let enter = |peer: &str| {
                let ticket = Arc::new(waiting.enter(peer.parse().unwrap()));
                let task = tokio::spawn(std::future::pending::<()>());
                ticket.is_served_by(task.abort_handle());
                (ticket, task)
            };
            let [alone, first, second, asked] = ["10.0.0.1", "2001:db8::1", "2001:db8::2", "2001:db8::3"].map(enter);
            assert!(asked.0.has_asked());
            let mut ended = Vec::new();
            for _ in 0..4 {
                waiting.close_one();
                tokio::task::yield_now().await;
                ended.push([&alone, &first, &second, &asked].map(|(_, task)| task.is_finished()));
            }
            assert_eq!(ended[0], [false, true, false, false], "the oldest of the network with two");
            assert_eq!(ended[1], [true, true, false, false], "then the oldest");
            assert_eq!(ended[3], [true, true, true, false], "never one that has asked");
            drop((alone, first, second, asked));
            assert!(waiting.state().connections.is_empty() && waiting.state().answered.is_empty());
        });
    }

    #[test]
    fn one_peer_does_not_take_all_answers() {
        let waiting = Waiting::default();
        let asks = |peer: [u8; 4]| {
            let ticket = waiting.enter(IpAddr::from(peer));
            (ticket.has_asked(), ticket)
        };
        let mut greedy: Vec<_> = (0..ANSWERED + 1).map(|_| asks([10, 0, 0, 1])).collect();
        assert_eq!(greedy.iter().filter(|(is_answered, _)| *is_answered).count(), ANSWERED);
        assert!(asks([10, 0, 0, 2]).0);
        greedy.remove(0);
        assert!(asks([10, 0, 0, 1]).0);
    }
}
