//! Memory for what is too large for the smallest stacks.
//!
//! It is given back before the program is executed: the child of vfork(2) has the memory of its parent, which goes on with it.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::buffer::PathBuffer;
use super::calls;
use super::card::LONGEST_CARD;
use super::launch::Launch;
use super::script::Script;

/// What a decision needs. All of it is zeros in the beginning. The first fields are the ones that each launch uses.
#[repr(C)]
pub(crate) struct Memory {
    /// A path in the store.
    pub(crate) store: PathBuffer,
    /// What the first line of a script says.
    pub(crate) script: Script,
    /// The card of a program.
    pub(crate) card: [u8; LONGEST_CARD],
    /// What a symbolic link holds, or a working directory.
    pub(crate) link: PathBuffer,
}

/// The same, with room for the path of a program that was searched for, and what is executed in the end.
#[repr(C)]
pub(crate) struct Scratch {
    pub(crate) launch: Launch,
    pub(crate) memory: Memory,
    pub(crate) found: PathBuffer,
}

impl Scratch {
    /// Forgets what it was used for before.
    fn clear(&mut self) {
        let Memory { store, script, link, .. } = &mut self.memory;
        self.launch.clear();
        script.clear();
        for path in [store, link, &mut self.found] {
            path.clear();
        }
    }
}

/// One that nobody uses now: the next launch saves the mapping. It is null while it is used.
static KEPT: AtomicPtr<Scratch> = AtomicPtr::new(ptr::null_mut());

/// A mapping that holds a [`Scratch`], kept or unmapped at its end.
pub(crate) struct Mapped(*mut Scratch);

impl Mapped {
    /// The one that is kept, or a new one; `None` where there is no memory, or a limit on it.
    pub(crate) fn new() -> Option<Self> {
        let kept = KEPT.swap(ptr::null_mut(), Ordering::AcqRel);
        if !kept.is_null() {
            let mut mapped = Mapped(kept);
            mapped.get().clear();
            return Some(mapped);
        }
        calls::map_memory(size_of::<Scratch>()).ok().map(|place| Mapped(place.cast()))
    }

    pub(crate) fn get(&mut self) -> &mut Scratch {
        // SAFETY: the mapping is this long and this value's own; zeros are a valid `Scratch`.
        unsafe { &mut *self.0 }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if KEPT.compare_exchange(ptr::null_mut(), self.0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: what was borrowed from it is gone.
            unsafe { calls::unmap(self.0.cast(), size_of::<Scratch>()) };
        }
    }
}
