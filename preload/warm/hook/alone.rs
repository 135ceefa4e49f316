//! Where the store is out of reach: programs are started without the hook.

use core::ffi::c_char;
use core::ptr;

use super::calls::AT_FDCWD;
use super::start::{How, WELL, Wanted};
use super::{environment, store};

/// Of longer environments the hook is not taken out.
const MOST: usize = 512;

/// Starts a program without the hook in its environment: after chroot(2), in another mount namespace, as another user the
/// loader could not open it, and would complain. Whether it was started.
#[inline(never)]
pub(crate) fn start(wanted: &Wanted<'_>, how: How<'_>) -> bool {
    let Some(hook) = store::find() else { return false };
    if wanted.flags != 0 || wanted.folder != AT_FDCWD {
        return false;
    }
    let mut kept = [ptr::null::<c_char>(); MOST];
    let is_hook = |entry: &[u8]| entry.strip_prefix(b"LD_PRELOAD=") == Some(hook.to_bytes());
    let entries = || environment::entries(wanted.environment);
    let others = entries().filter(|entry| !is_hook(entry.to_bytes()));
    let (all, mut count) = (entries().take(MOST).count(), 0);
    for (entry, place) in others.zip(kept.iter_mut().take(MOST - 1)) {
        *place = entry.as_ptr();
        count += 1;
    }
    // Nothing is lost but the hook.
    all < MOST && count < all && how(wanted.path, wanted.arguments, kept.as_ptr()) == WELL
}
