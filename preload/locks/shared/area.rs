//! The area: memory shared by `steady` and the watcher in each process, so that the counts survive any way a process
//! can end. It is a memfd(2) of the guardian, sparse where nothing was written.
//!
//! It begins with a [`Head`]. After it, from [`HEAD_BYTES`] on, are [`Head::places`] [`ProcessPlace`]s of [`PLACE_BYTES`]
//! each. A process claims the next free place when the watcher is loaded, and its child claims another one after
//! fork(2); execve(2) loads the watcher again. Only the process that claimed a place writes to it. Unused memory is
//! zero, and every table is filled from its beginning. A number that refers to an entry of another table is that
//! entry's index plus one, so that zero means "none".
//!
//! A place can be read at any moment: the key of a new entry is written last. All times are nanoseconds of
//! `CLOCK_MONOTONIC`.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The environment variable that holds the path of the area for the watcher, such as `/proc/1234/fd/5`.
pub const VARIABLE: &str = "STEADY_LOCKS";

/// The first word of a [`Head`]. It changes with the layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"steadyL3");

/// Size of the head, in bytes.
pub const HEAD_BYTES: usize = 4096;

/// Size of a place, in bytes: whole pages.
pub const PLACE_BYTES: usize = size_of::<ProcessPlace>().next_multiple_of(4096);

/// Entries for locks in a process. Acquisitions of further locks are added to [`Folded`].
pub const LOCKS: usize = 16_384;
/// Entries of the hash index from a lock's address to its entry.
pub const INDEX: usize = 4 * LOCKS;
/// Entries for threads in a process, including ended ones.
pub const THREADS: usize = 16_384;
/// Entries for pairs of a lock and a thread.
pub const PAIRS: usize = 65_536;
/// Pairs that have an [`Account`]. What other pairs do is added to the lock's entry.
pub const ACCOUNTS: usize = 16_384;
/// Call sites of an account. Waits at further sites are added to [`ProcessPlace::uses`].
pub const ACCOUNT_SITES: usize = 4;
/// Entries for pairs of a lock and a call site.
pub const USES: usize = 65_536;
/// Entries for call sites.
pub const SITES: usize = 4_096;
/// Entries for files with code.
pub const MODULES: usize = 256;
/// Bytes stored of such a file's path. Longer paths are truncated.
pub const MODULE_PATH_BYTES: usize = 464;
/// Buckets of a [`Spread`].
pub const BUCKETS: usize = 128;

/// One in this many uncontended acquisitions is sampled: its hold is timed and its call site recorded. The call site of
/// a lock's first uncontended acquisition is recorded too.
pub const SAMPLED_ONE_IN: u64 = 1_024;

/// Number of uncontended acquisitions, the first ones of each lock, whose holds are all timed. They have their own sum,
/// so that they do not represent the later ones of a long run, which may differ.
pub const EARLY: u64 = 256;

/// Returns whether the uncontended acquisition with this number, counted from 1, is one of the first [`EARLY`].
#[inline(always)]
pub const fn is_early(acquisition: u64) -> bool {
    acquisition <= EARLY
}

/// Returns whether the uncontended acquisition with this number, counted from 1, is sampled. The distances between samples vary
/// (multiples of the golden ratio): with equal distances, a thread that alternates between two uses of a lock would be
/// sampled in one of them only.
#[inline(always)]
pub const fn is_sampled(acquisition: u64) -> bool {
    acquisition.wrapping_mul(GOLDEN) < u64::MAX / SAMPLED_ONE_IN
}

/// The beginning of the area: what all processes share.
#[repr(C)]
pub struct Head {
    /// [`MAGIC`], written before any process gets the path of the area.
    pub magic: AtomicU64,
    /// How many places exist.
    pub places: AtomicU32,
    /// How many places were requested. Requests beyond `places` failed; those processes are not watched.
    pub taken: AtomicU32,
    /// Processes that could not map their place.
    pub unmapped: AtomicU32,
}

