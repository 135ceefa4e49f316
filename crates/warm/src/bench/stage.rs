//! The stage: a process that runs the sessions. It ends all processes and removes all files of the sessions, however
//! `steady` ends.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::private::remove_own_tree;
use steady_linux::process;

use super::protocol::{Reply, Setup};
use super::session::{Stop, session};

/// The main function of a stage; its drivers get `environment`. Returns when `steady` closes the control socket, or
/// after an error. By then all descendants have ended and all files are removed.
pub fn serve(environment: &[(OsString, OsString)]) {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    let mut lines = BufReader::new(&control).lines();
    let Some(Ok(line)) = lines.next() else { return };
    let Ok(setup) = serde_json::from_str::<Setup>(&line) else { return };
    if let Err(reason) = run_sessions(&setup, &mut lines, environment, &control) {
        // Sending fails if `steady` has ended; then the reason is not needed.
        let _ = send(&control, &Reply::Failed(reason));
    }
    // These errors cannot be reported, because `steady` may have ended.
    let _ = process::end_descendants();
    let _ = remove_own_tree(&setup.folder);
}

fn run_sessions(
    setup: &Setup,
    lines: &mut dyn Iterator<Item = io::Result<String>>,
    environment: &[(OsString, OsString)],
    control: &UnixStream,
) -> Result<(), String> {
    let failed = |error: &dyn ToString| error.to_string();
    process::leave_session().and_then(|()| process::become_subreaper()).map_err(|error| failed(&error))?;
    send(control, &Reply::Ready).map_err(|error| failed(&error))?;
    while let Some(Ok(line)) = lines.next() {
        let order = serde_json::from_str(&line).map_err(|error| failed(&error))?;
        let reply = match session(setup, &order, environment, control) {
            Ok((session, refusal)) => Reply::Session(Box::new(Ok(session)), refusal),
            Err(Stop::None(absent)) => Reply::Session(Box::new(Err(absent)), None),
            Err(Stop::Failed(reason)) => return Err(reason),
            Err(Stop::Abandoned) => return Ok(()),
        };
        send(control, &reply).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn send(mut control: &UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    control.write_all(&line)
}

/// A new directory that is removed when this value is dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Creates a directory in the user's directory for caches, which is created if it does not exist.
    pub(super) fn make(cache: &Path) -> Result<Self, String> {
        let number = OsRng.try_next_u64().map_err(|error| format!("there are no random numbers: {error}"))?;
        let path = cache.join(format!("steady-warm-bench-{number:016x}"));
        let mut private = DirBuilder::new();
        private.mode(0o700);
        let made = private.recursive(true).create(cache).and_then(|()| private.recursive(false).create(&path));
        made.map_err(|error| format!("'{}': {error}", path.display()))?;
        Ok(Folder(path))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The stage removes the directory itself, unless it was killed.
        let _ = remove_own_tree(&self.0);
    }
}
