//! `steady release`: what a release changed in production, and a demonstration.
//!
//! The estimation is pure: rows in, verdict out ([`judge`], [`Watch`]). `plan` resolves the flags, `run` finds the rows and follows a release live, `demo` plays a
//! service with two versions.
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
use steady_model::RunKind;

use flags::{ReleaseCommands, ReleaseFlags};

pub use judge::{JudgeError, Watch, judge};
pub use record::{
    ChangeEstimate, LoadAlarm, Refusal, ReleaseChange, ReleaseCourse, ReleaseDesign, ReleaseHost, ReleaseMoment,
    ReleaseQuestion, ReleaseReport, ReleaseRoute, ReleaseSaving, ReleaseSide, ReleaseSight, ReleaseTail, ReleaseWall,
    ReleaseWarning, RestsOn, SCHEMA, Settling, UnexplainedCpu, WallBin, WallParts, WallQuantile,
};
pub use run::merged;

/// The feature.
pub const FEATURE: Feature = Feature {
    name: "release",
    about: "Whether requests in production cost less since a release; a demonstration",
    flags: Feature::flags_of::<ReleaseFlags>,
    run: dispatch,
    status: |_| Status::Own,
    records: &[RecordKind { kind: RunKind::Release, read: |text| Ok(Box::new(ReleaseReport::read(text)?)), log: None }],
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
