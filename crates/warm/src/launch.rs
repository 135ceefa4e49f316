//! Whether a program would be started from a snapshot here and now: what the hook looks at, in words.

use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};
use steady_linux::Root;
use steady_preload::card::{Card, Dependency, Warm};

use super::identity;
use super::make::speaks_to_loader;
use super::store::Store;

/// The process that would start it.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// Its environment.
    pub environment: &'a [(OsString, OsString)],
    /// Where kernel files are.
    pub root: &'a Root,
}

/// How a program would be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// From this snapshot, one of several.
    Warm(PathBuf),
    /// As usual, for all of these reasons.
    AsUsual(Vec<String>),
}

/// How the program at `path` would be started, if it were now.
#[must_use]
pub fn launch(store: &Store, path: &Path, here: Here<'_>) -> Launch {
    called(store, path, path.file_name().unwrap_or_default(), here)
}

/// The same, of a program that is called by a name: the interpreter of a script is by that of the script.
fn called(store: &Store, path: &Path, name: &OsStr, here: Here<'_>) -> Launch {
    let reasons = match identity::existing(path) {
        Err(error) => vec![format!("its file cannot be looked at: {error}")],
        Ok(file) => {
            let found = store.card(file.key().as_str());
            match found.map(|found| found.map(|found| found.bytes)) {
                Err(error) => vec![format!("its card cannot be read: {error}")],
                Ok(None) => vec!["it has not been taken yet".to_owned()],
                Ok(Some(bytes)) => match Card::parse(&bytes) {
                    None => vec!["its card makes no sense".to_owned()],
                    Some(card) if *card.identity() != file => {
                        vec!["its file has changed since".to_owned()]
                    }
                    Some(Card::Refused { reason, dependencies, .. }) => {
                        vec![changed(dependencies.iter()).unwrap_or_else(|| reason.to_string_lossy().into_owned())]
                    }
                    Some(Card::Script { interpreter, .. }) => {
                        return called(store, Path::new(os(interpreter)), name, here);
                    }
                    Some(Card::Warm(warm)) => return of_warm(store, path, name, &warm, here),
                },
            }
        }
    };
    Launch::AsUsual(reasons)
}

fn of_warm(store: &Store, path: &Path, name: &OsStr, warm: &Warm<'_>, here: Here<'_>) -> Launch {
    let reasons = against(store, path, warm, here);
    // The copies are as good as each other; the hook draws one.
    let copy = std::process::id() % warm.copies;
    let snapshot = store.snapshot(warm.identity.key().as_str(), copy, name);
    match reasons.is_empty() {
        true if is_written(&snapshot, warm, copy) => Launch::Warm(snapshot),
        true if snapshot.is_file() => Launch::AsUsual(vec![DAMAGED.to_owned()]),
        true => Launch::AsUsual(vec!["its snapshots do not have that name yet".to_owned()]),
        false => Launch::AsUsual(reasons),
    }
}

/// All that speaks against a snapshot.
fn against(store: &Store, path: &Path, warm: &Warm<'_>, here: Here<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    if path.canonicalize().is_ok_and(|path| path != Path::new(os(warm.program))) {
        reasons.push(format!("it was taken by another path, '{}'", Path::new(os(warm.program)).display()));
    }
    if rustix::process::geteuid().as_raw() != warm.uid {
        reasons.push("another user had it taken".to_owned());
    }
    reasons.extend(changed(warm.dependencies()));
    reasons.extend(of_environment(warm, here.environment, store.hook().as_os_str()));
    reasons.extend(of_limits(warm, here.root));
    reasons
}

/// What is said of a snapshot that was written to, cut off or replaced.
const DAMAGED: &str = "one of its snapshots is not the file that was written";

/// Returns whether a card describes its program, and the files that this loads, as they are now.
#[must_use]
pub fn is_current(card: &Card<'_>, program: &Path) -> bool {
    let same = identity::at(program).is_ok_and(|now| now == Some(*card.identity()));
    same && match card {
        Card::Warm(warm) => changed(warm.dependencies()).is_none(),
        Card::Refused { dependencies, .. } => changed(dependencies.iter()).is_none(),
        Card::Script { .. } => true,
    }
}

