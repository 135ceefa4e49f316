//! Runs `steady warm -- COMMAND`: preloads the hook, starts a keeper, and replaces this process by the command.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use steady_feature::{Failure, Session, attended};
use steady_linux::{Root, process};
use steady_preload::card::{Card, EXCEPT_VARIABLE, excepts};

use crate::flags::{ModeFlag, WarmFlags};
use crate::launch::{Launch, StartingProcess, is_done, launch};
use crate::make::{Made, Maker, Traced};
use crate::store::{Store, StoredCard, is_hook};
use crate::user_store::{absolute, executed, store};
use crate::{identity, keeper};

const PRELOAD: &str = "LD_PRELOAD";

/// Environment variables: names and values.
type Environment = Vec<(OsString, OsString)>;

/// Replaces this process by the command. Returns only if that failed.
pub(crate) fn run(flags: &WarmFlags, session: &dyn Session) -> Result<u8, Failure> {
    let command = session.command(&flags.words)?;
    let program = command.program.clone();
    let wanted = flags.programs.iter().map(|name| executed(name.as_os_str(), session).map(|path| absolute(&path)));
    let wanted = wanted.collect::<Result<Vec<_>, _>>().map_err(|failure| Failure::Own(failure.to_string()))?;
    if !wanted.is_empty() && flags.mode != ModeFlag::Prewarm {
        return Err(Failure::Own("--programs goes with --mode prewarm".to_owned()));
    }
    let before = excepting(session.environment(), &flags.except)?;
    let mut executes = program.clone();
    // The command may run below another `steady warm`.
    let mut after = if flags.mode == ModeFlag::Off { without_hooks(&before) } else { before.clone() };
    if flags.mode != ModeFlag::Off {
        match store(session) {
            Ok(store) => {
                if flags.mode == ModeFlag::Prewarm {
                    let find = |word: &OsStr| executed(word, session).ok();
                    let named = || programs(&program, &flags.words, find);
                    let mut wanted = if wanted.is_empty() { named() } else { wanted };
                    wanted.retain(|program| !is_excepted(&before, program));
                    prewarm(&store, wanted, &before);
                }
                (executes, after) = warm(&store, &program, &before, session);
            }
            Err(why) => session.notice(&format!("not available here: {why}; the command runs as usual")),
        }
    }
    let error = execute(&executes, &flags.words, &after);
    // If the snapshot cannot be executed, execute the program itself.
    let error = if executes == program { error } else { execute(&program, &flags.words, &after) };
    Err(attended::not_started(&command, &error))
}

/// Adds the programs of `--except` to the list that an outer `steady warm` has set.
fn excepting(environment: Environment, except: &[PathBuf]) -> Result<Environment, Failure> {
    let mut entries: Vec<OsString> = Vec::new();
    for program in except {
        let text = program.as_os_str().as_encoded_bytes();
        if text.is_empty() || text.contains(&b':') {
            return Err(Failure::Own(format!("--except '{}': use a path without a colon", program.display())));
        }
        if !text.contains(&b'/') {
            entries.push(program.clone().into_os_string());
            continue;
        }
        // The hook compares both the path as given and the path without symbolic links.
        let path = absolute(program);
        entries.extend(path.canonicalize().ok().filter(|real| *real != path).map(PathBuf::into_os_string));
        entries.push(path.into_os_string());
    }
    if entries.is_empty() {
        return Ok(environment);
    }
    let (outer, mut others): (Environment, Environment) =
        environment.into_iter().partition(|(name, _)| name == EXCEPT_VARIABLE);
    entries.extend(outer.into_iter().map(|(_, list)| list));
    others.push((EXCEPT_VARIABLE.into(), entries.join(OsStr::new(":"))));
    Ok(others)
}

/// Returns whether the environment excepts a program, by its path as given or without symbolic links.
fn is_excepted(environment: &Environment, program: &Path) -> bool {
    let list = environment.iter().find(|(name, _)| name == EXCEPT_VARIABLE).map(|(_, list)| list.as_bytes());
    let is_in = |path: &Path| list.is_some_and(|list| excepts(list, path.as_os_str().as_bytes()));
    is_in(program) || program.canonicalize().is_ok_and(|real| is_in(&real))
}

fn execute(program: &Path, words: &[OsString], environment: &Environment) -> std::io::Error {
    let environment = environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    process::execute(program, words.iter().map(OsString::as_os_str), environment)
}

