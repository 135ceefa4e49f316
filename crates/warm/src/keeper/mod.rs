//! The keeper: makes programs warm in the background, while a command runs that wants them.
//!
//! It belongs to nobody: it has a session of its own and no streams. It runs at the priority of the command, captures what is
//! launched most often first, and spends no more CPU time that others want than launches from snapshots have saved. One works at a
//! time in a store; keepers of other commands wait until that one ends, however it ends. What it does is whole after each step,
//! so that it can be killed at any moment.

mod budget;
mod queue;
mod watch;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use steady_linux::{clock, process};
use steady_model::Nanos;
use steady_preload::card::{Card, Outcome, Warm, excepts};

use super::identity;
use super::launch::{is_done, os};
use super::make::{Camera, Made, Maker, Unmade, failed, speaks_to_loader};
use super::store::{Store, StoredCard, Wish};
use budget::Budget;
use queue::Queue;
use watch::{Seen, Watch};

/// The hidden word that makes this binary a keeper; the place of its store follows.
pub const ARGUMENT: &str = "warm-keeper";

/// How long it goes on once its command has ended: what is wanted then is taken for the next one.
const AFTERWARDS: Nanos = Nanos(3_000_000_000);
/// A program's snapshots are made anew after so many launches, or so long, for each draws its addresses at random once.
const LAUNCHES: u64 = 4096;
const AGE_SECONDS: u64 = 600;
/// How often it is looked whether that is so.
const LOOK: Nanos = Nanos(30_000_000_000);
/// How often it is looked whether enough was saved for the next program.
const CREDIT_LOOK: Nanos = Nanos(20_000_000);

/// Keeps programs warm until the process behind `command` has ended, but for those that `except` lists.
///
/// # Errors
/// What the file system says of the store.
pub fn keep(maker: &mut Maker<'_, impl Camera>, command: OwnedFd, except: &OsStr) -> io::Result<()> {
    let store = maker.store();
    let watch = Watch::new(store, command)?;
    let Some(_lock) = watch.turn(store)? else { return Ok(()) };
    store.tidy()?;
    let budget = Budget::new(store.counts()?.outcome(Outcome::Warm)?, clock::monotonic());
    let mut keeper =
        Keeper { maker, except, queue: Queue::default(), looked: Nanos::ZERO, budget, waits_for_credit: false };
    let mut last: Option<Nanos> = None;
    // Now it is only noted how often each was started.
    keeper.renew(last)?;
    loop {
        keeper.fulfil(last)?;
        keeper.renew(last)?;
        let now = clock::monotonic();
        // Once the command has ended nothing is saved any more.
        let is_done = keeper.waits_for_credit || keeper.queue.next().is_none();
        if last.is_some_and(|last| now >= last || is_done) {
            return Ok(());
        }
        let patience = if keeper.waits_for_credit { CREDIT_LOOK } else { LOOK };
        let until = keeper.queue.next().unwrap_or(now + LOOK).min(last.unwrap_or(now + LOOK)).min(now + patience);
        if watch.wait(until - now)? == Seen::Ended && last.is_none() {
            last = Some(clock::monotonic() + AFTERWARDS);
            process::give_way();
        }
    }
}

struct Keeper<'a, 'b, C> {
    maker: &'a mut Maker<'b, C>,
    except: &'a OsStr,
    queue: Queue,
    looked: Nanos,
    budget: Budget,
    /// Whether something is wanted that the budget does not allow.
    waits_for_credit: bool,
}

impl<C: Camera> Keeper<'_, '_, C> {
    /// Whether something is left to be spent.
    fn has_credit(&self) -> io::Result<bool> {
        Ok(self.budget.allows(self.maker.store().counts()?.outcome(Outcome::Warm)?, clock::monotonic()))
    }

    /// Makes what is wanted, one by one, until nothing is, nothing more is allowed, or the time has come.
    fn fulfil(&mut self, last: Option<Nanos>) -> io::Result<()> {
        loop {
            let has_credit = self.has_credit()?;
            if self.waits_for_credit && !has_credit {
                return Ok(());
            }
            self.waits_for_credit = false;
            let now = clock::monotonic();
            if last.is_some_and(|last| now >= last) {
                return Ok(());
            }
            let wishes = self.maker.store().wishes()?;
            let Some(wish) = wishes.into_iter().find(|wish| self.queue.is_due(&wish.key, now)) else { return Ok(()) };
            if excepts(self.except.as_bytes(), wish.program.as_os_str().as_bytes()) {
                self.maker.store().fulfilled(&wish);
                continue;
            }
            if !has_credit {
                self.waits_for_credit = true;
                return Ok(());
            }
            let before = self.maker.used();
            let made = self.made(&wish);
            self.budget.spend(&before, &self.maker.used());
            match made {
                Ok(()) => {
                    self.maker.store().note_trouble(None);
                    self.queue.forget(&wish.key);
                    self.maker.store().fulfilled(&wish);
                }
                // The wish stays where it is, so that the hook need not make it again.
                Err(Unmade::NoRoom(_)) => self.queue.give_up(&wish.key),
                Err(Unmade::Failed(why)) => {
                    self.maker.store().note_trouble(Some(&format!("'{}': {why}", wish.program.display())));
                    self.queue.put_off(&wish.key, clock::monotonic());
                }
                Err(_) => self.queue.put_off(&wish.key, clock::monotonic()),
            }
        }
    }

