//! The way back from JSON.

use serde::Deserialize;
use steady_model::{FutexWaits, LockOrder, LocksReport, Outcome, Timestamp};

use super::SCHEMA;
use super::check::check;
use super::lock::LockWire;
use super::thread::{ProcessWire, ThreadWire};
use crate::json::ReadError;
use crate::json::wire::{CommandWire, HostWire, Seconds, join, read_started, required};
use steady_render::json::fields;

/// What of an export makes up the report; the sums over all threads and the shares are derived from it.
#[derive(Deserialize)]
struct LocksWire {
    #[serde(deserialize_with = "read_started")]
    started: Timestamp,
    command: CommandWire,
    host: HostWire,
    #[serde(deserialize_with = "required")]
    revision: Option<String>,
    #[serde(default)]
    revision_absent: Option<String>,
    ended: Outcome,
    wall_seconds: Seconds,
    cpu_seconds: Seconds,
    sampled_one_in: u64,
    order: LockOrder,
    locks: Vec<LockWire>,
    threads: Vec<ThreadWire>,
    processes: Vec<ProcessWire>,
    unwatched_processes: u32,
    #[serde(deserialize_with = "required")]
    futexes: Option<FutexesWire>,
    #[serde(default)]
    futexes_absent: Option<String>,
    left_behind: u32,
}

/// Waits for futexes.
#[derive(Deserialize)]
struct FutexesWire {
    wait_seconds: Seconds,
    other_seconds: Seconds,
    other_off_by_seconds: Seconds,
    looks: u64,
    unwatched_programs: Vec<String>,
}

/// The report in a JSON export, exactly as it was.
///
/// # Errors
/// What is wrong with it, and where; no input makes it panic, and what it returns names no process or thread that there is not.
pub fn read_locks_report(json: &str) -> Result<LocksReport, ReadError> {
    let wire: LocksWire = fields(SCHEMA.value(json)?)?;
    let report = wire.into_report()?;
    check(&report)?;
    Ok(report)
}

/// All of a list, or what is wrong with one of them and where.
fn all<W, T>(name: &str, wires: Vec<W>, read: impl Fn(W) -> Result<T, ReadError>) -> Result<Vec<T>, ReadError> {
    let one = |(at, wire)| read(wire).map_err(|error| error.within(&format!("{name}[{at}]")));
    wires.into_iter().enumerate().map(one).collect()
}

impl LocksWire {
    fn into_report(self) -> Result<LocksReport, ReadError> {
        Ok(LocksReport {
            command: self.command.into(),
            started: self.started,
            host: self.host.into_host().map_err(|error| error.within("host"))?,
            revision: join("revision", self.revision, self.revision_absent)?,
            ended: self.ended,
            wall: self.wall_seconds.0,
            cpu: self.cpu_seconds.0,
            sampled_one_in: self.sampled_one_in,
            order: self.order,
            processes: all("processes", self.processes, ProcessWire::into_process)?,
            unwatched: self.unwatched_processes,
            locks: all("locks", self.locks, LockWire::into_lock)?,
            threads: all("threads", self.threads, ThreadWire::into_thread)?,
            futexes: join("futexes", self.futexes, self.futexes_absent)?.map(FutexesWire::into_waits),
            left_behind: self.left_behind,
        })
    }
}

impl FutexesWire {
    fn into_waits(self) -> FutexWaits {
        FutexWaits {
            total: self.wait_seconds.0,
            other: self.other_seconds.0,
            off_by: self.other_off_by_seconds.0,
            looks: self.looks,
            unwatched: self.unwatched_programs,
        }
    }
}
