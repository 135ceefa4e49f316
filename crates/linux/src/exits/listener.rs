//! Receives the exit records of all tasks through one netlink socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto, socket_with};
use steady_model::{Absent, Reading};

use super::message::{Message, exits_request, family_request, parse_messages};
use super::record::TaskExit;
use crate::{Root, sys};

/// Name of the netlink family.
const FAMILY: &str = "TASKSTATS";
/// List of the CPUs that the machine can have.
const POSSIBLE_CPUS: &str = "/sys/devices/system/cpu/possible";
/// Size of the receive buffer in bytes, for some ten thousand records. Only queued records use memory.
const BUFFER: usize = 32 << 20;
/// Size of a datagram buffer in bytes. It is larger than any message: the last message of a process has two records.
const LONGEST: usize = 16 << 10;
/// Maximum number of records read in one call. On a host on which tasks end faster than they are read, the caller still
/// makes progress.
const MOST_AT_ONCE: usize = 1 << 16;

/// Receives a record of each task of the host that ends, from its opening on.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// Records that arrived before the answer to a request.
    early: Vec<TaskExit>,
    /// Whether the kernel has reported that it could not deliver all records.
    overrun: bool,
}

impl Listener {
    /// Opens the socket and registers for records. Returns the reason if that is not possible: without CAP_NET_ADMIN,
    /// outside of the initial user, PID and network namespaces, or if the kernel keeps no such records.
    pub fn open() -> Reading<Self> {
        Listener::with_room(BUFFER)
    }

    fn with_room(room: usize) -> Reading<Self> {
        let root = Root::default();
        let failed = |error: Errno| Absent::because(format!("netlink(7): {}", io::Error::from(error)));
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(GENERIC)).map_err(failed)?;
        bind(&socket, &SocketAddrNetlink::new(0, 0)).map_err(failed)?;
        // If the kernel refuses a larger buffer, it also refuses the registration below.
        let _ = set_socket_recv_buffer_size_force(&socket, room);
        let mut listener = Listener { socket, early: Vec::new(), overrun: false };
        let family = match listener.request(&family_request(FAMILY)).map_err(failed)? {
            Message::Family(number) => number,
            Message::Answer(error) => return Err(no_family(error)),
            Message::Ended(_) => return Err(unanswered()),
        };
        let cpus = root.read_line(POSSIBLE_CPUS)?;
        match listener.request(&exits_request(family, &cpus)).map_err(failed)? {
            Message::Answer(0) => listener.tested(),
            Message::Answer(error) => Err(refused(error)),
            Message::Family(_) | Message::Ended(_) => Err(unanswered()),
        }
    }

    /// Returns this listener if it receives the record of a test thread. Outside of the initial network namespace, newer
    /// kernels accept a registration but never send a record.
    fn tested(mut self) -> Reading<Self> {
        let thread = std::thread::Builder::new().spawn(|| rustix::thread::gettid().as_raw_nonzero().get());
        let thread = thread.map_err(|error| Absent::because(format!("cannot start a thread: {error}")))?;
        // The kernel sends the record before the thread can be joined.
        let number = thread.join().map_err(|_| unanswered())?;
        let mut ended = self.take();
        let Some(place) = ended.iter().position(|task| task.pid == number) else {
            return Err(Absent::because("the kernel sends exit records only to the initial network namespace"));
        };
        // Callers do not need the record of the test thread.
        ended.remove(place);
        self.early = ended;
        Ok(self)
    }

    /// Returns the records received since the last call, in the order in which the kernel sent them. Never waits.
    pub fn take(&mut self) -> Vec<TaskExit> {
        let mut ended = std::mem::take(&mut self.early);
        while ended.len() < MOST_AT_ONCE {
            match self.receive() {
                Ok(messages) => ended.extend(messages.into_iter().filter_map(|message| match message {
                    Message::Ended(task) => Some(task),
                    Message::Family(_) | Message::Answer(_) => None,
                })),
                Err(Errno::NOBUFS) => self.overrun = true,
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        ended
    }

    /// Returns how many records were lost because they were not read in time. If any were lost, the sums over a tree
    /// may be too small.
    pub fn lost(&self) -> u64 {
        let dropped = sys::dropped_messages(&self.socket).unwrap_or(0);
        u64::from(dropped).max(u64::from(self.overrun))
    }

    /// Sends a request and returns the first answer. The kernel answers before the request's sendto(2) returns.
    fn request(&mut self, request: &[u8]) -> Result<Message, Errno> {
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, request, SendFlags::empty(), &kernel)?;
        let mut answer = None;
        loop {
            match self.receive() {
                Ok(messages) => {
                    for message in messages {
                        match message {
                            Message::Ended(task) => self.early.push(task),
                            other => answer = answer.or(Some(other)),
                        }
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => self.overrun = true,
                Err(Errno::AGAIN) => return answer.ok_or(Errno::NOMSG),
                Err(error) => return Err(error),
            }
        }
    }

    fn receive(&self) -> Result<Vec<Message>, Errno> {
        let mut datagram = [0_u8; LONGEST];
        let (length, _) = recv(&self.socket, &mut datagram, RecvFlags::DONTWAIT)?;
        Ok(parse_messages(&datagram[..length]))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn unanswered() -> Absent {
    Absent::because("the kernel did not answer on netlink(7)")
}

/// Converts an error of the family request into a reason.
fn no_family(error: i32) -> Absent {
    match Errno::from_raw_os_error(error) {
        Errno::NOENT => Absent::because(
            "the kernel has no exit records (CONFIG_TASKSTATS), or sends them only to the initial network namespace",
        ),
        other => Absent::because(format!("netlink(7): {}", io::Error::from(other))),
    }
}

/// Converts an error of the registration into a reason.
fn refused(error: i32) -> Absent {
    match Errno::from_raw_os_error(error) {
        Errno::PERM => Absent::because("reading exit records needs the privilege CAP_NET_ADMIN"),
        Errno::INVAL => Absent::because("the kernel sends exit records only to the initial user and PID namespaces"),
        other => Absent::because(format!("netlink(7): {}", io::Error::from(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn records_beyond_the_buffer_count_as_lost() {
        let mut listener = match Listener::with_room(16_384) {
            Ok(listener) => listener,
            Err(absent) => return eprintln!("skipped: records_beyond_the_buffer_count_as_lost: {absent}"),
        };
        for _ in 0..100 {
            std::process::Command::new("true").status().unwrap();
        }
        let taken = listener.take().len() as u64;
        assert!(listener.lost() > 0 && taken + listener.lost() >= 100, "{taken} taken, {} lost", listener.lost());
    }

    #[test]
    fn refusals_have_a_reason() {
        assert!(refused(Errno::PERM.raw_os_error()).0.contains("CAP_NET_ADMIN"));
        assert!(refused(Errno::INVAL.raw_os_error()).0.contains("namespace"));
        assert!(refused(Errno::NOMEM.raw_os_error()).0.contains("memory"));
        assert!(no_family(Errno::NOENT.raw_os_error()).0.contains("CONFIG_TASKSTATS"));
        assert!(no_family(Errno::PERM.raw_os_error()).0.contains("permitted"));
    }
}
