//! Many threads and many locks: memory is bounded, and what has no entry is still counted.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;

use steady_preload::area::{Kind, LOCKS, PLACE_BYTES};

use crate::watched::{Area, Queries, compiled, get};

static MANY: LazyLock<PathBuf> = LazyLock::new(|| compiled(include_str!("many.c")));

#[test]
fn ten_thousand_threads_over_time() {
    let area = Area::new(1);
    assert_eq!(area.run(&MANY, &["threads", "10000"]), "10000\n");
    let place = area.place(0);
    assert_eq!(place.process.threads.load(Relaxed), 10_001);
    let threads = place.threads();
    assert_eq!(threads.len(), 10_001);
    assert!(threads[1..].iter().all(|thread| get(&thread.ended) >= get(&thread.began) && get(&thread.start) != 0));
    let locks = Queries::locks(&*place, Kind::Mutex);
    assert_eq!((locks.len(), place.totals(locks[0].0).acquisitions), (1, 10_000));
    // Stacks are reused, and thread pointers with them, but each thread has its own entry.
    assert_eq!(place.threads_of(locks[0].0) as u64 + get(&place.process.pairs_lost), 10_000);
    assert!(get(&place.process.pairs_lost) < 10);
}

#[test]
fn a_million_locks() {
    for way in ["locks", "reused", "kept"] {
        let area = Area::new(1);
        let count: u64 = 1_000_000;
        assert_eq!(area.run(&MANY, &[way, "1000000"]), "2000000\n", "{way}");
        let place = area.place(0);
        assert_eq!(place.acquisitions(), 2 * count, "{way}");
        let entries = u64::from(place.process.locks.load(Relaxed));
        assert!(entries as usize <= LOCKS, "{way}");
        if way != "kept" {
            assert_eq!(entries + get(&place.process.folded.locks), count, "{way}");
        }
        assert_eq!((get(&place.process.pairs_lost), place.process.sites_lost.load(Relaxed)), (0, 0), "{way}");
        let bytes = std::fs::metadata(area.path()).expect("the area exists").blocks() * 512;
        assert!(bytes <= 2 * PLACE_BYTES as u64, "{way}: {bytes}");
    }
}
