//! Made-up captures of a made-up program, with addresses and values from a `Draw`.

use std::path::PathBuf;

use crate::captured::{Captured, Protection, Region, Stack, Thread};

pub(super) const PAGE: u64 = 4096;
const CONSTANT: Protection = Protection { read: true, write: false, execute: false };
const WRITTEN: Protection = Protection { read: true, write: true, execute: false };

/// The random values of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    /// Distances from the lowest possible addresses, in pages.
    pub(super) program: u64,
    pub(super) libraries: u64,
    pub(super) stack: u64,
    pub(super) vdso: u64,
    pub(super) heap: u64,
    pub(super) random: [u64; 2],
    pub(super) arguments: u64,
    pub(super) tid: i32,
    pub(super) drawn: u64,
}

/// Indices of the regions of a made-up capture.
pub(super) const HEADERS: usize = 0;
pub(super) const DATA: usize = 1;
pub(super) const HEAP: usize = 2;
pub(super) const LIBRARY: usize = 3;
pub(super) const LOADER: usize = 4;
pub(super) const RELRO: usize = 5;

/// Creates a capture whose memory has only the program's headers.
pub(super) fn made(draw: &Draw) -> Captured {
    let program = 0x5500_0000_0000 + draw.program * PAGE;
    let heap = program + 0x10_0000 + draw.heap * PAGE;
    let libraries = 0x7000_0000_0000 + draw.libraries * PAGE;
    let stack = 0x7ffc_0000_0000 + draw.stack * PAGE;
    let vdso = 0x7ff0_0000_0000 + draw.vdso * PAGE;
    let region = |address, pages: u64, protection, file: Option<(&str, u64)>| Region {
        address,
        bytes: vec![0; (pages * PAGE) as usize].into(),
        protection,
        file: file.map(|(path, offset)| (PathBuf::from(path), offset)),
        heap: false,
    };
    let mut regions = vec![
        region(program, 2, CONSTANT, Some(("/bin/made", 0))),
        region(program + 2 * PAGE, 2, WRITTEN, Some(("/bin/made", 2 * PAGE))),
        Region { heap: true, ..region(heap, 4, WRITTEN, None) },
        region(libraries, 3, WRITTEN, Some(("/lib/made.so", 0))),
        region(libraries + 5 * PAGE, 2, CONSTANT, Some(("/lib/loader.so", 0))),
        region(libraries + 7 * PAGE, 2, CONSTANT, Some(("/lib/loader.so", 2 * PAGE))),
    ];
    // PT_PHDR at 64, PT_DYNAMIC in the data, and PT_GNU_STACK that is not executable.
    for (index, header) in [(6_u32, 64), (2, 2 * PAGE + 16), (0x6474_e551, 0)].iter().enumerate() {
        let place = 64 + index * 56;
        regions[HEADERS].bytes[place..place + 4].copy_from_slice(&header.0.to_le_bytes());
        regions[HEADERS].bytes[place + 16..place + 24].copy_from_slice(&header.1.to_le_bytes());
    }
    let pointer = stack + 0x1000;
    let environment = pointer + 16 + 8 * draw.arguments;
    let name = pointer + 0x2000 + draw.arguments * 16;
    let mut random = [0; 16];
    random[..8].copy_from_slice(&draw.random[0].to_le_bytes());
    random[8..].copy_from_slice(&draw.random[1].to_le_bytes());
    let entries = [(3, program + 64), (5, 3), (7, libraries + 5 * PAGE), (9, program + 0x400)];
    let texts = [(15, name + 0x205), (25, name + 0x300), (31, name + 0x100)];
    Captured {
        entry: program + 0x400,
        at_exit: libraries + 0x40,
        thread: Thread { pointer: libraries + 0x100, tid: draw.tid, ..Thread::default() },
        stack: Stack {
            range: (stack, stack + 0x2_1000),
            pointer,
            arguments: draw.arguments,
            environment,
            auxiliary: (environment + 40, entries.into_iter().chain(texts).collect()),
            random,
            name: (name, 9),
            name_part: name + 5,
            vdso: (vdso, vdso + 2 * PAGE),
        },
        stack_limit: 8 << 20,
        heap_end: heap + 4 * PAGE,
        drawn: vec![draw.drawn],
        files: vec![],
        variables: vec![],
        regions,
    }
}

/// Writes a word into a capture.
pub(super) fn put(captured: &mut Captured, region: usize, offset: u64, value: u64) {
    captured.regions[region].bytes[offset as usize..offset as usize + 8].copy_from_slice(&value.to_le_bytes());
}
