//! Finds out whether a program would be started from a snapshot here and now: the checks of the hook, with reasons.

use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};
use steady_linux::Root;
use steady_preload::card::{Card, Dependency, Warm};

use super::identity;
use super::inspect::{Inspected, inspect};
use super::make::configures_loader;
use super::store::{Store, StoredCard};

/// The process that would start the program.
#[derive(Clone, Copy, Debug)]
pub struct StartingProcess<'a> {
    /// The environment of that process.
    pub environment: &'a [(OsString, OsString)],
    /// The root under which the kernel's files are read.
    pub root: &'a Root,
}

/// How a program would be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// From this snapshot, one of the program's copies.
    Warm(PathBuf),
    /// As usual, for all of these reasons.
    AsUsual(Vec<String>),
}

/// Returns how the program at `path` would be started now.
#[must_use]
pub fn launch(store: &Store, path: &Path, here: StartingProcess<'_>) -> Launch {
    let name = path.file_name().unwrap_or_default();
    called(store, path, name, here, |interpreter| by_interpreter(store, interpreter, name, here))
}

/// Returns how a program would be started under a name. `of_script` answers for a script, from its interpreter.
fn called(
    store: &Store,
    path: &Path,
    name: &OsStr,
    here: StartingProcess<'_>,
    of_script: impl FnOnce(&Path) -> Launch,
) -> Launch {
    let reason = match stored(store, path) {
        Err(why) => why,
        Ok(None) => "it has not been captured yet".to_owned(),
        Ok(Some(StoredCard { bytes, .. })) => match Card::parse(&bytes) {
            None => DAMAGED_CARD.to_owned(),
            Some(card) => match (replaced(&card, path), card) {
                (Some(reason), _) => reason,
                (None, Card::Refused { reason, dependencies, .. }) => {
                    changed(dependencies.iter()).unwrap_or_else(|| reason.to_string_lossy().into_owned())
                }
                (None, Card::Script { interpreter, .. }) => return of_script(Path::new(os(interpreter))),
                (None, Card::Warm(warm)) => return of_warm(store, path, name, &warm, here),
            },
        },
    };
    Launch::AsUsual(vec![reason])
}

/// Returns how a script would be started that has this interpreter, which runs under the name of the script.
fn by_interpreter(store: &Store, interpreter: &Path, name: &OsStr, here: StartingProcess<'_>) -> Launch {
    let nested = || vec![NESTED.to_owned()];
    match called(store, interpreter, name, here, |_| Launch::AsUsual(nested())) {
        Launch::Warm(snapshot) => Launch::Warm(snapshot),
        Launch::AsUsual(reasons) => {
            let is_script = matches!(inspect(interpreter), Ok(Inspected::Script(_)));
            let reasons = if is_script { nested() } else { reasons };
            let of = |reason: String| format!("for its interpreter {}: {reason}", interpreter.display());
            Launch::AsUsual(reasons.into_iter().map(of).collect())
        }
    }
}

/// Returns the card of the program at `path`, if there is one, or the reason why that is not known.
pub(crate) fn stored(store: &Store, path: &Path) -> Result<Option<StoredCard>, String> {
    let key = identity::key(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        _ => format!("its file cannot be examined: {error}"),
    })?;
    store.card(&key).map_err(|error| format!("its card cannot be read: {error}"))
}

fn of_warm(store: &Store, path: &Path, name: &OsStr, warm: &Warm<'_>, here: StartingProcess<'_>) -> Launch {
    let reasons = against(store, path, warm, here);
    // The hook chooses a copy at random; for this answer any copy will do.
    let copy = std::process::id() % warm.copies;
    let snapshot = store.snapshot(warm.identity.key().as_str(), copy, name);
    match reasons.is_empty() {
        true if is_written(&snapshot, warm, copy) => Launch::Warm(snapshot),
        true if snapshot.is_file() => Launch::AsUsual(vec![DAMAGED.to_owned()]),
        true => Launch::AsUsual(vec!["it has no snapshot under this name yet".to_owned()]),
        false => Launch::AsUsual(reasons),
    }
}

/// Returns all reasons why the snapshot cannot be used here.
fn against(store: &Store, path: &Path, warm: &Warm<'_>, here: StartingProcess<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    if path.canonicalize().is_ok_and(|path| path != Path::new(os(warm.program))) {
        reasons.push(format!("it was captured by another path, '{}'", Path::new(os(warm.program)).display()));
    }
    if rustix::process::geteuid().as_raw() != warm.uid {
        reasons.push("its snapshot belongs to another user".to_owned());
    }
    reasons.extend(changed(warm.dependencies()));
    reasons.extend(of_environment(warm, here.environment, store.hook().as_os_str()));
    reasons.extend(of_limits(warm, here.root));
    reasons
}

/// The reason for a script whose interpreter is a script, too.
pub(crate) const NESTED: &str = "it is a script itself, which the hook leaves to the kernel";

/// The reason for a card that cannot be parsed.
pub(crate) const DAMAGED_CARD: &str = "its card is damaged";

/// The reason for a snapshot that was written to, truncated or replaced.
const DAMAGED: &str = "one of its snapshots was changed after it was written";

