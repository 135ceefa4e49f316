//! `steady release`: whether a new version of a service changed the CPU time of its requests, and a demonstration.
//!
//! The estimation is a pure function from rows to a report ([`judge`], [`RepeatedComparison`]). `plan` resolves the
//! flags, `run` reads the rows and follows a release live, `demo` runs a service with two versions.
#![forbid(unsafe_code)]

mod csv;
mod demo;
mod document;
mod flags;
mod judge;
mod plan;
mod record;
mod run;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Helper, RecordKind, Session, Status};

use flags::{ReleaseCommands, ReleaseFlags};

pub use judge::{JudgeError, RepeatedComparison, judge};
pub use record::{
    ChangeEstimate, LoadAlarm, Refusal, ReleaseChange, ReleaseCourse, ReleaseDesign, ReleaseHost, ReleaseMoment,
    ReleaseQuestion, ReleaseReport, ReleaseRoute, ReleaseSaving, ReleaseSide, ReleaseSight, ReleaseTail, ReleaseWall,
    ReleaseWarning, RestsOn, SCHEMA, Settling, UnexplainedCpu, WallBin, WallParts, WallQuantile, WallTimes,
};
pub use run::merged;

/// Entry of `steady release` in the table of features.
pub const FEATURE: Feature = Feature {
    name: "release",
    about: "Compare the CPU time of requests in production before and after a release; run a demonstration",
    flags: Feature::flags_of::<ReleaseFlags>,
    run: dispatch,
    status: |_| Status::Own,
    records: &[RecordKind {
        kind: record::KIND,
        read: |text| Ok(Box::new(ReleaseReport::read(text)?)),
        log: None,
        join: None,
    }],
    helpers: &[Helper { word: demo::WORKER, main: demo::serve }, Helper { word: demo::SWEEPER, main: demo::sweep }],
};

/// Runs the subcommand and returns the exit status.
fn dispatch(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = ReleaseFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match &flags.command {
        ReleaseCommands::Compare(flags) => run::compare(flags, session),
        ReleaseCommands::Demo(flags) => demo::run(flags, session),
    }
}