/// The record of one process.
#[repr(C)]
pub struct ProcessPlace {
    /// The process that claimed this place, and its totals.
    pub process: Process,
    /// Hash table from lock addresses to entries: `address << 16 | index plus one`, open addressing from
    /// [`index_start`]. A removed entry is a [`TOMBSTONE`].
    pub index: [AtomicU64; INDEX],
    /// The locks of the process. The first [`Process::locks`] entries are or were in use.
    pub locks: [Lock; LOCKS],
    /// Wait times of each lock, in the order of `locks`, without those in accounts.
    pub waits: [Spread; LOCKS],
    /// Measured hold times of each lock, in the order of `locks`, without those in accounts.
    pub holds: [Spread; LOCKS],
    /// The threads of the process, in the order in which they were first seen.
    pub threads: [Thread; THREADS],
    /// Which thread used which lock, open addressing from [`pair_start`].
    pub pairs: [Pair; PAIRS],
    /// Contended acquisitions per lock and thread.
    pub accounts: [Account; ACCOUNTS],
    /// The call sites each lock was acquired at, open addressing from [`pair_start`].
    pub uses: [Use; USES],
    /// Call sites, open addressing from [`site_start`].
    pub sites: [Site; SITES],
    /// The mapped files that contain call sites.
    pub modules: [Module; MODULES],
}

/// The process that claimed a place.
#[repr(C)]
pub struct Process {
    /// Its pid in its own pid namespace; written last when a place is initialised.
    pub pid: AtomicU32,
    /// How it began: an [`Origin`].
    pub origin: AtomicU32,
    /// When the watcher was initialised.
    pub began: AtomicU64,
    /// When it ended by exit(3), _exit(2) or the return of `main`; 0 if it was killed, called execve(2), or still
    /// runs.
    pub ended: AtomicU64,
    /// Entries of `locks` that are or were in use.
    pub locks: AtomicU32,
    /// Entries of `threads` that were requested, which may exceed the table.
    pub threads: AtomicU32,
    /// Entries of `modules` that were requested, which may exceed the table.
    pub modules: AtomicU32,
    /// Lookups of call sites that found no free entry.
    pub sites_lost: AtomicU32,
    /// Lookups of pairs and uses that found no free entry: acquisitions by unknown threads or at unknown call sites.
    pub pairs_lost: AtomicU64,
    /// Totals of locks without an entry.
    pub folded: Folded,
    /// Time waited by threads without an entry.
    pub other_threads_wait: AtomicU64,
    /// CPU time of all its threads when it ended (CLOCK_PROCESS_CPUTIME_ID), in nanoseconds; 0 if `ended` is 0.
    pub cpu: AtomicU64,
    /// Entries of `accounts` in use.
    pub accounts: AtomicU64,
    /// Reserved for later layouts.
    pub unused: [AtomicU64; 30],
    /// Length of `program` in bytes; written after it.
    pub program_length: AtomicU64,
    /// Path of its program (readlink(2) of /proc/self/exe), truncated if longer.
    pub program: [AtomicU8; MODULE_PATH_BYTES],
}

/// Totals of locks without an entry.
#[repr(C)]
pub struct Folded {
    /// Destroyed locks whose entry was reused, plus locks that appeared when no entry was left, if they can be counted
    /// (they were initialised by a call, or destroyed).
    pub locks: AtomicU64,
    /// Acquisitions of these locks, contended or not.
    pub acquisitions: AtomicU64,
    /// Acquisitions of these locks that had to wait, as [`Lock::contended`].
    pub contended: AtomicU64,
    /// Time waited for these locks, in nanoseconds, as [`Lock::wait`].
    pub wait: AtomicU64,
    /// The longest single wait for one of these locks, in nanoseconds.
    pub wait_most: AtomicU64,
}

/// The type of a synchronisation object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// `pthread_mutex_t`, or `mtx_t` of threads.h.
    Mutex = 1,
    /// `pthread_rwlock_t`, for reading and for writing.
    Rwlock = 2,
    /// `pthread_spinlock_t`: a wait for it uses CPU time.
    Spinlock = 3,
    /// `pthread_cond_t`: an acquisition is a wait that returned, and all of them are contended.
    Condition = 4,
    /// `sem_t`: an acquisition is a wait that decremented it.
    Semaphore = 5,
}

