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
pub const FEW_PAGES: u64 = 512;
/// So many that they come to more than a core's own caches.
pub const MANY_PAGES: u64 = 8192;

/// Anonymous memory is mapped, each of its pages is touched once, and all are given back; how many faults that took, as
/// the kernel has counted them. The empty loop maps and gives back as much and touches nothing.
pub(super) fn few() -> Reading<Box<dyn Primitive>> {
    open(1, FEW_PAGES)
}

/// The same with so many pages in each round of the loop.
pub(super) fn many() -> Reading<Box<dyn Primitive>> {
    open(MANY_PAGES, MANY_PAGES)
}

/// With so many pages to a round, of which `at_a_time` at most are mapped at a time.
fn open(pages: u64, at_a_time: u64) -> Reading<Box<dyn Primitive>> {
    let page = rustix::param::page_size();
    let facts = Facts {
        who: Who::Thread,
        calls: Err(Absent::because("the calls are made for many pages at a time, and by none of them")),
        events: pages as f64,
        subtracted: "mapping the pages and giving them back untouched",
        counted: |_, timed| timed.minor_faults,
    };
    alone::open(
        "memory of its own",
        facts,
        (),
        move |(), loops| {
            in_maps(page, (loops.saturating_mul(pages), at_a_time), |map, round| {
                map.touch(round as usize);
                true
            })
        },
        move |(), loops| {
            black_box(in_maps(page, (loops.saturating_mul(pages), at_a_time), |_, round| opaque(round) == round)?);
            Ok(())
        },
    )
}

/// So many pages in maps of at most `at_a_time`, each page treated alike; how many of them `each` says it was done to.
fn in_maps(
    page: usize,
    (pages, at_a_time): (u64, u64),
    mut each: impl FnMut(&mut Map, u64) -> bool,
) -> io::Result<u64> {
    let (mut left, mut done) = (pages, 0);
    while left > 0 {
        let now = left.min(at_a_time);
        let mut map = Map::new(now as usize, page)?;
        done += rounds(now, |round| each(&mut map, round));
        left -= now;
    }
    Ok(done)
}
