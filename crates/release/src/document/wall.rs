//! The table of wall time: quantiles, and the parts of the mean.

use steady_model::{Interval, Nanos, Reading, Timestamp, WALL_SECONDS};
use steady_render::document::{Block, Section};
use steady_render::effect::signed;
use steady_render::table::{Cell, Column, Table};
use steady_render::timestamp;
use steady_render::units::{TIE, setting, time};

use super::{moved, named_reason, plain, versions};
use crate::record::{ReleaseDesign, ReleaseReport, ReleaseWall, WallParts, WallQuantile, WallTimes};

/// Labels of the parts of wall time, in the order of [`WallParts::in_order`].
pub(super) const PARTS: [&str; 3] = ["on a CPU", "waiting for a CPU", "blocked: services, disks, locks"];

/// A row of the table: a quantile, or a part of the mean, which has no interval.
struct Row {
    name: String,
    times: [Nanos; 2],
    interval: Option<Reading<Interval>>,
}

/// Returns the table of quantiles and parts of the mean, or the reason why there is no wall time.
pub(super) fn section(report: &ReleaseReport) -> Section {
    // One after the other, the versions have no times in common, so the times cannot be weighted to match. The parts of
    // the mean never are.
    let heading = match (&report.wall, report.design) {
        (_, ReleaseDesign::OneAfterTheOther) => "Wall time, not adjusted for load",
        (Ok(wall), _) if wall.quantiles.is_empty() => "Wall time, not adjusted for load",
        _ => "Wall time, both versions at the same times and mix of routes",
    };
    let blocks = match &report.wall {
        Ok(wall) => blocks(report, wall),
        Err(absent) => vec![Block::Paragraph(plain(format!("Not available: {}.", named_reason(&absent.0))))],
    };
    Section::new(heading, blocks).whole().as_detail()
}

fn blocks(report: &ReleaseReport, wall: &ReleaseWall) -> Vec<Block> {
    let quantile = |one: &WallQuantile| {
        let name = if one.ratio == 0.5 { "median".to_owned() } else { format!("{} below", setting(one.ratio)) };
        Row { name, times: one.times, interval: Some(one.interval()) }
    };
    let mut rows: Vec<Row> = wall.quantiles.iter().map(quantile).collect();
    rows.extend(wall.parts.iter().flat_map(of_parts));
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::Table(table(report, &rows)));
    }
    if let Some(WallTimes { from, to }) = wall.covered
        && (from, to) != (report.question.from, report.question.to)
    {
        let [from, to] = [from, to].map(|second| timestamp::text(Timestamp(second)));
        blocks.push(Block::Paragraph(plain(format!(
            "quantiles: from {from} to {to}, because wall times are stored for {WALL_SECONDS} seconds at a time"
        ))));
    }
    if wall.quantiles.iter().any(|one| one.interval().is_ok()) {
        let level = setting(report.question.confidence);
        let parts = match &wall.parts {
            Ok(_) => "; the mean and its parts have none, because they are not adjusted for times and mix of routes",
            Err(_) => "",
        };
        blocks.push(Block::Paragraph(plain(format!("interval: {level} for each quantile{parts}"))));
    } else if wall.parts.is_ok() && !wall.quantiles.is_empty() && report.design != ReleaseDesign::OneAfterTheOther {
        let parts = "the mean and its parts are not adjusted for times and mix of routes";
        blocks.push(Block::Paragraph(plain(parts.to_owned())));
    }
    let absent =
        |what: &str, why: &str| Block::Paragraph(plain(format!("{what}: not available, {}.", named_reason(why))));
    if let (true, Err(why)) = (wall.quantiles.is_empty(), &wall.median_change) {
        blocks.push(absent("Quantiles", &why.0));
    }
    if let Err(why) = &wall.parts {
        blocks.push(absent("Time on a CPU, waiting and blocked", &why.0));
    }
    blocks
}

fn of_parts(parts: &WallParts) -> Vec<Row> {
    let parts = parts.in_order();
    let whole = [0, 1].map(|side| parts.iter().map(|part| part[side]).sum::<Nanos>());
    let row = |name, times| Row { name, times, interval: None };
    let parts = PARTS.iter().zip(parts).map(|(name, times)| row(format!("· {name}"), times));
    std::iter::once(row("mean (requests with known waiting)".to_owned(), whole)).chain(parts).collect()
}

fn table(report: &ReleaseReport, rows: &[Row]) -> Table {
    let [old, new] = versions(report);
    let change = |row: &Row| match (row.times, &row.interval) {
        ([Nanos::ZERO, _], _) => Cell::Nothing,
        ([old, new], Some(Ok(interval))) => signed(new.seconds() / old.seconds() - 1.0, *interval).0.into(),
        ([old, new], _) => moved(new.seconds() / old.seconds() - 1.0).into(),
    };
    let interval = |row: &Row| match (row.times, &row.interval) {
        (_, None) | ([Nanos::ZERO, _], _) => Cell::Nothing,
        (_, Some(Err(absent))) => Cell::Absent(named_reason(&absent.0)),
        ([old, new], Some(Ok(interval))) => {
            let change = new.seconds() / old.seconds() - 1.0;
            signed(change, *interval).1.trim_end_matches(&format!("{TIE}%")).into()
        }
    };
    Table {
        label: "Wall time".to_owned(),
        rows: ("time", "times"),
        columns: vec![
            Column::words("wall time", rows, |row| row.name.clone()),
            Column::numbers(&old, rows, |row| time(row.times[0].seconds())),
            Column::numbers(&new, rows, |row| time(row.times[1].seconds())),
            Column::numbers("change", rows, change),
            Column::numbers("interval, %", rows, interval),
        ],
    }
}

/// The sentence about the median wall time: `The median wall time changed by -3 % (-4.1 to -1.9 %)`, or `differs by` if
/// the interval contains zero. `None` without an interval: such a change can be noise alone, so only the table has it.
pub(super) fn median_change(report: &ReleaseReport) -> Option<String> {
    let wall = report.wall.as_ref().ok()?;
    let change = wall.median_change.as_ref().ok()?;
    let interval = wall.median_interval().ok()?;
    let (size, range) = signed(*change, interval);
    let [verb, rest] = super::claim(&interval);
    Some(format!("The median wall time {verb} by {size} ({range}){rest}"))
}
