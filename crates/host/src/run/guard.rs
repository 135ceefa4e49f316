//! A host that is quiet as long as something runs, and no longer, however that ends.
//!
//! A process of its own, this same program called with a hidden word, makes the host quiet and puts it back when it is
//! told to, or when its socket hangs up: when `steady` was killed. Where it is killed itself, `steady` does so at the end.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use steady_linux::{Root, process};
use steady_process::channel::Channel;

use super::apply::apply;
use super::hand::Live;
use super::journal::Holder;
use super::restore::release;
use super::{Applied, HostError, Restored};
use crate::plan::QuietPlan;

/// The first argument that makes `steady` the process that keeps a host quiet.
pub(crate) const GUARD: &str = "__host-guard";

/// What it is asked for first.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Task {
    root: PathBuf,
    plan: QuietPlan,
    die_at: Option<u32>,
}

/// What it is asked for later.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Release,
}

/// What it answers.
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
    /// Nothing is changed then.
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
            Ok(Reply::Released(_)) => Err(HostError::Lost("it answered something else".to_owned())),
            Err(error) => {
                // Killed in the midst of it: what it had changed is put back here.
                drop(channel);
                let _ = sweep(root);
                Err(lost(error))
            }
        }
    }

    /// What was done to make it quiet.
    pub(crate) fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Puts the host back.
    ///
    /// # Errors
    /// It could not be; the journal is still there.
    pub(crate) fn end(mut self) -> Result<Restored, HostError> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<Restored, HostError> {
        let Some(mut channel) = self.channel.take() else { return Ok(Restored::default()) };
        let told = channel.say(&Order::Release).and_then(|()| channel.listen());
        // By now it has ended, or is waited for.
        drop(channel);
        match told {
            Ok(Reply::Released(restored)) => Ok(restored),
            Ok(Reply::Failed(why)) => Err(HostError::Refused(why)),
            Ok(Reply::Quiet(..)) | Err(_) => match &self.holder {
                Some(holder) => release_if_any(&self.root, holder),
                None => sweep(&self.root),
            },
        }
    }
}

impl Drop for QuietHost {
    fn drop(&mut self) {
        // Whoever wants to know ends it.
        let _ = self.put_back();
    }
}

/// Puts back what nobody who is still there wants quiet.
fn sweep(root: &Root) -> Result<Restored, HostError> {
    release_if_any(root, &Holder::this_process())
}

fn release_if_any(root: &Root, holder: &Holder) -> Result<Restored, HostError> {
    if super::place::is_empty(root) {
        return Ok(Restored::default());
    }
    release(&mut Live::new(root, None)?, holder)
}

/// The whole life of the process that keeps a host quiet. Returns once it is as it was.
pub(crate) fn serve() {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    // The keys of the terminal are for the others; they tell this one.
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
    // Where nobody listens any more, what was changed is put back at once.
    let heard = say(&control, &reply).is_ok();
    if !is_quiet {
        return;
    }
    line.clear();
    if heard {
        // An order, or the end: both mean the same.
        let _ = orders.read_line(&mut line);
    }
    let restored = release_if_any(&root, &holder);
    let reply = restored.map_or_else(|error| Reply::Failed(error.to_string()), Reply::Released);
    let _ = say(&control, &reply);
}

/// Makes the host quiet. Where there is nothing that could be set, no place for a journal is needed.
fn begin(root: &Root, task: &Task, holder: &Holder) -> Result<Applied, HostError> {
    apply(&mut Live::new_if_needed(root, task.die_at), &task.plan, holder.clone())
}

fn say(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}
