//! Builds images of made-up snapshots and reads them back.

use std::path::PathBuf;

use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSegment, SegmentFlags};
use proptest::prelude::*;
use steady_preload::STUB;
use steady_preload::table::{ALIGNMENT, MAGIC, Patch, Table, kind};

use super::image;
use crate::captured::{Bytes, Captured, Protection, Region, Snapshot, Stack, Thread};

const PAGE: u64 = 4096;
const LOWEST: u64 = 0x5500_0000_0000;
const PATH: &str = "/bin/made";

/// A region: its protection (2: write, 4: execute), the first byte of each page, and whether a gap follows.
type Run = (u8, Vec<u8>, bool);

/// A snapshot with these regions. `patched` has pairs of a region and a page whose first word is patched.
fn snapshot(runs: &[Run], patched: &[(usize, usize)]) -> Snapshot {
    let mut address = LOWEST;
    let mut regions = vec![];
    for (rights, firsts, gap) in runs {
        let page = |first: &u8| std::iter::once(*first).chain(std::iter::repeat_n(0, PAGE as usize - 1));
        let bytes: Bytes = firsts.iter().flat_map(page).collect::<Vec<u8>>().into();
        let end = address + bytes.len() as u64;
        let protection = Protection { read: true, write: rights & 2 != 0, execute: rights & 4 != 0 };
        regions.push(Region { address, bytes, protection, file: None, heap: false });
        address = if *gap { end + 2 * PAGE } else { end };
    }
    let patch = |(region, page): &(usize, usize)| {
        let address = regions[*region].address + *page as u64 * PAGE + 16;
        Patch { address, kind: kind::CANARY, bytes: 8, addend: 0 }
    };
    let patches = patched.iter().map(patch).collect();
    let thread = Thread { pointer: LOWEST + 8, rseq: Some((LOWEST + 64, 32, 7)), ..Thread::default() };
    let captured = Captured {
        regions,
        entry: LOWEST + 0x40,
        at_exit: 5,
        thread,
        stack: Stack { auxiliary: (0, vec![(3, LOWEST + 0x40), (5, 3), (9, LOWEST + 0x80)]), ..Stack::default() },
        stack_limit: 8 << 20,
        heap_end: 0,
        drawn: vec![1],
        files: vec![],
        variables: vec![],
    };
    Snapshot { captured, program: PathBuf::from(PATH), dynamic: Some((LOWEST + 32, 48)), patches }
}

/// Returns the pages that the kernel would map: address, protection and content.
fn mapped(file: &[u8]) -> Vec<(u64, u32, Vec<u8>)> {
    let elf = ElfFile64::<Endianness>::parse(file).expect("an ELF file");
    let mut pages = vec![];
    for segment in elf.segments() {
        let SegmentFlags::Elf { p_flags: flags } = segment.flags() else { panic!("no ELF flags") };
        assert_eq!(segment.address() % PAGE, segment.file_range().0 % PAGE);
        let mut bytes = segment.data().expect("the segment's data").to_vec();
        assert!(
            (bytes.len() as u64).is_multiple_of(PAGE) || bytes.len() as u64 == segment.size(),
            "zeros begin within a page"
        );
        bytes.resize(segment.size().next_multiple_of(PAGE) as usize, 0);
        let parts = bytes.chunks(PAGE as usize).enumerate();
        pages.extend(parts.map(|(index, part)| (segment.address() + index as u64 * PAGE, flags, part.to_vec())));
    }
    assert!(pages.is_sorted_by(|one, other| one.0 < other.0), "segments overlap or are out of order");
    pages
}

/// Returns the file of a snapshot.
fn whole(snapshot: &Snapshot) -> Vec<u8> {
    let image = image(snapshot).expect("an image");
    let file = image.parts().collect::<Vec<_>>().concat();
    assert_eq!(file.len() as u64, image.length());
    file
}

