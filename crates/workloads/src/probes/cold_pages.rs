//! First touches of pages that no cache holds.
//!
//! The kernel hands out what was given back last. A program that is started gets pages that others used some time ago, and to
//! clear them takes longer than to clear those of a loop, which come back to it out of a cache. So what the loop gives back,
//! to get it again at once, was used some rounds before and is put out of all caches first, untimed.

use std::collections::VecDeque;
use std::io;

use steady_model::{Absent, Reading, Timed};

use super::meter::{Meter, Who, together};
use super::pages::FEW_PAGES;
use super::{Primitive, refused};
use crate::raw::{CAN_FLUSH, Map};

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
pub(super) fn open() -> Reading<Box<dyn Primitive>> {
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
