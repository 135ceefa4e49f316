//! The area: memory that `steady` and the watchers in the processes share, so that what was counted is there however a process
//! ends. It is a file without a name (memfd) of the guardian's, empty where nothing was written.
//!
//! It begins with a [`Head`]; behind it, from [`HEAD_BYTES`] on, lie [`Head::places`] [`Place`]s of [`PLACE_BYTES`] each. A process
//! takes the next one when the watcher is loaded, and another after fork(2); after execve(2) the watcher is loaded anew. Nobody
//! else writes to a place. Zero is what nothing has been written to; every table is filled from its beginning, and a number that
//! names an entry of another is that entry's plus one, so that zero is none.
//!
//! Whatever is in a place can be read at any moment: an entry that is being made has its key written last. All times are
//! nanoseconds of `CLOCK_MONOTONIC`.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The variable that tells the watcher where the area is: a path that can be opened, such as `/proc/1234/fd/5`.
pub const VARIABLE: &str = "STEADY_LOCKS";

/// What a [`Head`] begins with; another layout has another.
pub const MAGIC: u64 = u64::from_le_bytes(*b"steadyL2");

/// What the head takes.
pub const HEAD_BYTES: usize = 4096;

/// What a place takes, in whole pages.
pub const PLACE_BYTES: usize = size_of::<Place>().next_multiple_of(4096);

/// Locks that are told apart in a process; what is done with others is added to [`Folded`].
pub const LOCKS: usize = 16_384;
/// Entries of the index by which a lock is found.
pub const INDEX: usize = 4 * LOCKS;
/// Threads of a process that are told apart, ended ones included.
pub const THREADS: usize = 16_384;
/// Pairs of a lock and a thread.
pub const PAIRS: usize = 65_536;
/// Pairs that have an [`Account`]; what is done by others is added up in the lock's entry.
pub const ACCOUNTS: usize = 16_384;
/// Call sites of an account; what is done at others is added up in [`Place::uses`].
pub const ACCOUNT_SITES: usize = 4;
/// Pairs of a lock and a call site.
pub const USES: usize = 65_536;
/// Call sites.
pub const SITES: usize = 4_096;
/// Files that code lies in.
pub const MODULES: usize = 256;
/// The longest path of such a file that is kept; of longer ones the beginning.
pub const MODULE_PATH_BYTES: usize = 464;
/// Buckets of a [`Spread`].
pub const BUCKETS: usize = 128;

/// Of uncontended acquisitions, one in so many has its hold time taken and its call site noted; and so has a lock's first.
pub const SAMPLED_ONE_IN: u64 = 1_024;

/// Whether an acquisition of this number, counted from 1, is one of them. They are as far apart as the golden ratio puts them, not
/// evenly: who takes a lock for this and that in turns would otherwise be seen at one of both alone.
#[inline(always)]
pub const fn is_sampled(acquisition: u64) -> bool {
    acquisition.wrapping_mul(GOLDEN) < u64::MAX / SAMPLED_ONE_IN
}

/// The beginning of the area.
#[repr(C)]
pub struct Head {
    /// [`MAGIC`], written before anybody is told of the area.
    pub magic: AtomicU64,
    /// How many places there are.
    pub places: AtomicU32,
    /// How many were asked for; those beyond `places` got none, and are not watched.
    pub taken: AtomicU32,
    /// Processes that could not map theirs.
    pub unmapped: AtomicU32,
}

/// What a process did.
#[repr(C)]
pub struct Place {
    /// The process.
    pub process: Process,
    /// Where each lock that is used is found: `address << 16 | number of its entry`, open addressing from [`index_of`]. An entry that
    /// was given up is [`GIVEN_UP`].
    pub index: [AtomicU64; INDEX],
    /// The locks.
    pub locks: [Lock; LOCKS],
    /// How long each was waited for, beside `locks`, as far as that is in no account.
    pub waits: [Spread; LOCKS],
    /// How long each was held, of the holds that were taken, beside `locks`, likewise.
    pub holds: [Spread; LOCKS],
    /// The threads.
    pub threads: [Thread; THREADS],
    /// Which thread did what with which lock, open addressing from [`pair_of`].
    pub pairs: [Pair; PAIRS],
    /// What threads waited for locks and held those they had waited for.
    pub accounts: [Account; ACCOUNTS],
    /// From where each lock was taken, open addressing from [`pair_of`].
    pub uses: [Use; USES],
    /// Call sites, open addressing from [`site_of`].
    pub sites: [Site; SITES],
    /// Files that code lies in.
    pub modules: [Module; MODULES],
}

