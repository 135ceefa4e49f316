//! Builds the executable of a snapshot. It has no loader, and its segments are the memory of the captured program. The
//! kernel maps it, and the stub, its first code, does the rest.

mod elf;
mod segments;
#[cfg(test)]
mod tests;

use std::ops::{Deref, Range};
use std::path::Path;

use steady_preload::table::{ALIGNMENT, Ahead, MAGIC, MOST_DRAWN, Protection as Reprotected, Table};
use steady_preload::{STUB, STUB_ENTRY};

use self::elf::{HEADER_BYTES, Header, Kind, PROGRAM_HEADER_BYTES};
use self::segments::{PAGE, Segment, segments};
use super::captured::{Bytes, FloatingPoint, Protection, Refusal, Region};
use crate::captured::Snapshot;

/// The lowest address of a mapping, because `vm.mmap_min_addr` may forbid lower ones.
const LOWEST: u64 = 1 << 16;

/// The content of an executable, in parts. Most parts are the memory of a snapshot, which is not copied.
#[derive(Clone, Debug, Default)]
pub struct Image(Vec<Part>);

/// A range of captured memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    bytes: Bytes,
    range: Range<usize>,
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl Image {
    /// Returns the parts, in the order of the file.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|part| &**part)
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.parts().map(|part| part.len() as u64).sum()
    }
}

impl From<Vec<u8>> for Image {
    fn from(bytes: Vec<u8>) -> Self {
        Image(vec![Part { range: 0..bytes.len(), bytes: bytes.into() }])
    }
}

/// Builds the executable of a snapshot.
///
/// # Errors
/// The program's memory cannot be mapped from an executable.
pub fn image(snapshot: &Snapshot) -> Result<Image, Refusal> {
    let (segments, protections) = segments(snapshot)?;
    let ahead = segments::ahead(snapshot, &segments);
    let table = table(snapshot, &protections, &ahead)?;
    let others = if snapshot.dynamic.is_some() { 3 } else { 2 };
    let headers = HEADER_BYTES + PROGRAM_HEADER_BYTES * (segments.len() + 1 + others) as u64;
    let first = Start::new(snapshot, headers, &table, &protections, &ahead)?;
    let mut bytes = first.bytes;
    let mut list = vec![
        Header {
            kind: Kind::Headers,
            flags: elf::READ,
            offset: HEADER_BYTES,
            address: first.address + HEADER_BYTES,
            file_bytes: headers - HEADER_BYTES,
            memory_bytes: headers - HEADER_BYTES,
        },
        Header {
            kind: Kind::Load,
            flags: elf::READ | elf::EXECUTE,
            offset: 0,
            address: first.address,
            file_bytes: bytes.len() as u64,
            memory_bytes: bytes.len() as u64,
        },
    ];
    let mut length = (bytes.len() as u64).next_multiple_of(PAGE);
    for segment in &segments {
        list.push(header(segment, length));
        length += segment.held();
    }
    list.extend(snapshot.dynamic.map(|(address, size)| Header {
        kind: Kind::Dynamic,
        flags: elf::READ | elf::WRITE,
        offset: 0,
        address,
        file_bytes: size,
        memory_bytes: size,
    }));
    list.push(Header { kind: Kind::Stack, flags: elf::READ | elf::WRITE, ..Header::default() });
    elf::write(&mut bytes, first.entry, &list);
    if segments.iter().any(|segment| !segment.bytes.is_empty()) {
        bytes.resize(bytes.len().next_multiple_of(PAGE as usize), 0);
    }
    let mut image = Image::from(bytes);
    image.0.extend(segments.into_iter().flat_map(|segment| segment.bytes));
    Ok(image)
}

/// Returns the program header of a segment at an offset of the file.
fn header(segment: &Segment, offset: u64) -> Header {
    let held = segment.held();
    Header {
        kind: Kind::Load,
        flags: segment.flags,
        offset,
        address: segment.address,
        file_bytes: held,
        memory_bytes: held + segment.zeros,
    }
}

fn table(snapshot: &Snapshot, protections: &[Reprotected], ahead: &[Ahead]) -> Result<Table, Refusal> {
    let captured = &snapshot.captured;
    let auxiliary = |kind: u64| captured.stack.auxiliary.1.iter().find(|pair| pair.0 == kind).map_or(0, |pair| pair.1);
    let (robust_list, robust_list_bytes) = captured.thread.robust_list.unwrap_or_default();
    let (rseq, rseq_bytes, rseq_signature) = captured.thread.rseq.unwrap_or_default();
    if captured.drawn.len() > MOST_DRAWN {
        return Err(Refusal("it draws many random numbers before its entry point".into()));
    }
    Ok(Table {
        magic: MAGIC,
        entry: captured.entry,
        at_exit: captured.at_exit,
        thread: captured.thread.pointer,
        tid_address: captured.thread.tid_address,
        robust_list,
        robust_list_bytes,
        rseq,
        rseq_bytes,
        rseq_signature,
        program_headers: auxiliary(elf::AT_PHDR),
        program_header_count: auxiliary(elf::AT_PHNUM),
        program_entry: auxiliary(elf::AT_ENTRY),
        interpreter: auxiliary(elf::AT_BASE),
        program_path: 0,
        code: extent(snapshot, |region| region.protection.execute),
        data: extent(snapshot, |region| region.protection.write),
        headers: headers(snapshot),
        file: file(&snapshot.program),
        x87: x87(captured.thread.floating_point),
        mxcsr: captured.thread.floating_point.mxcsr,
        drawn: captured.drawn.len() as u64,
        patches: snapshot.patches.len() as u64,
        protections: protections.len() as u64,
        ahead: ahead.len() as u64,
    })
}

