//! The ruler "memory": dependent loads from a working set that exceeds private caches. It depends on shared caches and
//! memory, and on what else uses them.

use core::hint::black_box;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

const LINE_WORDS: usize = 64 / size_of::<usize>();
const PAGE_LINES: usize = 64;
/// A power of two, so that the sequence of [`run`] visits every line: 4 MiB.
const LINES: usize = 1 << 16;
/// A run continues where the previous one ended, so a line is visited again after more than 500 runs.
const LOADS: usize = 120;

/// The working set. All words are zero, which the compiler must not know.
static SET: [AtomicUsize; LINES * LINE_WORDS] = [const { AtomicUsize::new(0) }; LINES * LINE_WORDS];
static PLACE: AtomicUsize = AtomicUsize::new(0);
static PREPARED: AtomicBool = AtomicBool::new(false);

/// Writes to every page of the set. Before that, all its pages share one page of zeros.
pub(super) fn prepare() {
    if !PREPARED.load(Relaxed) {
        SET.iter().step_by(LINE_WORDS * PAGE_LINES).for_each(|word| word.store(0, Relaxed));
        // If another thread does this at the same time, the result is the same.
        PREPARED.store(true, Relaxed);
    }
}

/// Visits the lines in the order of a linear congruential generator, which reaches all of them. The next line depends
/// on the loaded word.
pub(super) fn run() {
    let mut place = black_box(PLACE.load(Relaxed));
    for _ in 0..LOADS {
        let loaded = SET.get(place * LINE_WORDS).map_or(0, |word| word.load(Relaxed));
        place = place.wrapping_mul(48_269).wrapping_add(12_345).wrapping_add(loaded) % LINES;
    }
    PLACE.store(black_box(place), Relaxed);
}
