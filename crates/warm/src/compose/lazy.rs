//! The loader's note that functions are bound when they are first called.

use super::program;
use crate::taken::{Refusal, Region, Taken};

/// Where in the memory of the loader it stands: a word of 4 bytes, 0 if functions are bound at once and 1 otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    region: usize,
    offset: usize,
}

impl Flag {
    /// The only word of the loader's constants that is 0 in both takes in which functions were bound at once, and 1 in the one
    /// in which they were not.
    pub(super) fn find(one: &Taken, two: &Taken, unbound: &Taken) -> Result<Flag, Refusal> {
        let mut found = vec![];
        for (region, left) in one.regions.iter().enumerate().filter(|(_, region)| constants(one, region)) {
            let same = |other: &&Region| other.file == left.file && other.bytes.len() == left.bytes.len();
            let Some(right) = two.regions.get(region).filter(same) else { continue };
            let Some(third) = unbound.regions.iter().find(|other| same(other) && !other.protection.write) else {
                continue;
            };
            let halves =
                |region: &Region| region.bytes.as_chunks().0.iter().map(|half| u32::from_le_bytes(*half)).collect();
            let [left, right, third]: [Vec<u32>; 3] = [left, right, third].map(halves);
            let flags = (0..left.len()).filter(|at| [left[*at], right[*at], third[*at]] == [0, 0, 1]);
            found.extend(flags.map(|at| Flag { region, offset: at * 4 }));
        }
        match found[..] {
            [flag] => Ok(flag),
            _ => Err(Refusal("how its loader notes that functions are bound late cannot be told".into())),
        }
    }

    /// Says that functions are bound when they are first called.
    pub(super) fn put_back(self, taken: &mut Taken) {
        taken.regions[self.region].bytes[self.offset..self.offset + 4].copy_from_slice(&1_u32.to_le_bytes());
    }
}

/// The memory of a take's loader among which the note is.
pub fn constants_of_loader(taken: &Taken) -> impl Iterator<Item = &Region> {
    taken.regions.iter().filter(|region| constants(taken, region))
}

/// Whether `unbound` shows by itself where the note is in what was taken.
#[must_use]
pub fn shows_binding(taken: &Taken, unbound: &Taken) -> bool {
    Flag::find(taken, taken, unbound).is_ok()
}

/// Whether it holds what the loader writes while it loads, and never again.
fn constants(taken: &Taken, region: &Region) -> bool {
    let protection = region.protection;
    program::is_loaders(taken, region) && protection.read && !protection.write && !protection.execute
}
