//! Who waits for what is watched right now, as the watchers note it before they wait.

use std::collections::HashMap;
use std::mem::offset_of;

use steady_preload::area::{Process, THREADS, Thread};

use super::area::{Bytes, Entry, place_at, places, tables};

/// Where the threads of processes are in the area.
#[derive(Default)]
pub(super) struct Live {
    /// The newest place of each process.
    places: HashMap<i32, Known>,
    seen: u32,
}

#[derive(Default)]
struct Known {
    place: u32,
    threads: HashMap<i32, usize>,
    seen: usize,
}

impl Live {
    /// Takes note of places and threads that are new since it was asked last.
    pub(super) fn update(&mut self, area: &impl Bytes, pid: i32) {
        let (there, _) = places(area);
        // One that is being taken has no number yet, and is looked at again.
        while self.seen < there {
            let pid = Entry::read::<Process>(area, place_at(self.seen)).u32(offset_of!(Process, pid));
            if pid == 0 {
                break;
            }
            self.places.insert(pid as i32, Known { place: self.seen, ..Known::default() });
            self.seen += 1;
        }
        let Some(known) = self.places.get_mut(&pid) else { return };
        let process = Entry::read::<Process>(area, place_at(known.place));
        let begun = (process.u32(offset_of!(Process, threads)) as usize).min(THREADS);
        while known.seen < begun {
            let tid = thread(area, known.place, known.seen).u32(offset_of!(Thread, tid));
            if tid == 0 {
                break;
            }
            known.threads.insert(tid as i32, known.seen);
            known.seen += 1;
        }
    }

    /// Whether a thread waits for something that is watched.
    pub(super) fn is_waiting(&self, area: &impl Bytes, pid: i32, tid: i32) -> bool {
        let found = self.places.get(&pid).and_then(|known| Some((known.place, *known.threads.get(&tid)?)));
        found.is_some_and(|(place, number)| {
            let thread = thread(area, place, number);
            let time = |at: usize| thread.u64(at);
            time(offset_of!(Thread, waits_since)) != 0 && time(offset_of!(Thread, waited_until)) == 0
        })
    }

    /// Whether the watcher is in a process.
    pub(super) fn knows(&self, pid: i32) -> bool {
        self.places.contains_key(&pid)
    }
}

fn thread(area: &impl Bytes, place: u32, number: usize) -> Entry<'static> {
    let at = place_at(place) + tables::THREADS as u64 + (number * size_of::<Thread>()) as u64;
    Entry::read::<Thread>(area, at)
}
