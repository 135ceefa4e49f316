//! What a program's memory says about the program: its file, its loader's, its headers, and whether functions are bound when
//! they are first called.

use std::path::{Path, PathBuf};

use crate::taken::{Refusal, Region, Taken};

const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const AT_BASE: u64 = 7;

const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;
const PT_GNU_STACK: u32 = 0x6474_e551;
const EXECUTABLE: u32 = 1;

/// The program's file.
pub(super) fn path(taken: &Taken) -> Result<PathBuf, Refusal> {
    let region = told(taken, AT_PHDR).and_then(|address| holding(taken, address));
    let path = region.and_then(|region| Some(region.file.as_ref()?.0.clone()));
    path.ok_or_else(|| Refusal("where its program lies in its memory cannot be told".into()))
}

/// Whether the region was mapped from the loader's file.
pub(super) fn is_loaders(taken: &Taken, region: &Region) -> bool {
    let loader = told(taken, AT_BASE).and_then(|address| holding(taken, address));
    let file = |region: &Region| region.file.as_ref().map(|(path, _)| path.clone());
    loader.is_some_and(|loader| file(loader).is_some() && file(loader) == file(region))
}

/// Where the program's dynamic section lies, and how long it is.
pub(super) fn dynamic(taken: &Taken) -> Result<Option<(u64, u64)>, Refusal> {
    let headers = headers(taken);
    let stack = headers.iter().find(|header| header.kind == PT_GNU_STACK);
    if stack.is_none_or(|stack| stack.flags & EXECUTABLE != 0) {
        return Err(Refusal("its stack is executable".into()));
    }
    let own = headers.iter().find(|header| header.kind == PT_PHDR);
    let bias = own.and_then(|own| Some(told(taken, AT_PHDR)?.wrapping_sub(own.address)));
    let section = headers.iter().find(|header| header.kind == PT_DYNAMIC);
    Ok(section.zip(bias).map(|(section, bias)| (section.address.wrapping_add(bias), section.bytes)))
}

/// A program header as it stands in memory.
struct Header {
    kind: u32,
    flags: u32,
    address: u64,
    bytes: u64,
}

/// The program's headers, as far as they can be read.
fn headers(taken: &Taken) -> Vec<Header> {
    let Some(address) = told(taken, AT_PHDR) else { return vec![] };
    let Some(region) = holding(taken, address) else { return vec![] };
    let bytes = &region.bytes[(address - region.address) as usize..];
    let count = told(taken, AT_PHNUM).unwrap_or(0) as usize;
    let header = |bytes: &[u8; 56]| {
        let word = |at: usize| (0..8).rev().fold(0, |word, byte| word << 8 | u64::from(bytes[at + byte]));
        Header { kind: word(0) as u32, flags: (word(0) >> 32) as u32, address: word(16), bytes: word(40) }
    };
    bytes.as_chunks().0.iter().take(count).map(header).collect()
}

fn told(taken: &Taken, kind: u64) -> Option<u64> {
    taken.stack.auxiliary.1.iter().find(|pair| pair.0 == kind).map(|pair| pair.1)
}

fn holding(taken: &Taken, address: u64) -> Option<&Region> {
    taken.regions.iter().find(|region| (region.address..region.address + region.bytes.len() as u64).contains(&address))
}

/// That a word differs, and nobody knows why.
pub(super) fn unexplained(region: &Region, offset: u64, values: [u64; 2]) -> Refusal {
    let place = match &region.file {
        Some((path, start)) => format!("{} at {:#x}", Path::display(path), start + offset),
        None if region.heap => format!("its heap at {:#x}", region.address + offset),
        None => format!("its memory at {:#x}", region.address + offset),
    };
    let [one, two] = values;
    Refusal(format!("a word of {place} is another at each launch, for no known reason: {one:#x}, {two:#x}"))
}

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
    is_loaders(taken, region) && protection.read && !protection.write && !protection.execute
}
