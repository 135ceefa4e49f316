//! Divides the memory of a snapshot into segments, and finds the pages that every launch writes to.

use std::ops::Range;

use steady_preload::table::{Ahead, Protection as Reprotected};

use super::elf::{EXECUTE, READ, WRITE};
use crate::captured::{Protection, Refusal, Region, Snapshot};
use crate::image::Part;

/// The size of a page, in bytes. The kernel maps whole pages.
pub(super) const PAGE: u64 = 4096;
/// Runs of at least this many zero pages are not stored. The kernel provides them, at the cost of one more mapping.
const ZEROS: usize = 16;

/// Contiguous memory with the same protection.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) address: u64,
    pub(super) flags: u32,
    /// Its content, up to the final zeros.
    pub(super) bytes: Vec<Part>,
    /// The number of zero bytes that follow.
    pub(super) zeros: u64,
}

impl Segment {
    /// Returns the number of bytes in the file.
    pub(super) fn held(&self) -> u64 {
        self.bytes.iter().map(|part| part.len() as u64).sum()
    }

    fn end(&self) -> u64 {
        self.address + self.held() + self.zeros
    }
}

/// Returns the segments in the order of addresses, and the ranges that the stub must protect again after patching.
pub(super) fn segments(snapshot: &Snapshot) -> Result<(Vec<Segment>, Vec<Reprotected>), Refusal> {
    let mut segments: Vec<Segment> = vec![];
    let mut protections = vec![];
    for region in &snapshot.captured.regions {
        if !region.address.is_multiple_of(PAGE) || !(region.bytes.len() as u64).is_multiple_of(PAGE) {
            return Err(Refusal(format!("its memory at {:#x} is not made of whole pages", region.address)));
        }
        let Some(flags) = flags(region)? else { continue };
        if flags & WRITE != 0 {
            written(&mut segments, region, flags);
            continue;
        }
        let patched = patched(snapshot, region);
        let (start, end) = patched.unwrap_or((region.bytes.len(), region.bytes.len()));
        push(&mut segments, region, flags, 0..start);
        push(&mut segments, region, flags | WRITE, start..end);
        push(&mut segments, region, flags, end..region.bytes.len());
        if patched.is_some() {
            let (address, bytes) = (region.address + start as u64, (end - start) as u64);
            protections.push(Reprotected { address, bytes, protection: for_mprotect(region.protection) });
        }
    }
    Ok((segments, protections))
}

/// Returns the protection as a program header has it; `None` if the memory need not be mapped.
fn flags(region: &Region) -> Result<Option<u32>, Refusal> {
    let Protection { read, write, execute } = region.protection;
    if !read && !write && !execute {
        // Without any access, a file mapping is a hole between the segments of a library. An anonymous mapping is a
        // reservation that the program will use later.
        let hole = region.file.is_some();
        return if hole { Ok(None) } else { Err(Refusal(format!("it reserves memory at {:#x}", region.address))) };
    }
    Ok(Some(if read { READ } else { 0 } | if write { WRITE } else { 0 } | if execute { EXECUTE } else { 0 }))
}

/// Returns the protection as mprotect(2) has it, with other bits than a program header.
fn for_mprotect(protection: Protection) -> u64 {
    u64::from(protection.read) | u64::from(protection.write) << 1 | u64::from(protection.execute) << 2
}

/// Returns the range of pages from the first patch in a region to the last, in bytes from its start.
fn patched(snapshot: &Snapshot, region: &Region) -> Option<(usize, usize)> {
    let end = region.address + region.bytes.len() as u64;
    let mut within = snapshot.patches.iter().map(|patch| patch.address).filter(|at| (region.address..end).contains(at));
    let first = within.next()?;
    let last = within.next_back().unwrap_or(first);
    let page = |address: u64| (address - region.address) / PAGE;
    Some(((page(first) * PAGE) as usize, ((page(last) + 1) * PAGE) as usize))
}

/// Appends writable memory. Long runs of zero pages are not stored, because the kernel can provide them.
fn written(segments: &mut Vec<Segment>, region: &Region, flags: u32) {
    let page = PAGE as usize;
    let pages: Vec<bool> = region.bytes.chunks(page).map(|page| page.iter().all(|byte| *byte == 0)).collect();
    let mut at = 0;
    for run in pages.chunk_by(|one, other| one == other) {
        let (start, end) = (at * page, (at + run.len()) * page);
        at += run.len();
        if run[0] && run.len() >= ZEROS && flags & EXECUTE == 0 {
            append(segments, region.address + start as u64, flags, None, (end - start) as u64);
        } else {
            push(segments, region, flags, start..end);
        }
    }
}

/// Appends a part of a region.
fn push(segments: &mut Vec<Segment>, region: &Region, flags: u32, range: Range<usize>) {
    if !range.is_empty() {
        let address = region.address + range.start as u64;
        append(segments, address, flags, Some(Part { bytes: region.bytes.clone(), range }), 0);
    }
}

/// Extends the last segment if the new part continues it, or begins another segment.
fn append(segments: &mut Vec<Segment>, address: u64, flags: u32, part: Option<Part>, zeros: u64) {
    let goes_on = segments
        .last()
        .is_some_and(|last| last.end() == address && last.flags == flags && (last.zeros == 0 || part.is_none()));
    if !goes_on {
        segments.push(Segment { address, flags, ..Segment::default() });
    }
    if let Some(last) = segments.last_mut() {
        last.bytes.extend(part);
        last.zeros += zeros;
    }
}

/// The maximum number of pages to populate together. Of longer runs, a launch may not write to all pages.
const MOST: usize = 8;

/// Returns the pages that the stub writes to, with adjacent non-zero pages. These have the variables of the C library
/// and of the loader, which every program writes to when it starts.
pub(super) fn ahead(snapshot: &Snapshot, segments: &[Segment]) -> Vec<Ahead> {
    let written = segments.iter().filter(|segment| segment.flags & WRITE != 0);
    written.flat_map(|segment| stretches(snapshot, segment)).collect()
}

fn stretches(snapshot: &Snapshot, segment: &Segment) -> Vec<Ahead> {
    let pages = segment.bytes.iter().flat_map(|part| part.chunks(PAGE as usize));
    let held: Vec<bool> = pages.map(|page| page.iter().any(|byte| *byte != 0)).collect();
    let mut stretches = vec![];
    let mut address = segment.address;
    for run in held.chunk_by(|one, other| one == other) {
        let bytes = run.len() as u64 * PAGE;
        let patched = || snapshot.patches.iter().any(|patch| (address..address + bytes).contains(&patch.address));
        if run[0] && (2..=MOST).contains(&run.len()) && patched() {
            stretches.push(Ahead { address, bytes });
        }
        address += bytes;
    }
    stretches
}
