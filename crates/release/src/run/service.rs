//! Finds the service and checks its versions, without reading rows.

use steady_feature::Failure;
use steady_render::letters::quoted;

use crate::judge::quoted_names;

/// What the stores know about a service without reading its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) versions: Vec<Version>,
    /// First and last second with stored rows, since 1970. Not known for a fleet.
    pub(crate) kept: Option<(u64, u64)>,
}

/// A version of a service with stored rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) name: String,
    /// First and last second with its stored requests, since 1970. Not known for a fleet.
    pub(crate) kept: Option<(u64, u64)>,
}

/// Returns the span of two spans of seconds, if both are known.
fn joined(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    one.zip(other).map(|(one, other)| (one.0.min(other.0), one.1.max(other.1)))
}

/// Adds what another store knows about a service.
pub(super) fn join(services: &mut Vec<Service>, more: Service) {
    let Some(known) = services.iter_mut().find(|known| known.name == more.name) else {
        services.push(more);
        return;
    };
    for version in more.versions {
        match known.versions.iter_mut().find(|one| one.name == version.name) {
            Some(one) => one.kept = joined(one.kept, version.kept),
            None => known.versions.push(version),
        }
    }
    known.kept = joined(known.kept, more.kept);
}

/// Returns the service with this name, or the only one if no name was given. `whose` names the store in errors.
pub(super) fn named(mut services: Vec<Service>, name: Option<&str>, whose: &str) -> Result<Service, Failure> {
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let found = match name {
        Some(name) => names.iter().position(|one| *one == name),
        None if names.len() == 1 => Some(0),
        None => None,
    };
    let Some(found) = found else {
        return Err(Failure::Usage(match name {
            _ if names.is_empty() => format!("{whose} has no service: no service has reported to an agent yet"),
            Some(name) => format!("{whose} has no service {}; it has {}", quoted(name), quoted_names(&names)),
            None => format!("{whose} has several services, {}: choose one with --service", quoted_names(&names)),
        }));
    };
    Ok(services.swap_remove(found))
}

/// Refuses versions without stored rows.
pub(super) fn versions_there(service: &Service, old: &str, new: &str) -> Result<(), Failure> {
    let there = |version: &str| service.versions.iter().any(|one| one.name == version);
    if let Some(missing) = [old, new].into_iter().find(|version| !there(version)) {
        let names: Vec<&str> = service.versions.iter().map(|version| version.name.as_str()).collect();
        let only = if names.len() == 1 { "only " } else { "but " };
        return Err(Failure::Usage(format!(
            "service {} has reported no version {}, {only}{}",
            quoted(&service.name),
            quoted(missing),
            quoted_names(&names)
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_with_the_same_name_are_merged() {
        let service = |name: &str, version: &str, kept| Service {
            name: name.to_owned(),
            versions: vec![Version { name: version.to_owned(), kept: Some(kept) }],
            kept: Some(kept),
        };
        let mut services = Vec::new();
        for more in [
            service("a", "v1", (5, 9)),
            service("b", "v1", (1, 2)),
            service("a", "v2", (3, 7)),
            service("a", "v1", (6, 6)),
        ] {
            join(&mut services, more);
        }
        let version = |name: &str, kept| Version { name: name.to_owned(), kept: Some(kept) };
        let versions = vec![version("v1", (5, 9)), version("v2", (3, 7))];
        let a = Service { name: "a".to_owned(), versions, kept: Some((3, 9)) };
        assert_eq!(services, [a, service("b", "v1", (1, 2))]);
    }

    #[test]
    fn versions_must_exist() {
        let service = |versions: &[&str]| Service {
            name: "shop".to_owned(),
            versions: versions.iter().map(|name| Version { name: (*name).to_owned(), kept: None }).collect(),
            kept: None,
        };
        let check =
            |versions: &[&str], old, new| versions_there(&service(versions), old, new).map_err(|why| why.to_string());
        assert_eq!(check(&["v1", "v2"], "v1", "v2"), Ok(()));
        assert_eq!(
            check(&["v1"], "v1", "v2"),
            Err("service 'shop' has reported no version 'v2', only 'v1'".to_owned())
        );
    }
}
