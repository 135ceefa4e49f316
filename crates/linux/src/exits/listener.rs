//! Listening to the kernel: one socket for the ends of all tasks.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto, socket_with};
use steady_model::{Absent, Reading};

use super::message::{Heard, ask_for_exits, ask_for_family, hear};
use super::record::TaskExit;
use crate::{Root, sys};

/// The family's name, and the CPUs that there can be.
const FAMILY: &str = "TASKSTATS";
const POSSIBLE_CPUS: &str = "/sys/devices/system/cpu/possible";
/// What may wait to be taken: some ten thousand records. Only what waits takes memory.
const BUFFER: usize = 32 << 20;
/// Longer than any message: a process's last one holds two records.
const LONGEST: usize = 16 << 10;
/// At most so many are taken at once, so that a host that ends tasks faster than they are read holds nobody up.
const MOST_AT_ONCE: usize = 1 << 16;

/// Hears of every task of the host that ends, from its opening on.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// Records that came before the answer to the question for them.
    early: Vec<TaskExit>,
    /// Whether the kernel has said that it could not deliver all.
    overrun: bool,
}

impl Listener {
    /// Begins to listen. Absent without CAP_NET_ADMIN, in a namespace of users, processes or networks that is not the
    /// first one, and where the kernel keeps no such records.
    pub fn open() -> Reading<Self> {
        Listener::with_room(BUFFER)
    }

    fn with_room(room: usize) -> Reading<Self> {
        let root = Root::default();
        let failed = |error: Errno| Absent::because(format!("netlink(7): {}", io::Error::from(error)));
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(GENERIC)).map_err(failed)?;
        bind(&socket, &SocketAddrNetlink::new(0, 0)).map_err(failed)?;
        // Where that is refused, so is what comes next.
        let _ = set_socket_recv_buffer_size_force(&socket, room);
        let mut listener = Listener { socket, early: Vec::new(), overrun: false };
        let family = match listener.ask(&ask_for_family(FAMILY)).map_err(failed)? {
            Heard::Family(number) => number,
            Heard::Answer(error) => return Err(no_family(error)),
            Heard::Ended(_) => return Err(unanswered()),
        };
        let cpus = root.read_line(POSSIBLE_CPUS)?;
        match listener.ask(&ask_for_exits(family, &cpus)).map_err(failed)? {
            Heard::Answer(0) => listener.tried_out(),
            Heard::Answer(error) => Err(refused(error)),
            Heard::Family(_) | Heard::Ended(_) => Err(unanswered()),
        }
    }

    /// This listener, if it hears of a thread's end: in another network namespace than the first, newer kernels accept a
    /// listener, but never send it anything.
    fn tried_out(mut self) -> Reading<Self> {
        let thread = std::thread::Builder::new().spawn(|| rustix::thread::gettid().as_raw_nonzero().get());
        let thread = thread.map_err(|error| Absent::because(format!("no thread could be started: {error}")))?;
        // The record is sent before the thread can be joined.
        let number = thread.join().map_err(|_| unanswered())?;
        let mut heard = self.take();
        let Some(place) = heard.iter().position(|task| task.pid == number) else {
            return Err(Absent::because("exit records of tasks are told in the first network namespace only"));
        };
        // It is nobody's business.
        heard.remove(place);
        self.early = heard;
        Ok(self)
    }

    /// The tasks that have ended and were not told yet, in the order in which the kernel told of them. Never waits.
    pub fn take(&mut self) -> Vec<TaskExit> {
        let mut ended = std::mem::take(&mut self.early);
        while ended.len() < MOST_AT_ONCE {
            match self.receive() {
                Ok(heard) => ended.extend(heard.into_iter().filter_map(|heard| match heard {
                    Heard::Ended(task) => Some(task),
                    Heard::Family(_) | Heard::Answer(_) => None,
                })),
                Err(Errno::NOBUFS) => self.overrun = true,
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        ended
    }

    /// How many records were lost so far, since they were not taken in time: of a tree that is summed up some are missing
    /// then.
    pub fn lost(&self) -> u64 {
        let dropped = sys::dropped_messages(&self.socket).unwrap_or(0);
        u64::from(dropped).max(u64::from(self.overrun))
    }

    /// Asks, and returns the first answer. The kernel answers before the question's sending returns.
    fn ask(&mut self, question: &[u8]) -> Result<Heard, Errno> {
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, question, SendFlags::empty(), &kernel)?;
        let mut answer = None;
        loop {
            match self.receive() {
                Ok(heard) => {
                    for heard in heard {
                        match heard {
                            Heard::Ended(task) => self.early.push(task),
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

    fn receive(&self) -> Result<Vec<Heard>, Errno> {
        let mut datagram = [0_u8; LONGEST];
        let (length, _) = recv(&self.socket, &mut datagram, RecvFlags::DONTWAIT)?;
        Ok(hear(&datagram[..length]))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn unanswered() -> Absent {
    Absent::because("the kernel does not answer on netlink(7)")
}

/// Why there is no such family.
fn no_family(error: i32) -> Absent {
    match Errno::from_raw_os_error(error) {
        Errno::NOENT => Absent::because(
            "the kernel keeps no exit records of tasks (CONFIG_TASKSTATS), or tells them in the first network namespace only",
        ),
        other => Absent::because(format!("netlink(7): {}", io::Error::from(other))),
    }
}

/// Why nobody listens.
fn refused(error: i32) -> Absent {
    match Errno::from_raw_os_error(error) {
        Errno::PERM => Absent::because("exit records of tasks take the privilege CAP_NET_ADMIN"),
        Errno::INVAL => {
            Absent::because("exit records of tasks are told in the first namespace of users and processes only")
        }
        other => Absent::because(format!("netlink(7): {}", io::Error::from(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn what_finds_no_room_is_known_to_be_lost() {
        let mut listener = match Listener::with_room(16_384) {
            Ok(listener) => listener,
            Err(absent) => return eprintln!("skipped: what_finds_no_room_is_known_to_be_lost: {absent}"),
        };
        for _ in 0..100 {
            std::process::Command::new("true").status().unwrap();
        }
        let taken = listener.take().len() as u64;
        assert!(listener.lost() > 0 && taken + listener.lost() >= 100, "{taken} taken, {} lost", listener.lost());
    }

    #[test]
    fn what_is_refused_says_what_it_takes() {
        assert!(refused(Errno::PERM.raw_os_error()).0.contains("CAP_NET_ADMIN"));
        assert!(refused(Errno::INVAL.raw_os_error()).0.contains("namespace"));
        assert!(refused(Errno::NOMEM.raw_os_error()).0.contains("memory"));
        assert!(no_family(Errno::NOENT.raw_os_error()).0.contains("CONFIG_TASKSTATS"));
        assert!(no_family(Errno::PERM.raw_os_error()).0.contains("permitted"));
    }
}