/// Returns whether there is nothing to do for a program: its card is current, and its snapshots are those that were written.
#[must_use]
pub fn is_done(store: &Store, card: &Card<'_>, program: &Path) -> bool {
    let damage = match card {
        Card::Warm(warm) => damaged(store, warm),
        _ => None,
    };
    is_current(card, program) && damage.is_none()
}

/// Says so if one of the snapshots is not the file that was written.
#[must_use]
pub fn damaged(store: &Store, warm: &Warm<'_>) -> Option<String> {
    let key = warm.identity.key();
    let is_whole = |copy| is_written(&store.snapshot(key.as_str(), copy, os(warm.name)), warm, copy);
    (!(0..warm.copies).all(is_whole)).then(|| DAMAGED.to_owned())
}

/// Returns whether a path leads to the very file that was written as this copy.
fn is_written(snapshot: &Path, warm: &Warm<'_>, copy: u32) -> bool {
    let image = warm.images().nth(copy as usize);
    image.is_some() && identity::at(snapshot).is_ok_and(|found| found == image)
}

/// Which of the files that it loads is not what it was, if any.
#[must_use]
pub fn changed<'a>(dependencies: impl IntoIterator<Item = Dependency<'a>>) -> Option<String> {
    dependencies.into_iter().find_map(|dependency| {
        let path = Path::new(os(dependency.path));
        let name = path.display();
        match (identity::at(path), dependency.identity) {
            (Ok(now), before) if now == before => None,
            (Ok(None), Some(_)) => Some(format!("'{name}', which it loads, is not there any more")),
            (Ok(Some(_)), None) => Some(format!("'{name}' was not there when it was taken")),
            (Ok(_), _) => Some(format!("'{name}', which it loads, has changed since")),
            (Err(error), _) => Some(format!("'{name}' cannot be looked at: {error}")),
        }
    })
}

fn of_environment(warm: &Warm<'_>, environment: &[(OsString, OsString)], hook: &OsStr) -> Vec<String> {
    let value = |name: &OsStr| environment.iter().find(|(given, _)| given == name).map(|(_, value)| value);
    let own = |name: &OsStr, value: &OsStr| name == "LD_PRELOAD" && value == hook;
    let told = environment.iter().filter(|(name, value)| speaks_to_loader(name) && !own(name, value));
    let told = told.map(|(name, _)| format!("{} tells the loader or the C library how to begin", name.display()));
    let other = warm.conditions().filter(|condition| {
        value(os(condition.name)).map(|value| value.as_bytes()) != condition.value.map(CStr::to_bytes)
    });
    let other = other.map(|condition| match condition.value {
        Some(value) => {
            format!("{} is not '{}', as when it was taken", os(condition.name).display(), os(value).display())
        }
        None => format!("{} is set, and was not when it was taken", os(condition.name).display()),
    });
    told.chain(other).collect()
}

fn of_limits(warm: &Warm<'_>, root: &Root) -> Vec<String> {
    let mut reasons = Vec::new();
    let soft = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
    if !warm.takes_stack(soft(Resource::Stack)) {
        reasons.push("the limit on the stack (ulimit -s) is none that its snapshots can be started with".to_owned());
    }
    for (resource, name) in [(Resource::As, "address space (ulimit -v)"), (Resource::Data, "data (ulimit -d)")] {
        if soft(resource) != u64::MAX {
            reasons.push(format!("the {name} is limited"));
        }
    }
    // A kernel that does not tell has no other than the usual.
    let personality = root.read_line("/proc/self/personality").unwrap_or_default();
    if personality.bytes().any(|digit| digit != b'0') {
        reasons.push("the process has a personality of its own (personality(2))".to_owned());
    }
    reasons
}

/// Text of a card as the system has it.
#[must_use]
pub fn os(text: &CStr) -> &OsStr {
    OsStr::from_bytes(text.to_bytes())
}
