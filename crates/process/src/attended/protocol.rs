//! What the front and the guardian say to each other, one JSON value a line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use super::Unattended;

/// The first line to a guardian.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup<T> {
    /// What its attendant is to do.
    pub task: T,
    /// The signals that are passed on.
    pub passed: Vec<i32>,
    /// The signals that the command is to ignore.
    pub ignored: Vec<i32>,
}

/// What a guardian is asked for later.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// To pass a signal on, unless it went to the whole process group.
    Pass(i32),
}

/// What a guardian tells. No paths, which would have to be UTF-8.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Told<R> {
    /// The command runs; the control group that was made for it, if one was.
    Started(Option<OsString>),
    /// The command could not be executed: the number of the error.
    NotStarted(i32),
    /// There is no way to go on.
    Refused(String),
    /// A signal has stopped the command.
    Stopped(i32),
    /// The command goes on.
    Continued,
    /// It has ended, and nothing is left of it.
    Ended(Box<R>),
}

impl<R> From<Unattended> for Told<R> {
    fn from(error: Unattended) -> Self {
        match error {
            Unattended::NotStarted(error) => Told::NotStarted(error),
            lost @ Unattended::GuardianLost => Told::Refused(lost.to_string()),
            Unattended::Refused(why) => Told::Refused(why),
        }
    }
}

/// Says one value.
pub(super) fn say(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}
