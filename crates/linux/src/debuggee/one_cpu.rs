//! One CPU for who holds a process and for that process: one of both waits at any time, and to wake up another CPU takes
//! several times as long as to go from one to the other on the same.

use std::io;
use std::marker::PhantomData;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Keeps this thread, and what it starts, to one CPU until it is dropped.
#[derive(Debug)]
pub struct OneCpu {
    before: CpuSet,
    /// It is this thread's.
    _one_thread: PhantomData<*const ()>,
}

impl OneCpu {
    /// The CPU that this thread is on.
    #[must_use]
    pub fn current() -> usize {
        sched_getcpu()
    }

    /// Keeps this thread to `cpu`.
    ///
    /// # Errors
    /// What sched_setaffinity(2) says: that CPU may not be used.
    pub fn keep(cpu: usize) -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        if cpu >= CpuSet::MAX_CPU || !before.is_set(cpu) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one)?;
        Ok(OneCpu { before, _one_thread: PhantomData })
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        // Where CPUs have gone meanwhile, it stays where it may be.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_kept_to_one_cpu_and_let_go() {
        let before = sched_getaffinity(None).unwrap();
        for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu)) {
            let kept = OneCpu::keep(cpu).unwrap();
            assert_eq!((sched_getaffinity(None).unwrap().count(), OneCpu::current()), (1, cpu));
            drop(kept);
            assert_eq!(sched_getaffinity(None).unwrap(), before);
        }
        let forbidden = (0..CpuSet::MAX_CPU).find(|&cpu| !before.is_set(cpu));
        assert!(forbidden.is_none_or(|cpu| OneCpu::keep(cpu).is_err()) && OneCpu::keep(usize::MAX).is_err());
    }
}
