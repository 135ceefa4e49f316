//! Pointers that a caller gave: execve(2) says EFAULT of one that leads nowhere, and so must the program with the hook in it.
//! Which do cannot be known; but those that are used to find out what the kernel says can be told by sight.

/// Where the addresses of programs begin, and where they end: the lowest are never mapped.
const OF_PROGRAMS: core::ops::Range<usize> = 1 << 12..1 << 47;

/// Whether it could lead to something; one that is null cannot.
pub(crate) fn may_lead<T>(pointer: *const T) -> bool {
    OF_PROGRAMS.contains(&pointer.addr())
}
