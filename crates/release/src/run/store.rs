//! The store that an agent keeps, and what is asked of it.

use std::path::{Path, PathBuf};

use steady_agent::store::{Reader, ServiceFacts, StoreError};
use steady_feature::{Failure, Session};
use steady_model::ReleaseRows;

use super::source::Service;

/// More names than this are not listed.
const NAMES: usize = 12;

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

/// The service that was named, or the only one there is, of those that `whose` knows.
pub(super) fn named(mut services: Vec<Service>, name: Option<&str>, whose: &str) -> Result<Service, Failure> {
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let found = match name {
        Some(name) => names.iter().position(|one| *one == name),
        None if names.len() == 1 => Some(0),
        None => None,
    };
    let Some(found) = found else {
        return Err(Failure::Usage(match name {
            _ if names.is_empty() => format!("{whose} knows no service: none has told an agent anything yet"),
            Some(name) => format!("{whose} knows no service '{name}', but {}", listed(&names)),
            None => format!("--service must say which: {whose} knows {}", listed(&names)),
        }));
    };
    Ok(services.swap_remove(found))
}

/// Refuses versions that nothing is kept of.
pub(super) fn versions_there(service: &Service, old: &str, new: &str) -> Result<(), Failure> {
    let there = |version: &str| service.versions.iter().any(|one| one == version);
    if let Some(missing) = [old, new].into_iter().find(|version| !there(version)) {
        let names: Vec<&str> = service.versions.iter().map(String::as_str).collect();
        let only = if names.len() == 1 { "only " } else { "" };
        return Err(Failure::Usage(format!(
            "service '{}' has told of no version '{missing}', but {only}of {}",
            service.name,
            listed(&names)
        )));
    }
    if old == new {
        return Err(Failure::Usage(format!("'{old}' is compared with itself: name two versions")));
    }
    Ok(())
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

/// `'a'`, `'a' and 'b'`, `'a', 'b' and 3 more`.
fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES).map(|name| format!("'{}'", name.escape_debug())).collect();
    if names.len() > NAMES {
        shown.push(format!("{} more", names.len() - NAMES));
    }
    match shown.pop() {
        Some(last) if shown.is_empty() => last,
        Some(last) => format!("{} and {last}", shown.join(", ")),
        None => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_one_says_them() {
        assert_eq!(
            [listed(&["a"]), listed(&["a", "b"]), listed(&["a", "b", "c\n"])],
            ["'a'", "'a' and 'b'", "'a', 'b' and 'c\\n'"]
        );
        assert!(listed(&["x"; 20]).ends_with("'x' and 8 more"));
    }

    #[test]
    fn versions_must_be_there_and_be_two() {
        let facts = |versions: &[&str]| Service {
            name: "shop".to_owned(),
            versions: versions.iter().map(|version| (*version).to_owned()).collect(),
            kept: None,
        };
        let told =
            |versions: &[&str], old, new| versions_there(&facts(versions), old, new).map_err(|why| why.to_string());
        assert_eq!(told(&["v1", "v2"], "v1", "v2"), Ok(()));
        assert_eq!(
            told(&["v1"], "v1", "v2"),
            Err("service 'shop' has told of no version 'v2', but only of 'v1'".to_owned())
        );
        assert!(told(&["v1", "v2"], "v1", "v1").is_err_and(|why| why.contains("itself")));
    }
}