/// Returns the reason if the file at `path` is not the one that the card describes.
pub(crate) fn replaced(card: &Card<'_>, path: &Path) -> Option<String> {
    match identity::at(path) {
        Ok(Some(now)) if now == *card.identity() => None,
        Ok(Some(now)) => {
            Some(format!("its file has changed since the capture: {}", identity::difference(card.identity(), &now)))
        }
        Ok(None) => Some("its file does not exist any more".to_owned()),
        Err(error) => Some(format!("its file cannot be examined: {error}")),
    }
}

/// Returns whether a card describes its program, and the files that the program loads, as they are now. The interpreter
/// of a script must exist.
#[must_use]
pub fn is_current(card: &Card<'_>, program: &Path) -> bool {
    replaced(card, program).is_none()
        && match card {
            Card::Warm(warm) => changed(warm.dependencies()).is_none(),
            Card::Refused { dependencies, .. } => changed(dependencies.iter()).is_none(),
            Card::Script { interpreter, .. } => {
                identity::at(Path::new(os(interpreter))).is_ok_and(|found| found.is_some())
            }
        }
}

/// Returns whether a program needs no capture: its card is current, and its snapshots are the files that were written.
#[must_use]
pub fn is_done(store: &Store, card: &Card<'_>, program: &Path) -> bool {
    let damage = match card {
        Card::Warm(warm) => damaged(store, warm),
        _ => None,
    };
    is_current(card, program) && damage.is_none()
}

/// Returns the reason if one of the snapshots is not the file that was written.
#[must_use]
pub fn damaged(store: &Store, warm: &Warm<'_>) -> Option<String> {
    let key = warm.identity.key();
    let is_whole = |copy| is_written(&store.snapshot(key.as_str(), copy, os(warm.name)), warm, copy);
    (!(0..warm.copies).all(is_whole)).then(|| DAMAGED.to_owned())
}

/// Returns whether a path leads to the file that was written as this copy.
fn is_written(snapshot: &Path, warm: &Warm<'_>, copy: u32) -> bool {
    let image = warm.images().nth(copy as usize);
    image.is_some() && identity::at(snapshot).is_ok_and(|found| found == image)
}

/// Returns the reason if one of the files that the program loads has changed.
#[must_use]
pub fn changed<'a>(dependencies: impl IntoIterator<Item = Dependency<'a>>) -> Option<String> {
    dependencies.into_iter().find_map(|dependency| {
        let path = Path::new(os(dependency.path));
        let name = path.display();
        match (identity::at(path), dependency.identity) {
            (Ok(now), before) if now == before => None,
            (Ok(None), Some(_)) => Some(format!("'{name}', which it loads, does not exist any more")),
            (Ok(Some(_)), None) => Some(format!("'{name}' did not exist when the program was captured")),
            (Ok(Some(now)), Some(before)) => Some(format!(
                "'{name}', which it loads, has changed since the capture: {}",
                identity::difference(&before, &now)
            )),
            (Ok(None), None) => None,
            (Err(error), _) => Some(format!("'{name}' cannot be examined: {error}")),
        }
    })
}

fn of_environment(warm: &Warm<'_>, environment: &[(OsString, OsString)], hook: &OsStr) -> Vec<String> {
    let value = |name: &OsStr| environment.iter().find(|(given, _)| given == name).map(|(_, value)| value);
    let own = |name: &OsStr, value: &OsStr| name == "LD_PRELOAD" && value == hook;
    let loader = environment.iter().filter(|(name, value)| configures_loader(name) && !own(name, value));
    let loader = loader.map(|(name, _)| format!("{} configures the loader or the C library", name.display()));
    let other = warm.conditions().filter(|condition| {
        value(os(condition.name)).map(|value| value.as_bytes()) != condition.value.map(CStr::to_bytes)
    });
    let other = other.map(|condition| match condition.value {
        Some(value) => {
            format!("{} is not '{}' as during the capture", os(condition.name).display(), os(value).display())
        }
        None => format!("{} is set, and was not set during the capture", os(condition.name).display()),
    });
    loader.chain(other).collect()
}

fn of_limits(warm: &Warm<'_>, root: &Root) -> Vec<String> {
    let mut reasons = Vec::new();
    let soft = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
    if !warm.takes_stack(soft(Resource::Stack)) {
        reasons.push("its snapshots cannot start with this limit on the stack (ulimit -s)".to_owned());
    }
    for (resource, name) in [(Resource::As, "address space (ulimit -v)"), (Resource::Data, "data (ulimit -d)")] {
        if soft(resource) != u64::MAX {
            reasons.push(format!("the {name} is limited"));
        }
    }
    // If the file is missing, assume the default personality.
    let personality = root.read_line("/proc/self/personality").unwrap_or_default();
    if personality.bytes().any(|digit| digit != b'0') {
        reasons.push("the process has another personality than the default (personality(2))".to_owned());
    }
    reasons
}

/// Returns a string of a card as an [`OsStr`].
#[must_use]
pub fn os(text: &CStr) -> &OsStr {
    OsStr::from_bytes(text.to_bytes())
}