/// The process that has a place.
#[repr(C)]
pub struct Process {
    /// Its number, as it sees it itself; written last when a place is begun.
    pub pid: AtomicU32,
    /// How it began.
    pub origin: AtomicU32,
    /// When the watcher was there.
    pub began: AtomicU64,
    /// When it ended by exit(3) or the return of `main`; 0 where it was killed, left by _exit(2), executed another program, or runs.
    pub ended: AtomicU64,
    /// Entries of `locks` that were begun.
    pub locks: AtomicU32,
    /// Entries of `threads` that were begun. May be more than there are.
    pub threads: AtomicU32,
    /// Entries of `modules` that were begun. May be more than there are.
    pub modules: AtomicU32,
    /// Call sites for which there was no room.
    pub sites_lost: AtomicU32,
    /// Pairs and uses for which there was no room: acquisitions of unknown threads or call sites.
    pub pairs_lost: AtomicU64,
    /// What was done with locks that have no entry (any more).
    pub folded: Folded,
    /// Waiting by threads that have no entry.
    pub other_threads_wait: AtomicU64,
    /// CPU time of all its threads when it ended, by CLOCK_PROCESS_CPUTIME_ID; 0 where `ended` is.
    pub cpu: AtomicU64,
    /// Entries of `accounts` that were begun.
    pub accounts: AtomicU64,
    /// What a process has besides, for layouts to come.
    pub unused: [AtomicU64; 30],
    /// How long the path of its program is; written after that.
    pub program_length: AtomicU64,
    /// That path, as readlink(2) tells it of /proc/self/exe; of a longer one the beginning.
    pub program: [AtomicU8; MODULE_PATH_BYTES],
}

/// Locks that have no entry, together.
#[repr(C)]
pub struct Folded {
    /// Locks that were destroyed and whose entry was given to another, and locks that began when there was no entry left, as far
    /// as they can be told apart (initialised by a call, or destroyed).
    pub locks: AtomicU64,
    /// How often they were taken.
    pub acquisitions: AtomicU64,
    /// As of [`Lock`].
    pub contended: AtomicU64,
    /// As of [`Lock`].
    pub wait: AtomicU64,
    /// As of [`Lock`].
    pub wait_most: AtomicU64,
}

/// What a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// `pthread_mutex_t`.
    Mutex = 1,
    /// `pthread_rwlock_t`, for reading and for writing.
    Rwlock = 2,
    /// `pthread_spinlock_t`.
    Spinlock = 3,
    /// `pthread_cond_t`: an acquisition is a wait that returned, and each is contended.
    Condition = 4,
    /// `sem_t`: an acquisition is a wait that took one.
    Semaphore = 5,
}

/// A lock. How often it was taken is how often that was not contended and how often it was; what threads have in their accounts
/// comes on top of what is here.
///
/// What is done at each acquisition that nobody contends is done in the first of its lines of cache. Of a mutex and a spinlock their
/// count is written by who has it, with plain reads and writes; all else with atomic additions.
#[repr(C, align(64))]
pub struct Lock {
    /// Where it is in the process; written last when an entry is begun.
    pub address: AtomicU64,
    /// How often it was taken without a wait, by whichever function; recursions count. That a mutex is taken again when a wait for a
    /// condition returns is counted with the condition.
    pub uncontended: AtomicU64,
    /// When the hold began that is being taken; 0 where none is. The lowest bit says that it was contended. Of a rwlock, one hold at
    /// a time can be taken here, for reading or writing.
    pub held_since: AtomicU64,
    /// The thread that took it last, by its number plus one; [`NOBODY`] where none has, and whatever names no entry for a thread
    /// that has none. Who waited for it is written here only where it waits again before it has given it back ([`Thread::waited_until`]).
    pub last: AtomicU64,
    /// What it is: a [`Kind`].
    pub kind: AtomicU32,
    /// 1 once it was destroyed: the same address may be another lock then, with an entry of its own.
    pub destroyed: AtomicU32,
    /// 1 once a thread was about to wait for it: its entry is never given to another.
    pub waited_for: AtomicU32,
    /// The thread that has it, where its hold is being taken.
    pub holder: AtomicU32,
    /// The call site that initialised it.
    pub made_at: AtomicU32,
    /// The first of its pairs, and so on by [`Pair::next`].
    pub first_pair: AtomicU32,
    /// The first of its uses, and so on by [`Use::next`].
    pub first_use: AtomicU32,
    /// Nothing.
    pub unused: AtomicU32,
    /// How often somebody else had it, and it was waited for until it was got.
    pub contended: AtomicU64,
    /// Waiting of all threads together. Waits that ended without the lock (a timeout) are in it.
    pub wait: AtomicU64,
    /// The longest wait.
    pub wait_most: AtomicU64,
    /// Waits that ended without the lock: timeouts, owners that died for good, deadlocks that were found, waits that were cancelled.
    pub given_up: AtomicU64,
    /// Holds that were taken because the acquisition was contended: of a mutex and a spinlock each of them.
    pub holds_contended: AtomicU64,
    /// Their time.
    pub hold_contended: AtomicU64,
    /// Holds of uncontended acquisitions that were taken: the first, and then those that [`is_sampled`].
    pub holds_sampled: AtomicU64,
    /// Their time.
    pub hold_sampled: AtomicU64,
    /// The longest of all holds that were taken.
    pub hold_most: AtomicU64,
}

