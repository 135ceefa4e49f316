//! First touches of pages of memory.

use std::hint::black_box;
use std::io;

use steady_model::{Absent, Reading};

use super::Primitive;
use super::alone::{self, Facts, rounds};
use super::meter::Who;
use crate::raw::{Map, opaque};

/// So many pages are mapped at a time, so that mapping them is little beside touching them, and that they need one table
/// of the kernel's, as pages of a program that lie together do.
const PAGES: u64 = 512;

/// Anonymous memory is mapped, each of its pages is touched once, and all are given back; how many faults that took, as
/// the kernel has counted them. The empty loop maps and gives back as much and touches nothing.
pub(super) fn open() -> Reading<Box<dyn Primitive>> {
    let page = rustix::param::page_size();
    let facts = Facts {
        who: Who::Thread,
        calls: Err(Absent::because("the calls are made for 512 pages at a time, and by none of them")),
        events: 1.0,
        subtracted: "mapping the pages and giving them back untouched",
        counted: |_, timed| timed.minor_faults,
    };
    alone::open(
        "memory of its own",
        facts,
        (),
        move |(), loops| {
            in_maps(page, loops, |map, round| {
                map.touch(round as usize);
                true
            })
        },
        move |(), loops| {
            black_box(in_maps(page, loops, |_, round| opaque(round) == round)?);
            Ok(())
        },
    )
}

/// So many pages in maps of at most [`PAGES`], each page treated alike; how many of them `each` says it was done to.
fn in_maps(page: usize, pages: u64, mut each: impl FnMut(&mut Map, u64) -> bool) -> io::Result<u64> {
    let (mut left, mut done) = (pages, 0);
    while left > 0 {
        let now = left.min(PAGES);
        let mut map = Map::new(now as usize, page)?;
        done += rounds(now, |round| each(&mut map, round));
        left -= now;
    }
    Ok(done)
}
