//! The best that this host has shown, in a small file of the data directory.

use std::path::PathBuf;

use steady_linux::Root;
use steady_rulers::{Best, Rulers};

use crate::failure::notice;
use crate::history::Home;

/// Where the best is kept, or why it cannot be.
pub(super) struct BestFile(Result<PathBuf, String>);

impl BestFile {
    /// The file by the environment; its folder is made if need be.
    pub(super) fn find() -> Self {
        BestFile(Home::find().and_then(|home| home.make().map(|()| home.rulers())))
    }

    /// The rulers, with what the file tells of the best.
    pub(super) fn rulers(&self) -> Rulers {
        Rulers::new(&Root::default(), self.0.as_ref().map_or_else(|_| Best::default(), |file| Best::load(file)))
    }

    /// Keeps what the rulers have read for later runs. What stands in the way of that is told, and is no failure.
    pub(super) fn keep(self, rulers: &mut Rulers) {
        let saved =
            self.0.and_then(|file| rulers.best().save(&file).map_err(|error| format!("'{}': {error}", file.display())));
        if let Err(why) = saved {
            notice(&format!("the best of this host is not kept for later runs: {why}"));
        }
    }
}
