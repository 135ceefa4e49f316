//! Memory that processes share, with locks in it.

use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The bytes that each lock and each row of counters has to itself: a cache line, so that neighbours do not slow each other.
const LINE: usize = 64;
/// The counters in a row.
pub(crate) const ROW: usize = LINE / size_of::<AtomicU64>();
const _: () = assert!(size_of::<libc::pthread_mutex_t>() <= LINE && align_of::<libc::pthread_mutex_t>() <= LINE);

/// Anonymous memory that this process shares with those that it forks: locks, rows of counters and words, all of them zero
/// at first. Counters and words are seen as atomics, so that nobody who writes to them can harm anybody.
pub(crate) struct Shared {
    map: SharedMap,
    locks: usize,
    rows: usize,
    words: usize,
}

/// A mapping: mmap(2) with `MAP_SHARED`; given back when dropped.
struct SharedMap {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is reached through atomics, and through mutexes that are made for many threads.
unsafe impl Sync for Shared {}
// SAFETY: nothing in it belongs to one thread, and a lock that is held borrows it.
unsafe impl Send for Shared {}

/// A lock, held by this thread until this is dropped.
pub(crate) struct Taken<'a> {
    mutex: *mut libc::pthread_mutex_t,
    /// The thread that took a mutex has to give it back.
    stays: PhantomData<(&'a Shared, *mut ())>,
}

impl Shared {
    /// So many locks, rows of counters and words.
    pub(crate) fn new(locks: usize, rows: usize, words: usize) -> io::Result<Self> {
        let bytes = (locks + rows) * LINE + words * size_of::<AtomicU32>();
        let shared = Shared { map: SharedMap::new(bytes.max(LINE))?, locks, rows, words };
        (0..locks).try_for_each(|lock| shared.prepare(lock))?;
        Ok(shared)
    }

    /// pthread_mutex_init(3) of a lock that processes share (pthread_mutexattr_setpshared(3)).
    fn prepare(&self, lock: usize) -> io::Result<()> {
        let mut kind = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        // SAFETY: the attributes are set up before they are used and given back after; the mutex is in its place, which is
        // the map's own, and nobody has used it yet.
        unsafe {
            checked(libc::pthread_mutexattr_init(kind.as_mut_ptr()))?;
            let set = checked(libc::pthread_mutexattr_setpshared(kind.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED));
            let made = set.and_then(|()| checked(libc::pthread_mutex_init(self.mutex(lock), kind.as_ptr())));
            libc::pthread_mutexattr_destroy(kind.as_mut_ptr());
            made
        }
    }

    #[inline(always)]
    fn mutex(&self, lock: usize) -> *mut libc::pthread_mutex_t {
        assert!(lock < self.locks, "no such lock");
        // SAFETY: it is within the map, whose first lines are the locks.
        unsafe { self.map.start.add(lock * LINE).cast() }
    }

    /// Takes a lock if nobody holds it: pthread_mutex_trylock(3).
    #[inline(always)]
    pub(crate) fn try_lock(&self, lock: usize) -> Option<Taken<'_>> {
        let mutex = self.mutex(lock);
        // SAFETY: it was initialised when this was made, and stays in its place as long as this is borrowed.
        let taken = unsafe { libc::pthread_mutex_trylock(mutex) } == 0;
        // Made only where it is taken: what stands for a lock gives it back when dropped.
        taken.then(|| Taken { mutex, stays: PhantomData })
    }

    /// Takes a lock: pthread_mutex_lock(3); `None` where the C library refuses. This thread must not hold it already: it would
    /// wait for itself.
    #[inline(always)]
    pub(crate) fn lock(&self, lock: usize) -> Option<Taken<'_>> {
        let mutex = self.mutex(lock);
        // SAFETY: as in `try_lock`.
        let taken = unsafe { libc::pthread_mutex_lock(mutex) } == 0;
        taken.then(|| Taken { mutex, stays: PhantomData })
    }

    /// A row of counters.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> &[AtomicU64; ROW] {
        assert!(row < self.rows, "no such row");
        // SAFETY: it is within the map, behind the locks, aligned to a line; zeros are atomics; nobody has a reference to it
        // that is not to atomics.
        unsafe { &*self.map.start.add((self.locks + row) * LINE).cast() }
    }

    /// The words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        // SAFETY: as for rows, behind which they are.
        unsafe { slice::from_raw_parts(self.map.start.add((self.locks + self.rows) * LINE).cast(), self.words) }
    }
}

impl SharedMap {
    fn new(bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel picks a place where nothing is.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedMap { start: start.cast(), bytes })
    }
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping's own, and a borrow would show that somebody uses it. Mutexes of the C library need
        // nothing besides their memory, which other processes may still use.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

impl Drop for Taken<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this thread holds it: what stands for it cannot go to another.
        unsafe { libc::pthread_mutex_unlock(self.mutex) };
    }
}

fn checked(error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::raw::fork_and_run;

    #[test]
    fn processes_take_turns() {
        let shared = Shared::new(2, 1, 3).unwrap();
        let add = || {
            for _ in 0..20_000 {
                let _held = shared.try_lock(1).or_else(|| shared.lock(1));
                let before = shared.words()[2].load(Relaxed);
                shared.words()[2].store(before + 1, Relaxed);
            }
            shared.row(0)[7].fetch_add(1, Relaxed);
            0
        };
        let others: Vec<_> = (0..3).map(|_| fork_and_run(&mut [], add).unwrap()).collect();
        add();
        for other in others {
            rustix::process::waitpid(Some(other), rustix::process::WaitOptions::empty()).unwrap();
        }
        assert_eq!((shared.words()[2].load(Relaxed), shared.row(0)[7].load(Relaxed)), (80_000, 4));
        assert!(shared.words()[..2].iter().all(|word| word.load(Relaxed) == 0));
    }

    #[test]
    fn what_is_held_is_not_had() {
        let shared = Shared::new(1, 0, 0).unwrap();
        let held = shared.lock(0);
        assert!(held.is_some());
        for _ in 0..3 {
            assert!(shared.try_lock(0).is_none(), "who does not get it does not give it back");
        }
        drop(held);
        assert!(shared.try_lock(0).is_some());
    }
}
