//! Mutexes and condition variables of the C library, because the standard library's locks have a different cost.

use std::cell::UnsafeCell;
use std::marker::PhantomData;

/// A number protected by a mutex: pthread_mutex_lock(3).
///
/// It is boxed, because the C library requires that a mutex does not move.
pub(crate) struct Monitor(Box<Inside>);

struct Inside {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    value: UnsafeCell<u64>,
}

// SAFETY: a mutex may be used by many threads, and the value is accessible only while the mutex is locked.
unsafe impl Sync for Monitor {}
// SAFETY: the box may move to another thread while the mutex is not locked. A locked mutex is borrowed and cannot move.
unsafe impl Send for Monitor {}

/// The locked mutex, unlocked when dropped.
pub(crate) struct Held<'a> {
    monitor: &'a Monitor,
    /// Makes the type `!Send`, because the thread that locked a mutex must unlock it.
    stays: PhantomData<*mut ()>,
}

impl Monitor {
    /// Creates an unlocked mutex.
    pub(crate) fn new(value: u64) -> Self {
        let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        Monitor(Box::new(Inside { mutex, value: UnsafeCell::new(value) }))
    }

    /// Locks the mutex; `None` if the C library returns an error. This thread must not hold the lock already, because
    /// it would deadlock.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Option<Held<'_>> {
        // SAFETY: the mutex is initialised and does not move while `self` is borrowed.
        let is_locked = unsafe { libc::pthread_mutex_lock(self.0.mutex.get()) } == 0;
        // Built only if the mutex is locked: dropping it unlocks.
        is_locked.then(|| Held { monitor: self, stays: PhantomData })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // SAFETY: no other reference to the mutex exists, and it is not locked, because a lock would borrow it.
        unsafe { libc::pthread_mutex_destroy(self.0.mutex.get()) };
    }
}

impl Held<'_> {
    /// Returns the protected number.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> &mut u64 {
        // SAFETY: this thread holds the mutex, and the borrow of `self` prevents a second reference.
        unsafe { &mut *self.monitor.0.value.get() }
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this thread holds the mutex, because `Held` cannot move to another thread.
        unsafe { libc::pthread_mutex_unlock(self.monitor.0.mutex.get()) };
    }
}

/// A condition variable: pthread_cond_wait(3).
pub(crate) struct Condition(Box<UnsafeCell<libc::pthread_cond_t>>);

// SAFETY: a condition variable may be used by many threads.
unsafe impl Sync for Condition {}
// SAFETY: the box may move to another thread while no thread waits. A waiting thread borrows it.
unsafe impl Send for Condition {}

impl Condition {
    /// Creates a condition variable without waiters.
    pub(crate) fn new() -> Self {
        Condition(Box::new(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER)))
    }

    /// Wakes one of the waiters.
    #[inline(always)]
    pub(crate) fn signal(&self) {
        // SAFETY: the condition variable is initialised and does not move while `self` is borrowed.
        unsafe { libc::pthread_cond_signal(self.0.get()) };
    }

    /// Unlocks the mutex, waits, and locks it again. It may return spuriously. All concurrent waiters must use the same
    /// mutex.
    #[inline(always)]
    pub(crate) fn wait(&self, held: &mut Held<'_>) {
        // SAFETY: both objects are initialised and do not move while borrowed. This thread holds the mutex before and
        // after.
        unsafe { libc::pthread_cond_wait(self.0.get(), held.monitor.0.mutex.get()) };
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        // SAFETY: no other reference to the condition variable exists.
        unsafe { libc::pthread_cond_destroy(self.0.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_thread_holds_the_lock() {
        let monitor = Monitor::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *monitor.lock().unwrap().value() += 1));
            }
        });
        assert_eq!(*monitor.lock().unwrap().value(), 40_000);
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let (monitor, condition) = (Monitor::new(0), Condition::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *monitor.lock().unwrap().value() = 1;
                condition.signal();
            });
            let mut held = monitor.lock().unwrap();
            while *held.value() == 0 {
                condition.wait(&mut held);
            }
        });
    }
}
