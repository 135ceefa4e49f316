//! Reads properties of the program from its memory: its file, its loader's file, its headers, and the word by which the
//! loader remembers how functions are bound.

use std::path::{Path, PathBuf};

use crate::captured::{Captured, Refusal, Region};

const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const AT_BASE: u64 = 7;

const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;
const PT_GNU_STACK: u32 = 0x6474_e551;
const EXECUTABLE: u32 = 1;

/// Returns the program's file.
pub(super) fn path(captured: &Captured) -> Result<PathBuf, Refusal> {
    let region = auxiliary(captured, AT_PHDR).and_then(|address| region_at(captured, address));
    let path = region.and_then(|region| Some(region.file.as_ref()?.0.clone()));
    path.ok_or_else(|| Refusal("its file is not mapped where the kernel reports it".into()))
}

/// Returns whether the region is mapped from the loader's file.
pub(super) fn is_loaders(captured: &Captured, region: &Region) -> bool {
    let loader = auxiliary(captured, AT_BASE).and_then(|address| region_at(captured, address));
    let file = |region: &Region| region.file.as_ref().map(|(path, _)| path.clone());
    loader.is_some_and(|loader| file(loader).is_some() && file(loader) == file(region))
}

/// Returns the address and length of the program's dynamic section.
pub(super) fn dynamic(captured: &Captured) -> Result<Option<(u64, u64)>, Refusal> {
    let headers = headers(captured);
    let stack = headers.iter().find(|header| header.kind == PT_GNU_STACK);
    if stack.is_none_or(|stack| stack.flags & EXECUTABLE != 0) {
        return Err(Refusal("its stack is executable".into()));
    }
    let own = headers.iter().find(|header| header.kind == PT_PHDR);
    let bias = own.and_then(|own| Some(auxiliary(captured, AT_PHDR)?.wrapping_sub(own.address)));
    let section = headers.iter().find(|header| header.kind == PT_DYNAMIC);
    Ok(section.zip(bias).map(|(section, bias)| (section.address.wrapping_add(bias), section.bytes)))
}

/// A program header in memory.
struct Header {
    kind: u32,
    flags: u32,
    address: u64,
    bytes: u64,
}

/// Reads the program's headers, as far as they are in a region.
fn headers(captured: &Captured) -> Vec<Header> {
    let Some(address) = auxiliary(captured, AT_PHDR) else { return vec![] };
    let Some(region) = region_at(captured, address) else { return vec![] };
    let bytes = &region.bytes[(address - region.address) as usize..];
    let count = auxiliary(captured, AT_PHNUM).unwrap_or(0) as usize;
    let header = |bytes: &[u8; 56]| {
        let word = |at: usize| (0..8).rev().fold(0, |word, byte| word << 8 | u64::from(bytes[at + byte]));
        Header { kind: word(0) as u32, flags: (word(0) >> 32) as u32, address: word(16), bytes: word(40) }
    };
    bytes.as_chunks().0.iter().take(count).map(header).collect()
}

fn auxiliary(captured: &Captured, kind: u64) -> Option<u64> {
    captured.stack.auxiliary.1.iter().find(|pair| pair.0 == kind).map(|pair| pair.1)
}

fn region_at(captured: &Captured, address: u64) -> Option<&Region> {
    captured
        .regions
        .iter()
        .find(|region| (region.address..region.address + region.bytes.len() as u64).contains(&address))
}

/// The refusal for a word that differs without a known reason.
pub(super) fn unexplained(region: &Region, offset: u64, values: [u64; 2]) -> Refusal {
    let place = match &region.file {
        Some((path, start)) => format!("{} at {:#x}", Path::display(path), start + offset),
        None if region.heap => format!("its heap at {:#x}", region.address + offset),
        None => format!("its memory at {:#x}", region.address + offset),
    };
    let [one, two] = values;
    Refusal(format!("a word of {place} differs between captures for no known reason: {one:#x}, {two:#x}"))
}

/// The position of a word of 4 bytes in the loader's memory: 0 if functions are bound immediately, 1 if late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    region: usize,
    offset: usize,
}

impl Flag {
    /// Finds the only word of the loader's constants that is 0 in both captures with immediate binding, and 1 in the
    /// one with late binding.
    pub(super) fn find(one: &Captured, two: &Captured, unbound: &Captured) -> Result<Flag, Refusal> {
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
            _ => Err(Refusal("the word by which its loader remembers late binding cannot be identified".into())),
        }
    }

    /// Restores late binding in a capture.
    pub(super) fn restore(self, captured: &mut Captured) {
        captured.regions[self.region].bytes[self.offset..self.offset + 4].copy_from_slice(&1_u32.to_le_bytes());
    }
}

/// Returns the regions of a capture with the loader's constants.
pub fn constants_of_loader(captured: &Captured) -> impl Iterator<Item = &Region> {
    captured.regions.iter().filter(|region| constants(captured, region))
}

/// Returns whether `unbound` is enough to find the word by which the loader of `captured` remembers late binding.
#[must_use]
pub fn shows_binding(captured: &Captured, unbound: &Captured) -> bool {
    Flag::find(captured, captured, unbound).is_ok()
}

/// Returns whether a region has memory that the loader writes while it starts, and then protects.
fn constants(captured: &Captured, region: &Region) -> bool {
    let protection = region.protection;
    is_loaders(captured, region) && protection.read && !protection.write && !protection.execute
}