/// A lock. Its acquisitions are `uncontended` plus `contended`; the [`Account`]s of threads come on top.
///
/// An uncontended acquisition writes only to the first cache line. The `uncontended` count of a mutex or spinlock is
/// written by its holder alone, with plain loads and stores; everything else with atomic additions.
#[repr(C, align(64))]
pub struct Lock {
    /// Its address in the process; written last when an entry is initialised.
    pub address: AtomicU64,
    /// Acquisitions without a wait, by any function, recursive ones included. The mutex that a condition wait
    /// reacquires is counted with the condition.
    pub uncontended: AtomicU64,
    /// When the hold that is being measured began; 0 for none. The two highest bits, which a time does not need, are the
    /// sum that the hold belongs to: [`HELD_CONTENDED`], [`HELD_EARLY`], or 0 for a sampled one. Only one hold of a
    /// rwlock, for reading or writing, can be measured here at a time.
    pub held_since: AtomicU64,
    /// The thread that acquired it last, as index plus one: [`NO_THREAD`] before the first acquisition, any number
    /// without an entry for a thread that has none. If that thread waited for a mutex or spinlock, it is also
    /// [`NO_THREAD`], unless the thread waits for something else or ends before it releases the lock
    /// ([`Thread::waited_until`]).
    pub last: AtomicU64,
    /// The type of the lock: a [`Kind`] as number.
    pub kind: AtomicU32,
    /// 1 once it was destroyed. The same address may then be another lock with its own entry.
    pub destroyed: AtomicU32,
    /// 1 once a thread was about to wait for it. Such an entry is never reused.
    pub waited_for: AtomicU32,
    /// The thread that holds it, while its hold is measured.
    pub holder: AtomicU32,
    /// The call site that initialised it.
    pub made_at: AtomicU32,
    /// Head of the list of its pairs, linked by [`Pair::next`].
    pub first_pair: AtomicU32,
    /// Head of the list of its uses, linked by [`Use::next`].
    pub first_use: AtomicU32,
    /// 1 once a thread was about to wait for it, if it is a mutex that other processes may hold: a process-shared one,
    /// or a robust one, which looks the same.
    pub shared: AtomicU32,
    /// Acquisitions that had to wait for another holder.
    pub contended: AtomicU64,
    /// Time that all threads waited for it, including waits that ended without the lock (a timeout).
    pub wait: AtomicU64,
    /// The longest single wait for it, in nanoseconds.
    pub wait_most: AtomicU64,
    /// Waits that ended without the lock: timeout, deadlock error, unrecoverable mutex, cancellation.
    pub given_up: AtomicU64,
    /// Measured holds of contended acquisitions. For mutexes and spinlocks these are all of them.
    pub holds_contended: AtomicU64,
    /// Sum of their hold times.
    pub hold_contended: AtomicU64,
    /// Measured holds of uncontended acquisitions that [`is_sampled`] selects, without those in `holds_early`.
    pub holds_sampled: AtomicU64,
    /// Sum of their hold times.
    pub hold_sampled: AtomicU64,
    /// The longest measured hold.
    pub hold_most: AtomicU64,
    /// Measured holds of the first [`EARLY`] uncontended acquisitions. Fewer than these if a hold did not begin (a
    /// recursive acquisition) or another hold of a rwlock was being measured.
    pub holds_early: AtomicU64,
    /// Sum of their hold times.
    pub hold_early: AtomicU64,
}

/// A histogram of durations, in the buckets of [`bucket_of`].
#[repr(C)]
pub struct Spread {
    /// The number of durations in each bucket.
    pub buckets: [AtomicU32; BUCKETS],
}

