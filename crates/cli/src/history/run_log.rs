//! Logs a run while it is measured, and stores it in the history when it has ended. If that fails, one line says why,
//! and the run continues.
#![allow(clippy::print_stderr, reason = "errors of the history are printed immediately")]

use std::fs;
use std::path::PathBuf;

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_feature::Record;
use steady_process::log::Appender;

use super::home::Home;
use super::import;
use super::run;

/// The log of one run. `None` if it cannot be created.
pub(crate) struct RunLog(Option<Log>);

struct Log {
    home: Home,
    name: String,
    path: PathBuf,
    appender: Appender,
}

impl RunLog {
    /// Creates a log. If that fails, a notice says why.
    pub(crate) fn begin() -> Self {
        RunLog(Log::begin().map_err(|why| not_stored(&why)).ok())
    }

    /// The path of the log, for processes that append to it themselves.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|log| log.path.clone())
    }

    /// Appends a line to the log.
    pub(crate) fn line(&mut self, text: &str) {
        if let Some(log) = &mut self.0 {
            // Errors are ignored: the data is also in memory, and a full disk may have room for the history at the end.
            let _ = log.appender.line(text);
        }
    }

    /// Stores the record of this run in the history, and removes the log. Returns its number.
    pub(crate) fn store(self, record: &dyn Record) -> Option<i64> {
        self.0?.import(record)
    }

    /// Stores the complete parts of a run that ended with an error, if there are any.
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

    /// Stores the record of a run that has no log. Returns its number in the history.
    pub(crate) fn store_without_log(record: &dyn Record) -> Option<i64> {
        let stored = Home::find().and_then(|home| {
            home.make()?;
            let mut history = home.history()?;
            import::or_warn(&home, &mut history);
            import::insert(&mut history, &name()?, record)
        });
        stored.map_err(|why| not_stored(&why)).ok()
    }
}

/// A unique name for a log.
fn name() -> Result<String, String> {
    let number = OsRng.try_next_u64();
    let number = number.map_err(|error| format!("the system has no random number for the name of the log: {error}"))?;
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

    /// Stores the run in the history, after the runs of killed processes. The log stays locked until then.
    fn import(self, record: &dyn Record) -> Option<i64> {
        let stored = self.home.history().and_then(|mut history| {
            import::or_warn(&self.home, &mut history);
            import::insert(&mut history, &self.name, record)
        });
        match stored {
            Ok(id) => {
                self.discard();
                Some(id)
            }
            Err(why) => {
                let log = self.path.display();
                // A full disk also stops the log.
                let text = fs::read(&self.path).unwrap_or_default();
                let rest = match import::logged(&String::from_utf8_lossy(&text)) {
                    None => "its log could not be written either".to_owned(),
                    Some(logged) if run::export(&*logged) == run::export(record) => {
                        format!("a later run or 'steady history list' imports its log: '{log}'")
                    }
                    Some(_) => {
                        format!(
                            "its log is incomplete; a later run or 'steady history list' imports that part: '{log}'"
                        )
                    }
                };
                not_stored(&format!("{why}; {rest}"));
                None
            }
        }
    }

    fn discard(self) {
        // If the log cannot be removed, a later import recognises its name in the history.
        let _ = fs::remove_file(&self.path);
    }
}

fn not_stored(why: &str) {
    crate::failure::notice(&format!("not stored in the history: {why}"));
}
