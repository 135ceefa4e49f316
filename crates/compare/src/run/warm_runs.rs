//! Runs from snapshots of their programs: a place for the snapshots, and the snapshots.

use std::path::Path;

use steady_feature::Session;
use steady_linux::Root;
use steady_model::{Cold, Plan};
use steady_warm::available;
use steady_warm::images::Images;
use steady_warm::store::{Place, Store};

use crate::workspace::Workspace;

/// A folder of this process's own, with a store in it.
pub(crate) struct Folder {
    workspace: Workspace,
    store: Store,
}

impl Folder {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// Removes it; a line says why if that fails.
    pub(crate) fn remove(self, session: &dyn Session) {
        self.workspace.remove(session);
    }

    fn make(session: &dyn Session) -> Result<Self, String> {
        available().map_err(|why| format!("not available here: {why}"))?;
        let workspace = Workspace::open(None, session).map_err(|failure| failure.to_string())?;
        let place = Place::of(workspace.path(), &Root::default(), session.version());
        let store = place.and_then(|place| Store::make(&place)).map_err(|why| why.0)?;
        Ok(Folder { workspace, store })
    }
}

/// A folder, where the plan asks for snapshots, or why there can be none.
pub(crate) fn place(plan: &Plan, session: &dyn Session) -> Option<Result<Folder, Cold>> {
    plan.warm.then(|| Folder::make(session).map_err(|reason| Cold { command: None, reason }))
}

/// Snapshots of the plan's programs, or why there can be none.
pub(crate) fn images<'a>(
    plan: &Plan,
    place: &'a Result<Folder, Cold>,
    session: &dyn Session,
) -> Result<Images<'a>, Cold> {
    let folder = place.as_ref().map_err(Cold::clone)?;
    Images::prepare(&plan.commands, session.environment(), &folder.store, folder.path())
}
