//! The log of a comparison: everything measured, appended as it happens, so that a kill loses no more than what was being
//! measured. One JSON value a line; the launchers append the runs themselves. Other features have lines of their own
//! ([`Appender::line`]).
//!
//! ```text
//! {"begun": {..the record, without blocks..}}
//! {"runs": {"block": 0, "layout": "turns", "place": 0, "draw": 0, "start": "snapshot", "runs": [..]}}
//! {"look": ..}  {"moment": ..}
//! {"ended": {..what is known only at the end..}}
//! ```
//!
//! Who writes to a log holds a shared lock on it (flock(2)), which the kernel lets go of however the process ends: a log
//! that can be locked alone is an [`Orphan`].

mod read;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use steady_model::{Activity, Ending, Layout, Look, Moment, Nanos, Record, Run};

use crate::runner::Start;

pub use read::{is_garbled, is_line, read};

/// Appends to a log; several processes may append to one, each line whole.
pub struct Appender {
    file: File,
    line: Vec<u8>,
}

/// A line, to be written.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Begun(&'a Record),
    Runs {
        #[serde(flatten)]
        part: Part,
        runs: Vec<&'a Run>,
    },
    Look(&'a Look),
    Moment(&'a Moment),
    Ended(End),
}

/// A line, read.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Begun(Box<Record>),
    Runs {
        #[serde(flatten)]
        part: Part,
        runs: Vec<Run>,
    },
    Look(Look),
    Moment(Moment),
    Ended(End),
}

/// Which runs a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The number of their block.
    pub block: u64,
    /// How the block's runs lie in time.
    pub layout: Layout,
    /// The place of the first of them in the block.
    pub place: usize,
    /// The draw of snapshots that the block belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<u64>,
    /// How they were started.
    #[serde(default, skip_serializing_if = "Start::is_usual")]
    pub start: Start,
}

/// What is known of a comparison only at its end.
#[derive(Serialize, Deserialize)]
struct End {
    /// How many blocks count: launchers may have been ahead of an interruption.
    blocks: usize,
    /// The same of those that were started as usual in draws of snapshots.
    #[serde(default)]
    usual: usize,
    activity: Activity,
    elapsed: Nanos,
    ending: Ending,
}

impl Appender {
    /// Makes the log at `path`, where there must be none.
    ///
    /// # Errors
    /// What open(2) and flock(2) say.
    pub fn create(path: &Path) -> io::Result<Self> {
        loop {
            // Who can open it can lock it alone, and so keep this process waiting.
            let file = File::options().append(true).create_new(true).mode(0o600).open(path)?;
            flock(&file, FlockOperation::LockShared)?;
            // Before it was locked, it may have been taken for one that was left behind.
            if !is_removed(&file)? {
                return Ok(Appender { file, line: Vec::new() });
            }
        }
    }

    /// Opens the log at `path`, and makes it if there is none.
    ///
    /// # Errors
    /// What open(2) and flock(2) say.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).mode(0o600).open(path)?;
        flock(&file, FlockOperation::LockShared)?;
        Ok(Appender { file, line: Vec::new() })
    }

    /// The beginning: the record before anything was measured.
    ///
    /// # Errors
    /// What write(2) says; so for all that follow.
    pub fn begun(&mut self, record: &Record) -> io::Result<()> {
        self.append(&Line::Begun(record))
    }

    /// Runs of one block, or of a part of it.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn runs<'a>(&mut self, part: Part, runs: impl Iterator<Item = &'a Run>) -> io::Result<()> {
        self.append(&Line::Runs { part, runs: runs.collect() })
    }

    /// A look at what had been measured.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn look(&mut self, look: &Look) -> io::Result<()> {
        self.append(&Line::Look(look))
    }

    /// What the machine was doing.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn moment(&mut self, moment: &Moment) -> io::Result<()> {
        self.append(&Line::Moment(moment))
    }

    /// The end: with it, a log gives exactly the record that was measured.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn ended(&mut self, record: &Record) -> io::Result<()> {
        let (activity, elapsed, ending) = (record.activity.clone(), record.elapsed, record.ending);
        let (blocks, usual) = (record.blocks.len(), record.usual.len());
        self.append(&Line::Ended(End { blocks, usual, activity, elapsed, ending }))
    }

    /// A line of a feature of its own: the text of a JSON value.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(format!("{text}\n").as_bytes())
    }

    /// In one call, so that lines of several processes do not mix.
    fn append(&mut self, line: &Line<'_>) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)
    }
}

/// A log that nobody writes to any more, locked so that one process alone takes it.
#[derive(Debug)]
pub struct Orphan {
    file: File,
    path: PathBuf,
}

impl Orphan {
    /// Takes the log at `path`; `None` while somebody writes to it, or where somebody else has taken it.
    ///
    /// # Errors
    /// What open(2) and flock(2) say.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let removed = is_removed(&file)?;
        Ok((!removed).then(|| Orphan { file, path: path.to_owned() }))
    }

    /// Its text, with marks in the place of what is no text.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn text(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Gives it a name that is no log's, beside the old one.
    ///
    /// # Errors
    /// What rename(2) says.
    pub fn set_aside(self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension("unreadable"))
    }

    /// Removes it: what it told is kept elsewhere, or it told nothing.
    ///
    /// # Errors
    /// What unlink(2) says.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Whether a file has lost its name since it was opened.
fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}
