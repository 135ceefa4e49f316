//! From two takes of a program to its snapshots: what differs between them, and why.
//!
//! The takes had everything different that a launch can make different: where things lie, how many arguments there are, how
//! long name and environment are, the random bytes. A word that is equal in both is a constant. One that differs must have
//! the same reason in both; if it has none, the program is not kept warm.

mod layout;
mod program;
mod words;

#[cfg(test)]
mod tests;

use steady_preload::table::{Patch, kind};

pub use program::{constants_of_loader, shows_binding};

use self::layout::Layout;
use self::words::Words;
use super::taken::{Refusal, Region, Taken};
use crate::taken::Snapshot;
use layout::Launch;

const PAGE: usize = 4096;

/// The snapshots of two takes. If functions were bound at once in them (`LD_BIND_NOW`), `unbound` is a take in which they
/// were not, of which what [`constants_of_loader`] tells is enough: it shows what has to be put back, so that libraries that
/// the program loads later are bound as usual.
///
/// # Errors
/// What differs without a reason, or cannot be made anew.
pub fn compose(first: &Taken, second: &Taken, unbound: Option<&Taken>) -> Result<(Snapshot, Snapshot), Refusal> {
    let mut takes = [first.clone(), second.clone()];
    let patches = differences(&takes[0], &takes[1])?;
    if let Some(unbound) = unbound {
        let flag = program::Flag::find(&takes[0], &takes[1], unbound)?;
        takes.iter_mut().for_each(|taken| flag.put_back(taken));
    }
    let [one, two] = takes;
    let [for_one, for_two] = patches;
    Ok((snapshot(one, for_one)?, snapshot(two, for_two)?))
}

fn snapshot(taken: Taken, patches: Vec<Patch>) -> Result<Snapshot, Refusal> {
    let program = program::path(&taken)?;
    let dynamic = program::dynamic(&taken)?;
    Ok(Snapshot { taken, program, dynamic, patches })
}

/// The patches of both takes.
fn differences(one: &Taken, two: &Taken) -> Result<[Vec<Patch>; 2], Refusal> {
    if one.thread.floating_point != two.thread.floating_point {
        return Err(Refusal("its floating-point units are set otherwise at each launch".into()));
    }
    let layout = Layout::new(one, two)?;
    let launches = [Launch::new(one)?, Launch::new(two)?];
    let words = Words::new(&layout, &launches)?;
    let mut patches = [vec![], vec![]];
    for pair in one.regions.iter().zip(&two.regions) {
        compare(&words, pair, &mut patches)?;
    }
    // The heap's end is also the end of what was allocated last; which of two words means which cannot be seen.
    let ends = patches[0].iter().filter(|patch: &&Patch| patch.kind == kind::BREAK).count();
    if ends > 1 && one.regions.iter().any(|region| region.heap) {
        return Err(Refusal("it keeps the end of its heap in several places".into()));
    }
    Ok(patches)
}

/// Adds the patches of one region to those of both takes.
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
