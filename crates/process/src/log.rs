//! The log of a comparison. Measurements are appended as they happen, so that a kill loses only what was running. Each
//! line is one JSON value. The launchers append the runs themselves. Other features write lines of their own
//! ([`Appender::line`]).
//!
//! ```text
//! {"begun": {..the record, without blocks..}}
//! {"runs": {"block": 0, "layout": "turns", "place": 0, "draw": 0, "start": "snapshot", "runs": [..]}}
//! {"look": ..}  {"moment": ..}
//! {"ended": {..what is known only at the end..}}
//! ```
//!
//! A process that writes to a log holds a shared lock on it (flock(2)), which the kernel releases when the process
//! ends. A log that can be locked exclusively is an [`AbandonedLog`].

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

/// Appends lines to a log. Several processes can append to one log without mixing lines.
pub struct Appender {
    file: File,
    line: Vec<u8>,
}

/// A line to write.
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

/// A line that was read.
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

/// Identifies the runs of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Number of the block.
    pub block: u64,
    /// Whether the block's runs follow each other or run concurrently.
    pub layout: Layout,
    /// Place of the first of these runs in the block.
    pub place: usize,
    /// Number of the draw of snapshots that the block belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<u64>,
    /// How the runs were started.
    #[serde(default, skip_serializing_if = "Start::is_usual")]
    pub start: Start,
}

/// Results of a comparison that are known only at its end.
#[derive(Serialize, Deserialize)]
struct End {
    /// Number of blocks that count. After an interruption, launchers may have logged more.
    blocks: usize,
    /// The same for blocks without snapshots that belong to draws of snapshots.
    #[serde(default)]
    usual: usize,
    activity: Activity,
    elapsed: Nanos,
    ending: Ending,
    #[serde(default)]
    unfinished: Option<usize>,
}

impl Appender {
    /// Creates a log at `path`, which must not exist.
    ///
    /// # Errors
    /// Errors of open(2) and flock(2).
    pub fn create(path: &Path) -> io::Result<Self> {
        loop {
            // Mode 0600: a user who can open the file could lock it exclusively and block this process. NFS locks only
            // files that are open for reading, too.
            let file = File::options().read(true).append(true).create_new(true).mode(0o600).open(path)?;
            flock(&file, FlockOperation::LockShared)?;
            // Before it was locked, another process may have removed it as an orphan.
            if !is_removed(&file)? {
                return Ok(Appender { file, line: Vec::new() });
            }
        }
    }

    /// Opens the log at `path`, and creates it if it does not exist.
    ///
    /// # Errors
    /// Errors of open(2) and flock(2).
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).append(true).create(true).mode(0o600).open(path)?;
        flock(&file, FlockOperation::LockShared)?;
        Ok(Appender { file, line: Vec::new() })
    }

    /// Appends the record as it is before the first measurement.
    ///
    /// # Errors
    /// Errors of write(2).
    pub fn begun(&mut self, record: &Record) -> io::Result<()> {
        self.append(&Line::Begun(record))
    }

    /// Appends runs of one block or of a part of it.
    ///
    /// # Errors
    /// Errors of write(2).
    pub fn runs<'a>(&mut self, part: Part, runs: impl Iterator<Item = &'a Run>) -> io::Result<()> {
        self.append(&Line::Runs { part, runs: runs.collect() })
    }

    /// Appends a look at the data.
    ///
    /// # Errors
    /// Errors of write(2).
    pub fn look(&mut self, look: &Look) -> io::Result<()> {
        self.append(&Line::Look(look))
    }

    /// Appends a state of the machine.
    ///
    /// # Errors
    /// Errors of write(2).
    pub fn moment(&mut self, moment: &Moment) -> io::Result<()> {
        self.append(&Line::Moment(moment))
    }

    /// Appends the end. A log with an end gives exactly the record that was measured.
    ///
    /// # Errors
    /// Errors of write(2).
    pub fn ended(&mut self, record: &Record) -> io::Result<()> {
        let Record { elapsed, ending, unfinished, .. } = *record;
        let (blocks, usual, activity) = (record.blocks.len(), record.usual.len(), record.activity.clone());
        self.append(&Line::Ended(End { blocks, usual, activity, elapsed, ending, unfinished }))
    }

    /// Appends a line of another feature: the text of a JSON value.
    ///
    /// # Errors
    /// Errors of write(2).
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(format!("{text}\n").as_bytes())
    }

    /// Writes a line with one call, so that lines of several processes do not mix.
    fn append(&mut self, line: &Line<'_>) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)
    }
}

/// A log that no process writes to, locked for this process.
#[derive(Debug)]
pub struct AbandonedLog {
    file: File,
    path: PathBuf,
}

impl AbandonedLog {
    /// Locks the log at `path`. Returns `None` if it is missing, a process writes to it, or another process has locked
    /// it.
    ///
    /// # Errors
    /// Errors of open(2) and flock(2).
    pub fn lock(path: &Path) -> io::Result<Option<Self>> {
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
        Ok((!removed).then(|| AbandonedLog { file, path: path.to_owned() }))
    }

    /// Reads the text. Bytes that are not UTF-8 become replacement characters.
    ///
    /// # Errors
    /// Errors of read(2).
    pub fn text(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Renames the log with the extension `unreadable`, so that it is not read again.
    ///
    /// # Errors
    /// Errors of rename(2).
    pub fn set_aside(self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension("unreadable"))
    }

    /// Removes the log, once its content is stored elsewhere or is empty.
    ///
    /// # Errors
    /// Errors of unlink(2).
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Whether a file was removed after it was opened.
fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}