/// How long things took: how many fell into each of [`bucket_of`]'s buckets.
#[repr(C)]
pub struct Spread {
    /// The counts.
    pub buckets: [AtomicU32; BUCKETS],
}

/// A thread. But for its end, what is waited for is all in the first of its lines of cache.
#[repr(C, align(64))]
pub struct Thread {
    /// Its number, written last when an entry is begun.
    pub tid: AtomicU32,
    /// The lock that it waits for right now; [`NO_ENTRY`] where that has no entry.
    pub waits_for: AtomicU32,
    /// Since when it waits for that lock, or for another thread to end (then `waits_for` is 0). Written last when a wait begins; 0 where
    /// none has.
    pub waits_since: AtomicU64,
    /// When that wait was over, where it was one for a lock that this thread has had since: it is recorded once the lock is given back.
    /// Until then 0.
    pub waited_until: AtomicU64,
    /// The site of the call that waits.
    pub waits_at: AtomicU32,
    /// That function's site that it began with: of the address behind its first, so that what is before a site's address is the function.
    pub start_site: AtomicU32,
    /// Waiting for mutexes, rwlocks and spinlocks.
    pub wait: AtomicU64,
    /// Waiting for conditions and semaphores.
    pub wait_events: AtomicU64,
    /// Waiting for other threads to end, by pthread_join(3) and its like.
    pub wait_joins: AtomicU64,
    /// When it began, or was first seen.
    pub began: AtomicU64,
    /// When it ended; 0 where that was not seen.
    pub ended: AtomicU64,
    /// Its thread pointer.
    pub pointer: AtomicU64,
    /// The address of the function that it began with; 0 for the first.
    pub start: AtomicU64,
    /// Its CPU time when it ended, by CLOCK_THREAD_CPUTIME_ID; 0 where `ended` is.
    pub cpu: AtomicU64,
}

/// A thread and a lock that it has taken or waited for.
#[repr(C)]
pub struct Pair {
    /// `lock << 32 | thread`, both by their number plus one; [`GIVEN_UP`] where the lock's entry was given to another.
    pub key: AtomicU64,
    /// How often it waited, as far as that is not in its account.
    pub contended: AtomicU64,
    /// For how long, likewise.
    pub wait: AtomicU64,
    /// The lock's next pair.
    pub next: AtomicU32,
    /// Its account; 0 before it waits, and where there is no room for one.
    pub account: AtomicU32,
}

/// What a thread waited for a lock, and how long it held it then. Nobody but the thread writes to it, so that CPUs do not take lines of
/// cache from each other for it, with plain reads and writes.
#[repr(C, align(64))]
pub struct Account {
    /// As of [`Pair`]; written last when it is begun.
    pub key: AtomicU64,
    /// As of [`Lock`].
    pub contended: AtomicU64,
    /// As of [`Lock`].
    pub wait: AtomicU64,
    /// As of [`Lock`].
    pub wait_most: AtomicU64,
    /// As of [`Lock`].
    pub given_up: AtomicU64,
    /// As of [`Lock`].
    pub holds_contended: AtomicU64,
    /// As of [`Lock`].
    pub hold_contended: AtomicU64,
    /// The longest of these holds.
    pub hold_most: AtomicU64,
    /// From where it was waited for: the first sites that were seen.
    pub sites: [AccountSite; ACCOUNT_SITES],
    /// How long the waits were.
    pub waits: Spread,
    /// How long the holds were.
    pub holds: Spread,
}

