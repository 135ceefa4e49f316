//! Writes the headers of an executable, and the stub's table.

use steady_preload::table::{Ahead, Patch, Protection, Table};

pub(super) const HEADER_BYTES: u64 = 64;
pub(super) const PROGRAM_HEADER_BYTES: u64 = 56;

pub(super) const EXECUTE: u32 = 1;
pub(super) const WRITE: u32 = 2;
pub(super) const READ: u32 = 4;

pub(super) const AT_PHDR: u64 = 3;
pub(super) const AT_PHNUM: u64 = 5;
pub(super) const AT_BASE: u64 = 7;
pub(super) const AT_ENTRY: u64 = 9;

/// The type of a program header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Load = 1,
    Dynamic = 2,
    Headers = 6,
    /// The protection of the stack.
    #[default]
    Stack = 0x6474_e551,
}

/// The fields of a program header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) flags: u32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_bytes: u64,
    pub(super) memory_bytes: u64,
}

/// Writes the headers of an executable at a fixed address (`ET_EXEC`) to the start of `file`.
pub(super) fn write(file: &mut [u8], entry: u64, headers: &[Header]) {
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend([2_u16, 62].map(u16::to_le_bytes).concat());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend([entry, HEADER_BYTES, 0].map(u64::to_le_bytes).concat());
    bytes.extend(0_u32.to_le_bytes());
    let sizes = [HEADER_BYTES as u16, PROGRAM_HEADER_BYTES as u16, headers.len() as u16, 64, 0, 0];
    bytes.extend(sizes.map(u16::to_le_bytes).concat());
    for header in headers {
        bytes.extend([header.kind as u32, header.flags].map(u32::to_le_bytes).concat());
        let Header { offset, address, file_bytes, memory_bytes, .. } = *header;
        let alignment = if header.kind == Kind::Load { super::PAGE } else { 8 };
        let words = [offset, address, address, file_bytes, memory_bytes, alignment];
        bytes.extend(words.map(u64::to_le_bytes).concat());
    }
    file[..bytes.len()].copy_from_slice(&bytes);
}

/// Appends the table, with its fields as they are in memory.
pub(super) fn put_table(bytes: &mut Vec<u8>, table: &Table) {
    let first = [table.magic, table.entry, table.at_exit, table.thread, table.tid_address];
    let second = [table.robust_list, table.robust_list_bytes, table.rseq];
    let rseq = u64::from(table.rseq_bytes) | u64::from(table.rseq_signature) << 32;
    let headers = [table.program_headers, table.program_header_count, table.program_entry, table.interpreter];
    let [control, status, tags, instruction, segment, operand, operand_segment] = table.x87;
    let floating_point = [[control, status], [tags, instruction], [segment, operand], [operand_segment, table.mxcsr]];
    let floating_point = floating_point.map(|[low, high]| u64::from(low) | u64::from(high) << 32);
    let last = [table.drawn, table.patches, table.protections, table.ahead];
    let words = first.into_iter().chain(second).chain([rseq]).chain(headers);
    let words = words.chain([table.program_path]).chain(floating_point);
    let words = words.chain(table.code).chain(table.data).chain(table.headers).chain(table.file).chain(last);
    words.for_each(|word| bytes.extend(word.to_le_bytes()));
}

pub(super) fn put_patch(bytes: &mut Vec<u8>, patch: &Patch) {
    bytes.extend(patch.address.to_le_bytes());
    bytes.extend([patch.kind, patch.bytes].map(u32::to_le_bytes).concat());
    bytes.extend(patch.addend.to_le_bytes());
}

pub(super) fn put_protection(bytes: &mut Vec<u8>, protection: &Protection) {
    bytes.extend([protection.address, protection.bytes, protection.protection].map(u64::to_le_bytes).concat());
}

pub(super) fn put_ahead(bytes: &mut Vec<u8>, ahead: &Ahead) {
    bytes.extend([ahead.address, ahead.bytes].map(u64::to_le_bytes).concat());
}
