//! The keeper: a background process that captures programs while a command starts them.
//!
//! It has a session of its own and no streams. It runs at the priority of the command and captures the most often
//! launched programs first. CPU time that other processes wait for is limited to what launches from snapshots have
//! saved, plus a small share. After the command has ended, a low priority and a limit of time replace that limit. One
//! keeper works in a store at a time; keepers of other commands wait until it ends. The store is consistent after each
//! step, so a keeper can be killed at any moment, and ends itself in the middle of a capture that takes too long.

mod budget;
mod queue;
mod watch;

use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use steady_linux::{clock, process};
use steady_model::Nanos;
use steady_preload::card::{Card, Outcome, Warm, excepts};

use super::identity;
use super::launch::{is_done, os};
use super::make::{Capturer, Made, Maker, NotMade, configures_loader, failed};
use super::store::{SnapshotRequest, Store, StoredCard};
use budget::Budget;
use queue::Queue;
use watch::RequestWatch;

/// The first argument that makes this binary a keeper; the store's directory follows.
pub const ARGUMENT: &str = "warm-keeper";

/// How long it begins captures after its command has ended, for the next command. At its low priority it gets most of a
/// second of CPU time or more, which is enough for some tens of programs.
const AFTERWARDS: Nanos = Nanos(8_000_000_000);
/// When the process of a keeper ends after its command, whatever it does. Next to many other processes, one capture can
/// take half a minute.
const GONE: Duration = Duration::from_secs(9);
/// The stack of the thread that ends the process. It only waits.
const STACK_BYTES: usize = 64 << 10;
/// A program's snapshots are replaced after so many launches or seconds of use, because each has fixed addresses.
const LAUNCHES: u64 = 4096;
const AGE_SECONDS: u64 = 600;
/// How often it checks whether snapshots must be replaced.
const LOOK: Nanos = Nanos(30_000_000_000);
/// How often it checks whether launches have saved enough for the next capture.
const CREDIT_LOOK: Nanos = Nanos(20_000_000);

/// Returns whether a request for the program at `path` replaces its snapshots: they are old, and the request has the name
/// of the captured file. The keeper counts the launches by the hook; `steady warm` requests a snapshot for the command
/// itself.
pub(crate) fn is_due(card: &Card<'_>, stored: &StoredCard, path: &Path) -> bool {
    // A capture has the name of the file, also if the request is by a symbolic link, as /usr/bin/awk.
    let has_name = |name: &CStr| path.canonicalize().is_ok_and(|file| file.file_name() == Some(os(name)));
    matches!(card, Card::Warm(warm) if is_old(stored) && has_name(warm.name))
}

fn is_old(stored: &StoredCard) -> bool {
    clock::time_of_day().0.saturating_sub(stored.written.0) >= AGE_SECONDS
}

