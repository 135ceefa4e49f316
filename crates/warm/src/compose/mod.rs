//! Creates snapshots from two captures of a program: finds the words that differ, and the reason for each difference.
//!
//! Everything that a launch can make different is different in the two captures: addresses, number of arguments,
//! lengths of name and environment, random bytes. A word that is equal in both is a constant. A word that differs must
//! have the same reason in both; otherwise the program is refused.

mod layout;
mod program;
mod words;

#[cfg(test)]
mod tests;

use steady_preload::table::{Patch, kind};

pub use program::{constants_of_loader, shows_binding};

use self::layout::Layout;
use self::words::Words;
use super::captured::{Captured, Refusal, Region};
use crate::captured::Snapshot;
use layout::LaunchValues;

const PAGE: usize = 4096;

/// Creates the snapshots of two captures. If functions were bound immediately in them (`LD_BIND_NOW`), `unbound` is a
/// capture with late binding, of which the regions of [`constants_of_loader`] suffice. It shows the word to restore, so
/// that libraries that the program loads later are bound as usual.
///
/// # Errors
/// A difference without a known reason, or one that a launch cannot create again.
pub fn compose(
    first: &Captured,
    second: &Captured,
    unbound: Option<&Captured>,
) -> Result<(Snapshot, Snapshot), Refusal> {
    let mut captures = [first.clone(), second.clone()];
    let patches = differences(&captures[0], &captures[1])?;
    if let Some(unbound) = unbound {
        let flag = program::Flag::find(&captures[0], &captures[1], unbound)?;
        captures.iter_mut().for_each(|captured| flag.restore(captured));
    }
    let [one, two] = captures;
    let [for_one, for_two] = patches;
    Ok((snapshot(one, for_one)?, snapshot(two, for_two)?))
}

fn snapshot(captured: Captured, patches: Vec<Patch>) -> Result<Snapshot, Refusal> {
    let program = program::path(&captured)?;
    let dynamic = program::dynamic(&captured)?;
    Ok(Snapshot { captured, program, dynamic, patches })
}

/// Returns the patches of both captures.
fn differences(one: &Captured, two: &Captured) -> Result<[Vec<Patch>; 2], Refusal> {
    if one.thread.floating_point != two.thread.floating_point {
        return Err(Refusal("its floating-point state differs between captures".into()));
    }
    let layout = Layout::new(one, two)?;
    let launches = [LaunchValues::new(one)?, LaunchValues::new(two)?];
    let words = Words::new(&layout, &launches)?;
    let mut patches = [vec![], vec![]];
    for pair in one.regions.iter().zip(&two.regions) {
        compare(&words, pair, &mut patches)?;
    }
    // The end of the heap may also be the end of the last allocation. With two such words, their meanings are unknown.
    let ends = patches[0].iter().filter(|patch: &&Patch| patch.kind == kind::BREAK).count();
    if ends > 1 && one.regions.iter().any(|region| region.heap) {
        return Err(Refusal("it stores the end of its heap in several places".into()));
    }
    Ok(patches)
}

/// Compares one region of both captures and adds its patches.
fn compare(words: &Words, pair: (&Region, &Region), patches: &mut [Vec<Patch>; 2]) -> Result<(), Refusal> {
    let (one, two) = pair;
    let pages = one.bytes.chunks(PAGE).zip(two.bytes.chunks(PAGE)).enumerate();
    for (page, (left, right)) in pages.filter(|(_, (left, right))| left != right) {
        let both = left.as_chunks().0.iter().zip(right.as_chunks().0).enumerate();
        for (word, (left, right)) in both.filter(|(_, (left, right))| left != right) {
            let values = [u64::from_le_bytes(*left), u64::from_le_bytes(*right)];
            let offset = (page * PAGE + word * 8) as u64;
            let places = [one.address + offset, two.address + offset];
            let made = words.explain(places, values).ok_or_else(|| program::unexplained(one, offset, values))?;
            for made in made {
                for (side, place) in places.into_iter().enumerate() {
                    let address = place + made.at;
                    patches[side].push(Patch {
                        address,
                        kind: made.kind,
                        bytes: made.bytes,
                        addend: made.addends[side],
                    });
                }
            }
        }
    }
    Ok(())
}
