//! Where the agent's socket and its store are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::history::Home;

/// The socket: the one that was named, else where services send to, who have nothing but the environment.
pub(super) fn socket(named: Option<&Path>) -> PathBuf {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = || format!("/tmp/steady-{}", rustix::process::geteuid().as_raw());
    let folder = || {
        let runtime = set("XDG_RUNTIME_DIR").filter(|folder| folder.is_absolute());
        runtime.map_or_else(|| PathBuf::from(of_user()), |folder| folder.join("steady"))
    };
    let path = named.map(Path::to_owned).or_else(|| set("STEADY_SOCKET"));
    path.unwrap_or_else(|| folder().join("agent.sock"))
}

/// The store: the one that was named, else this user's.
pub(crate) fn store(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let home = Home::find().map_err(|why| Failure::Usage(format!("{why}; --store FILE names the store")))?;
    Ok(home.agent_store())
}

/// The number of a group.
pub(super) fn group(name: &str) -> Result<u32, Failure> {
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
