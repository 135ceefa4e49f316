//! What the watchers have written, taken together: facts, before code has names. Call sites are known by the files that they
//! lie in.

use std::collections::HashMap;
use std::mem::offset_of;

use serde::{Deserialize, Serialize};
use steady_model::{Nanos, Reading};
use steady_preload::area::{MODULE_PATH_BYTES, MODULES, Module, Process, Site};

use super::area::{Bytes, Entry, each, tables};
use super::sums::{LockHolds, LockTimes};
use crate::record::LockKind;

/// Locks that are not told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FoldedLocks {
    /// How many, as far as that is known.
    pub(crate) locks: u64,
    /// How often they were taken.
    pub(crate) acquisitions: u64,
    /// How often they were waited for.
    pub(crate) contended: u64,
    /// For how long.
    pub(crate) wait: Nanos,
}

/// All that was watched of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The processes, in the order in which they began.
    pub(crate) processes: Vec<FoundProcess>,
    /// Locks that were used; of more than can be told apart those that were waited for longest.
    pub(crate) locks: Vec<FoundLock>,
    /// Threads, those that waited longest first; as many as can be told apart.
    pub(crate) threads: Vec<FoundThread>,
    /// The files that code lies in.
    pub(crate) modules: Vec<FoundModule>,
    /// Processes that got no place, or could not map it.
    pub(crate) unwatched: u32,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundProcess {
    /// Its number.
    pub(crate) pid: u32,
    /// The path of its program.
    pub(crate) program: Reading<String>,
    /// Whether it was forked.
    pub(crate) forked: bool,
    /// From its beginning to its end.
    pub(crate) life: Nanos,
    /// Whether its end was seen from inside.
    pub(crate) ended_itself: bool,
    /// How many threads it had.
    pub(crate) threads: u32,
    /// Locks that are not told apart.
    pub(crate) folded: FoldedLocks,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundThread {
    /// Its process, by its number here.
    pub(crate) process: usize,
    /// Its number in the kernel.
    pub(crate) tid: u32,
    /// What it began with.
    pub(crate) start: Option<FoundPlace>,
    /// From where it waited when its process ended, if it did.
    pub(crate) waits_at: Option<FoundPlace>,
    /// From its beginning to its end.
    pub(crate) life: Nanos,
    /// Waiting for locks.
    pub(crate) wait: Nanos,
    /// Waiting for conditions and semaphores.
    pub(crate) wait_events: Nanos,
    /// Waiting for other threads to end.
    pub(crate) wait_joins: Nanos,
}

/// A lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundLock {
    /// Its process, by its number here.
    pub(crate) process: usize,
    /// What it is.
    pub(crate) kind: LockKind,
    /// Where it was.
    pub(crate) address: u64,
    /// Whether it was destroyed.
    pub(crate) destroyed: bool,
    /// As of [`LockUse`](crate::record::LockUse).
    pub(crate) acquisitions: u64,
    /// Likewise.
    pub(crate) contended: u64,
    /// Likewise.
    pub(crate) given_up: u64,
    /// Likewise.
    pub(crate) waits: Reading<LockTimes>,
    /// Likewise.
    pub(crate) holds: Reading<LockHolds>,
    /// Likewise.
    pub(crate) threads: u32,
    /// From where it was taken.
    pub(crate) sites: Vec<FoundSite>,
    /// Where it was initialised.
    pub(crate) made_at: Option<FoundPlace>,
    /// Who waited for it at the end, by numbers of the threads here.
    pub(crate) waiting: Vec<usize>,
    /// Who had it, likewise.
    pub(crate) held_by: Reading<usize>,
    /// What a free lock would save.
    pub(crate) gain: Reading<Nanos>,
}

impl FoundLock {
    /// For how long it was waited for.
    pub(super) fn waited(&self) -> Nanos {
        self.waits.as_ref().map_or(Nanos::ZERO, |waits| waits.total)
    }
}

/// From where a lock was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundSite {
    /// Where the call returns to.
    pub(crate) place: FoundPlace,
    /// Acquisitions there.
    pub(crate) acquisitions: u64,
    /// Contended ones.
    pub(crate) contended: u64,
    /// Waiting there.
    pub(crate) wait: Nanos,
}

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FoundPlace {
    /// The file, by its number here; none where the code lay in no file.
    pub(crate) module: Option<usize>,
    /// Where in that file, in bytes; where in memory, where there is no file.
    pub(crate) offset: u64,
}

/// A file that code lay in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FoundModule {
    /// Its path.
    pub(crate) path: String,
    /// Its inode, as it was mapped.
    pub(crate) inode: u64,
}

/// The sites of a place by number; those of which nothing is known are missing.
pub(super) type Sites = HashMap<u32, FoundPlace>;

/// Number `numbered`, plus one, of a table; none where it is zero.
pub(super) fn numbered(number: u32) -> Option<u32> {
    number.checked_sub(1)
}

/// The files of all processes, each once.
#[derive(Default)]
pub(super) struct Modules {
    pub(super) list: Vec<FoundModule>,
    numbers: HashMap<FoundModule, usize>,
}

impl Modules {
    pub(super) fn into_list(self) -> Vec<FoundModule> {
        self.list
    }

    fn number(&mut self, module: FoundModule) -> usize {
        let list = &mut self.list;
        *self.numbers.entry(module).or_insert_with_key(|module| {
            list.push(module.clone());
            list.len() - 1
        })
    }
}

/// The call sites of a place.
pub(super) fn sites(bytes: &(impl Bytes + ?Sized), place: u32, process: &Entry<'_>, modules: &mut Modules) -> Sites {
    let begun = process.u32(offset_of!(Process, modules)) as usize;
    let mut files = HashMap::new();
    each::<Module>(bytes, place, tables::MODULES, begun.min(MODULES), |number, module| {
        let length = module.u64(offset_of!(Module, length));
        if let Some(path) = module.text(offset_of!(Module, path), length, MODULE_PATH_BYTES) {
            files.insert(number, modules.number(FoundModule { path, inode: module.u64(offset_of!(Module, inode)) }));
        }
    });
    let mut sites = Sites::new();
    each_site(bytes, place, |number, site| {
        let address = site.u64(offset_of!(Site, address));
        if address == 0 {
            return;
        }
        let module = numbered(site.u32(offset_of!(Site, module))).and_then(|module| files.get(&module).copied());
        let offset = if module.is_some() { site.u64(offset_of!(Site, offset)) } else { address };
        sites.insert(number, FoundPlace { module, offset });
    });
    sites
}

/// Gives what each site of a place has.
fn each_site(bytes: &(impl Bytes + ?Sized), place: u32, visit: impl FnMut(u32, &Entry<'_>)) {
    each::<Site>(bytes, place, tables::SITES, steady_preload::area::SITES, visit);
}
