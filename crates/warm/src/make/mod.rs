//! Creates the snapshots of a program: inspects its file, captures it twice, compares, and writes snapshots and card.

mod capturer;
mod conditions;

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use steady_linux::clock;
use steady_model::Nanos;
use steady_preload::identity::Identity;
use steady_preload::{CardDraft, WarmDraft};
use thiserror::Error;

pub use capturer::{Capturer, Traced, Used};

use super::captured::{Captured, NotCaptured, Refusal, Request, UsedFile};
use super::compose::{constants_of_loader, shows_binding};
use super::identity;
use super::image::Image;
use super::inspect::{Inspected, Needs, Script, inspect};
use super::store::{ProgramLock, Store, Work};
use conditions::Conditions;

/// The number of snapshots of a program. Two captures are needed for the comparison, and each becomes a snapshot.
pub const COPIES: u32 = 2;

/// The result of [`Maker::make`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// The program has snapshots.
    Warm,
    /// The program is a script. Its interpreter can have snapshots.
    Script(Script),
    /// The program is refused: it is always started as usual.
    Refused(Refusal),
}

/// Why a program has no new card.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotMade {
    /// Another process holds the lock of this program.
    #[error("another process is creating its snapshots")]
    Busy,
    /// Something changed during or just before the capture.
    #[error("{0}; try again in a moment")]
    Unsettled(String),
    /// The disk, or the space that a store may use, is full.
    #[error("there is no room for its snapshots: {0} bytes")]
    NoRoom(u64),
    /// The system or the store reported an error.
    #[error("{0}")]
    Failed(String),
}

/// Creates snapshots of programs in a store.
pub struct Maker<'a, C> {
    store: &'a Store,
    capturer: C,
    environment: Vec<(OsString, OsString)>,
    /// By the path of a loader: captures that show the word by which it remembers late binding.
    loaders: HashMap<PathBuf, (Identity, Rc<Captured>)>,
    /// Whether programs that a captured program starts must start as usual.
    without_hook: bool,
    /// The files that the current program has used so far. A refusal depends on them.
    used_files: Vec<UsedFile>,
}

/// The captures of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    First,
    Second,
    /// Like the first, but functions are bound at their first call.
    Unbound,
}

/// A program to create snapshots of.
struct Subject {
    /// Its path without symbolic links.
    path: PathBuf,
    /// The names it is started by: the last components of `path`, and of the path that was requested.
    names: [OsString; 2],
    identity: Identity,
}

impl<'a, C: Capturer> Maker<'a, C> {
    /// Creates a maker for `store`. It captures programs by `capturer` with `environment`, without variables of the
    /// loader and the C library.
    pub fn new(store: &'a Store, capturer: C, environment: Vec<(OsString, OsString)>) -> Self {
        let environment = environment.into_iter().filter(|(name, _)| !configures_loader(name)).collect();
        Maker { store, capturer, environment, loaders: HashMap::new(), without_hook: false, used_files: vec![] }
    }

    /// Captures programs without the hook, so that programs they start are started as usual.
    #[must_use]
    pub fn without_hook(self) -> Self {
        Maker { without_hook: true, ..self }
    }

    /// Returns the time that all captures so far have used.
    pub fn used(&self) -> Used {
        self.capturer.used()
    }

