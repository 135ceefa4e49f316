//! Which memory becomes which segment, and which memory every launch is going to write to.

use std::ops::Range;

use steady_preload::table::{Ahead, Protection as Reprotected};

use super::elf::{EXECUTE, READ, WRITE};
use crate::image::Part;
use crate::taken::{Protection, Refusal, Region, Snapshot};

/// The kernel maps whole ones.
pub(super) const PAGE: u64 = 4096;
/// So many pages of zeros in a row are not stored: the kernel gives them, as one more mapping.
const ZEROS: usize = 16;

/// Memory of the same rights, in one piece.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) address: u64,
    pub(super) flags: u32,
    /// What it holds, up to zeros.
    pub(super) bytes: Vec<Part>,
    /// How many bytes of zeros follow.
    pub(super) zeros: u64,
}

impl Segment {
    /// How many bytes stand in the file.
    pub(super) fn held(&self) -> u64 {
        self.bytes.iter().map(|part| part.len() as u64).sum()
    }

    fn end(&self) -> u64 {
        self.address + self.held() + self.zeros
    }
}

/// The segments in the order of addresses, and what is to be protected again once it is patched.
pub(super) fn segments(snapshot: &Snapshot) -> Result<(Vec<Segment>, Vec<Reprotected>), Refusal> {
    let mut segments: Vec<Segment> = vec![];
    let mut protections = vec![];
    for region in &snapshot.taken.regions {
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

/// The rights as a program header has them; none where the memory need not be there.
fn flags(region: &Region) -> Result<Option<u32>, Refusal> {
    let Protection { read, write, execute } = region.protection;
    if !read && !write && !execute {
        // A hole between the segments of a library: nothing can be done with it. What has no file was reserved by
        // someone who is going to use it.
        let hole = region.file.is_some();
        return if hole { Ok(None) } else { Err(Refusal(format!("it reserved memory at {:#x}", region.address))) };
    }
    Ok(Some(if read { READ } else { 0 } | if write { WRITE } else { 0 } | if execute { EXECUTE } else { 0 }))
}

/// As mprotect(2) has it: the same rights in another order.
fn for_mprotect(protection: Protection) -> u64 {
    u64::from(protection.read) | u64::from(protection.write) << 1 | u64::from(protection.execute) << 2
}

/// The pages of a region from the first that carries a patch to the last, in bytes from its start.
fn patched(snapshot: &Snapshot, region: &Region) -> Option<(usize, usize)> {
    let end = region.address + region.bytes.len() as u64;
    let mut within = snapshot.patches.iter().map(|patch| patch.address).filter(|at| (region.address..end).contains(at));
    let first = within.next()?;
    let last = within.next_back().unwrap_or(first);
    let page = |address: u64| (address - region.address) / PAGE;
    Some(((page(first) * PAGE) as usize, ((page(last) + 1) * PAGE) as usize))
}

/// Memory that can be written: long stretches of zeros are left to the kernel, who gives them with these very rights.
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

/// Appends to the last segment what goes on with it, or begins another.
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

/// Longer stretches of pages are left to be touched: not all of them may be.
const MOST: usize = 8;

/// The pages that the stub writes to, together with those beside them that hold something: the variables of the C library and
/// of the loader, which the first steps of every program write to.
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
