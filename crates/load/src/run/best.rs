//! The best that this host has shown, in a small file of the data directory.

use std::path::PathBuf;

use steady_feature::Session;
use steady_linux::Root;
use steady_rulers::{Best, Rulers};

/// Where the best is kept, or why it cannot be.
pub(crate) struct BestFile(Result<PathBuf, String>);

impl BestFile {
    pub(crate) fn find(session: &dyn Session) -> Self {
        BestFile(session.data_folder().map(|folder| folder.join("rulers.json")))
    }

    /// The rulers, with what the file says of the best.
    pub(crate) fn rulers(&self) -> Rulers {
        Rulers::new(&Root::default(), self.0.as_ref().map_or_else(|_| Best::default(), |file| Best::load(file)))
    }

    /// Keeps what the rulers have read for later runs. That it cannot be kept is said, and is no failure.
    pub(crate) fn keep(self, rulers: &mut Rulers, session: &dyn Session) {
        let saved =
            self.0.and_then(|file| rulers.best().save(&file).map_err(|error| format!("'{}': {error}", file.display())));
        if let Err(why) = saved {
            session.notice(&format!("the best of this host is not kept for later runs: {why}"));
        }
    }
}