/// Starts a keeper. Returns the file to execute (the program or its snapshot) and the environment to execute it with.
fn warm(store: &Store, program: &Path, before: &Environment, session: &dyn Session) -> (PathBuf, Environment) {
    let after = preloaded(store, before);
    let path = absolute(program);
    let root = Root::default();
    let mut executes = program.to_owned();
    if !is_excepted(before, &path) {
        // For a script the kernel executes the interpreter and builds its arguments, so execute the script itself.
        if let Launch::Warm(snapshot) = launch(store, &path, StartingProcess { environment: before, root: &root })
            && is_itself(store, &path)
        {
            executes = snapshot;
        }
        request_snapshot(store, &path);
    }
    if let Err(error) = keeper::start(store, before) {
        session.notice(&format!("snapshots are not created: the keeper process cannot be started: {error}"));
    }
    (executes, after)
}

/// Returns whether a program has snapshots of its own, and is not a script.
fn is_itself(store: &Store, path: &Path) -> bool {
    let card = identity::key(path).ok().and_then(|key| store.card(&key).ok().flatten());
    card.is_some_and(|card| matches!(Card::parse(&card.bytes), Some(Card::Warm(_))))
}

/// Requests a snapshot of the command's own program, unless it has one that is not due to be replaced. The binary of
/// `steady` is never captured: it is large, and a nested `steady` that measures something would compete with the capture
/// for the CPU.
fn request_snapshot(store: &Store, path: &Path) {
    let Some(key) = identity::key(path).ok().filter(|_| path.is_file()) else { return };
    // The link resolves to the same mount as the path that executed this program.
    if identity::key(Path::new("/proc/self/exe")).is_ok_and(|own| own == key) {
        return;
    }
    let known = store.card(&key).ok().flatten();
    let is_kept = |known: &StoredCard| {
        let card = Card::parse(&known.bytes);
        card.is_some_and(|card| is_done(store, &card, path) && !keeper::is_due(&card, known, path))
    };
    if !known.is_some_and(|known| is_kept(&known)) {
        // An error is harmless: the request exists already, or none can be made.
        let _ = symlink(path, store.wanted().join(key));
    }
}

/// Returns the environment with the hook first in `LD_PRELOAD`, before the libraries that the user preloads.
fn preloaded(store: &Store, before: &Environment) -> Environment {
    let mut after = without_hooks(before);
    let own = after.iter().position(|(name, _)| name == PRELOAD).map(|at| after.remove(at).1);
    let libraries = [Some(store.hook().into_os_string()), own.filter(|own| !own.is_empty())];
    let libraries: Vec<OsString> = libraries.into_iter().flatten().collect();
    after.push((PRELOAD.into(), libraries.join(OsStr::new(":"))));
    after
}

/// Returns the environment without the hooks of any `steady warm` in `LD_PRELOAD`, which would start programs from the
/// snapshots of their own stores.
pub(crate) fn without_hooks(environment: &[(OsString, OsString)]) -> Environment {
    let kept = |value: &OsStr| {
        let libraries = value.as_bytes().split(|byte| matches!(byte, b':' | b' ')).map(OsStr::from_bytes);
        let (hooks, others): (Vec<&OsStr>, Vec<&OsStr>) = libraries.partition(|library| is_hook(Path::new(library)));
        match (hooks.is_empty(), others.is_empty()) {
            (true, _) => Some(value.to_owned()),
            (false, true) => None,
            (false, false) => Some(others.join(OsStr::new(":"))),
        }
    };
    let variable = |(name, value): &(OsString, OsString)| match name == PRELOAD {
        true => Some((name.clone(), kept(value)?)),
        false => Some((name.clone(), value.clone())),
    };
    environment.iter().filter_map(variable).collect()
}