fn rights(region: &Region) -> u32 {
    4 | u32::from(region.protection.write) << 1 | u32::from(region.protection.execute)
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    // Short and long runs of zero pages and of other pages.
    let stretch = (prop::sample::select(vec![0_u8, 7]), 1_usize..30);
    let firsts = prop::collection::vec(stretch, 1..4)
        .prop_map(|all| all.into_iter().flat_map(|(first, count)| vec![first; count]).collect());
    prop::collection::vec((0_u8..8, firsts, prop::bool::ANY), 1..8)
}

proptest! {
    #[test]
    fn pages_are_mapped_with_their_content_except_patched_ones(
        runs in runs(),
        patched in prop::collection::btree_set((0_usize..8, 0_usize..90), 0..6),
    ) {
        let inside = |(region, page): &(usize, usize)| runs.get(*region).is_some_and(|run| *page < run.1.len());
        let patched: Vec<(usize, usize)> = patched.into_iter().filter(inside).collect();
        let snapshot = snapshot(&runs, &patched);
        let file = whole(&snapshot);
        let mapped = mapped(&file);
        let (stub, mut program) = mapped.split_at(mapped.iter().filter(|page| page.0 < LOWEST).count());
        prop_assert!(stub.iter().all(|page| page.1 == 5));
        let mut expected = vec![];
        for (index, region) in snapshot.captured.regions.iter().enumerate() {
            let own: Vec<usize> = patched.iter().filter(|place| place.0 == index).map(|place| place.1).collect();
            let span = own.iter().min().copied().unwrap_or(1)..=own.iter().max().copied().unwrap_or(0);
            if !region.protection.write && !span.is_empty() {
                let (start, count) = (*span.start() as u64 * PAGE, span.clone().count() as u64 * PAGE);
                expected.push([region.address + start, count, 1 | u64::from(region.protection.execute) << 2]);
            }
            for (number, bytes) in region.bytes.chunks(PAGE as usize).enumerate() {
                let flags = rights(region) | if span.contains(&number) { 2 } else { 0 };
                let Some(((address, found, held), rest)) = program.split_first() else { panic!("a page is missing") };
                prop_assert_eq!((*address, *found), (region.address + number as u64 * PAGE, flags));
                prop_assert_eq!(held, bytes);
                program = rest;
            }
        }
        prop_assert!(program.is_empty());
        let stub: Vec<u8> = stub.iter().flat_map(|page| page.2.clone()).collect();
        prop_assert_eq!(protections(&stub), expected);
    }
}

/// Returns the words of the table, and of the lists after it.
fn table(segment: &[u8]) -> &[[u8; 8]] {
    let magic = MAGIC.to_le_bytes();
    let at = segment.chunks(ALIGNMENT as usize).position(|line| line.starts_with(&magic)).expect("a table");
    segment[at * ALIGNMENT as usize..].as_chunks().0
}

/// The size of a table in words, and the index of the first word with the length of a list.
const TABLE_WORDS: usize = size_of::<Table>() / 8;
const COUNTS: usize = std::mem::offset_of!(Table, patches) / 8;

fn protections(segment: &[u8]) -> Vec<[u64; 3]> {
    let words: Vec<u64> = table(segment).iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (patches, count) = (words[COUNTS] as usize, words[COUNTS + 1] as usize);
    let first = TABLE_WORDS + patches * 3;
    (0..count).map(|index| [0, 1, 2].map(|word| words[first + index * 3 + word])).collect()
}

