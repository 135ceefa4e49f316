//! Where the history lives: in the user's data directory (the XDG Base Directory Specification), for the user alone.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use steady_history::History;

/// The folder of the history, which need not exist.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// The folder by the environment, or why there is none.
    pub(crate) fn find() -> Result<Self, String> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let data = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
        let data = data.ok_or("neither XDG_DATA_HOME nor HOME names a directory")?;
        Ok(Home(data.join("steady")))
    }

    /// The folder of the logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// The folder itself.
    pub(crate) fn folder(&self) -> PathBuf {
        self.0.clone()
    }

    /// Makes the folders, where they are missing.
    pub(crate) fn make(&self) -> Result<(), String> {
        let logs = self.logs();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&logs);
        made.map_err(|error| format!("'{}': {error}", logs.display()))
    }

    /// The history in it, made if there is none.
    pub(crate) fn history(&self) -> Result<History, String> {
        let path = self.0.join("history.db");
        History::open(&path).map_err(|error| format!("'{}': {error}", path.display()))
    }

    /// The history in it; an empty one where there is none, and nothing is made.
    pub(crate) fn history_if_any(&self) -> Result<History, String> {
        if self.0.join("history.db").exists() || !self.names_of_logs().is_ok_and(|logs| logs.is_empty()) {
            return self.history();
        }
        History::empty().map_err(|error| error.to_string())
    }

    /// The names of the logs that lie there.
    pub(crate) fn names_of_logs(&self) -> io::Result<Vec<String>> {
        let entries = match self.logs().read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            // What is not named as logs are is not ours.
            names.extend(entry?.file_name().into_string().ok().filter(|name| name.ends_with(".log")));
        }
        names.sort();
        Ok(names)
    }
}