/// Captures programs before the command begins, on all CPUs, or on fewer if no more threads can be started.
fn prewarm(store: &Store, programs: Vec<PathBuf>, environment: &Environment) {
    let others = thread::available_parallelism().map_or(1, usize::from).min(programs.len()).saturating_sub(1);
    let queue = Mutex::new(programs.into_iter());
    let take_all = || {
        let mut maker = Maker::new(store, Traced, environment.clone());
        while let Some(program) = queue.lock().ok().and_then(|mut queue| queue.next()) {
            // A program that is refused, or cannot be captured now, starts as usual.
            if !is_known(store, &program)
                && let Ok(Made::Script(script)) = maker.make_patiently(&program)
            {
                let _ = maker.make_for(&script, &program);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..others {
            if thread::Builder::new().spawn_scoped(scope, take_all).is_err() {
                break;
            }
        }
        take_all();
    });
}

fn is_known(store: &Store, program: &Path) -> bool {
    let card = identity::key(program).ok().and_then(|key| store.card(&key).ok().flatten());
    card.is_some_and(|card| Card::parse(&card.bytes).is_some_and(|card| is_done(store, &card, program)))
}

/// Scripts are read up to this many bytes.
const LONGEST: u64 = 1 << 20;

/// Shells, whose arguments may be scripts.
const SHELLS: [&str; 6] = ["sh", "dash", "bash", "ksh", "zsh", "mksh"];

/// Builtins and keywords of shells, for which programs of the same name may exist.
const BUILT_IN: [&str; 40] = [
    "[", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "done", "echo", "elif", "else", "esac",
    "eval", "exec", "exit", "export", "false", "fg", "fi", "for", "getopts", "hash", "if", "in", "kill", "printf",
    "pwd", "read", "return", "set", "shift", "test", "then", "time", "true", "ulimit", "umask", "while",
];

/// Returns the absolute paths of the command's program and of all programs that its arguments or its script name, each
/// once. `find` returns the path of the program with a given name. Paths such as `/proc/self/exe` or `/dev/stdin` are
/// skipped: for this process they lead to another file than for the command.
pub(crate) fn programs(program: &Path, words: &[OsString], find: impl Fn(&OsStr) -> Option<PathBuf>) -> Vec<PathBuf> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let mut named: Vec<String> = words.iter().skip(1).map(text).collect();
    let shell = program.file_name().and_then(OsStr::to_str).is_some_and(|name| SHELLS.contains(&name));
    let script = words.iter().skip(1).filter(|_| shell).map(PathBuf::from).find(|word| word.is_file());
    named.extend(script.as_deref().or((!shell).then_some(program)).and_then(script_text));
    let mut found = vec![absolute(program)];
    let tokens: BTreeSet<&str> = named.iter().flat_map(|text| text.split(|letter| !of_a_name(letter))).collect();
    let tokens = tokens.into_iter().filter(|token| token.len() > 1 && !BUILT_IN.contains(token));
    let files = tokens.filter_map(|token| find(OsStr::new(token)));
    let files = files.filter(|file| !depends_on_the_process(file) && may_be_executed(file));
    for file in files.map(|file| absolute(&file)) {
        if !found.contains(&file) {
            found.push(file);
        }
    }
    found
}

fn of_a_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_-+./[".contains(letter)
}

/// Returns the text of a file that may be a script, or `None` if it is binary or cannot be read.
fn script_text(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    let text = String::from_utf8(text).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Returns whether a path leads through a link in /proc to what a process has open, executes or has as its directory.
fn depends_on_the_process(path: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    matches!(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS), Err(Errno::LOOP))
}

fn may_be_executed(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Vec<String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let find = |word: &OsStr| Some(Path::new("/usr/bin").join(word)).filter(|file| file.is_file());
        let found = programs(&find(&words[0]).unwrap(), &words, find);
        found.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn programs_are_found_in_arguments_and_scripts() {
        let found = of(&["sh", "-c", "for i in 1 2; do cat x | sed s/a/b/; echo $(basename $i); done"]);
        assert_eq!(found, ["sh", "basename", "cat", "sed"]);
        let script = std::env::temp_dir().join(format!("steady-named-{}", std::process::id()));
        std::fs::write(&script, "#!/bin/sh\nif grep -q x y; then head -1 z; fi\n").unwrap();
        let found = of(&["sh", script.to_str().unwrap()]);
        std::fs::remove_file(script).unwrap();
        assert!(["sh", "grep", "head"].iter().all(|name| found.contains(&(*name).to_owned())), "{found:?}");
        assert!(!found.contains(&"if".to_owned()));
    }

    #[test]
    fn paths_that_depend_on_the_process_are_no_programs() {
        let link = std::env::temp_dir().join(format!("steady-own-{}", std::process::id()));
        let _ = std::fs::remove_file(&link);
        symlink("/proc/self/exe", &link).unwrap();
        let own = "readlink /proc/self/exe //proc/self/../self/exe /proc/thread-self/root/bin/ls /dev/stdin /dev/fd/0";
        let found = of(&["sh", "-c", &format!("{own} {}", link.display())]);
        std::fs::remove_file(link).unwrap();
        assert_eq!(found, ["sh", "readlink"]);
        assert_eq!(of(&["sh", "-c", "/usr/bin/readlink x"]), ["sh", "readlink"]);
    }
}
