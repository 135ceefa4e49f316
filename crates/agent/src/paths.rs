//! Resolves the paths of the agent's socket and store, and the number of a group, from options and the environment.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};

/// Describes that this user may not use a file: `permission denied (owner: user 1000)`. If a directory above the file
/// denies access, the owner is that of the innermost one that is known.
pub(crate) fn denied(path: &Path) -> String {
    let owner = path.ancestors().find_map(|above| fs::metadata(above).ok()).map(|facts| facts.uid());
    let owner = owner.map(|user| format!(" (owner: user {user})")).unwrap_or_default();
    format!("permission denied{owner}")
}

/// Returns an environment variable as a path, if it is set and not empty.
fn variable(session: &dyn Session, name: &str) -> Option<PathBuf> {
    let found = session.environment().into_iter().find(|(known, _)| known == name);
    found.map(|(_, value)| PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty())
}

/// Returns an environment variable as a path, if it holds an absolute one.
fn absolute(session: &dyn Session, name: &str) -> Option<PathBuf> {
    variable(session, name).filter(|path| path.is_absolute())
}

/// Returns the path of the socket: `named`, else `STEADY_SOCKET`, else `$XDG_RUNTIME_DIR/steady/agent.sock`, else
/// `/tmp/steady-UID/agent.sock`. Services use the same defaults.
pub fn socket(named: Option<&Path>, session: &dyn Session) -> PathBuf {
    let of_user = || format!("/tmp/steady-{}", rustix::process::geteuid().as_raw());
    let folder = || {
        absolute(session, "XDG_RUNTIME_DIR").map_or_else(|| PathBuf::from(of_user()), |folder| folder.join("steady"))
    };
    let path = named.map(Path::to_owned).or_else(|| variable(session, "STEADY_SOCKET"));
    path.unwrap_or_else(|| folder().join("agent.sock"))
}

/// Returns the path of the store: `named`, else `$XDG_DATA_HOME/steady/agent.db`, else
/// `~/.local/share/steady/agent.db`.
///
/// # Errors
/// Wrong usage if no store is named, and neither `XDG_DATA_HOME` nor `HOME` holds an absolute path.
pub fn store(named: Option<&Path>, session: &dyn Session) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    // A home directory that does not exist is not created.
    let of_home = || absolute(session, "HOME").filter(|home| home.is_dir()).map(|home| home.join(".local/share"));
    let data = absolute(session, "XDG_DATA_HOME").or_else(of_home).map(|data| data.join("steady/agent.db"));
    data.ok_or_else(|| {
        Failure::Usage("neither XDG_DATA_HOME nor HOME names a directory; name the store with --store FILE".to_owned())
    })
}

/// Returns the directories below which files may be unpacked, in order of preference. The user of a system service
/// often has no home directory, so `/var/tmp` and `/tmp` follow the cache.
pub(crate) fn caches(session: &dyn Session) -> Vec<PathBuf> {
    let of_home = || absolute(session, "HOME").map(|home| home.join(".cache"));
    let cache = absolute(session, "XDG_CACHE_HOME").or_else(of_home);
    cache.into_iter().chain(["/var/tmp", "/tmp"].map(PathBuf::from)).collect()
}

/// Parses the number of a group, or looks its name up in `/etc/group`.
pub(crate) fn group(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let known = fs::read_to_string("/etc/group").unwrap_or_default();
    let number = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? == name { fields.nth(1)?.parse().ok() } else { None }
    });
    number.ok_or_else(|| {
        Failure::Usage(format!(
            "--group {name}: /etc/group has no such group; use a name from there, or a group number"
        ))
    })
}
