//! Requests of a service in production: what is told of each, what is kept of many, and what a release changed.

mod report;
mod request;
mod rows;

pub use report::{
    ChangeEstimate, LoadAlarm, Refusal, ReleaseChange, ReleaseCourse, ReleaseDesign, ReleaseHost, ReleaseMoment,
    ReleaseQuestion, ReleaseReport, ReleaseRoute, ReleaseSaving, ReleaseSide, ReleaseSight, ReleaseTail, ReleaseWall,
    ReleaseWarning, RestsOn, Settling, UnexplainedCpu, WallPart,
};
pub use request::{Assignment, Request, RequestProcess, RequestRuler, TimeSlot};
pub use rows::{
    ALL_PROCESSES, HostSecond, LevelSums, ProcessRow, ReleaseRow, ReleaseRows, RequestSums,
    RulerRow as ReleaseRulerRow, RulerSums, WALL_BUCKETS, WALL_SECONDS, WallRow, wall_bucket, wall_bucket_middle,
};
