//! Datagrams, read in batches from a socket that does not wait.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// Room for some datagrams.
#[derive(Debug)]
pub struct Datagrams {
    buffer: Vec<u8>,
    lengths: Vec<Option<usize>>,
    received: usize,
}

impl Datagrams {
    /// Room for `many` datagrams of `longest` bytes each.
    pub fn new(many: usize, longest: usize) -> Self {
        Datagrams { buffer: vec![0; many * longest], lengths: vec![None; many], received: 0 }
    }

    /// Receives what waits, in place of what was received before; how many that is, 0 where nothing does. More may wait where it
    /// is as many as there is room for.
    ///
    /// # Errors
    /// What recvmmsg(2) says.
    pub fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        self.received = match sys::receive(socket, &mut self.buffer, &mut self.lengths) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            received => received?,
        };
        Ok(self.received)
    }

    /// What was received last; `None` stands for one that was too long.
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
    fn datagrams_come_one_by_one_and_none_is_waited_for() {
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
