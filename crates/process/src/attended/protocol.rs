//! Messages between the front and the guardian, one JSON value per line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use super::Unattended;

/// First message to a guardian.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup<T> {
    /// Request to its attendant.
    pub task: T,
    /// Signals that the front forwards.
    pub passed: Vec<i32>,
    /// Signals that the command must ignore.
    pub ignored: Vec<i32>,
}

/// Later request to a guardian.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// Forward this signal, unless it went to the whole process group.
    Pass(i32),
}

/// Message of a guardian. It has no `PathBuf`, because serde requires paths to be UTF-8.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message<R> {
    /// The command is running. The value is its control group, if one was created.
    Started(Option<OsString>),
    /// The command could not be executed. The value is the errno.
    NotStarted(i32),
    /// The guardian cannot continue, for this reason.
    Refused(String),
    /// This signal has stopped the command.
    Stopped(i32),
    /// The command continues after a stop.
    Continued,
    /// The command has ended, and no process of it is left.
    Ended(Box<R>),
}

impl<R> From<Unattended> for Message<R> {
    fn from(error: Unattended) -> Self {
        match error {
            Unattended::NotStarted(error) => Message::NotStarted(error),
            lost @ Unattended::GuardianLost => Message::Refused(lost.to_string()),
            Unattended::Refused(why) => Message::Refused(why),
        }
    }
}

/// Sends one message over the socket.
pub(super) fn say(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}