    /// Fulfils a wish, as far as it is not fulfilled already.
    fn made(&mut self, wish: &Wish) -> Result<(), Unmade> {
        let store = self.maker.store();
        if let Some(known) = store.card(&wish.key).ok().flatten()
            && let Some(card) = Card::parse(&known.bytes)
            && is_done(store, &card, &wish.program)
        {
            return match card {
                Card::Warm(warm) => self.name_too(&wish.key, &warm, wish.program.file_name()),
                Card::Script { interpreter, .. } => self.interpreter(Path::new(os(interpreter)), &wish.program),
                Card::Refused { .. } => Ok(()),
            };
        }
        match self.make(&wish.program)? {
            // It is its interpreter that is started from a snapshot.
            Made::Script(script) => self.interpreter(&script.interpreter, &wish.program),
            Made::Warm | Made::Refused(_) => Ok(()),
        }
    }

    /// Gives a program's snapshots the name that it was called by.
    fn name_too(&mut self, key: &str, warm: &Warm<'_>, name: Option<&OsStr>) -> Result<(), Unmade> {
        name.map_or(Ok(()), |name| self.maker.store().name_too(key, warm.copies, os(warm.name), name)).map_err(failed)
    }

    /// The interpreter of a script is called by the script's name.
    fn interpreter(&mut self, interpreter: &Path, script: &Path) -> Result<(), Unmade> {
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
            Some((key, Some(Card::Warm(warm)))) => self.name_too(key, &warm, script.file_name()),
            _ => Ok(()),
        }
    }

    /// Makes a program warm. What makes this program itself fail is refused, for it would the next time too.
    fn make(&mut self, program: &Path) -> Result<Made, Unmade> {
        let maker = AssertUnwindSafe(&mut *self.maker);
        let made = catch_unwind(move || { maker }.make(program));
        made.unwrap_or_else(|_| self.maker.refuse_after_panic(program, "it could not be understood"))
    }

    /// Makes snapshots anew whose time has come, one program at a time.
    fn renew(&mut self, last: Option<Nanos>) -> io::Result<()> {
        let now = clock::monotonic();
        if last.is_none() && self.looked > Nanos::ZERO && now < self.looked + LOOK {
            return Ok(());
        }
        self.looked = now;
        let (store, today) = (self.maker.store(), clock::time_of_day());
        let counts = store.counts()?;
        for known in store.cards()? {
            if last.is_some_and(|last| clock::monotonic() >= last) {
                return Ok(());
            }
            let Some(Card::Warm(warm)) = Card::parse(&known.bytes) else { continue };
            let Ok([launches, _]) = counts.launches(warm.slot) else { continue };
            let since = launches.saturating_sub(*self.queue.launches(&known.key, launches));
            let old = today.0.saturating_sub(known.written.0) >= AGE_SECONDS;
            if (since >= LAUNCHES || (old && since > 0)) && self.has_credit()? {
                self.queue.launched(&known.key, launches);
                let before = self.maker.used();
                // Where it fails, those that are there stay.
                let _ = self.make(Path::new(os(warm.program)));
                self.budget.spend(&before, &self.maker.used());
            }
        }
        Ok(())
    }
}

/// Starts a keeper for this very process, which is about to become a command: a process that nobody waits for.
///
/// # Errors
/// What the system calls say.
pub fn start(store: &Store, environment: &[(OsString, OsString)]) -> io::Result<()> {
    use rustix::process::{PidfdFlags, getpid, pidfd_open};
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let program = std::env::current_exe()?;
    let words = [program.as_os_str(), ARGUMENT.as_ref(), store.folder().as_os_str()];
    // What others are to load, it is not.
    let environment = environment.iter().filter(|(name, _)| !speaks_to_loader(name));
    let environment = environment.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    process::start_detached(&program, words, environment, std::os::fd::AsFd::as_fd(&own))
}
