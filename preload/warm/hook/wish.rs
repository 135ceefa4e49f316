//! Tells the keeper that a program would be started from a snapshot if there were one.

use super::buffer::{PathBuffer, of_descriptor};
use super::calls::{self, AT_FDCWD};
use super::card::demand;
use super::counted;
use super::identity::Identity;
use super::start::Wanted;
use super::store::Store;

/// Makes the wish, if the program's path can be told.
#[inline(never)]
pub(crate) fn make(wanted: &Wanted<'_>, program: &Identity, store: &mut Store<'_>, path: &mut PathBuffer) {
    counted::add_at(store, demand(program));
    let key = &program.key();
    if wanted.flags == 0 && wanted.path.to_bytes().starts_with(b"/") {
        return store.wish(key, wanted.path);
    }
    let started = if wanted.folder == AT_FDCWD { working_folder(path) } else { of(wanted.folder, path) };
    // What cannot be reached from the root begins with another letter.
    if !started || !path.bytes().starts_with(b"/") {
        return;
    }
    if wanted.flags == 0 {
        path.push(b"/").push(wanted.path.to_bytes());
    }
    if let Some(path) = path.path() {
        store.wish(key, path);
    }
}

fn working_folder(path: &mut PathBuffer) -> bool {
    // Its length is told with the zero at its end.
    path.fill(|place| calls::getcwd(place).map(|length| length.saturating_sub(1)))
}

fn of(descriptor: i32, path: &mut PathBuffer) -> bool {
    of_descriptor(descriptor).path().is_some_and(|link| path.fill(|place| calls::readlink(link, place)))
}
