//! The agent's socket: its path, its permissions, and the lock that admits one agent.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use steady_linux::directory::{Directory, DirectoryError, Lock};
use steady_model::Absent;
use steady_render::shell;
use thiserror::Error;

use crate::paths::denied;

/// The longest path of a socket, in bytes. `sun_path` of `struct sockaddr_un` has 108 bytes (unix(7)); the terminating
/// NUL and the `~` of the temporary name take one each.
const LONGEST: usize = 106;

/// The reason why the socket cannot be used.
#[derive(Debug, Error)]
pub enum SocketError {
    /// Another process listens at the path; its process ID, as far as known.
    #[error(
        "an agent already listens there ({holder}); see its status with: steady agent status --socket {path}; or choose \
         another path with --socket"
    )]
    Taken {
        /// The process.
        holder: String,
        /// The path, quoted for a shell if it needs that.
        path: String,
    },
    /// Other users can write to the directory, so they could replace the socket.
    #[error("{0}; choose another path with --socket")]
    Untrusted(DirectoryError),
    /// A system call on the directory failed, usually because this user may not create files in it.
    #[error("{}; choose another path with --socket", of_directory(.0))]
    Unusable(DirectoryError),
    /// The path does not fit into a socket address.
    #[error(
        "the path has {0} bytes, but the path of a socket has at most {LONGEST}; choose a shorter one with --socket"
    )]
    TooLong(usize),
    /// The file at the path is not a datagram socket, or this user may not connect to it.
    #[error(
        "the file at this path is not a socket that the agent can replace; remove it, or choose another path with --socket"
    )]
    Occupied,
    /// A system call failed.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl From<DirectoryError> for SocketError {
    fn from(error: DirectoryError) -> Self {
        match error {
            DirectoryError::Untrusted { .. } => SocketError::Untrusted(error),
            DirectoryError::Locked { .. } | DirectoryError::System { .. } => SocketError::Unusable(error),
        }
    }
}

/// Describes why a directory cannot be used. If access is denied, it names the owner.
fn of_directory(error: &DirectoryError) -> String {
    match error {
        DirectoryError::System { path, error } if error.kind() == io::ErrorKind::PermissionDenied => {
            format!("'{}': {}", path.display(), denied(path))
        }
        other => other.to_string(),
    }
}

/// The socket that services send to. Dropping it removes its file and the status file.
#[derive(Debug)]
pub struct Socket {
    socket: UnixDatagram,
    path: PathBuf,
    directory: Directory,
    // Held until the socket is removed.
    _lock: Lock,
}

impl Socket {
    /// Creates the socket at `path`, and its directory if it does not exist. Only this user can use them, and `group`
    /// if given. A socket that a killed agent left behind is replaced.
    ///
    /// # Errors
    /// [`SocketError`]
    pub fn listen(path: &Path, group: Option<u32>) -> Result<Self, SocketError> {
        fits(path)?;
        let directory = directory(path, group)?;
        let taken = |holder| SocketError::Taken { holder, path: shell::line(&[path.to_string_lossy().into_owned()]) };
        let lock = directory.lock(&with(name(path), ".lock"), Duration::ZERO).map_err(|error| match error {
            DirectoryError::Locked { holder, .. } => taken(holder),
            other => other.into(),
        })?;
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => return Err(SocketError::Occupied),
            // The lock excludes other agents, but not other programs.
            Ok(_) => match connect(path) {
                Ok(_) => return Err(taken("a process that does not hold the agent's lock".to_owned())),
                Err(error) if is_gone(&error) => {}
                Err(_) => return Err(SocketError::Occupied),
            },
            Err(_) => {}
        }
        // The status file of an earlier agent is out of date.
        directory.remove(status_name(path))?;
        // Bind under a temporary name; rename once the permissions are set.
        let unfinished = path.with_file_name(with(name(path), "~"));
        let socket = Socket::bind(&unfinished, group).and_then(|socket| fs::rename(&unfinished, path).map(|()| socket));
        let socket = socket.inspect_err(|_| _ = fs::remove_file(&unfinished))?;
        Ok(Socket { socket, path: path.to_owned(), directory, _lock: lock })
    }

    fn bind(path: &Path, group: Option<u32>) -> io::Result<UnixDatagram> {
        // An agent that was killed may have left a file of this name.
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

    /// Replaces the file in which this agent reports its status.
    ///
    /// # Errors
    /// The error of a system call.
    pub(crate) fn report(&self, status: &[u8]) -> io::Result<()> {
        self.directory.replace(status_name(&self.path), status, 0o644, false, || ())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // On an error, the next agent replaces the files.
        for file in [name(&self.path).to_owned(), status_name(&self.path)] {
            let _ = self.directory.remove(file);
        }
    }
}

/// Checks that a path is short enough for an agent's socket.
///
/// # Errors
/// [`SocketError::TooLong`]
pub fn fits(path: &Path) -> Result<(), SocketError> {
    let length = path.as_os_str().as_bytes().len();
    if length > LONGEST { Err(SocketError::TooLong(length)) } else { Ok(()) }
}

