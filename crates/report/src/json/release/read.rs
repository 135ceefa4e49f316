//! The way back from JSON.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Absent, FailIf, ReleaseDesign, ReleaseQuestion, ReleaseReport, RestsOn, Settling, Timestamp};

use super::change::{ChangeWire, EstimateWire, HostWire, RouteWire, TailWire};
use super::check::check;
use super::course::{CourseWire, LookWire, second};
use super::refusal::{self, Any};
use super::side::{SavingWire, SideWire, UnexplainedWire};
use super::wall::WallWire;
use super::{MINUTE, SCHEMA};
use crate::json::ReadError;
use crate::json::wire::{join, required};
use steady_render::json::fields;

/// Why readings are absent that earlier versions did not report.
const NONE_BEFORE: &str = "reports of earlier versions have none";

/// A time of day to the second.
#[derive(Deserialize)]
struct Second(#[serde(deserialize_with = "second")] u64);

/// What of an export makes up the report; words and sums are derived from it.
#[derive(Deserialize)]
struct ReleaseWire {
    service: String,
    old: String,
    new: String,
    /// Reports of before it was told have none.
    #[serde(default)]
    asked: Option<Second>,
    #[serde(deserialize_with = "second")]
    from: u64,
    #[serde(deserialize_with = "second")]
    to: u64,
    by_route: bool,
    confidence: f64,
    resolution: f64,
    #[serde(deserialize_with = "required")]
    fail_if: Option<FailIf>,
    design: ReleaseDesign,
    rests_on: RestsOn,
    from_outside: bool,
    #[serde(default)]
    has_classes: bool,
    refusals: Vec<Any>,
    #[serde(deserialize_with = "required")]
    settle: Option<SettleWire>,
    #[serde(default)]
    settle_absent: Option<String>,
    total: ChangeWire,
    /// Reports of before the total was estimated have none of these three.
    #[serde(default)]
    usual: Option<EstimateWire>,
    #[serde(default)]
    tails: Vec<TailWire>,
    #[serde(default)]
    unexplained: Option<UnexplainedWire>,
    #[serde(default)]
    unexplained_absent: Option<String>,
    routes: Vec<RouteWire>,
    /// Reports of before there were several hosts have none.
    #[serde(default)]
    hosts: Vec<HostWire>,
    sides: [SideWire; 2],
    #[serde(deserialize_with = "required")]
    wall: Option<WallWire>,
    #[serde(default)]
    wall_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    saving: Option<SavingWire>,
    #[serde(default)]
    saving_absent: Option<String>,
    course: CourseWire,
    looks: Vec<LookWire>,
    warnings: Vec<Any>,
}

#[derive(Deserialize)]
struct SettleWire {
    design: ReleaseDesign,
    #[serde(deserialize_with = "required")]
    seconds: Option<f64>,
}

/// The report in a JSON export, as it was.
///
/// # Errors
/// What is wrong with it, and where; no input makes it panic.
pub fn read_release_report(json: &str) -> Result<ReleaseReport, ReadError> {
    let wire: ReleaseWire = fields(SCHEMA.value(json)?)?;
    let report = wire.into_report()?;
    check(&report)?;
    Ok(report)
}

/// All of a list, or what is wrong with one of them and where.
fn all<W, T>(name: &str, wires: Vec<W>, read: impl Fn(W) -> Result<T, ReadError>) -> Result<Vec<T>, ReadError> {
    let one = |(at, wire)| read(wire).map_err(|error| error.within(&format!("{name}[{at}]")));
    wires.into_iter().enumerate().map(one).collect()
}

impl ReleaseWire {
    fn into_report(self) -> Result<ReleaseReport, ReadError> {
        let any = |read: fn(Value) -> Result<_, ReadError>| move |any: Any| read(any.0);
        let settle = join("settle", self.settle, self.settle_absent)?.ok();
        let wall = match join("wall", self.wall, self.wall_absent)? {
            Ok(wall) => Ok(wall.into_wall().map_err(|error| error.within("wall"))?),
            Err(absent) => Err(absent),
        };
        let [old, new] = self.sides;
        let warnings = self.warnings.into_iter().filter(|any| !refusal::is_gone(&any.0)).collect();
        Ok(ReleaseReport {
            question: ReleaseQuestion {
                service: self.service,
                old: self.old,
                new: self.new,
                asked: self.asked.map(|Second(asked)| Timestamp(asked)),
                from: self.from,
                to: self.to,
                by_route: self.by_route,
                confidence: self.confidence,
                resolution: self.resolution,
                fail_if: self.fail_if,
            },
            design: self.design,
            rests_on: self.rests_on,
            from_outside: self.from_outside,
            has_classes: self.has_classes,
            refused: all("refusals", self.refusals, any(refusal::read))?,
            settle: settle.map(SettleWire::into_settling),
            sides: [
                old.into_side().map_err(|error| error.within("sides[0]"))?,
                new.into_side().map_err(|error| error.within("sides[1]"))?,
            ],
            total: self.total.into_change().map_err(|error| error.within("total"))?,
            usual: EstimateWire::read(self.usual).map_err(|error| error.within("usual"))?,
            tails: all("tails", self.tails, TailWire::into_tail)?,
            routes: all("routes", self.routes, RouteWire::into_route)?,
            hosts: all("hosts", self.hosts, HostWire::into_host)?,
            wall,
            saving: join("saving", self.saving, self.saving_absent)?.map(Into::into),
            unexplained: match (self.unexplained, self.unexplained_absent) {
                (None, why) => Err(Absent(why.unwrap_or_else(|| NONE_BEFORE.to_owned()))),
                (unexplained, why) => join("unexplained", unexplained, why)?.map(UnexplainedWire::into_unexplained),
            },
            course: self.course.into(),
            looks: all("looks", self.looks, LookWire::into_look)?,
            warnings: all("warnings", warnings, |any| refusal::read_warning(any.0))?,
        })
    }
}

impl SettleWire {
    fn into_settling(self) -> Settling {
        Settling { design: self.design, minutes: self.seconds.map_or(f64::INFINITY, |seconds| seconds / MINUTE) }
    }
}
