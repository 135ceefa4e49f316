//! First touches of pages of memory: pages that were released recently, and pages that are in no cache.
//!
//! The kernel hands out the most recently released pages first. A program that starts gets pages that others used some
//! time ago. Clearing them takes longer than clearing the pages of a loop, which are still in a cache. The loop of cold
//! pages therefore uses pages from some repetitions before, flushes them from all caches outside of the timing,
//! releases them, and maps them again immediately.

use std::collections::VecDeque;
use std::hint::black_box;
use std::io;

use steady_model::{Absent, Reading, Timed};

use super::alone::{self, Facts, rounds};
use super::meter::{Meter, Who, together};
use super::{Primitive, refused};
use crate::raw::{CAN_FLUSH, Map, opaque};

/// Pages per mapping: enough that the cost of mapping is small compared with touching them, and as many as one page
/// table has, like pages of a program that are contiguous.
pub const FEW_PAGES: u64 = 512;
/// Pages per mapping that exceed a core's own caches.
pub const MANY_PAGES: u64 = 8192;

/// Maps anonymous memory, touches each page once and unmaps it. The events are the page faults that the kernel counts.
/// The empty loop maps and unmaps the same amount without touching it.
pub(super) fn few() -> Reading<Box<dyn Primitive>> {
    open(1, FEW_PAGES)
}

/// Like [`few`], with more pages in each repetition.
pub(super) fn many() -> Reading<Box<dyn Primitive>> {
    open(MANY_PAGES, MANY_PAGES)
}

/// Opens a probe with `pages` pages per repetition, of which at most `at_a_time` are mapped concurrently.
fn open(pages: u64, at_a_time: u64) -> Reading<Box<dyn Primitive>> {
    let page = rustix::param::page_size();
    let facts = Facts {
        who: Who::Thread,
        calls: Err(Absent::because("each system call is for many pages")),
        events: pages as f64,
        subtracted: "mapping and unmapping the pages without touching them",
        counted: |_, timed| timed.minor_faults,
    };
    alone::open(
        "anonymous memory",
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

/// Maps `pages` pages in mappings of at most `at_a_time` and calls `each` for every page. Returns how often `each`
/// returned true.
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

/// The number of mappings kept, of which the oldest is released. If the pages are in few places, the CPU has their
/// address translations cached. In measurements, that made a fault 10 % cheaper than in a program of 400 MB; with this
/// number of mappings, the difference is a few percent.
const KEPT: usize = 32;

/// Releases the pages of a mapping that no cache holds, maps the same number and touches each.
struct Cold {
    page: usize,
    kept: VecDeque<Map>,
}

/// Opens the probe. Not available on CPU architectures for which flushing is not implemented.
pub(super) fn cold() -> Reading<Box<dyn Primitive>> {
    if !CAN_FLUSH {
        return Err(Absent::because("flushing the caches is not implemented for this CPU architecture"));
    }
    match Cold::new() {
        Ok(cold) => Ok(Box::new(cold)),
        Err(error) => Err(refused("anonymous memory", &error)),
    }
}

impl Primitive for Cold {
    fn events_per_loop(&self) -> f64 {
        FEW_PAGES as f64
    }

    fn subtracted(&self) -> &'static str {
        "mapping and unmapping the pages without touching them"
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        Err(Absent::because("each system call is for many pages"))
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        let mut sum = Timed::default();
        for _ in 0..loops {
            let Some(oldest) = self.kept.pop_front() else { break };
            oldest.flush();
            let (map, timed) = replace(oldest, self.page, touch)?;
            self.kept.push_back(map);
            sum = with(sum, timed);
        }
        Ok(Timed { loops, events: sum.minor_faults, ..sum })
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        let mut sum = Timed::default();
        let mut untouched = Map::new(FEW_PAGES as usize, self.page)?;
        for _ in 0..loops {
            let (map, timed) = replace(untouched, self.page, |_| ())?;
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

/// Unmaps `old`, creates a new mapping and applies `each` to it. Returns the mapping and the measurement.
fn replace(old: Map, page: usize, each: fn(&mut Map)) -> io::Result<(Map, Timed)> {
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
