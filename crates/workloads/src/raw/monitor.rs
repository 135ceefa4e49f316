//! Mutexes and condition variables as the C library has them, for locks of other kinds cost otherwise.

use std::cell::UnsafeCell;
use std::marker::PhantomData;

/// A number behind a mutex: pthread_mutex_lock(3).
///
/// It stands in a box, since the C library wants its mutexes to stay where they are.
pub(crate) struct Monitor(Box<Inside>);

struct Inside {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    value: UnsafeCell<u64>,
}

// SAFETY: the mutex is made for being used by many threads, and the value is only reached by who holds it.
unsafe impl Sync for Monitor {}
// SAFETY: the box can change hands while nobody holds the mutex, which a borrow would show.
unsafe impl Send for Monitor {}

/// The mutex, held by this thread until this is dropped.
pub(crate) struct Held<'a> {
    monitor: &'a Monitor,
    /// The thread that took a mutex has to give it back.
    stays: PhantomData<*mut ()>,
}

impl Monitor {
    /// A free one.
    pub(crate) fn new(value: u64) -> Self {
        let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        Monitor(Box::new(Inside { mutex, value: UnsafeCell::new(value) }))
    }

    /// Takes it; `None` where the C library refuses. This thread must not hold it already: it would wait for itself.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Option<Held<'_>> {
        // SAFETY: the mutex is initialised and stays in its place as long as it is borrowed.
        let taken = unsafe { libc::pthread_mutex_lock(self.0.mutex.get()) } == 0;
        taken.then_some(Held { monitor: self, stays: PhantomData })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // SAFETY: nobody can reach it any more, and a borrow would show that somebody holds it.
        unsafe { libc::pthread_mutex_destroy(self.0.mutex.get()) };
    }
}

impl Held<'_> {
    /// The number.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> &mut u64 {
        // SAFETY: this thread holds the mutex, and the borrow of `self` keeps it from making a second reference.
        unsafe { &mut *self.monitor.0.value.get() }
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this thread holds the mutex: what stands for it cannot go to another.
        unsafe { libc::pthread_mutex_unlock(self.monitor.0.mutex.get()) };
    }
}

/// Something to wait for: pthread_cond_wait(3).
pub(crate) struct Condition(Box<UnsafeCell<libc::pthread_cond_t>>);

// SAFETY: condition variables are made for being used by many threads.
unsafe impl Sync for Condition {}
// SAFETY: the box can change hands while nobody waits, which a borrow would show.
unsafe impl Send for Condition {}

impl Condition {
    /// One that nobody waits for.
    pub(crate) fn new() -> Self {
        Condition(Box::new(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER)))
    }

    /// Wakes one who waits for it.
    #[inline(always)]
    pub(crate) fn signal(&self) {
        // SAFETY: it is initialised and stays in its place as long as it is borrowed.
        unsafe { libc::pthread_cond_signal(self.0.get()) };
    }

    /// Gives the mutex back, waits, and takes it again; it may return without having been woken. All who wait for this at a
    /// time must have come with the same mutex.
    #[inline(always)]
    pub(crate) fn wait(&self, held: &mut Held<'_>) {
        // SAFETY: both are initialised and stay in their places; this thread holds the mutex, before and after.
        unsafe { libc::pthread_cond_wait(self.0.get(), held.monitor.0.mutex.get()) };
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        // SAFETY: nobody can reach it any more.
        unsafe { libc::pthread_cond_destroy(self.0.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_at_a_time() {
        let monitor = Monitor::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *monitor.lock().unwrap().value() += 1));
            }
        });
        assert_eq!(*monitor.lock().unwrap().value(), 40_000);
    }

    #[test]
    fn who_waits_is_woken() {
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