    /// Returns the store that snapshots are written to.
    pub fn store(&self) -> &'a Store {
        self.store
    }

    /// Creates snapshots of the program at an absolute path, even if it has some.
    ///
    /// # Errors
    /// Why there is no new card. An earlier card stays.
    pub fn make(&mut self, program: &Path) -> Result<Made, NotMade> {
        let (before, started) = (clock::process_cpu(), clock::real_time());
        self.used_files.clear();
        let subject = Subject::at(program)?;
        let program_lock =
            self.store.lock_program(subject.identity.key().as_str()).map_err(failed)?.ok_or(NotMade::Busy)?;
        let made = match inspect(&subject.path) {
            Ok(Inspected::Script(script)) => self.script(&program_lock, &subject, script),
            Ok(Inspected::Program(needs)) => self.program(&program_lock, &subject, needs, started),
            Err(refusal) => Err(Stop::Refused(refusal, None)),
        };
        let made = match made {
            Err(Stop::Refused(refusal, used_files)) => {
                self.used_files.extend(used_files.unwrap_or_default());
                self.refuse(&program_lock, &subject, refusal, started)
            }
            Err(Stop::NotMade(not_made)) => Err(not_made),
            Ok(made) => Ok(made),
        };
        self.count(&made, (clock::process_cpu() - before).0);
        // The request for a script also asks for its interpreter.
        if matches!(made, Ok(Made::Warm | Made::Refused(_))) {
            self.store.fulfilled_by_capture(subject.identity.key().as_str(), &subject.names);
        }
        made
    }

    /// Like [`Maker::make`], for callers that wait for the result. If something has just changed, it tries again. If
    /// another process is creating snapshots of the program, it waits up to ten seconds.
    ///
    /// # Errors
    /// As [`Maker::make`].
    pub fn make_patiently(&mut self, program: &Path) -> Result<Made, NotMade> {
        const PAUSE: Duration = Duration::from_millis(100);
        let (mut unsettled, mut busy) = (3, 100);
        loop {
            let made = self.make(program);
            let left = match made {
                Err(NotMade::Unsettled(_)) => &mut unsettled,
                Err(NotMade::Busy) => &mut busy,
                made => return made,
            };
            if *left == 0 {
                return made;
            }
            *left -= 1;
            std::thread::sleep(PAUSE);
        }
    }

    /// Creates snapshots of the interpreter of a script, also under the name of the script, because the kernel names
    /// the process after the script. Returns whether the interpreter has snapshots.
    ///
    /// # Errors
    /// Why there is no new card.
    pub fn make_for(&mut self, script: &Script, path: &Path) -> Result<bool, NotMade> {
        if self.make_patiently(&script.interpreter)? != Made::Warm {
            return Ok(false);
        }
        let interpreter = Subject::at(&script.interpreter)?;
        let (key, name) = (interpreter.identity.key(), path.file_name().unwrap_or_default());
        self.store.add_name(key.as_str(), COPIES, &interpreter.names[0], name).map_err(failed)?;
        let script = Subject::at(path)?;
        self.store.fulfilled_by_capture(script.identity.key().as_str(), &script.names);
        Ok(true)
    }

    /// Refuses a program that made [`Maker::make`] panic.
    pub(super) fn refuse_after_panic(&mut self, program: &Path, why: &str) -> Result<Made, NotMade> {
        let subject = Subject::at(program)?;
        let program_lock =
            self.store.lock_program(subject.identity.key().as_str()).map_err(failed)?.ok_or(NotMade::Busy)?;
        self.refuse(&program_lock, &subject, Refusal(why.to_owned()), clock::real_time())
    }

    fn script(&self, program_lock: &ProgramLock<'_>, subject: &Subject, script: Script) -> Result<Made, Stop> {
        if identity::at(&script.interpreter).map_err(Stop::failed)?.is_none() {
            let reason = format!("its interpreter, '{}', does not exist", script.interpreter.display());
            let missing = UsedFile { path: script.interpreter, found: false };
            return Err(Stop::Refused(Refusal(reason), Some(vec![missing])));
        }
        let interpreter = text(script.interpreter.as_os_str())?;
        let argument = script.argument.as_deref().map(text).transpose()?;
        subject.unchanged()?;
        let (identity, program) = (subject.identity, text(subject.path.as_os_str())?);
        let card = CardDraft::Script { identity, program, interpreter, argument };
        program_lock.write_card_alone(&card).map_err(Stop::failed)?;
        Ok(Made::Script(script))
    }

    fn program(
        &mut self,
        program_lock: &ProgramLock<'_>,
        subject: &Subject,
        needs: Needs,
        started: Nanos,
    ) -> Result<Made, Stop> {
        let needs = Needs { hook: if self.without_hook { needs.own_path } else { needs.hook }, ..needs };
        let (needs, first) = self.first(subject, needs)?;
        let conditions = Conditions::of(&first, subject, &self.environment, started)?;
        let unbound = self.unbound(subject, needs, &first)?;
        let images = self.images([&first, &unbound], subject, needs, started, &conditions)?;
        let images = self.put(program_lock, subject, &images)?;
        subject.unchanged()?;
        let draft = WarmDraft {
            identity: subject.identity,
            uid: rustix::process::geteuid().as_raw(),
            images,
            slot: 0,
            hook_inside: needs.hook,
            stack_limits: capturer::stack_limits(),
            name: text(&subject.names[0])?,
            program: text(subject.path.as_os_str())?,
            dependencies: conditions.files,
            conditions: conditions.variables,
        };
        program_lock.write_card(|slot| CardDraft::Warm(WarmDraft { slot, ..draft })).map_err(Stop::failed)?;
        Ok(Made::Warm)
    }

    /// Returns the images of the first capture and of a second one. Memory layout is random, and sometimes two captures
    /// cannot be compared, so there is a second try.
    fn images(
        &mut self,
        [first, unbound]: [&Captured; 2],
        subject: &Subject,
        needs: Needs,
        started: Nanos,
        conditions: &Conditions,
    ) -> Result<[Image; 2], Stop> {
        const TRIES: u32 = 2;
        let mut tries = 1;
        loop {
            let second = self.capture(&self.request(subject, needs, Pass::Second))?;
            // Files that are the same before and after the second capture did not change in between. The first capture
            // is then compared with the second.
            if *conditions != Conditions::of(&second, subject, &self.environment, started)? {
                return Err(Stop::unsettled("it loads other files each time"));
            }
            match self.capturer.images([first, &second], unbound) {
                Err(_) if tries < TRIES => tries += 1,
                images => return Ok(images?),
            }
        }
    }

    /// Makes the first capture, and repeats it if the libraries need the hook or the locale.
    fn first(&mut self, subject: &Subject, needs: Needs) -> Result<(Needs, Captured), Stop> {
        let captured = self.capture(&self.request(subject, needs, Pass::First))?;
        let of_libraries = conditions::needs(&captured, subject);
        let hook = needs.hook || (of_libraries.hook && !self.without_hook);
        let all = Needs { hook, locale: needs.locale || of_libraries.locale, ..needs };
        match all == needs {
            true => Ok((needs, captured)),
            false => Ok((all, self.capture(&self.request(subject, all, Pass::First))?)),
        }
    }

    /// Captures the program, and records which files it used.
    fn capture(&mut self, request: &Request) -> Result<Captured, NotCaptured> {
        let captured = self.capturer.capture(request)?;
        self.used_files.clone_from(&captured.files);
        Ok(captured)
    }

    /// Returns a capture with late binding. One of another program with the same loader will do, because only the
    /// loader's own memory is used.
    fn unbound(&mut self, subject: &Subject, needs: Needs, first: &Captured) -> Result<Rc<Captured>, Stop> {
        let loader = constants_of_loader(first).find_map(|region| Some(region.file.as_ref()?.0.clone()));
        let loader = loader.map(|path| (identity::at(&path), path));
        let Some((Ok(Some(identity)), path)) = loader else {
            return Ok(Rc::new(self.capturer.unbound(&self.request(subject, needs, Pass::Unbound), first)?));
        };
        let known = self.loaders.get(&path).filter(|(of, known)| *of == identity && shows_binding(first, known));
        if let Some((_, known)) = known {
            return Ok(Rc::clone(known));
        }
        let unbound = Rc::new(self.capturer.unbound(&self.request(subject, needs, Pass::Unbound), first)?);
        self.loaders.insert(path, (identity, Rc::clone(&unbound)));
        Ok(unbound)
    }

    /// Returns the request for a capture. The second capture differs from the first in everything that memory must not
    /// depend on: name, number of arguments, size and order of the environment, alternative answers of the kernel.
    fn request(&self, subject: &Subject, needs: Needs, pass: Pass) -> Request {
        // Many constructors test whether there is more than one argument.
        const ARGUMENTS: [u32; 2] = [23, 1];
        const PADDING: usize = 100;
        // The name is long enough to watch its first byte: no other text is within the same 64 bytes.
        const NAME: &str =
            "steady-warm-captures-a-program-twice-and-calls-it-by-a-name-that-none-has-and-that-is-very-long";
        let mut environment = self.environment.clone();
        let mut add = |name: &str, value: String| environment.push((name.into(), value.into()));
        if needs.hook {
            add(steady_preload::card::TAKE_VARIABLE, "1".to_owned());
        }
        let mut name = subject.path.clone().into_os_string();
        let again = pass == Pass::Second;
        if again {
            add(conditions::PADDING, "x".repeat(PADDING));
            name = NAME.into();
            environment = reversed(environment);
        }
        Request {
            program: subject.path.clone(),
            name,
            arguments: ARGUMENTS[usize::from(again)],
            environment,
            preloaded: needs.hook.then(|| self.store.hook()),
            stack_limit: if again { capturer::other_stack_limit() } else { None },
            bind_now: pass != Pass::Unbound,
            locale: needs.locale,
            alternative: again,
        }
    }

    fn put(
        &self,
        program_lock: &ProgramLock<'_>,
        subject: &Subject,
        images: &[Image; 2],
    ) -> Result<Vec<Identity>, Stop> {
        let size = images.iter().map(Image::length).sum();
        if !self.store.make_room(size, program_lock.key()).map_err(Stop::failed)? {
            return Err(Stop::NotMade(NotMade::NoRoom(size)));
        }
        let [name, other] = &subject.names;
        let mut written = Vec::new();
        for (copy, image) in (0..).zip(images) {
            let put = program_lock.put(copy, name, image);
            written.push(put.map_err(|error| match error.raw_os_error() {
                Some(ENOSPC | EDQUOT) => Stop::NotMade(NotMade::NoRoom(size)),
                _ => Stop::failed(error),
            })?);
        }
        if name != other {
            self.store.add_name(program_lock.key(), COPIES, name, other).map_err(Stop::failed)?;
        }
        Ok(written)
    }

    /// Refuses a program, until it or a file that it used changes. If one of these has changed since `started`, that
    /// may be the cause, so the program is not refused but tried again later.
    fn refuse(
        &self,
        program_lock: &ProgramLock<'_>,
        subject: &Subject,
        refusal: Refusal,
        started: Nanos,
    ) -> Result<Made, NotMade> {
        let reason = CString::new(refusal.0.replace('\0', " ")).unwrap_or_default();
        let program = CString::new(subject.path.as_os_str().as_bytes()).unwrap_or_default();
        let dependencies = match conditions::files(&self.used_files, subject, started) {
            Err(Stop::NotMade(not_made)) => return Err(not_made),
            files => files.unwrap_or_default(),
        };
        let card = CardDraft::Refused { identity: subject.identity, program, reason, dependencies };
        subject.unchanged().map_err(|_| NotMade::Unsettled("its file changed during the capture".to_owned()))?;
        program_lock.write_card_alone(&card).map_err(failed)?;
        Ok(Made::Refused(refusal))
    }

    /// Adds to the counters of the store. Errors are ignored, because writing to the store has reported them before.
    fn count(&self, made: &Result<Made, NotMade>, nanos: u64) {
        let Ok(counts) = self.store.counts() else { return };
        let _ = counts.add(Work::CpuNanos, nanos);
        let _ = match made {
            Ok(Made::Warm) => counts.add(Work::Captured, 1),
            Ok(Made::Refused(_)) => counts.add(Work::Refused, 1),
            _ => Ok(()),
        };
    }
}

