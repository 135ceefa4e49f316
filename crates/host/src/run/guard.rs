//! Keeps a host quiet while something runs, however that ends.
//!
//! The guard is a process of the same program, started with a hidden argument. It makes the host quiet, and restores it
//! when it gets the order, or when its socket is closed because `steady` was killed. If the guard is killed, `steady`
//! restores the host.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use steady_linux::{Root, process};
use steady_process::channel::Channel;

use super::access::RealHost;
use super::apply::apply;
use super::journal::Holder;
use super::restore::release;
use super::{Applied, HostError, Restored};
use crate::plan::QuietPlan;

/// The first argument that makes `steady` the guard process.
pub(crate) const GUARD: &str = "__host-guard";

/// The first message to the guard.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Task {
    root: PathBuf,
    plan: QuietPlan,
    die_at: Option<u32>,
}

/// Later messages to the guard.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Release,
}

/// Messages from the guard.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Quiet(Holder, Applied),
    Released(Restored),
    Failed(String),
}

/// A host that is quiet until this is dropped.
pub(crate) struct QuietHost {
    root: Root,
    channel: Option<Channel>,
    holder: Option<Holder>,
    applied: Applied,
}

impl QuietHost {
    /// Makes the host quiet.
    ///
    /// # Errors
    /// The journal cannot be read or written, or the guard process failed. Nothing was changed then.
    pub(crate) fn begin(root: &Root, plan: &QuietPlan, die_at: Option<u32>) -> Result<Self, HostError> {
        let lost = |error: io::Error| HostError::Lost(error.to_string());
        let mut channel = Channel::start(GUARD, Stdio::null()).map_err(lost)?;
        let task = Task { root: root.path("/"), plan: plan.clone(), die_at };
        channel.say(&task).map_err(lost)?;
        match channel.listen() {
            Ok(Reply::Quiet(holder, applied)) => {
                Ok(QuietHost { root: root.clone(), channel: Some(channel), holder: Some(holder), applied })
            }
            Ok(Reply::Failed(why)) => Err(HostError::Refused(why)),
            Ok(Reply::Released(_)) => Err(HostError::Lost("it sent an unexpected message".to_owned())),
            Err(error) => {
                // The guard was killed while it made changes; restore them here.
                drop(channel);
                let _ = restore_unheld(root);
                Err(lost(error))
            }
        }
    }

    /// Returns what was set.
    pub(crate) fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Restores the host.
    ///
    /// # Errors
    /// The host could not be restored; the journal still exists.
    pub(crate) fn end(mut self) -> Result<Restored, HostError> {
        self.restore()
    }

    fn restore(&mut self) -> Result<Restored, HostError> {
        let Some(mut channel) = self.channel.take() else { return Ok(Restored::default()) };
        let reply = channel.say(&Order::Release).and_then(|()| channel.listen());
        // This waits for the end of the guard.
        drop(channel);
        match reply {
            Ok(Reply::Released(restored)) => Ok(restored),
            Ok(Reply::Failed(why)) => Err(HostError::Refused(why)),
            Ok(Reply::Quiet(..)) | Err(_) => match &self.holder {
                Some(holder) => release_if_any(&self.root, holder),
                None => restore_unheld(&self.root),
            },
        }
    }
}

impl Drop for QuietHost {
    fn drop(&mut self) {
        // Callers that need the result call `end`.
        let _ = self.restore();
    }
}

/// Restores the values that no live holder needs to be quiet.
fn restore_unheld(root: &Root) -> Result<Restored, HostError> {
    release_if_any(root, &Holder::this_process())
}

fn release_if_any(root: &Root, holder: &Holder) -> Result<Restored, HostError> {
    if super::storage::is_empty(root) {
        return Ok(Restored::default());
    }
    match RealHost::to_restore(root, None) {
        // The journal is that of another user, who may have made the host quiet before.
        Err(_) if !super::storage::names(root, holder) => Ok(Restored::default()),
        access => release(&mut access?, holder),
    }
}

/// Runs the guard process. Returns when the host is restored.
pub(crate) fn serve() {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    // Signals from the terminal must not reach the guard; `steady` sends it an order instead.
    let _ = process::leave_session();
    let mut orders = BufReader::new(&control);
    let mut line = String::new();
    let Ok(1..) = orders.read_line(&mut line) else { return };
    let Ok(task) = serde_json::from_str::<Task>(&line) else { return };
    let root = Root::at(&task.root);
    let holder = Holder::this_process();
    let applied = begin(&root, &task, &holder);
    let is_quiet = applied.is_ok();
    let reply =
        applied.map_or_else(|error| Reply::Failed(error.to_string()), |done| Reply::Quiet(holder.clone(), done));
    // If `steady` no longer listens, restore immediately.
    let heard = say(&control, &reply).is_ok();
    if !is_quiet {
        return;
    }
    line.clear();
    if heard {
        // An order and the end of the connection mean the same.
        let _ = orders.read_line(&mut line);
    }
    let restored = release_if_any(&root, &holder);
    let reply = restored.map_or_else(|error| Reply::Failed(error.to_string()), Reply::Released);
    let _ = say(&control, &reply);
}

/// Makes the host quiet. If nothing can be set, this needs no directory for a journal.
fn begin(root: &Root, task: &Task, holder: &Holder) -> Result<Applied, HostError> {
    apply(&mut RealHost::to_quiet(root, task.die_at), &task.plan, holder.clone())
}

fn say(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}