#[test]
fn the_stub_is_at_the_entry_and_its_table_follows() {
    let snapshot = snapshot(&[(4, vec![1], false), (2, vec![2], true), (0, vec![3], false)], &[(1, 0)]);
    let file = whole(&snapshot);
    let elf = ElfFile64::<Endianness>::parse(&*file).expect("an ELF file");
    let stub = elf.entry() - steady_preload::STUB_ENTRY;
    let first = elf.segments().next().expect("a segment");
    let code =
        first.data_range(stub, STUB.len() as u64).expect("the segment's data").expect("an address in the segment");
    assert_eq!(code, STUB);
    let after = (stub + STUB.len() as u64).next_multiple_of(ALIGNMENT);
    let words = first
        .data_range(after, size_of::<Table>() as u64)
        .expect("the segment's data")
        .expect("an address in the segment");
    let words: Vec<u64> = words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    assert_eq!(words[..4], [MAGIC, LOWEST + 0x40, 5, LOWEST + 8]);
    assert_eq!(words[7..9], [LOWEST + 64, 32 | 7 << 32]);
    assert_eq!(words[9..13], [LOWEST + 0x40, 3, LOWEST + 0x80, 0]);
    assert_eq!(words[COUNTS - 1..], [1, 1, 0, 0]);
    let place = |offset: usize| words[offset / 8];
    assert_eq!(place(std::mem::offset_of!(Table, x87)), 0x37f);
    assert_eq!(place(std::mem::offset_of!(Table, mxcsr)) >> 32, 0x1f80);
    let path = first.data_range(words[13], PATH.len() as u64 + 1).expect("the segment's data");
    assert_eq!(path.expect("an address in the segment"), b"/bin/made\0");
}

#[test]
fn long_runs_of_zeros_are_not_stored_and_debuggers_find_the_libraries() {
    let zeros = vec![0; 1000];
    let runs = [(2, [&zeros[..], &[1]].concat(), false), (2, [&[1], &zeros[..]].concat(), false)];
    let file = whole(&snapshot(&runs, &[]));
    assert!(file.len() < 5 * PAGE as usize, "{} bytes", file.len());
    let elf = ElfFile64::<Endianness>::parse(&*file).expect("an ELF file");
    let little = Endianness::Little;
    let of = |kind: u32| elf.elf_program_headers().iter().find(|header| header.p_type(little) == kind);
    let dynamic = of(object::elf::PT_DYNAMIC).expect("a dynamic section");
    assert_eq!((dynamic.p_vaddr(little), dynamic.p_memsz(little)), (LOWEST + 32, 48));
    assert_eq!(of(object::elf::PT_GNU_STACK).map(|header| header.p_flags(little)), Some(6));
    assert!(of(object::elf::PT_INTERP).is_none());
}

#[test]
fn pages_that_every_launch_writes_to_are_populated_together() {
    let few = |rights| (rights, vec![1, 1, 1, 0, 1], true);
    let runs = [few(2), few(2), few(4), (2, vec![1; 20], true)];
    let file = whole(&snapshot(&runs, &[(0, 1), (2, 0), (3, 5)]));
    let elf = ElfFile64::<Endianness>::parse(&*file).expect("an ELF file");
    let segment = elf.segments().next().expect("a segment").data().expect("the segment's data").to_vec();
    let words: Vec<u64> = table(&segment).iter().map(|word| u64::from_le_bytes(*word)).collect();
    // Three patches, and one protection. Of the regions, the first is populated. The second has no patch, the third one
    // page that is writable only for its patch, and the last is too long.
    assert_eq!(words[COUNTS..][..3], [3, 1, 1]);
    assert_eq!(words[TABLE_WORDS + 9 + 3..][..2], [LOWEST, 3 * PAGE]);
}

#[test]
fn memory_that_cannot_be_mapped_is_refused() {
    let mut low = snapshot(&[(0, vec![1], false)], &[]);
    low.captured.regions[0].address = 0x1_0000;
    let mut torn = snapshot(&[(0, vec![1], false)], &[]);
    torn.captured.regions[0].bytes.pop();
    let mut reserved = snapshot(&[(0, vec![1], false)], &[]);
    reserved.captured.regions[0].protection.read = false;
    let mut drawn = snapshot(&[(0, vec![1], false)], &[]);
    drawn.captured.drawn = vec![0; 9];
    for snapshot in [low, torn, reserved, drawn] {
        assert!(image(&snapshot).is_err());
    }
}
