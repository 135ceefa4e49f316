//! Dependent loads from a working set that private caches do not hold: what is further out, and who else uses it.

use core::hint::black_box;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

const LINE_WORDS: usize = 64 / size_of::<usize>();
const PAGE_LINES: usize = 64;
/// A power of two, so that the order below comes by every line: 4 MiB.
const LINES: usize = 1 << 16;
/// Each run goes on where the one before it ended, so a line is come back to after more than five hundred runs.
const LOADS: usize = 120;

/// All of it zero, which nobody but the compiler must know.
static SET: [AtomicUsize; LINES * LINE_WORDS] = [const { AtomicUsize::new(0) }; LINES * LINE_WORDS];
static PLACE: AtomicUsize = AtomicUsize::new(0);
static PREPARED: AtomicBool = AtomicBool::new(false);

/// Gives every page of the set memory of its own: until it is written to, it is one page of zeros that all of them share.
pub(super) fn prepare() {
    if !PREPARED.load(Relaxed) {
        SET.iter().step_by(LINE_WORDS * PAGE_LINES).for_each(|word| word.store(0, Relaxed));
        // Another thread may be at it too, and does the same.
        PREPARED.store(true, Relaxed);
    }
}

/// From one line to the next: a linear congruence that comes by all of them. Where the next one is depends on what was loaded.
pub(super) fn run() {
    let mut place = black_box(PLACE.load(Relaxed));
    for _ in 0..LOADS {
        let loaded = SET.get(place * LINE_WORDS).map_or(0, |word| word.load(Relaxed));
        place = place.wrapping_mul(48_269).wrapping_add(12_345).wrapping_add(loaded) % LINES;
    }
    PLACE.store(black_box(place), Relaxed);
}
