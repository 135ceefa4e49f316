//! The data that the watchers wrote, in total for the command. Call sites are still offsets in files, without names.

use std::collections::HashMap;
use std::mem::offset_of;

use serde::{Deserialize, Serialize};
use steady_model::{Nanos, Reading};
use steady_preload::area::{MODULE_PATH_BYTES, MODULES, Module, Process, Site};

use super::area::{Bytes, Entry, each, tables};
use super::sums::{LockHolds, LockTimes};
use crate::record::LockKind;

/// Totals of the locks of a process that have no entry of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FoldedLocks {
    /// Number of these locks, as far as known.
    pub(crate) locks: u64,
    pub(crate) acquisitions: u64,
    pub(crate) contended: u64,
    /// Time that threads waited for them.
    pub(crate) wait: Nanos,
}

/// All data on the locks of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The processes, in the order of their starts.
    pub(crate) processes: Vec<FoundProcess>,
    /// Locks that were used: at most [`MAX_ENTRIES`](super::read::MAX_ENTRIES), those with the longest waiting times.
    pub(crate) locks: Vec<FoundLock>,
    /// Threads, sorted by waiting time, longest first: at most as many.
    pub(crate) threads: Vec<FoundThread>,
    /// The files that contain the call sites.
    pub(crate) modules: Vec<FoundModule>,
    /// Number of processes that got no place, or could not map it.
    pub(crate) unwatched: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundProcess {
    pub(crate) pid: u32,
    pub(crate) program: Reading<String>,
    pub(crate) forked: bool,
    pub(crate) life: Nanos,
    /// Whether the watcher in the process observed its end.
    pub(crate) ended_itself: bool,
    pub(crate) threads: u32,
    /// Totals of its locks without an entry of their own.
    pub(crate) folded: FoldedLocks,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundThread {
    /// Index of its process in [`Found::processes`].
    pub(crate) process: usize,
    /// Thread ID, from gettid(2).
    pub(crate) tid: u32,
    /// Its start function, if known.
    pub(crate) start: Option<FoundPlace>,
    /// The call site that it waited at when its process ended, if it did.
    pub(crate) waits_at: Option<FoundPlace>,
    pub(crate) life: Nanos,
    /// Time that it waited for locks.
    pub(crate) wait: Nanos,
    /// Time that it waited for conditions and semaphores.
    pub(crate) wait_events: Nanos,
    /// Time that it waited for other threads to end.
    pub(crate) wait_joins: Nanos,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundLock {
    /// Index of its process in [`Found::processes`].
    pub(crate) process: usize,
    pub(crate) kind: LockKind,
    /// Address in the memory of its process.
    pub(crate) address: u64,
    pub(crate) destroyed: bool,
    pub(crate) acquisitions: u64,
    pub(crate) contended: u64,
    pub(crate) given_up: u64,
    pub(crate) waits: Reading<LockTimes>,
    pub(crate) holds: Reading<LockHolds>,
    pub(crate) threads: u32,
    /// Call sites that acquired it.
    pub(crate) sites: Vec<FoundSite>,
    /// The call that initialised it, if it was observed.
    pub(crate) made_at: Option<FoundPlace>,
    /// Threads that waited for it when its process ended, as indices into [`Found::threads`].
    pub(crate) waiting: Vec<usize>,
    /// The thread that held it then, as an index into [`Found::threads`].
    pub(crate) held_by: Reading<usize>,
    /// Upper bound of the time that the process would save if threads never waited for the lock.
    pub(crate) gain: Reading<Nanos>,
}

impl FoundLock {
    /// Returns the total time that threads waited for it.
    pub(super) fn waited(&self) -> Nanos {
        self.waits.as_ref().map_or(Nanos::ZERO, |waits| waits.total)
    }
}

/// A call site that acquired a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundSite {
    /// Return address of the call.
    pub(crate) place: FoundPlace,
    pub(crate) acquisitions: u64,
    pub(crate) contended: u64,
    pub(crate) wait: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FoundPlace {
    /// Index of the file in [`Found::modules`]; `None` if the code is in no file.
    pub(crate) module: Option<usize>,
    /// Offset in that file, in bytes; the address in memory if there is no file.
    pub(crate) offset: u64,
}

/// A mapped file that contains code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FoundModule {
    pub(crate) path: String,
    /// Its inode number when it was mapped.
    pub(crate) inode: u64,
}

/// The known call sites of a process, by their numbers in its place.
pub(super) type Sites = HashMap<u32, FoundPlace>;

/// Returns the index that a stored number refers to. Watchers store an index plus one, and zero for none.
pub(super) fn numbered(number: u32) -> Option<u32> {
    number.checked_sub(1)
}

/// The files of all processes, without duplicates.
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

/// Reads the call sites of a process from its place, and adds their files to `modules`.
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

/// Calls `visit` with each entry of the table of call sites.
fn each_site(bytes: &(impl Bytes + ?Sized), place: u32, visit: impl FnMut(u32, &Entry<'_>)) {
    each::<Site>(bytes, place, tables::SITES, steady_preload::area::SITES, visit);
}
