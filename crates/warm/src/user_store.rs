//! Finds this user's store, and whether snapshots can be created here.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};
use steady_linux::Root;

use crate::store::{Store, StoreDirectory};

/// Returns where this user's store is.
pub(crate) fn place(session: &dyn Session) -> Result<StoreDirectory, String> {
    let cache = cache(&session.environment())?;
    StoreDirectory::of(&cache, &Root::default(), session.version()).map_err(|why| why.0)
}

/// Returns the directory of this user's caches (XDG Base Directory Specification).
pub(crate) fn cache(environment: &[(OsString, OsString)]) -> Result<PathBuf, String> {
    let value = |name: &str| environment.iter().find(|variable| variable.0 == name).map(|(_, value)| value);
    let absolute = |name: &str| value(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.ok_or_else(|| "neither XDG_CACHE_HOME nor HOME names a directory".to_owned())
}

/// Opens the store, and creates it if it does not exist.
pub(crate) fn store(session: &dyn Session) -> Result<Store, String> {
    available()?;
    Store::make(&place(session)?).map_err(|why| why.0)
}

/// Finds out whether snapshots can be created here.
///
/// # Errors
/// The reason why not.
pub fn available() -> Result<(), String> {
    if !steady_preload::AVAILABLE {
        return Err("snapshots can be created on x86-64 with the GNU C library only".to_owned());
    }
    may_trace(&Root::default())
}

/// Checks whether Yama lets this user trace programs by ptrace(2).
fn may_trace(root: &Root) -> Result<(), String> {
    /// The number of `CAP_SYS_PTRACE` (capabilities(7)).
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

/// Returns the absolute form of a path.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns the file that execvp(3) would execute for a command's first word.
///
/// # Errors
/// There is no such file.
pub(crate) fn executed(word: &OsStr, session: &dyn Session) -> Result<PathBuf, Failure> {
    session.command(&[word.to_owned()]).map(|command| command.program)
}
