//! Threads, and the processes that they are of.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{CodePlace, FoldedLocks, LockThread, LockedProcess, Reading};

use super::NO_LIFE;
use super::place::{self, PlaceWire};
use crate::json::ReadError;
use crate::json::object::Object;
use crate::json::wire::{Seconds, join, required};

/// A thread, with the share of its life that it waited for locks.
pub(super) fn value(thread: &LockThread) -> Value {
    let mut object = Object::new();
    object.put("process", thread.process);
    object.put("tid", thread.tid);
    for (name, place) in [("start", &thread.start), ("waits_at", &thread.waits_at)] {
        match place {
            Ok(place) => object.put(name, place::value(place)),
            Err(absent) => object.absent(name, &absent.0),
        }
    }
    object.put("life_seconds", Seconds(thread.life).as_f64());
    object.put("wait_seconds", Seconds(thread.wait).as_f64());
    object.number("wait_ratio", thread.wait.seconds() / thread.life.seconds(), NO_LIFE);
    object.put("wait_events_seconds", Seconds(thread.wait_events).as_f64());
    object.put("wait_joins_seconds", Seconds(thread.wait_joins).as_f64());
    object.into()
}

/// A process.
pub(super) fn process(process: &LockedProcess) -> Value {
    let FoldedLocks { locks, acquisitions, contended, wait } = process.folded;
    let mut object = Object::new();
    object.put("pid", process.pid);
    object.text("program", &process.program);
    object.put("forked", process.forked);
    object.put("life_seconds", Seconds(process.life).as_f64());
    object.put("ended_itself", process.ended_itself);
    object.put("threads", process.threads);
    object.put("folded_locks", locks);
    object.put("folded_acquisitions", acquisitions);
    object.put("folded_contended", contended);
    object.put("folded_wait_seconds", Seconds(wait).as_f64());
    object.into()
}

/// A thread, to be read.
#[derive(Deserialize)]
pub(super) struct ThreadWire {
    process: usize,
    tid: u32,
    #[serde(deserialize_with = "required")]
    start: Option<PlaceWire>,
    #[serde(default)]
    start_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    waits_at: Option<PlaceWire>,
    #[serde(default)]
    waits_at_absent: Option<String>,
    life_seconds: Seconds,
    wait_seconds: Seconds,
    wait_events_seconds: Seconds,
    wait_joins_seconds: Seconds,
}

impl ThreadWire {
    pub(super) fn into_thread(self) -> Result<LockThread, ReadError> {
        Ok(LockThread {
            process: self.process,
            tid: self.tid,
            start: read("start", self.start, self.start_absent)?,
            waits_at: read("waits_at", self.waits_at, self.waits_at_absent)?,
            life: self.life_seconds.0,
            wait: self.wait_seconds.0,
            wait_events: self.wait_events_seconds.0,
            wait_joins: self.wait_joins_seconds.0,
        })
    }
}

fn read(name: &str, place: Option<PlaceWire>, absent: Option<String>) -> Result<Reading<CodePlace>, ReadError> {
    match join(name, place, absent)? {
        Ok(place) => Ok(Ok(place.into_place().map_err(|error| error.within(name))?)),
        Err(absent) => Ok(Err(absent)),
    }
}

/// A process, to be read.
#[derive(Deserialize)]
pub(super) struct ProcessWire {
    pid: u32,
    #[serde(deserialize_with = "required")]
    program: Option<String>,
    #[serde(default)]
    program_absent: Option<String>,
    forked: bool,
    life_seconds: Seconds,
    ended_itself: bool,
    threads: u32,
    folded_locks: u64,
    folded_acquisitions: u64,
    folded_contended: u64,
    folded_wait_seconds: Seconds,
}

impl ProcessWire {
    pub(super) fn into_process(self) -> Result<LockedProcess, ReadError> {
        Ok(LockedProcess {
            pid: self.pid,
            program: join("program", self.program, self.program_absent)?,
            forked: self.forked,
            life: self.life_seconds.0,
            ended_itself: self.ended_itself,
            threads: self.threads,
            folded: FoldedLocks {
                locks: self.folded_locks,
                acquisitions: self.folded_acquisitions,
                contended: self.folded_contended,
                wait: self.folded_wait_seconds.0,
            },
        })
    }
}
