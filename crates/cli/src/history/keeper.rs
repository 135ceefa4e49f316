//! Keeps a run while it goes on, and when it has ended. What stands in the way of that is told on one line, and never
//! stands in the way of the run.
#![allow(clippy::print_stderr, reason = "what is not kept is told at once")]

use std::fs;
use std::path::PathBuf;

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_feature::Record;
use steady_process::log::Appender;

use super::home::Home;
use super::import;

/// What keeps one run; nothing, where that is not wanted or cannot be.
pub(crate) struct Keeper(Option<Log>);

/// The log of the run.
struct Log {
    home: Home,
    name: String,
    path: PathBuf,
    appender: Appender,
}

impl Keeper {
    /// Begins a log.
    pub(crate) fn begin() -> Self {
        Keeper(Log::begin().map_err(|why| not_kept(&why)).ok())
    }

    /// The log, for processes that append to it themselves.
    pub(crate) fn log(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|log| log.path.clone())
    }

    /// Notes a line of a feature of its own.
    pub(crate) fn line(&mut self, text: &str) {
        if let Some(log) = &mut self.0 {
            // A disk that is full now may have room for the history at the end, and what is not in the log is in memory.
            let _ = log.appender.line(text);
        }
    }

    /// Keeps a run whose log is complete; its number in the history.
    pub(crate) fn keep_run(self, record: &dyn Record) -> Option<i64> {
        self.0?.import(record)
    }

    /// Keeps what is whole of a run that ended in an error, if anything is.
    pub(crate) fn salvage(self) {
        let Some(log) = self.0 else { return };
        let text = fs::read(&log.path).unwrap_or_default();
        match import::logged(&String::from_utf8_lossy(&text)) {
            Some(record) => {
                log.import(&*record);
            }
            None => log.discard(),
        }
    }

    /// Keeps a run that needs no log, for all of it is measured at once; its number in the history.
    pub(crate) fn keep_at_once(record: &dyn Record) -> Option<i64> {
        let kept = Home::find().and_then(|home| {
            home.make()?;
            let mut history = home.history()?;
            import::or_warn(&home, &mut history);
            import::insert(&mut history, &name()?, record)
        });
        kept.map_err(|why| not_kept(&why)).ok()
    }
}

/// A name for a log that no other has.
fn name() -> Result<String, String> {
    let number = OsRng.try_next_u64().map_err(|error| format!("no random name for its log: {error}"))?;
    Ok(format!("{number:016x}.log"))
}

impl Log {
    fn begin() -> Result<Self, String> {
        let home = Home::find()?;
        home.make()?;
        let name = name()?;
        let path = home.logs().join(&name);
        let appender = Appender::create(&path).map_err(|error| format!("'{}': {error}", path.display()))?;
        Ok(Log { home, name, path, appender })
    }

    /// Puts the run into the history, after those that others left behind. The log stays locked until then.
    fn import(self, record: &dyn Record) -> Option<i64> {
        let kept = self.home.history().and_then(|mut history| {
            import::or_warn(&self.home, &mut history);
            import::insert(&mut history, &self.name, record)
        });
        match kept {
            Ok(id) => {
                self.discard();
                Some(id)
            }
            Err(why) => {
                not_kept(&format!("{why}; what its log holds will be, once it can: '{}'", self.path.display()));
                None
            }
        }
    }

    fn discard(self) {
        // A log that cannot be removed is found again, and known to be in the history.
        let _ = fs::remove_file(&self.path);
    }
}

fn not_kept(why: &str) {
    crate::failure::notice(&format!("not kept in the history: {why}"));
}