/// Returns the lowest and the highest address of the program's own regions that satisfy a condition.
fn extent(snapshot: &Snapshot, is_such: impl Fn(&Region) -> bool) -> [u64; 2] {
    let parts = || snapshot.captured.regions.iter().filter(|region| is_of_program(snapshot, region) && is_such(region));
    let end = |region: &Region| region.address + region.bytes.len() as u64;
    [parts().map(|region| region.address).min().unwrap_or(0), parts().map(end).max().unwrap_or(0)]
}

fn is_of_program(snapshot: &Snapshot, region: &Region) -> bool {
    region.file.as_ref().is_some_and(|(path, _)| *path == snapshot.program)
}

/// Returns address, length and offset of the region with the program's headers, if its content is that of the file.
fn headers(snapshot: &Snapshot) -> [u64; 3] {
    let headers =
        snapshot.captured.stack.auxiliary.1.iter().find(|pair| pair.0 == elf::AT_PHDR).map_or(0, |pair| pair.1);
    let end = |region: &Region| region.address + region.bytes.len() as u64;
    let holds = |region: &&Region| (region.address..end(region)).contains(&headers);
    let patched =
        |region: &Region| snapshot.patches.iter().any(|it| (region.address..end(region)).contains(&it.address));
    let only_read = Protection { read: true, write: false, execute: false };
    match snapshot.captured.regions.iter().find(holds) {
        Some(region) if is_of_program(snapshot, region) && region.protection == only_read && !patched(region) => {
            let offset = region.file.as_ref().map_or(0, |(_, offset)| *offset);
            [region.address, region.bytes.len() as u64, offset]
        }
        _ => [0; 3],
    }
}

/// Returns the numbers by which the stub identifies the program's file; zeros if they cannot be read.
fn file(program: &Path) -> [u64; 5] {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(program).map_or([0; 5], |file| {
        let [seconds, nanoseconds] = [file.ctime(), file.ctime_nsec()].map(i64::cast_unsigned);
        [file.dev(), file.ino(), file.len(), seconds, nanoseconds]
    })
}

/// The x87 environment in the format of FLDENV, with all registers empty.
fn x87(state: FloatingPoint) -> [u32; 7] {
    const EMPTY: u32 = 0xffff;
    [state.x87_control.into(), state.x87_status.into(), EMPTY, 0, 0, 0, 0]
}

/// The first segment: headers, stub, table and the path of the program.
struct Start {
    bytes: Vec<u8>,
    address: u64,
    entry: u64,
}

impl Start {
    fn new(
        snapshot: &Snapshot,
        headers: u64,
        table: &Table,
        protections: &[Reprotected],
        ahead: &[Ahead],
    ) -> Result<Start, Refusal> {
        let stub = headers.next_multiple_of(ALIGNMENT);
        let at = (stub + STUB.len() as u64).next_multiple_of(ALIGNMENT);
        let patches = &snapshot.patches;
        let lists = size_of_val(&patches[..]) + size_of_val(protections) + size_of_val(ahead);
        let path_at = at + (size_of::<Table>() + lists) as u64;
        let path = snapshot.program.as_os_str().as_encoded_bytes();
        let length = path_at + path.len() as u64 + 1;
        let lowest = snapshot.captured.regions.first().map_or(0, |region| region.address);
        let address = lowest.checked_sub(length.next_multiple_of(PAGE)).filter(|address| *address >= LOWEST);
        let address = address.ok_or_else(|| Refusal("no addresses are free below its memory".into()))?;
        let mut bytes = vec![0; stub as usize];
        bytes.extend_from_slice(STUB);
        bytes.resize(at as usize, 0);
        elf::put_table(&mut bytes, &Table { program_path: address + path_at, ..*table });
        patches.iter().for_each(|patch| elf::put_patch(&mut bytes, patch));
        protections.iter().for_each(|protection| elf::put_protection(&mut bytes, protection));
        ahead.iter().for_each(|ahead| elf::put_ahead(&mut bytes, ahead));
        bytes.extend_from_slice(path);
        bytes.push(0);
        Ok(Start { bytes, address, entry: address + stub + STUB_ENTRY })
    }
}
