//! The agent's socket: where it is, whose it is, and that there is one agent behind it.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::lock::Lock;

/// Why there is no socket.
#[derive(Debug, Error)]
pub enum SocketError {
    /// Another agent has it.
    #[error("an agent listens there already; steady agent status tells of it, --socket takes another path")]
    Taken,
    /// Its folder is of somebody else, who could put another one in its place.
    #[error("its folder '{0}' belongs to another user; --socket takes another path")]
    Foreign(PathBuf),
    /// There is something else at its path.
    #[error("there is something else at that path, and it stays")]
    Occupied,
    /// What the system says.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// A socket that services may send to; gone when this is dropped.
#[derive(Debug)]
pub struct Socket {
    socket: UnixDatagram,
    path: PathBuf,
    // It is held for as long as the socket is ours.
    _lock: Lock,
}

impl Socket {
    /// Makes the socket at `path` and, where that is missing, its folder; both are for this user alone, or for `group` as well. One
    /// that an agent left when it was killed is replaced.
    ///
    /// # Errors
    /// [`SocketError`]
    pub fn listen(path: &Path, group: Option<u32>) -> Result<Self, SocketError> {
        folder(path, group)?;
        let lock = Lock::hold(&beside(path, ".lock"))?.ok_or(SocketError::Taken)?;
        match fs::symlink_metadata(path) {
            Ok(found) if !is_socket(&found) => return Err(SocketError::Occupied),
            // Whoever holds the lock knows that nobody listens there, but for programs that ask for no lock.
            Ok(_) if is_listened_to(path) => return Err(SocketError::Taken),
            _ => {}
        }
        // Nobody is to meet a socket that is not yet as it shall be.
        let unfinished = beside(path, "~");
        let socket = Socket::bind(&unfinished, group).and_then(|socket| fs::rename(&unfinished, path).map(|()| socket));
        let socket = socket.inspect_err(|_| _ = fs::remove_file(&unfinished))?;
        Ok(Socket { socket, path: path.to_owned(), _lock: lock })
    }

    fn bind(path: &Path, group: Option<u32>) -> io::Result<UnixDatagram> {
        // An agent that was killed may have left one.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixDatagram::bind(path)?;
        socket.set_nonblocking(true)?;
        if group.is_some() {
            chown(path, None, group)?;
        }
        fs::set_permissions(path, Permissions::from_mode(0o660))?;
        Ok(socket)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // What cannot be removed is taken over by the next agent.
        for file in [&self.path, &status_file(&self.path)] {
            let _ = fs::remove_file(file);
        }
    }
}

/// The file in which the agent behind a socket tells of itself.
pub fn status_file(socket: &Path) -> PathBuf {
    beside(socket, ".status")
}

/// Whether an agent holds the socket at this path.
pub fn is_held(socket: &Path) -> bool {
    Lock::is_held(&beside(socket, ".lock"))
}

/// A file beside the socket.
fn beside(socket: &Path, suffix: &str) -> PathBuf {
    let mut name = socket.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    socket.with_file_name(name)
}

/// The folder of a socket, made if it is missing. One that is there must be ours or the system's.
fn folder(path: &Path, group: Option<u32>) -> Result<(), SocketError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if group.is_some() {
            chown(folder, None, group)?;
            fs::set_permissions(folder, Permissions::from_mode(0o710))?;
        }
    }
    let own = rustix::process::geteuid().as_raw();
    // A link to a folder of ours may be somebody else's.
    let owners = [fs::metadata(folder)?.uid(), fs::symlink_metadata(folder)?.uid()];
    let is_trusted = owners.into_iter().all(|owner| owner == own || owner == 0);
    if is_trusted { Ok(()) } else { Err(SocketError::Foreign(folder.to_owned())) }
}

fn is_socket(facts: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    facts.file_type().is_socket()
}

fn is_listened_to(path: &Path) -> bool {
    UnixDatagram::unbound().is_ok_and(|socket| socket.connect(path).is_ok())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn path(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("steady-socket-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder.join("deep/agent.sock")
    }

    #[test]
    fn one_agent_has_a_socket_and_leaves_nothing() {
        let path = path("one");
        let socket = Socket::listen(&path, None).unwrap();
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        assert!(is_held(&path));
        assert!(matches!(Socket::listen(&path, None), Err(SocketError::Taken)));
        drop(socket);
        assert!(!is_held(&path));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    #[test]
    fn what_a_kill_left_is_taken_over_and_what_is_none_stays() {
        let path = path("stale");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        drop([UnixDatagram::bind(&path).unwrap(), UnixDatagram::bind(beside(&path, "~")).unwrap()]);
        assert!(path.exists());
        drop(Socket::listen(&path, None).unwrap());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        let other = UnixDatagram::bind(&path).unwrap();
        assert!(matches!(Socket::listen(&path, None), Err(SocketError::Taken)), "it asked for no lock");
        drop(other);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        assert!(matches!(Socket::listen(&path, None), Err(SocketError::Occupied)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    #[test]
    fn whoever_meets_it_may_use_it_as_meant() {
        let path = path("met");
        let (is_over, sightings) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let met = scope.spawn(|| {
                let mut met = BTreeSet::new();
                while !is_over.load(Ordering::Relaxed) {
                    if let Ok(facts) = fs::metadata(&path) {
                        met.insert(facts.mode() & 0o777);
                        sightings.fetch_add(1, Ordering::Relaxed);
                    }
                }
                met
            });
            // On a busy machine it may be long before it looks.
            let mut made = 0;
            while made < 500 || sightings.load(Ordering::Relaxed) < 500 {
                drop(Socket::listen(&path, None).unwrap());
                made += 1;
            }
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(met.join().unwrap(), BTreeSet::from([0o660]));
        });
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }
}