/// Returns the path of the file in which the agent at a socket reports its status.
pub(crate) fn status_file(socket: &Path) -> PathBuf {
    socket.with_file_name(status_name(socket))
}

/// Reads the status of the agent at a socket, also if another user wrote it. Anything may be there, so only a short regular
/// file is read.
pub(crate) fn any_status(socket: &Path) -> io::Result<Vec<u8>> {
    /// More than any status has.
    const LONGEST: u64 = 1 << 20;
    // Without NONBLOCK, opening a FIFO would block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(status_file(socket), flags, Mode::empty())?);
    let mut bytes = Vec::new();
    if !file.metadata()?.is_file() || file.take(LONGEST + 1).read_to_end(&mut bytes)? as u64 > LONGEST {
        return Err(io::Error::other("it is not a short regular file"));
    }
    Ok(bytes)
}

/// Reads the status of the agent at a socket; `None` if there is none, or if a user other than root and this one could
/// have written it.
pub(crate) fn trusted_status(socket: &Path) -> Option<Vec<u8>> {
    let directory = Directory::open(parent(socket)).ok()?;
    directory.read(status_name(socket)).ok().flatten()
}

/// Checks that a process listens at a socket. It does not take the lock, which would disturb an agent that starts.
pub(crate) fn listener(socket: &Path) -> Listener {
    listener_by(connect(socket), socket)
}

/// Whether an agent listens at a socket, or the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    Present,
    Missing(Absent),
    /// It is not known: this user may not connect, or connecting failed in another way.
    Unknown(Absent),
}

fn listener_by(connected: io::Result<UnixDatagram>, socket: &Path) -> Listener {
    match connected {
        Ok(_) => Listener::Present,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Listener::Missing(Absent::because("no process listens, but the socket of an ended agent is still there"))
        }
        Err(error) if is_gone(&error) => Listener::Missing(Absent::because("there is no socket")),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Listener::Unknown(Absent::because(denied(socket)))
        }
        Err(error) => Listener::Unknown(Absent::because(format!("'{}': {error}", socket.display()))),
    }
}

fn connect(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    Ok(socket)
}

/// Returns whether an error means that no process listens at the path.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::ConnectionRefused)
}

fn name(socket: &Path) -> &OsStr {
    socket.file_name().unwrap_or_default()
}

fn status_name(socket: &Path) -> OsString {
    with(name(socket), ".status")
}

fn with(name: &OsStr, suffix: &str) -> OsString {
    let mut name = name.to_owned();
    name.push(suffix);
    name
}

