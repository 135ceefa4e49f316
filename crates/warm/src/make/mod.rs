//! Making a program warm: look at its file, take it twice, compose, and put snapshots and card into the store.

mod camera;
mod evidence;

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

pub use camera::{Camera, Traced, Used};

use super::compose::{constants_of_loader, shows_binding};
use super::identity;
use super::image::Image;
use super::inspect::{Inspected, Needs, Script, inspect};
use super::store::{Shelf, Store, Work};
use super::taken::{AskedFile, NotTaken, Refusal, Request, Taken};
use evidence::Evidence;

/// How many snapshots a program has: what is taken twice in order to be understood becomes two.
pub const COPIES: u32 = 2;

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// It has snapshots.
    Warm,
    /// It is a script: its interpreter may have.
    Script(Script),
    /// It is started as usual, always.
    Refused(Refusal),
}

/// Why nothing became of it now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unmade {
    /// Somebody else is at it.
    #[error("another process makes its snapshots now")]
    Busy,
    /// Something changed meanwhile, or just before.
    #[error("{0}; it is tried again later")]
    Unsettled(String),
    /// The disk, or what a store may take of it, is full.
    #[error("there is no room for its snapshots: {0} bytes")]
    NoRoom(u64),
    /// The system or the store said no.
    #[error("{0}")]
    Failed(String),
}

/// Makes programs warm.
pub struct Maker<'a, C> {
    store: &'a Store,
    camera: C,
    environment: Vec<(OsString, OsString)>,
    /// Loaders, and takes that show how they note that functions are bound late.
    loaders: HashMap<PathBuf, (Identity, Rc<Taken>)>,
    /// Whether what its programs start is to be started as usual.
    alone: bool,
    /// What the program that is being made warm has asked for so far: what a refusal is based on.
    asked: Vec<AskedFile>,
}

/// Which take it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    First,
    Second,
    /// As the first, but functions are bound when they are called first.
    Unbound,
}

/// A program that is to be made warm.
struct Subject {
    /// Its path without symbolic links.
    path: PathBuf,
    /// The names that it is called by: that of the path, and of the path that was asked for.
    names: [OsString; 2],
    identity: Identity,
}

impl<'a, C: Camera> Maker<'a, C> {
    /// Who makes programs warm in `store`, taken by `camera` with `environment`, but for what the loader and the C library
    /// are told by it.
    pub fn new(store: &'a Store, camera: C, environment: Vec<(OsString, OsString)>) -> Self {
        let environment = environment.into_iter().filter(|(name, _)| !speaks_to_loader(name)).collect();
        Maker { store, camera, environment, loaders: HashMap::new(), alone: false, asked: vec![] }
    }

    /// The same for programs that are to start others as usual: these get no hook for that.
    #[must_use]
    pub fn alone(self) -> Self {
        Maker { alone: true, ..self }
    }

    /// What all that was done so far has used.
    pub fn used(&self) -> Used {
        self.camera.used()
    }