/// A thread. Everything a wait writes before its end is in the first cache line.
#[repr(C, align(64))]
pub struct Thread {
    /// Its tid; written last when an entry is initialised.
    pub tid: AtomicU32,
    /// The lock it is waiting for; [`NO_ENTRY`] if that lock has no entry.
    pub waits_for: AtomicU32,
    /// When the current wait began, for a lock or for another thread to end (then `waits_for` is 0); 0 for none.
    /// Written last when a wait begins.
    pub waits_since: AtomicU64,
    /// When that wait ended, if the thread acquired the lock and still holds it: the wait is recorded when the lock is
    /// released. 0 otherwise.
    pub waited_until: AtomicU64,
    /// The call site of the wait.
    pub waits_at: AtomicU32,
    /// The site of its start routine. Its address is one byte after the start of the routine: sites have return
    /// addresses, so the function is looked up by the byte before the address.
    pub start_site: AtomicU32,
    /// Time waited for mutexes, rwlocks and spinlocks.
    pub wait: AtomicU64,
    /// Time waited for conditions and semaphores.
    pub wait_events: AtomicU64,
    /// Time waited for other threads to end, by pthread_join(3) and similar functions.
    pub wait_joins: AtomicU64,
    /// When it began, or was first seen.
    pub began: AtomicU64,
    /// When it ended; 0 if that was not seen.
    pub ended: AtomicU64,
    /// Its thread pointer (FS base).
    pub pointer: AtomicU64,
    /// Address of its start routine; 0 for the main thread.
    pub start: AtomicU64,
    /// Its CPU time when it ended (CLOCK_THREAD_CPUTIME_ID), in nanoseconds; 0 if `ended` is 0.
    pub cpu: AtomicU64,
}

/// A lock and a thread that has acquired or waited for it.
#[repr(C)]
pub struct Pair {
    /// `lock << 32 | thread`, both as index plus one; [`TOMBSTONE`] if the lock's entry was reused.
    pub key: AtomicU64,
    /// Contended acquisitions that are not in an account.
    pub contended: AtomicU64,
    /// Time waited that is not in an account.
    pub wait: AtomicU64,
    /// The lock's next pair.
    pub next: AtomicU32,
    /// Its account; 0 before its first wait, and if no entry was free.
    pub account: AtomicU32,
}

/// Waits of a thread for a lock, and the holds that followed. Only the thread itself writes to it, with plain loads and
/// stores, so that CPUs do not contend for its cache lines.
#[repr(C, align(64))]
pub struct Account {
    /// As in [`Pair`]; written last when an account is initialised.
    pub key: AtomicU64,
    /// This thread's part of [`Lock::contended`].
    pub contended: AtomicU64,
    /// This thread's part of [`Lock::wait`], in nanoseconds.
    pub wait: AtomicU64,
    /// This thread's longest single wait for the lock, in nanoseconds.
    pub wait_most: AtomicU64,
    /// This thread's part of [`Lock::given_up`].
    pub given_up: AtomicU64,
    /// This thread's part of [`Lock::holds_contended`].
    pub holds_contended: AtomicU64,
    /// This thread's part of [`Lock::hold_contended`], in nanoseconds.
    pub hold_contended: AtomicU64,
    /// The longest of these holds.
    pub hold_most: AtomicU64,
    /// The first call sites of waits that were seen.
    pub sites: [AccountSite; ACCOUNT_SITES],
    /// Histogram of the waits.
    pub waits: Spread,
    /// Histogram of the holds.
    pub holds: Spread,
}

/// A call site at which a thread waited for a lock.
#[repr(C)]
pub struct AccountSite {
    /// The site, as index plus one; 0 for none.
    pub site: AtomicU64,
    /// Contended acquisitions by the thread at this site.
    pub contended: AtomicU64,
    /// Time that the thread waited at this site, in nanoseconds.
    pub wait: AtomicU64,
}

/// A lock and a call site at which it is acquired.
#[repr(C)]
pub struct Use {
    /// `lock << 32 | site`, both as index plus one; [`TOMBSTONE`] if the lock's entry was reused.
    pub key: AtomicU64,
    /// Uncontended acquisitions with a recorded call site: each lock's first, and those that [`is_sampled`] selects.
    pub sampled: AtomicU64,
    /// Contended acquisitions that are not in an account.
    pub contended: AtomicU64,
    /// Time waited that is not in an account.
    pub wait: AtomicU64,
    /// The lock's next use.
    pub next: AtomicU32,
    /// Padding to a multiple of 8 bytes.
    pub unused: AtomicU32,
}