/// Ends this process `GONE` after the process of the pidfd `command` has ended. A program that it captures then is
/// killed with it, and its request stays in the store.
///
/// # Errors
/// No thread can be started.
pub fn end_in_time(command: OwnedFd) -> io::Result<()> {
    let end = move || {
        // Without the event of its end, the process must not stay either.
        let _ = watch::wait_for_end(&command);
        std::thread::sleep(GONE);
        std::process::exit(1);
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(end).map(drop)
}

/// Captures requested programs until the process of the pidfd `command` has ended, except those that `except` lists.
/// Then it calls `give_way`, which lowers the priority of this process, and has some time left.
///
/// # Errors
/// An error of the file system.
pub fn keep(maker: &mut Maker<'_, impl Capturer>, command: OwnedFd, except: &OsStr, give_way: fn()) -> io::Result<()> {
    let store = maker.store();
    let watch = RequestWatch::new(store, command)?;
    let Some(_lock) = watch.lock(store)? else { return Ok(()) };
    store.tidy()?;
    let budget = Budget::new(store.counts()?.outcome(Outcome::Warm)?, clock::monotonic());
    let mut keeper = Keeper {
        maker,
        except,
        give_way,
        watch,
        last: None,
        queue: Queue::default(),
        looked: Nanos::ZERO,
        budget,
        waits_for_credit: false,
    };
    // The first call only records the numbers of launches.
    keeper.renew()?;
    loop {
        keeper.capture_requested()?;
        keeper.renew()?;
        let is_over = keeper.is_over()?;
        let now = clock::monotonic();
        // Without credit, attempts that are due must wait too.
        let next = if keeper.waits_for_credit { Some(now + CREDIT_LOOK) } else { keeper.queue.next() };
        if is_over || (keeper.last.is_some() && next.is_none()) {
            return Ok(());
        }
        let last = keeper.last.unwrap_or(now + LOOK);
        keeper.watch.wait(next.unwrap_or(last).min(last) - now, keeper.last.is_some())?;
    }
}

struct Keeper<'a, 'b, C> {
    maker: &'a mut Maker<'b, C>,
    except: &'a OsStr,
    give_way: fn(),
    watch: RequestWatch,
    /// When its time is over. `None` while the command runs.
    last: Option<Nanos>,
    queue: Queue,
    looked: Nanos,
    budget: Budget,
    /// Whether a requested program waits because the budget is spent.
    waits_for_credit: bool,
}

impl<C: Capturer> Keeper<'_, '_, C> {
    /// Returns whether its time is over. When the command has ended, it gives way to other processes and has some time
    /// left. This is checked before each capture, because there may be many.
    fn is_over(&mut self) -> io::Result<bool> {
        if self.last.is_none() && self.watch.has_ended()? {
            self.last = Some(clock::monotonic() + AFTERWARDS);
            (self.give_way)();
        }
        Ok(self.last.is_some_and(|last| clock::monotonic() >= last))
    }

    /// Returns whether the budget allows another capture. After the command has ended, no launch adds to the budget, and
    /// captures are limited by priority and time.
    fn has_credit(&self) -> io::Result<bool> {
        let launches = || self.maker.store().counts()?.outcome(Outcome::Warm);
        Ok(self.last.is_some() || self.budget.allows(launches()?, clock::monotonic()))
    }

    /// Captures requested programs one by one, until there are no more, the budget is spent, or the time is over.
    fn capture_requested(&mut self) -> io::Result<()> {
        while !self.is_over()? {
            let has_credit = self.has_credit()?;
            if self.waits_for_credit && !has_credit {
                return Ok(());
            }
            self.waits_for_credit = false;
            let now = clock::monotonic();
            let requests = self.maker.store().requests()?;
            self.queue.keep_only(&requests.iter().map(|request| request.key.as_str()).collect());
            let Some(request) = requests.into_iter().find(|request| self.queue.is_due(&request.key, now)) else {
                return Ok(());
            };
            if excepts(self.except.as_bytes(), request.program.as_os_str().as_bytes()) {
                self.maker.store().fulfilled(&request);
                continue;
            }
            if !has_credit {
                self.waits_for_credit = true;
                return Ok(());
            }
            let before = self.maker.used();
            let made = self.fulfil(&request);
            self.budget.spend(&before, &self.maker.used());
            match made {
                Ok(()) => {
                    self.maker.store().note_trouble(None);
                    self.queue.forget(&request.key);
                    self.maker.store().fulfilled(&request);
                }
                // The request stays, so the hook need not make it again.
                Err(NotMade::NoRoom(_)) => self.queue.give_up(&request.key),
                Err(NotMade::Failed(why)) => {
                    self.maker.store().note_trouble(Some(&format!("'{}': {why}", request.program.display())));
                    self.queue.put_off(&request.key, clock::monotonic());
                }
                Err(_) => self.queue.put_off(&request.key, clock::monotonic()),
            }
        }
        Ok(())
    }

    /// Does what a request still needs: a capture, or another name for existing snapshots.
    fn fulfil(&mut self, request: &SnapshotRequest) -> Result<(), NotMade> {
        let store = self.maker.store();
        if let Some(known) = store.card(&request.key).ok().flatten()
            && let Some(card) = Card::parse(&known.bytes)
            && is_done(store, &card, &request.program)
            && !is_due(&card, &known, &request.program)
        {
            return match card {
                Card::Warm(warm) => self.add_name(&request.key, &warm, request.program.file_name()),
                Card::Script { interpreter, .. } => self.interpreter(Path::new(os(interpreter)), &request.program),
                Card::Refused { .. } => Ok(()),
            };
        }
        match self.make(&request.program)? {
            // The snapshot is that of the interpreter.
            Made::Script(script) => self.interpreter(&script.interpreter, &request.program),
            Made::Warm | Made::Refused(_) => Ok(()),
        }
    }

    /// Links a program's snapshots under the name that it was started by.
    fn add_name(&mut self, key: &str, warm: &Warm<'_>, name: Option<&OsStr>) -> Result<(), NotMade> {
        name.map_or(Ok(()), |name| self.maker.store().add_name(key, warm.copies, os(warm.name), name)).map_err(failed)
    }

    /// Captures the interpreter of a script if necessary, and links its snapshots under the script's name.
    fn interpreter(&mut self, interpreter: &Path, script: &Path) -> Result<(), NotMade> {
        let store = self.maker.store();
        let known = || {
            let key = identity::key(interpreter).ok()?;
            store.card(&key).ok().flatten()
        };
        let current =
            |card: &StoredCard| Card::parse(&card.bytes).is_some_and(|card| is_done(store, &card, interpreter));
        if !known().is_some_and(|card| current(&card)) {
            self.make(interpreter)?;
        }
        match known().as_ref().map(|known| (&known.key, Card::parse(&known.bytes))) {
            Some((key, Some(Card::Warm(warm)))) => self.add_name(key, &warm, script.file_name()),
            _ => Ok(()),
        }
    }

    /// Captures a program. If that panics, the program is refused, because it would panic again.
    fn make(&mut self, program: &Path) -> Result<Made, NotMade> {
        let maker = AssertUnwindSafe(&mut *self.maker);
        let made = catch_unwind(move || { maker }.make(program));
        made.unwrap_or_else(|_| self.maker.refuse_after_panic(program, "an internal error occurred during the capture"))
    }

    /// Replaces snapshots that are due, one program at a time.
    fn renew(&mut self) -> io::Result<()> {
        let now = clock::monotonic();
        if self.last.is_none() && self.looked > Nanos::ZERO && now < self.looked + LOOK {
            return Ok(());
        }
        self.looked = now;
        let store = self.maker.store();
        let counts = store.counts()?;
        for known in store.cards()? {
            if self.is_over()? {
                return Ok(());
            }
            let Some(Card::Warm(warm)) = Card::parse(&known.bytes) else { continue };
            let Ok([launches, _]) = counts.launches(warm.slot) else { continue };
            let since = launches.saturating_sub(*self.queue.launches(&known.key, launches));
            if (since >= LAUNCHES || (is_old(&known) && since > 0)) && self.has_credit()? {
                self.queue.launched(&known.key, launches);
                let before = self.maker.used();
                // If this fails, the old snapshots stay.
                let _ = self.make(Path::new(os(warm.program)));
                self.budget.spend(&before, &self.maker.used());
            }
        }
        Ok(())
    }
}

/// Starts a keeper for this process, which is about to execute a command. The keeper is not a child of this process.
///
/// # Errors
/// An error of a system call.
pub fn start(store: &Store, environment: &[(OsString, OsString)]) -> io::Result<()> {
    use rustix::process::{PidfdFlags, getpid, pidfd_open};
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let program = std::env::current_exe()?;
    let words = [program.as_os_str(), ARGUMENT.as_ref(), store.folder().as_os_str()];
    // The keeper itself must not load the hook or other preloaded libraries.
    let environment = environment.iter().filter(|(name, _)| !configures_loader(name));
    let environment = environment.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    process::start_detached(&program, words, environment, std::os::fd::AsFd::as_fd(&own))
}
