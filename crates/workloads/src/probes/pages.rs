//! First touches of pages of memory: of those that were given back a moment ago, and of those that no cache holds.
//!
//! The kernel hands out what was given back last. A program that is started gets pages that others used some time ago, and to
//! clear them takes longer than to clear those of a loop, which come back to it out of a cache. So what the loop of cold pages
//! gives back, to get it again at once, was used some rounds before and is put out of all caches first, untimed.

use std::collections::VecDeque;
use std::hint::black_box;
use std::io;

use steady_model::{Absent, Reading, Timed};

use super::alone::{self, Facts, rounds};
use super::meter::{Meter, Who, together};
use super::{Primitive, refused};
use crate::raw::{CAN_FLUSH, Map, opaque};

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
            in_maps(page, loops.saturating_mul(pages), at_a_time, |map, round| {
                map.touch(round as usize);
                true
            })
        },
        move |(), loops| {
            black_box(in_maps(page, loops.saturating_mul(pages), at_a_time, |_, round| opaque(round) == round)?);
            Ok(())
        },
    )
}

/// So many pages in maps of at most `at_a_time`, each page treated alike; how many of them `each` says it was done to.
fn in_maps(page: usize, pages: u64, at_a_time: u64, mut each: impl FnMut(&mut Map, u64) -> bool) -> io::Result<u64> {
    let (mut left, mut done) = (pages, 0);
    while left > 0 {
        let now = left.min(at_a_time);
        let mut map = Map::new(now as usize, page)?;
        done += rounds(now, |round| each(&mut map, round));
        left -= now;
    }
    Ok(done)
}

/// So many maps are kept, of which the oldest is given back. Of pages that lie together in few places the CPU has the
/// translations at hand, which made a fault a tenth cheaper than it is to a program of 400 MB; with so many, by measurement, no
/// more than a few hundredths.
const KEPT: usize = 32;

/// Gives back the pages of a map that no cache holds, maps as many and touches each.
struct Cold {
    page: usize,
    kept: VecDeque<Map>,
}

/// The probe; absent on kinds of CPUs of which it is not known how to put something out of their caches.
pub(super) fn cold() -> Reading<Box<dyn Primitive>> {
    if !CAN_FLUSH {
        return Err(Absent::because("of this kind of CPU it is not known here how to put something out of its caches"));
    }
    match Cold::new() {
        Ok(cold) => Ok(Box::new(cold)),
        Err(error) => Err(refused("memory of its own", &error)),
    }
}

impl Primitive for Cold {
    fn events_per_loop(&self) -> f64 {
        FEW_PAGES as f64
    }

    fn subtracted(&self) -> &'static str {
        "mapping the pages and giving them back untouched"
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        Err(Absent::because("the calls are made for many pages at a time, and by none of them"))
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        let mut sum = Timed::default();
        for _ in 0..loops {
            let Some(oldest) = self.kept.pop_front() else { break };
            oldest.flush();
            let (map, timed) = in_place_of(oldest, self.page, touch)?;
            self.kept.push_back(map);
            sum = with(sum, timed);
        }
        Ok(Timed { loops, events: sum.minor_faults, ..sum })
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        let mut sum = Timed::default();
        let mut untouched = Map::new(FEW_PAGES as usize, self.page)?;
        for _ in 0..loops {
            let (map, timed) = in_place_of(untouched, self.page, |_| ())?;
            untouched = map;
            sum = with(sum, timed);
        }
        Ok(Timed { loops, events: sum.minor_faults, ..sum })
    }
}

impl Cold {
    fn new() -> io::Result<Self> {
        let page = rustix::param::page_size();
        let touched = |_| {
            let mut map = Map::new(FEW_PAGES as usize, page)?;
            touch(&mut map);
            Ok(map)
        };
        Ok(Cold { page, kept: (0..KEPT).map(touched).collect::<io::Result<_>>()? })
    }
}

/// Gives a map back, makes another and does `each` to it; that, and what it took.
fn in_place_of(old: Map, page: usize, each: fn(&mut Map)) -> io::Result<(Map, Timed)> {
    let meter = Meter::start(Who::Thread)?;
    drop(old);
    let mut map = Map::new(FEW_PAGES as usize, page)?;
    each(&mut map);
    Ok((map, meter.stop()?))
}

fn with(sum: Timed, one: Timed) -> Timed {
    Timed { wall: sum.wall + one.wall, ..together(sum, one) }
}

fn touch(map: &mut Map) {
    for page in 0..FEW_PAGES {
        map.touch(page as usize);
    }
}
