//! Requests of a service in production: single requests, and sums over many.

mod request;
mod rows;

pub use request::{Assignment, Request, RequestProcess, RequestRuler, TimeSlot};
pub use rows::{
    ALL_PROCESSES, HostSecond, LevelSums, ProcessRow, ReleaseRow, ReleaseRows, RequestSums,
    RulerRow as ReleaseRulerRow, RulerSums, WALL_BUCKETS, WALL_SECONDS, WallRow, wall_bucket, wall_bucket_middle,
};
