//! Memory shared between processes, with locks in it.

use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The bytes of each lock and of each row of counters: a cache line, to avoid false sharing.
const LINE: usize = 64;
/// The number of counters in a row.
pub(crate) const ROW: usize = LINE / size_of::<AtomicU64>();
const _: () = assert!(size_of::<libc::pthread_mutex_t>() <= LINE && align_of::<libc::pthread_mutex_t>() <= LINE);

/// Anonymous memory shared with forked processes: locks, rows of counters, and words, initially zero. Counters and
/// words are atomics, so writes by other processes cannot cause undefined behaviour.
pub(crate) struct Shared {
    map: SharedMap,
    locks: usize,
    rows: usize,
    words: usize,
}

/// A mapping of mmap(2) with `MAP_SHARED`, unmapped when dropped.
struct SharedMap {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is accessed only through atomics, and through mutexes that many threads may use.
unsafe impl Sync for Shared {}
// SAFETY: no part of it belongs to one thread, and a held lock borrows it.
unsafe impl Send for Shared {}

/// A held lock, unlocked when dropped.
pub(crate) struct Taken<'a> {
    mutex: *mut libc::pthread_mutex_t,
    /// Makes the type `!Send`, because the thread that locked a mutex must unlock it.
    stays: PhantomData<(&'a Shared, *mut ())>,
}

impl Shared {
    /// Maps memory for these numbers of locks, rows of counters and words.
    pub(crate) fn new(locks: usize, rows: usize, words: usize) -> io::Result<Self> {
        let bytes = (locks + rows) * LINE + words * size_of::<AtomicU32>();
        let shared = Shared { map: SharedMap::new(bytes.max(LINE))?, locks, rows, words };
        (0..locks).try_for_each(|lock| shared.prepare(lock))?;
        Ok(shared)
    }

    /// Initialises a lock that processes share: pthread_mutex_init(3), pthread_mutexattr_setpshared(3).
    fn prepare(&self, lock: usize) -> io::Result<()> {
        let mut kind = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        // SAFETY: the attributes are initialised before their use and destroyed after it. The mutex is at its final
        // address within the mapping, and nothing has used it yet.
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
        assert!(lock < self.locks, "there is no such lock");
        // SAFETY: the address is within the mapping, whose first lines are the locks.
        unsafe { self.map.start.add(lock * LINE).cast() }
    }

    /// Acquires a lock if it is free: pthread_mutex_trylock(3).
    #[inline(always)]
    pub(crate) fn try_lock(&self, lock: usize) -> Option<Taken<'_>> {
        let mutex = self.mutex(lock);
        // SAFETY: `new` initialised the mutex, and it does not move while `self` is borrowed.
        let is_locked = unsafe { libc::pthread_mutex_trylock(mutex) } == 0;
        // Created only if the lock was acquired, because dropping it unlocks the mutex.
        is_locked.then(|| Taken { mutex, stays: PhantomData })
    }

    /// Acquires a lock: pthread_mutex_lock(3); `None` if the C library returns an error. This thread must not hold the
    /// lock already, because it would deadlock.
    #[inline(always)]
    pub(crate) fn lock(&self, lock: usize) -> Option<Taken<'_>> {
        let mutex = self.mutex(lock);
        // SAFETY: `new` initialised the mutex, and it does not move while `self` is borrowed.
        let is_locked = unsafe { libc::pthread_mutex_lock(mutex) } == 0;
        is_locked.then(|| Taken { mutex, stays: PhantomData })
    }

    /// Returns a row of counters.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> &[AtomicU64; ROW] {
        assert!(row < self.rows, "there is no such row");
        // SAFETY: the row is within the mapping, behind the locks, and aligned to a line. Zero bytes are valid atomics.
        // All references to this part of the mapping are to atomics.
        unsafe { &*self.map.start.add((self.locks + row) * LINE).cast() }
    }

    /// Returns the words of the mapping.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        // SAFETY: the words are within the mapping, behind the rows, and aligned. All references to them are to
        // atomics.
        unsafe { slice::from_raw_parts(self.map.start.add((self.locks + self.rows) * LINE).cast(), self.words) }
    }
}

impl SharedMap {
    fn new(bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses an unused address range.
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
        // SAFETY: the range is exactly that of the mapping, and every use of it borrows the owner. Mutexes of the C
        // library need no cleanup besides their memory, which other processes may still use.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

impl Drop for Taken<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this thread holds the lock, because `Taken` cannot move to another thread.
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
    fn processes_exclude_each_other() {
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
    fn a_held_lock_cannot_be_acquired() {
        let shared = Shared::new(1, 0, 0).unwrap();
        let held = shared.lock(0);
        assert!(held.is_some());
        for _ in 0..3 {
            assert!(shared.try_lock(0).is_none(), "a failed attempt must not unlock the mutex");
        }
        drop(held);
        assert!(shared.try_lock(0).is_some());
    }
}
