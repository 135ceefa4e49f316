//! The store of this user, and whether there can be one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};
use steady_linux::Root;

use crate::store::{Place, Store};

/// The place of this user's store.
pub(crate) fn place(session: &dyn Session) -> Result<Place, String> {
    let cache = cache(&session.environment())?;
    Place::of(&cache, &Root::default(), session.version()).map_err(|why| why.0)
}

/// The folder of this user's caches.
pub(crate) fn cache(environment: &[(OsString, OsString)]) -> Result<PathBuf, String> {
    let value = |name: &str| environment.iter().find(|variable| variable.0 == name).map(|(_, value)| value);
    let absolute = |name: &str| value(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.ok_or_else(|| "neither XDG_CACHE_HOME nor HOME names a directory".to_owned())
}

/// The store, made if there is none.
pub(crate) fn store(session: &dyn Session) -> Result<Store, String> {
    available()?;
    Store::make(&place(session)?).map_err(|why| why.0)
}

/// Finds out whether snapshots can be created here.
///
/// # Errors
/// Why not.
pub fn available() -> Result<(), String> {
    if !steady_preload::AVAILABLE {
        return Err("snapshots are made for x86-64 with the GNU C library only".to_owned());
    }
    may_trace(&Root::default())
}

/// Whether this user may hold programs by ptrace(2), as far as Yama says.
fn may_trace(root: &Root) -> Result<(), String> {
    /// `CAP_SYS_PTRACE`.
    const TRACING: u32 = 19;
    let capable = || {
        let status = root.read("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).map(str::trim).unwrap_or_default();
        u64::from_str_radix(mask, 16).is_ok_and(|mask| mask >> TRACING & 1 == 1)
    };
    match root.read_line("/proc/sys/kernel/yama/ptrace_scope").as_deref() {
        Ok("3") => Err("no program may be traced (kernel.yama.ptrace_scope is 3)".to_owned()),
        Ok("2") if !capable() => Err("only root may trace programs (kernel.yama.ptrace_scope is 2)".to_owned()),
        _ => Ok(()),
    }
}

/// A path as one from the root on.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The file that execvp(3) would execute for a command's first word.
///
/// # Errors
/// There is none.
pub(crate) fn executed(word: &OsStr, session: &dyn Session) -> Result<PathBuf, Failure> {
    session.command(&[word.to_owned()]).map(|command| command.program)
}
