//! Receives datagrams in batches, without waiting.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// A buffer for a batch of datagrams.
#[derive(Debug)]
pub struct Datagrams {
    buffer: Vec<u8>,
    lengths: Vec<Option<usize>>,
    received: usize,
}

impl Datagrams {
    /// Makes a buffer for `many` datagrams of at most `longest` bytes each.
    pub fn new(many: usize, longest: usize) -> Self {
        Datagrams { buffer: vec![0; many * longest], lengths: vec![None; many], received: 0 }
    }

    /// Receives the datagrams that are queued, and overwrites the previous batch. Returns their number, 0 if there are
    /// none. If the batch is full, more datagrams may be queued.
    ///
    /// # Errors
    /// The error of recvmmsg(2).
    pub fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        self.received = match sys::receive(socket, &mut self.buffer, &mut self.lengths) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            received => received?,
        };
        Ok(self.received)
    }

    /// Returns the datagrams of the last batch; `None` is one that was longer than the buffer allows.
    pub fn all(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let longest = self.buffer.len() / self.lengths.len().max(1);
        let pieces = self.buffer.chunks_exact(longest.max(1)).zip(&self.lengths).take(self.received);
        pieces.map(|(piece, length)| length.map(|length| &piece[..length]))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn datagrams_are_received_in_order_without_waiting() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let mut room = Datagrams::new(3, 8);
        assert_eq!(room.receive(&ours).unwrap(), 0);
        for datagram in ["one", "", "longer than that", "four"] {
            theirs.send(datagram.as_bytes()).unwrap();
        }
        assert_eq!(room.receive(&ours).unwrap(), 3);
        let all: Vec<Option<&[u8]>> = room.all().collect();
        assert_eq!(all, [Some(b"one".as_slice()), Some(b"".as_slice()), None]);
        assert_eq!(room.receive(&ours).unwrap(), 1);
        assert_eq!(room.all().collect::<Vec<_>>(), [Some(b"four".as_slice())]);
        assert_eq!(room.receive(&ours).unwrap(), 0);
        assert_eq!(room.all().count(), 0);
    }
}