const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

/// Why there is no card with snapshots.
enum Stop {
    /// The program is refused. The files that it had used are given if they are known.
    Refused(Refusal, Option<Vec<UsedFile>>),
    NotMade(NotMade),
}

impl Stop {
    fn failed(error: std::io::Error) -> Self {
        Stop::NotMade(failed(error))
    }

    fn unsettled(text: &str) -> Self {
        Stop::NotMade(NotMade::Unsettled(text.to_owned()))
    }
}

impl From<NotCaptured> for Stop {
    fn from(why: NotCaptured) -> Self {
        match why {
            NotCaptured::Refused(refusal, files) => Stop::Refused(refusal, Some(files)),
            NotCaptured::Failed(why) => Stop::NotMade(NotMade::Failed(why)),
        }
    }
}

/// Converts an error of the store or the system.
pub(super) fn failed(error: std::io::Error) -> NotMade {
    NotMade::Failed(error.to_string())
}

impl Subject {
    fn at(program: &Path) -> Result<Self, NotMade> {
        let path = program.canonicalize().map_err(failed)?;
        let identity = identity::existing(&path).map_err(failed)?;
        let name = |path: &Path| path.file_name().map(OsStr::to_owned);
        let called = name(program).or_else(|| name(&path)).unwrap_or_default();
        Ok(Subject { names: [name(&path).unwrap_or_default(), called], path, identity })
    }

    /// Checks that the file has not changed since its identity was read.
    fn unchanged(&self) -> Result<(), Stop> {
        match identity::at(&self.path) {
            Ok(Some(now)) if now == self.identity => Ok(()),
            _ => Err(Stop::unsettled("its file changed during the capture")),
        }
    }
}

/// Returns whether a variable configures the loader or the C library. Programs start as usual with any of them.
#[must_use]
pub fn configures_loader(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let other: [&[u8]; 3] = [b"GLIBC_TUNABLES", b"LOCPATH", b"GCONV_PATH"];
    name.starts_with(b"LD_") || name.starts_with(b"MALLOC_") || other.contains(&name)
}

/// Returns the environment in reverse order. Of variables with the same name it keeps the first, which getenv(3)
/// returns.
fn reversed(environment: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut names = HashSet::new();
    let mut kept: Vec<_> = environment.into_iter().filter(|(name, _)| names.insert(name.clone())).collect();
    kept.reverse();
    kept
}

fn text(text: &OsStr) -> Result<CString, Stop> {
    CString::new(text.as_bytes()).map_err(|_| Stop::NotMade(NotMade::Failed("a name has a NUL byte".to_owned())))
}
