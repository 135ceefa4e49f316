//! Memory for data that is too large for the smallest stacks.
//!
//! It is released before a program is executed, because the child of vfork(2) shares its parent's memory.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::buffer::PathBuffer;
use super::calls;
use super::card::LONGEST_CARD;
use super::launch::{Launch, Script};

/// What a decision needs. Zeroed memory is a valid value. The fields that every launch uses come first.
#[repr(C)]
pub(crate) struct Memory {
    /// A path in the store.
    pub(crate) store: PathBuffer,
    /// The first line of a script.
    pub(crate) script: Script,
    /// The bytes of a card.
    pub(crate) card: [u8; LONGEST_CARD],
    /// The target of a symbolic link, or a working directory.
    pub(crate) link: PathBuffer,
}

/// [`Memory`], with a buffer for the path of a program found in PATH, and what is going to be executed.
#[repr(C)]
pub(crate) struct Scratch {
    pub(crate) launch: Launch,
    pub(crate) memory: Memory,
    pub(crate) found: PathBuffer,
}

impl Scratch {
    /// Resets a value that was used before.
    fn clear(&mut self) {
        let Memory { store, script, link, .. } = &mut self.memory;
        self.launch.clear();
        script.clear();
        for path in [store, link, &mut self.found] {
            path.clear();
        }
    }
}

/// A mapping that is not in use, kept for the next launch; null for none.
static KEPT: AtomicPtr<Scratch> = AtomicPtr::new(ptr::null_mut());

/// A mapping that holds a [`Scratch`]. When dropped, it is kept for the next launch or unmapped.
pub(crate) struct Mapped(*mut Scratch);

impl Mapped {
    /// Returns the kept mapping, or a new one; none if memory cannot be mapped.
    pub(crate) fn new() -> Option<Self> {
        let kept = KEPT.swap(ptr::null_mut(), Ordering::AcqRel);
        if !kept.is_null() {
            let mut mapped = Mapped(kept);
            mapped.get().clear();
            return Some(mapped);
        }
        calls::map_memory(size_of::<Scratch>()).ok().map(|address| Mapped(address.cast()))
    }

    pub(crate) fn get(&mut self) -> &mut Scratch {
        // SAFETY: this value owns the mapping, which has the size of a `Scratch`; zeroed memory is a valid one.
        unsafe { &mut *self.0 }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if KEPT.compare_exchange(ptr::null_mut(), self.0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: nothing borrows from the mapping any more.
            unsafe { calls::unmap(self.0.cast(), size_of::<Scratch>()) };
        }
    }
}