/// A call site in the program: where a lock is acquired, or waited for.
#[repr(C)]
pub struct Site {
    /// The return address of the call. Its file is determined next; `module` stays 0 if there is none, or if the
    /// process ended before it was found.
    pub address: AtomicU64,
    /// The offset of `address` in that file, in bytes.
    pub offset: AtomicU64,
    /// The file: its [`Module`], as index plus one.
    pub module: AtomicU32,
    /// Padding to a multiple of 8 bytes.
    pub unused: AtomicU32,
}

/// A file that is mapped into the process and contains call sites.
#[repr(C)]
pub struct Module {
    /// Its inode, as in /proc/PID/maps.
    pub inode: AtomicU64,
    /// Its device, as in /proc/PID/maps: `major << 32 | minor`.
    pub device: AtomicU64,
    /// Length of its path in bytes; written last.
    pub length: AtomicU64,
    /// Its path, truncated if longer.
    pub path: [AtomicU8; MODULE_PATH_BYTES],
}

/// How a process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Origin {
    /// The process executed its program with execve(2).
    Exec = 1,
    /// The process was created by fork(2) and has not called execve(2).
    Fork = 2,
}

/// The key of a removed entry in the index, the pairs or the uses. The entry may be reused.
pub const TOMBSTONE: u64 = u64::MAX;

/// The highest bit of [`Lock::held_since`]: the hold of a contended acquisition.
pub const HELD_CONTENDED: u64 = 1 << 63;

/// The second highest bit of [`Lock::held_since`]: the hold of an early acquisition ([`is_early`]).
pub const HELD_EARLY: u64 = 1 << 62;

/// The value of [`Lock::last`] if no thread is known to have acquired the lock last.
pub const NO_THREAD: u64 = u64::MAX;

/// Stands for a lock or thread without an entry, where an index plus one is stored.
pub const NO_ENTRY: u32 = u32::MAX;

/// Entries probed before a lookup fails, in every table with open addressing.
pub const MAX_PROBES: usize = 32;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns the entry at which the search for `key` begins, in a table of `entries`, a power of two.
#[inline(always)]
const fn probe_start(key: u64, entries: usize) -> usize {
    (key.wrapping_mul(GOLDEN) >> (64 - entries.trailing_zeros())) as usize
}

/// Returns the entry of the index at which the search for the lock at `address` begins.
#[inline(always)]
pub const fn index_start(address: u64) -> usize {
    probe_start(address, INDEX)
}

/// Returns the entry at which the search for `key` begins, in a table of `entries` pairs or uses.
#[inline(always)]
pub const fn pair_start(key: u64, entries: usize) -> usize {
    probe_start(key, entries)
}

/// Returns the entry at which the search for a call site begins.
#[inline(always)]
pub const fn site_start(address: u64) -> usize {
    probe_start(address, SITES)
}

/// Returns the bucket of a duration: four per doubling from 64 ns on, so that a bucket's middle is within 10 % of every
/// duration in it.
#[inline(always)]
pub const fn bucket_of(nanoseconds: u64) -> usize {
    let number = if nanoseconds < 64 { 64 } else { nanoseconds };
    let doublings = 63 - number.leading_zeros() as usize;
    let quarter = (number >> (doublings - 2)) as usize & 3;
    let bucket = 4 * (doublings - 6) + quarter;
    if bucket < BUCKETS { bucket } else { BUCKETS - 1 }
}

/// Returns the shortest duration of a bucket, in nanoseconds. The first bucket also holds everything shorter.
pub const fn least_of(bucket: usize) -> u64 {
    (4 + (bucket as u64 & 3)) << (bucket / 4 + 4)
}

const _: () = assert!(size_of::<Head>() <= HEAD_BYTES && size_of::<Process>() <= 4096);
const _: () = assert!(LOCKS < 1 << 16 && INDEX.is_power_of_two() && PAIRS.is_power_of_two());
const _: () = assert!(USES.is_power_of_two() && SITES.is_power_of_two());
const _: () = assert!(least_of(bucket_of(1 << 20)) == 1 << 20 && least_of(bucket_of(7 << 20)) == 7 << 20);
