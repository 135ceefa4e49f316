//! The file with the state of a search, from which the same command continues.

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use steady_compare::revisions::{LineCommit, Repository};
use steady_feature::{Failure, Session};
use steady_model::{Plan, Seed};
use steady_render::json;

use crate::flags::BisectFlags;
use crate::record::{BisectOutcome, BisectRecord, SCHEMA};

/// The file of a search, in the data folder of the user. `None` if there is no such folder: a search cannot be continued
/// then.
pub(crate) struct State(Option<PathBuf>);

impl State {
    /// The file of the search with these commits, this command and these options.
    pub(crate) fn of(
        flags: &BisectFlags,
        plan: &Plan,
        repository: &Repository,
        line: &[LineCommit],
        session: &dyn Session,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        repository.place().hash(&mut hasher);
        let ends = [line.first(), line.last()].map(|end| end.map(|commit| commit.commit.as_str()));
        ends.hash(&mut hasher);
        flags.build.hash(&mut hasher);
        format!("{:?}", Plan { seed: Seed(0), ..plan.clone() }).hash(&mut hasher);
        let folder = session.data_folder().ok().map(|folder| folder.join("bisect"));
        let made = folder.filter(|folder| folder.is_dir() || DirBuilder::new().mode(0o700).create(folder).is_ok());
        State(made.map(|folder| folder.join(format!("{:016x}.json", hasher.finish()))))
    }

    /// A state that is not stored.
    pub(crate) fn none() -> Self {
        State(None)
    }

    /// The record of an earlier search in the commits of `line` that did not end, unless it is to begin again.
    pub(crate) fn load(&self, line: &[LineCommit], restart: bool) -> Option<BisectRecord> {
        let path = self.0.as_deref()?;
        if restart {
            // A file that remains is replaced after the first comparison.
            let _ = fs::remove_file(path);
            return None;
        }
        // A file of another version, or a damaged one, is an unknown state: the search begins again.
        let record = BisectRecord::read(&fs::read_to_string(path).ok()?).ok()?;
        let of_line = record.commits.iter().map(|one| &one.commit).eq(line.iter().map(|one| &one.commit));
        (of_line && !record.comparisons.is_empty()).then_some(BisectRecord { interrupted: false, ..record })
    }

    /// Replaces the file.
    pub(crate) fn save(&self, record: &BisectRecord, session: &dyn Session) -> Result<(), Failure> {
        let save = |path: &Path| session.save("bisect", path, &json::text(&SCHEMA, record));
        self.0.as_deref().map_or(Ok(()), save)
    }

    /// Removes the file if the search has a result and was not interrupted while it searched for another one.
    pub(crate) fn finish(&self, record: &BisectRecord) {
        let is_over = record.outcome != BisectOutcome::Open && !record.interrupted;
        if let Some(path) = self.0.as_deref().filter(|_| is_over) {
            // A file that remains has the result of this search, which ends a repeated one at once.
            let _ = fs::remove_file(path);
        }
    }
}
