//! `steady warm`: commands whose programs are kept warm, and what is kept.

mod ask;
mod named;
mod run;

use std::env;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use steady_linux::{Root, process};
use steady_preload::card::EXCEPT_VARIABLE;
use steady_warm::keeper;
use steady_warm::make::{Maker, Traced};
use steady_warm::store::{Place, Store};

use crate::failure::Failure;
use crate::flags::{WarmCommands, WarmFlags};
use crate::warm_bench;

/// Runs a command, or tells what is kept; the exit status.
pub(crate) fn run(flags: &WarmFlags) -> Result<u8, Failure> {
    match &flags.question {
        Some(WarmCommands::Status(flags)) => ask::status(flags),
        Some(WarmCommands::Why(flags)) => ask::why(flags),
        Some(WarmCommands::Snapshot(flags)) => ask::snapshot(flags),
        Some(WarmCommands::Clear) => ask::clear(),
        Some(WarmCommands::Bench(flags)) => warm_bench::run(flags),
        None if flags.words.is_empty() => Err(Failure::Own(
            "no command: steady warm -- COMMAND; steady warm --help names what else there is".to_owned(),
        )),
        None => run::run(flags),
    }
}

/// Is a keeper, until the process that standard input stands for has ended. Nobody listens to what it might say.
pub(crate) fn keep(folder: Option<OsString>) -> bool {
    let Some(Ok(Some(store))) = folder.map(|folder| Store::at(PathBuf::from(folder))) else { return false };
    let Ok(command) = std::io::stdin().as_fd().try_clone_to_owned() else { return false };
    process::keep_priority();
    let except = env::var_os(EXCEPT_VARIABLE).unwrap_or_default();
    let mut maker = Maker::new(&store, Traced, environment());
    keeper::keep(&mut maker, command, &except).is_ok()
}

/// The place of this user's store.
fn place() -> Result<Place, String> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let cache = cache.ok_or("neither XDG_CACHE_HOME nor HOME names a directory")?;
    Place::of(&cache, &Root::default(), env!("STEADY_VERSION")).map_err(|why| why.0)
}

/// The store, made where there is none.
fn store() -> Result<Store, String> {
    available()?;
    Store::make(&place()?).map_err(|why| why.0)
}

/// Whether snapshots can be taken here.
pub(crate) fn available() -> Result<(), String> {
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

fn environment() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// A path as one from the root on.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
