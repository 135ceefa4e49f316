//! The store that an agent keeps, and what is asked of it.

use std::path::{Path, PathBuf};

use steady_agent::store::{Reader, ServiceFacts, StoreError};
use steady_feature::{Failure, Session};
use steady_model::ReleaseRows;

use super::service::Service;

/// A store that can be read.
pub(crate) struct Store {
    reader: Reader,
    path: PathBuf,
}

impl Store {
    /// Opens the store that was named, or that of this user's agent.
    pub(crate) fn open(path: Option<&PathBuf>, session: &dyn Session) -> Result<Store, Failure> {
        let path = steady_agent::store_file(path.map(PathBuf::as_path), session)?;
        match Reader::open(&path) {
            Ok(reader) => Ok(Store { reader, path }),
            Err(StoreError::Missing) => Err(Failure::Usage(format!(
                "there is no store '{}': steady agent makes it, and --store names another",
                path.display()
            ))),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// The services that it knows.
    pub(super) fn services(&self) -> Result<Vec<Service>, Failure> {
        let services = self.reader.services().map_err(|error| failed(&self.path, &error))?;
        let service =
            |ServiceFacts { name, versions, first, last, .. }| Service { name, versions, kept: Some((first, last)) };
        Ok(services.into_iter().map(service).collect())
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of it from second `from` up to the one before `to`.
    pub(crate) fn rows(&self, service: &str, from: u64, to: u64) -> Result<ReleaseRows, Failure> {
        self.reader.rows(service, from, to).map_err(|error| failed(&self.path, &error))
    }
}

/// A store that is there and cannot be read; what is no store of an agent's is wrong usage.
fn failed(path: &Path, error: &StoreError) -> Failure {
    let text = format!("'{}': {error}", path.display());
    match error {
        StoreError::Missing | StoreError::Foreign | StoreError::TooNew { .. } => Failure::Usage(text),
        StoreError::Taken(_) | StoreError::Directory(_) | StoreError::Damaged { .. } | StoreError::Database(_) => {
            Failure::Own(text)
        }
    }
}
