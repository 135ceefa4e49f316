//! The folder of the history: in the user's data directory (XDG Base Directory Specification), accessible to this user
//! only.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use steady_history::History;

/// The folder of the history. It may not exist.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// The folder according to the environment, or why there is none.
    pub(crate) fn find() -> Result<Self, String> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        // A home directory that does not exist is not created: it may be a mistake, or that of a system user.
        let of_home = || absolute("HOME").filter(|home| home.is_dir()).map(|home| home.join(".local/share"));
        let data = absolute("XDG_DATA_HOME").or_else(of_home);
        let data = data.ok_or("neither XDG_DATA_HOME nor HOME names an existing directory")?;
        Ok(Home(data.join("steady")))
    }

    /// The folder of the logs of runs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// The path of the folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.0.clone()
    }

    /// Creates the folders that do not exist.
    pub(crate) fn make(&self) -> Result<(), String> {
        let logs = self.logs();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&logs);
        made.map_err(|error| format!("'{}': {error}", logs.display()))
    }

    /// Opens the history, and creates it if it does not exist.
    pub(crate) fn history(&self) -> Result<History, String> {
        let path = self.0.join("history.db");
        History::open(&path).map_err(|error| format!("'{}': {error}", path.display()))
    }

    /// Opens the history, or an empty one in memory if there is neither a database nor a log. Creates no files then.
    pub(crate) fn history_if_any(&self) -> Result<History, String> {
        if self.0.join("history.db").exists() || !self.names_of_logs().is_ok_and(|logs| logs.is_empty()) {
            return self.history();
        }
        History::empty().map_err(|error| error.to_string())
    }

    /// The names of the logs in the folder.
    pub(crate) fn names_of_logs(&self) -> io::Result<Vec<String>> {
        let entries = match self.logs().read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            // Other files do not belong to the history.
            names.extend(entry?.file_name().into_string().ok().filter(|name| name.ends_with(".log")));
        }
        names.sort();
        Ok(names)
    }
}