    /// The store.
    pub fn store(&self) -> &'a Store {
        self.store
    }

    /// Makes the program at an absolute path warm, whatever is there of it.
    ///
    /// # Errors
    /// Why nothing became of it: what was there before is there still.
    pub fn make(&mut self, program: &Path) -> Result<Made, Unmade> {
        let (before, started) = (clock::process_cpu(), clock::real_time());
        self.asked.clear();
        let subject = Subject::at(program)?;
        let shelf = self.store.shelf(subject.identity.key().as_str()).map_err(failed)?.ok_or(Unmade::Busy)?;
        let made = match inspect(&subject.path) {
            Ok(Inspected::Script(script)) => self.script(&shelf, &subject, script),
            Ok(Inspected::Program(needs)) => self.program(&shelf, &subject, needs, started),
            Err(refusal) => Err(Stop::Refused(refusal, None)),
        };
        let made = match made {
            Err(Stop::Refused(refusal, asked)) => {
                self.asked.extend(asked.unwrap_or_default());
                self.refuse(&shelf, &subject, refusal, started)
            }
            Err(Stop::Unmade(unmade)) => Err(unmade),
            Ok(made) => Ok(made),
        };
        self.count(&made, (clock::process_cpu() - before).0);
        made
    }

    /// As [`Maker::make`], for a caller who waits for the result: what changed a moment ago is tried again, and a process that
    /// is making snapshots of the same program is given ten seconds to finish.
    ///
    /// # Errors
    /// As [`Maker::make`].
    pub fn make_patiently(&mut self, program: &Path) -> Result<Made, Unmade> {
        const PAUSE: Duration = Duration::from_millis(100);
        let (mut unsettled, mut busy) = (3, 100);
        loop {
            let made = self.make(program);
            let left = match made {
                Err(Unmade::Unsettled(_)) => &mut unsettled,
                Err(Unmade::Busy) => &mut busy,
                made => return made,
            };
            if *left == 0 {
                return made;
            }
            *left -= 1;
            std::thread::sleep(PAUSE);
        }
    }

    /// Makes the interpreter of a script warm, by the name of the script too, for so is its process called. Whether it is.
    ///
    /// # Errors
    /// Why nothing became of it.
    pub fn make_for(&mut self, script: &Script, path: &Path) -> Result<bool, Unmade> {
        if self.make_patiently(&script.interpreter)? != Made::Warm {
            return Ok(false);
        }
        let interpreter = Subject::at(&script.interpreter)?;
        let (key, name) = (interpreter.identity.key(), path.file_name().unwrap_or_default());
        self.store.name_too(key.as_str(), COPIES, &interpreter.names[0], name).map_err(failed)?;
        Ok(true)
    }

    /// Refuses a program that made [`Maker::make`] panic.
    pub(super) fn refuse_after_panic(&mut self, program: &Path, why: &str) -> Result<Made, Unmade> {
        let subject = Subject::at(program)?;
        let shelf = self.store.shelf(subject.identity.key().as_str()).map_err(failed)?.ok_or(Unmade::Busy)?;
        self.refuse(&shelf, &subject, Refusal(why.to_owned()), clock::real_time())
    }

    fn script(&self, shelf: &Shelf<'_>, subject: &Subject, script: Script) -> Result<Made, Stop> {
        let interpreter = text(script.interpreter.as_os_str())?;
        let argument = script.argument.as_deref().map(text).transpose()?;
        subject.unchanged()?;
        let (identity, program) = (subject.identity, text(subject.path.as_os_str())?);
        let card = CardDraft::Script { identity, program, interpreter, argument };
        shelf.write_card_alone(&card).map_err(Stop::failed)?;
        Ok(Made::Script(script))
    }

    fn program(&mut self, shelf: &Shelf<'_>, subject: &Subject, needs: Needs, started: Nanos) -> Result<Made, Stop> {
        let needs = Needs { hook: if self.alone { needs.own_path } else { needs.hook }, ..needs };
        let (needs, first) = self.first(subject, needs)?;
        let evidence = Evidence::of(&first, subject, &self.environment, started)?;
        let unbound = self.unbound(subject, needs, &first)?;
        let images = self.images([&first, &unbound], subject, needs, started, &evidence)?;
        let images = self.put(shelf, subject, &images)?;
        subject.unchanged()?;
        let draft = WarmDraft {
            identity: subject.identity,
            uid: rustix::process::geteuid().as_raw(),
            images,
            slot: 0,
            hook_inside: needs.hook,
            stack_limits: camera::stack_limits(),
            name: text(&subject.names[0])?,
            program: text(subject.path.as_os_str())?,
            dependencies: evidence.files,
            conditions: evidence.variables,
        };
        shelf.write_card(|slot| CardDraft::Warm(WarmDraft { slot, ..draft })).map_err(Stop::failed)?;
        Ok(Made::Warm)
    }

    /// The images of the first take and of a second one. How memory is laid out is a matter of chance, and not all that chance
    /// brings can be compared.
    fn images(
        &mut self,
        [first, unbound]: [&Taken; 2],
        subject: &Subject,
        needs: Needs,
        started: Nanos,
        evidence: &Evidence,
    ) -> Result<[Image; 2], Stop> {
        const TRIES: u32 = 2;
        let mut tries = 1;
        loop {
            let second = self.take(&self.request(subject, needs, Pass::Second))?;
            // What stands before and after the second take was there while it was taken; the first is compared with it.
            if *evidence != Evidence::of(&second, subject, &self.environment, started)? {
                return Err(Stop::unsettled("it loads other files each time"));
            }
            match self.camera.images([first, &second], unbound) {
                Err(_) if tries < TRIES => tries += 1,
                images => return Ok(images?),
            }
        }
    }

    /// The first take; again with what the libraries turn out to need.
    fn first(&mut self, subject: &Subject, needs: Needs) -> Result<(Needs, Taken), Stop> {
        let taken = self.take(&self.request(subject, needs, Pass::First))?;
        let of_libraries = evidence::needs(&taken, subject);
        let hook = needs.hook || (of_libraries.hook && !self.alone);
        let all = Needs { hook, locale: needs.locale || of_libraries.locale, ..needs };
        match all == needs {
            true => Ok((needs, taken)),
            false => Ok((all, self.take(&self.request(subject, all, Pass::First))?)),
        }
    }

    /// Takes it, and notes what it asked for.
    fn take(&mut self, request: &Request) -> Result<Taken, NotTaken> {
        let taken = self.camera.take(request)?;
        self.asked.clone_from(&taken.files);
        Ok(taken)
    }

    /// A take in which functions were not bound at once: what an earlier one of a program with the same loader has shown, for that
    /// is the loader's own.
    fn unbound(&mut self, subject: &Subject, needs: Needs, first: &Taken) -> Result<Rc<Taken>, Stop> {
        let loader = constants_of_loader(first).find_map(|region| Some(region.file.as_ref()?.0.clone()));
        let loader = loader.map(|path| (identity::at(&path), path));
        let Some((Ok(Some(identity)), path)) = loader else {
            return Ok(Rc::new(self.camera.unbound(&self.request(subject, needs, Pass::Unbound), first)?));
        };
        let known = self.loaders.get(&path).filter(|(of, known)| *of == identity && shows_binding(first, known));
        if let Some((_, known)) = known {
            return Ok(Rc::clone(known));
        }
        let unbound = Rc::new(self.camera.unbound(&self.request(subject, needs, Pass::Unbound), first)?);
        self.loaders.insert(path, (identity, Rc::clone(&unbound)));
        Ok(unbound)
    }

    /// How the program is started. The second take differs from the first in everything that its memory must not depend on:
    /// its name, the number of its arguments, the size and order of its environment, the kernel's answers.
    fn request(&self, subject: &Subject, needs: Needs, pass: Pass) -> Request {
        // Many constructors ask whether there is more than one argument.
        const ARGUMENTS: [u32; 2] = [23, 1];
        const PADDING: usize = 100;
        // So long that its beginning can be watched: no other text lies within the same 64 bytes.
        const NAME: &str =
            "steady-warm-takes-a-program-twice-and-calls-it-by-a-name-that-none-has-and-that-is-very-long";
        let mut environment = self.environment.clone();
        let mut add = |name: &str, value: String| environment.push((name.into(), value.into()));
        if needs.hook {
            add(steady_preload::card::TAKE_VARIABLE, "1".to_owned());
        }
        let mut name = subject.path.clone().into_os_string();
        let again = pass == Pass::Second;
        if again {
            add(evidence::PADDING, "x".repeat(PADDING));
            name = NAME.into();
            environment = reversed(environment);
        }
        Request {
            program: subject.path.clone(),
            name,
            arguments: ARGUMENTS[usize::from(again)],
            environment,
            preloaded: needs.hook.then(|| self.store.hook()),
            stack_limit: if again { camera::other_stack_limit() } else { None },
            bind_now: pass != Pass::Unbound,
            locale: needs.locale,
            alternative: again,
        }
    }

    fn put(&self, shelf: &Shelf<'_>, subject: &Subject, images: &[Image; 2]) -> Result<Vec<Identity>, Stop> {
        let size = images.iter().map(Image::length).sum();
        if !self.store.make_room(size, shelf.key()).map_err(Stop::failed)? {
            return Err(Stop::Unmade(Unmade::NoRoom(size)));
        }
        let [name, other] = &subject.names;
        let mut written = Vec::new();
        for (copy, image) in (0..).zip(images) {
            let put = shelf.put(copy, name, image);
            written.push(put.map_err(|error| match error.raw_os_error() {
                Some(ENOSPC | EDQUOT) => Stop::Unmade(Unmade::NoRoom(size)),
                _ => Stop::failed(error),
            })?);
        }
        if name != other {
            self.store.name_too(shelf.key(), COPIES, name, other).map_err(Stop::failed)?;
        }
        Ok(written)
    }

    /// Refuses a program, as long as it and all that it had asked for stay what they are. If one of these files came, went or
    /// changed since `started`, that may be why, and the program is tried again later.
    fn refuse(&self, shelf: &Shelf<'_>, subject: &Subject, refusal: Refusal, started: Nanos) -> Result<Made, Unmade> {
        let reason = CString::new(refusal.0.replace('\0', " ")).unwrap_or_default();
        let program = CString::new(subject.path.as_os_str().as_bytes()).unwrap_or_default();
        let dependencies = match evidence::files(&self.asked, subject, started) {
            Err(Stop::Unmade(unmade)) => return Err(unmade),
            files => files.unwrap_or_default(),
        };
        let card = CardDraft::Refused { identity: subject.identity, program, reason, dependencies };
        subject.unchanged().map_err(|_| Unmade::Unsettled("its file changed meanwhile".to_owned()))?;
        shelf.write_card_alone(&card).map_err(failed)?;
        Ok(Made::Refused(refusal))
    }

    /// Notes what it took; a store that cannot be written to has said so already.
    fn count(&self, made: &Result<Made, Unmade>, nanos: u64) {
        let Ok(counts) = self.store.counts() else { return };
        let _ = counts.add(Work::CpuNanos, nanos);
        let _ = match made {
            Ok(Made::Warm) => counts.add(Work::Taken, 1),
            Ok(Made::Refused(_)) => counts.add(Work::Refused, 1),
            _ => Ok(()),
        };
    }
}

