//! Where the agent's socket and its store are.

use std::fs;
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};

/// A variable of the environment that is set and not empty, as a path.
fn variable(session: &dyn Session, name: &str) -> Option<PathBuf> {
    let found = session.environment().into_iter().find(|(known, _)| known == name);
    found.map(|(_, value)| PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty())
}

/// A variable of the environment that names an absolute path.
fn absolute(session: &dyn Session, name: &str) -> Option<PathBuf> {
    variable(session, name).filter(|path| path.is_absolute())
}

/// The socket: `named`, else the one that services find by the environment.
pub(crate) fn socket(named: Option<&Path>, session: &dyn Session) -> PathBuf {
    let of_user = || format!("/tmp/steady-{}", rustix::process::geteuid().as_raw());
    let folder = || {
        absolute(session, "XDG_RUNTIME_DIR").map_or_else(|| PathBuf::from(of_user()), |folder| folder.join("steady"))
    };
    let path = named.map(Path::to_owned).or_else(|| variable(session, "STEADY_SOCKET"));
    path.unwrap_or_else(|| folder().join("agent.sock"))
}

/// The file of the store: `named`, else this user's.
///
/// # Errors
/// Wrong usage: no store was named, and the environment does not say where this user's data is.
pub fn store(named: Option<&Path>, session: &dyn Session) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let of_home = || absolute(session, "HOME").map(|home| home.join(".local/share"));
    let data = absolute(session, "XDG_DATA_HOME").or_else(of_home).map(|data| data.join("steady/agent.db"));
    data.ok_or_else(|| {
        Failure::Usage("neither XDG_DATA_HOME nor HOME names a directory; --store FILE names the store".to_owned())
    })
}

/// The folders that files may be unpacked to, the best first. A service's user often has no home of its own.
pub(crate) fn caches(session: &dyn Session) -> Vec<PathBuf> {
    let of_home = || absolute(session, "HOME").map(|home| home.join(".cache"));
    let cache = absolute(session, "XDG_CACHE_HOME").or_else(of_home);
    cache.into_iter().chain(["/var/tmp", "/tmp"].map(PathBuf::from)).collect()
}

/// The number of a group.
pub(crate) fn group(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let known = fs::read_to_string("/etc/group").unwrap_or_default();
    let number = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? == name { fields.nth(1)?.parse().ok() } else { None }
    });
    number.ok_or_else(|| Failure::Usage(format!("--group {name}: /etc/group has no such group; its number serves too")))
}