/// A place in the code that a thread waited for a lock at.
#[repr(C)]
pub struct AccountSite {
    /// It, by its number plus one; 0 where there is none.
    pub site: AtomicU64,
    /// As of [`Use`].
    pub contended: AtomicU64,
    /// As of [`Use`].
    pub wait: AtomicU64,
}

/// A lock and a place in the code that it is taken at.
#[repr(C)]
pub struct Use {
    /// `lock << 32 | site`, both by their number plus one; [`GIVEN_UP`] where the lock's entry was given to another.
    pub key: AtomicU64,
    /// Uncontended acquisitions there that were sampled: of each lock the first, and then those that [`is_sampled`].
    pub sampled: AtomicU64,
    /// Contended ones, as far as they are in no account.
    pub contended: AtomicU64,
    /// Waiting there, likewise.
    pub wait: AtomicU64,
    /// The lock's next use.
    pub next: AtomicU32,
    /// Nothing.
    pub unused: AtomicU32,
}

/// A place in the code.
#[repr(C)]
pub struct Site {
    /// The address to which the call returns. What file that is in is found out next: one that lies in none, or for which that was
    /// not known when the process ended, has no `module`.
    pub address: AtomicU64,
    /// Where that is in its file: what `address` has in the file that is mapped there, in bytes from its beginning.
    pub offset: AtomicU64,
    /// The file.
    pub module: AtomicU32,
    /// Nothing.
    pub unused: AtomicU32,
}

/// A file that is mapped.
#[repr(C)]
pub struct Module {
    /// Its inode, as /proc/PID/maps has it.
    pub inode: AtomicU64,
    /// Its device, as there: `major << 32 | minor`.
    pub device: AtomicU64,
    /// How long its path is; written last.
    pub length: AtomicU64,
    /// Its path.
    pub path: [AtomicU8; MODULE_PATH_BYTES],
}

/// How a process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Origin {
    /// By execve(2).
    Exec = 1,
    /// By fork(2).
    Fork = 2,
}

/// An entry of the index, of the pairs or of the uses that another may have.
pub const GIVEN_UP: u64 = u64::MAX;

/// What [`Lock::last`] is before the lock was taken.
pub const NOBODY: u64 = u64::MAX;

/// A lock or a thread that has no entry, where an entry's number plus one is asked for.
pub const NO_ENTRY: u32 = u32::MAX;

/// How far from its first place an entry may lie; what finds none has none.
pub const FARTHEST: usize = 32;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where in a table of so many entries, a power of two, the search for `key` begins.
#[inline(always)]
const fn first_of(key: u64, entries: usize) -> usize {
    (key.wrapping_mul(GOLDEN) >> (64 - entries.trailing_zeros())) as usize
}

/// Where in the index the search for the lock at `address` begins.
#[inline(always)]
pub const fn index_of(address: u64) -> usize {
    first_of(address, INDEX)
}

/// Where in a table of pairs or uses the search for `key` begins.
#[inline(always)]
pub const fn pair_of(key: u64, entries: usize) -> usize {
    first_of(key, entries)
}

/// Where the search for a call site begins.
#[inline(always)]
pub const fn site_of(address: u64) -> usize {
    first_of(address, SITES)
}

/// The bucket of a time: four to each doubling from 64 ns on, so that its middle is within a tenth of what falls into it.
#[inline(always)]
pub const fn bucket_of(nanoseconds: u64) -> usize {
    let number = if nanoseconds < 64 { 64 } else { nanoseconds };
    let doublings = 63 - number.leading_zeros() as usize;
    let quarter = (number >> (doublings - 2)) as usize & 3;
    let bucket = 4 * (doublings - 6) + quarter;
    if bucket < BUCKETS { bucket } else { BUCKETS - 1 }
}

/// The least time that falls into a bucket; of the first, 0 does too.
pub const fn least_of(bucket: usize) -> u64 {
    (4 + (bucket as u64 & 3)) << (bucket / 4 + 4)
}

const _: () = assert!(size_of::<Head>() <= HEAD_BYTES && size_of::<Process>() <= 4096);
const _: () = assert!(LOCKS < 1 << 16 && INDEX.is_power_of_two() && PAIRS.is_power_of_two());
const _: () = assert!(USES.is_power_of_two() && SITES.is_power_of_two());
const _: () = assert!(least_of(bucket_of(1 << 20)) == 1 << 20 && least_of(bucket_of(7 << 20)) == 7 << 20);