const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

/// Why no card came of it.
enum Stop {
    /// And what the program had asked for, if that is known.
    Refused(Refusal, Option<Vec<AskedFile>>),
    Unmade(Unmade),
}

impl Stop {
    fn failed(error: std::io::Error) -> Self {
        Stop::Unmade(failed(error))
    }

    fn unsettled(text: &str) -> Self {
        Stop::Unmade(Unmade::Unsettled(text.to_owned()))
    }
}

impl From<NotTaken> for Stop {
    fn from(why: NotTaken) -> Self {
        match why {
            NotTaken::Refused(refusal, files) => Stop::Refused(refusal, Some(files)),
            NotTaken::Failed(why) => Stop::Unmade(Unmade::Failed(why)),
        }
    }
}

/// What the store or the system said.
pub(super) fn failed(error: std::io::Error) -> Unmade {
    Unmade::Failed(error.to_string())
}

impl Subject {
    fn at(program: &Path) -> Result<Self, Unmade> {
        let path = program.canonicalize().map_err(failed)?;
        let identity = identity::existing(&path).map_err(failed)?;
        let name = |path: &Path| path.file_name().map(OsStr::to_owned);
        let called = name(program).or_else(|| name(&path)).unwrap_or_default();
        Ok(Subject { names: [name(&path).unwrap_or_default(), called], path, identity })
    }

    /// Whether it still is what it was when it was looked at first.
    fn unchanged(&self) -> Result<(), Stop> {
        match identity::at(&self.path) {
            Ok(Some(now)) if now == self.identity => Ok(()),
            _ => Err(Stop::unsettled("its file changed meanwhile")),
        }
    }
}

/// Whether a variable tells the loader or the C library how to begin. With any of them programs are started as usual.
#[must_use]
pub fn speaks_to_loader(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let other: [&[u8]; 3] = [b"GLIBC_TUNABLES", b"LOCPATH", b"GCONV_PATH"];
    name.starts_with(b"LD_") || name.starts_with(b"MALLOC_") || other.contains(&name)
}

/// An environment in the opposite order. Of variables with the same name, the first counts, and is the only one kept.
fn reversed(environment: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut names = HashSet::new();
    let mut kept: Vec<_> = environment.into_iter().filter(|(name, _)| names.insert(name.clone())).collect();
    kept.reverse();
    kept
}

fn text(text: &OsStr) -> Result<CString, Stop> {
    CString::new(text.as_bytes()).map_err(|_| Stop::Unmade(Unmade::Failed("a name has a NUL byte".to_owned())))
}
