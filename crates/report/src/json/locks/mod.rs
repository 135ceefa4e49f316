//! The JSON of a command's locks, and the way back.

mod check;
mod lock;
mod place;
mod read;
mod thread;

use serde_json::Value;
use steady_model::{FutexWaits, LocksReport};

pub use read::read_locks_report;

use super::object::Object;
use super::wire::{self, HostWire, Seconds, to_value};
use super::{commands, pretty};
use crate::words::locks::lives;
use steady_render::json::Schema;

/// The name and version of what [`locks_json`] makes.
pub const LOCKS_SCHEMA: &str = "steady.locks/1";

/// The same, to be read.
const SCHEMA: Schema = Schema { name: LOCKS_SCHEMA, what: "a command's locks" };

/// Why there is no share of a life.
const NO_LIFE: &str = "no thread's life was seen";

/// The report as JSON: nothing of it is left out, so that it can be read back. Threads and processes are named by their place in
/// `threads` and `processes`, from 0 on.
pub fn locks_json(report: &LocksReport) -> Value {
    let sum = lives(report);
    let mut top = Object::new();
    top.put("schema", LOCKS_SCHEMA);
    top.put("started", wire::started(report.started));
    top.put("command", Value::from(commands::described(&report.command)));
    top.put("host", to_value(&HostWire::from(&report.host)));
    top.text("revision", &report.revision);
    top.put("ended", to_value(&report.ended));
    top.put("wall_seconds", Seconds(report.wall).as_f64());
    top.put("cpu_seconds", Seconds(report.cpu).as_f64());
    top.put("thread_seconds", sum.life);
    top.put("wait_seconds", sum.locks);
    top.number("wait_ratio", sum.locks / sum.life, NO_LIFE);
    top.put("wait_events_seconds", sum.events);
    top.put("wait_joins_seconds", sum.joins);
    top.put("sampled_one_in", report.sampled_one_in);
    top.put("order", report.order.name());
    top.put("locks", report.locks.iter().map(lock::value).collect::<Vec<_>>());
    top.put("threads", report.threads.iter().map(thread::value).collect::<Vec<_>>());
    top.put("processes", report.processes.iter().map(thread::process).collect::<Vec<_>>());
    top.put("unwatched_processes", report.unwatched);
    match &report.futexes {
        Ok(futexes) => top.put("futexes", of_futexes(futexes)),
        Err(absent) => top.absent("futexes", &absent.0),
    }
    top.put("left_behind", report.left_behind);
    top.into()
}

/// The report as indented JSON that ends with a newline. A reading that is absent is null, with the reason in
/// `<name>_absent` beside it.
pub fn locks_json_text(report: &LocksReport) -> String {
    pretty::indented(&locks_json(report))
}

fn of_futexes(futexes: &FutexWaits) -> Value {
    let mut object = Object::new();
    object.put("wait_seconds", Seconds(futexes.total).as_f64());
    object.put("other_seconds", Seconds(futexes.other).as_f64());
    object.put("other_off_by_seconds", Seconds(futexes.off_by).as_f64());
    object.put("looks", futexes.looks);
    object.put("unwatched_programs", futexes.unwatched.clone());
    object.into()
}
