//! Where the store is out of reach: programs are started without the hook.

use core::ffi::c_char;
use core::ptr;

use super::calls::AT_FDCWD;
use super::launch::Launch;
use super::scratch::Mapped;
use super::start::{Given, How, WELL, Wanted};
use super::{environment, store};

/// Of longer environments the hook is not taken out; most are short.
const FEW: usize = 64;
const MOST: usize = 512;

/// Prepares to start a program without the hook in its environment: after chroot(2), in another mount namespace, as another user
/// the loader could not open it, and would complain. Returns whether it can be started so.
pub(crate) fn prepare(wanted: &Wanted<'_>, launch: &mut Launch) -> bool {
    wanted.flags == 0 && wanted.folder == AT_FDCWD && launch.add(wanted.path.to_bytes())
}

/// Starts it. Returns whether it was started.
pub(crate) fn start(mapped: Mapped, given: Given, how: How<'_>) -> bool {
    match environment::entries(given.environment).take(MOST).count() {
        0..FEW => start_with::<FEW>(mapped, given, how),
        FEW..MOST => start_with::<MOST>(mapped, given, how),
        _ => false,
    }
}

#[inline(never)]
fn start_with<const ROOM: usize>(mut mapped: Mapped, given: Given, how: How<'_>) -> bool {
    let Some(hook) = store::find() else { return false };
    let Given { arguments, environment, .. } = given;
    let launch = mapped.get().launch.clone();
    drop(mapped);
    let mut kept = [ptr::null::<c_char>(); ROOM];
    let is_hook = |entry: &[u8]| entry.strip_prefix(b"LD_PRELOAD=") == Some(hook.to_bytes());
    let others = environment::entries(environment).filter(|entry| !is_hook(entry.to_bytes()));
    let mut count = 0;
    for (entry, place) in others.zip(kept.iter_mut().take(ROOM - 1)) {
        *place = entry.as_ptr();
        count += 1;
    }
    // Nothing is lost but the hook.
    count < environment::entries(environment).count() && launch.execute(arguments, kept.as_ptr(), how) == WELL
}
