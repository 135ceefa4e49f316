//! The folder and the snapshots for runs that start from snapshots.

use std::path::Path;

use steady_feature::Session;
use steady_linux::Root;
use steady_model::{Cold, Plan};
use steady_warm::available;
use steady_warm::images::Images;
use steady_warm::store::{Store, StoreDirectory};

use crate::workspace::Workspace;

/// A private folder of this process, with a store of snapshots in it.
pub(crate) struct Folder {
    workspace: Workspace,
    store: Store,
}

impl Folder {
    /// The path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// Removes the folder. If that fails, a notice says why.
    pub(crate) fn remove(self, session: &dyn Session) {
        self.workspace.remove(session);
    }

    fn make(session: &dyn Session) -> Result<Self, String> {
        available().map_err(|why| format!("not available here: {why}"))?;
        let workspace = Workspace::open(None, session).map_err(|failure| failure.to_string())?;
        let place = StoreDirectory::of(workspace.path(), &Root::default(), session.version());
        let store = place.and_then(|place| Store::make(&place)).map_err(|why| why.0)?;
        Ok(Folder { workspace, store })
    }
}

/// Creates the folder if the plan needs snapshots. The error says why there cannot be any.
pub(crate) fn place(plan: &Plan, session: &dyn Session) -> Option<Result<Folder, Cold>> {
    plan.warm.then(|| Folder::make(session).map_err(|reason| Cold { command: None, reason }))
}

/// Prepares snapshots of the plan's programs. The error says why there cannot be any.
pub(crate) fn images<'a>(
    plan: &Plan,
    place: &'a Result<Folder, Cold>,
    session: &dyn Session,
) -> Result<Images<'a>, Cold> {
    let folder = place.as_ref().map_err(Cold::clone)?;
    Images::prepare(&plan.commands, session.environment(), &folder.store, folder.path())
}