fn parent(socket: &Path) -> &Path {
    socket.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens the directory of a socket, or creates it.
fn directory(path: &Path, group: Option<u32>) -> Result<Directory, SocketError> {
    let parent = parent(path);
    let is_missing = |directory: &&Path| !directory.as_os_str().is_empty() && !directory.exists();
    let missing: Vec<&Path> = parent.ancestors().take_while(is_missing).collect();
    let directory = Directory::create(parent, 0o700)?;
    for new in missing.into_iter().filter(|_| group.is_some()) {
        chown(new, None, group)?;
        fs::set_permissions(new, Permissions::from_mode(0o710))?;
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn path(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("steady-socket-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder.join("deep/agent.sock")
    }

    #[test]
    fn only_a_short_regular_file_is_read_as_a_status() {
        let path = path("status");
        let (folder, status) = (path.parent().unwrap(), status_file(&path));
        fs::create_dir_all(folder).unwrap();
        fs::write(&status, "{}").unwrap();
        assert_eq!(any_status(&path).unwrap(), b"{}");
        fs::write(&status, vec![b' '; (1 << 20) + 1]).unwrap();
        assert!(any_status(&path).is_err(), "too long");
        fs::remove_file(&status).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &status).unwrap();
        assert!(any_status(&path).is_err(), "a symbolic link");
        fs::remove_file(&status).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &status, fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(any_status(&path).is_err(), "a FIFO, on which no process writes");
        fs::remove_dir_all(folder.parent().unwrap()).unwrap();
    }

    #[test]
    fn one_agent_has_a_socket_and_leaves_nothing() {
        let path = path("one");
        let socket = Socket::listen(&path, None).unwrap();
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        assert_eq!(listener(&path), Listener::Present);
        let error = Socket::listen(&path, None).unwrap_err().to_string();
        assert!(error.contains(&format!("(process {})", std::process::id())), "{error}");
        drop(socket);
        assert!(matches!(listener(&path), Listener::Missing(_)));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    #[test]
    fn the_group_can_enter_all_new_directories() {
        let path = path("group");
        let group = rustix::process::getegid().as_raw();
        let socket = Socket::listen(&path, Some(group)).unwrap();
        let parent = path.parent().unwrap();
        for directory in [parent, parent.parent().unwrap()] {
            let found = fs::metadata(directory).unwrap();
            assert_eq!((found.mode() & 0o777, found.gid()), (0o710, group), "{}", directory.display());
        }
        drop(socket);
        fs::remove_dir_all(parent.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_socket_of_a_killed_agent_is_replaced_and_other_files_stay() {
        let path = path("stale");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let unfinished = path.with_file_name("agent.sock~");
        drop([UnixDatagram::bind(&path).unwrap(), UnixDatagram::bind(&unfinished).unwrap()]);
        assert!(path.exists());
        drop(Socket::listen(&path, None).unwrap());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        let other = UnixDatagram::bind(&path).unwrap();
        assert!(
            matches!(Socket::listen(&path, None), Err(SocketError::Taken { .. })),
            "the other process holds no lock"
        );
        drop(other);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        assert!(matches!(Socket::listen(&path, None), Err(SocketError::Occupied)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    #[test]
    fn a_status_that_others_could_have_written_is_not_trusted() {
        let path = path("trusted");
        let socket = Socket::listen(&path, None).unwrap();
        assert_eq!(trusted_status(&path), None, "the agent has not reported its status yet");
        socket.report(b"{}").unwrap();
        assert_eq!(trusted_status(&path), Some(b"{}".to_vec()));
        fs::set_permissions(path.parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(trusted_status(&path), None);
        fs::set_permissions(path.parent().unwrap(), Permissions::from_mode(0o700)).unwrap();
        // A link may lead to a file of another user.
        fs::rename(status_file(&path), path.with_file_name("moved")).unwrap();
        std::os::unix::fs::symlink("moved", status_file(&path)).unwrap();
        assert_eq!(trusted_status(&path), None);
        drop(socket);
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    #[test]
    fn a_stream_socket_of_another_program_stays() {
        let path = path("stream");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let stream = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(matches!(Socket::listen(&path, None), Err(SocketError::Occupied)));
        assert!(path.exists() && matches!(listener(&path), Listener::Unknown(_)));
        drop(stream);
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    /// root may connect to any socket, so the error is made up.
    #[test]
    fn a_socket_that_this_user_may_not_use_does_not_show_whether_an_agent_runs() {
        let path = path("denied");
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        let Listener::Unknown(why) = listener_by(Err(error), &path) else { panic!("it is not known") };
        assert!(why.0.starts_with("permission denied (owner: user "), "{why}");
    }

    #[test]
    fn checking_for_an_agent_does_not_prevent_one_from_starting() {
        let path = path("looked");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let _ = listener(&path);
                    }
                });
            }
            let started = (0..300).find_map(|_| Socket::listen(&path, None).map(drop).err());
            is_over.store(true, Ordering::Relaxed);
            assert!(started.is_none(), "{started:?}");
        });
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    #[test]
    fn directories_that_others_can_write_and_long_paths_are_refused() {
        let path = path("open");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::set_permissions(path.parent().unwrap(), Permissions::from_mode(0o1777)).unwrap();
        let error = Socket::listen(&path, None).unwrap_err();
        assert!(matches!(error, SocketError::Untrusted(_)) && error.to_string().contains("mode 1777"), "{error}");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        fs::set_permissions(path.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
        let longest = LONGEST - path.parent().unwrap().as_os_str().len() - 1;
        drop(Socket::listen(&path.with_file_name("x".repeat(longest)), None).unwrap());
        let error = Socket::listen(&path.with_file_name("x".repeat(longest + 1)), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the path has 107 bytes, but the path of a socket has at most 106; choose a shorter one with --socket"
        );
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    /// root may write to any directory, so the denial is made up.
    #[test]
    fn a_directory_that_cannot_be_used_is_wrong_usage_and_names_the_option() {
        let error = Socket::listen(Path::new("/proc/steady/agent.sock"), None).unwrap_err();
        assert!(matches!(error, SocketError::Unusable(_)), "{error}");
        let (path, error) = (PathBuf::from("/etc"), io::Error::from_raw_os_error(13));
        let error = SocketError::from(DirectoryError::System { path, error });
        let expected = "'/etc': permission denied (owner: user 0); choose another path with --socket";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_socket_never_appears_with_other_permissions() {
        let path = path("permissions");
        let (is_over, readings) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let modes = scope.spawn(|| {
                let mut modes = BTreeSet::new();
                while !is_over.load(Ordering::Relaxed) {
                    if let Ok(facts) = fs::metadata(&path) {
                        modes.insert(facts.mode() & 0o777);
                        readings.fetch_add(1, Ordering::Relaxed);
                    }
                }
                modes
            });
            // On a busy machine, the thread may start late.
            let mut made = 0;
            while made < 500 || readings.load(Ordering::Relaxed) < 500 {
                drop(Socket::listen(&path, None).unwrap());
                made += 1;
            }
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(modes.join().unwrap(), BTreeSet::from([0o660]));
        });
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }
}
