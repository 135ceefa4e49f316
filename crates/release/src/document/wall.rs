//! Wall time: how it is distributed, and where it goes.

use steady_model::Nanos;
use steady_render::document::{Block, Section};
use steady_render::letters::cut;
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{setting, time};

use super::{moved, named_reason, plain, sized, versions};
use crate::record::{ReleaseDesign, ReleaseReport, ReleaseWall, WallParts, WallQuantile};

/// How much of a version's name fits above a column.
const HEAD: usize = 16;

/// What the parts of wall time are called, in their order.
pub(super) const PARTS: [&str; 3] = ["on a CPU", "waiting for a CPU", "blocked: other services, disks, locks"];

/// A row: what it is, and the times of OLD and NEW.
type Row = (String, [Nanos; 2]);

/// Quantiles, then the parts of the mean; the reason where wall time was not told.
pub(super) fn section(report: &ReleaseReport) -> Section {
    // One after the other, the versions have no times in common.
    let heading = match report.design {
        ReleaseDesign::OneAfterTheOther => "Wall time, as it was (what load did is in it)",
        _ => "Wall time, both versions at the same times and mix of routes",
    };
    let blocks = match &report.wall {
        Ok(wall) => blocks(report, wall),
        Err(absent) => vec![Block::Paragraph(plain(format!("It is absent: {}.", named_reason(&absent.0))))],
    };
    Section::new(heading, blocks).whole().folded()
}

fn blocks(report: &ReleaseReport, wall: &ReleaseWall) -> Vec<Block> {
    let quantile = |one: &WallQuantile| match one.ratio {
        0.5 => ("median".to_owned(), one.times),
        share => (format!("{} below", setting(share)), one.times),
    };
    let mut rows: Vec<Row> = wall.quantiles.iter().map(quantile).collect();
    rows.extend(wall.parts.iter().flat_map(of_parts));
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::Table(table(report, &rows)));
    }
    let absent = |what: &str, why: &str| Block::Paragraph(plain(format!("{what} is absent: {}.", named_reason(why))));
    if let (true, Err(why)) = (wall.quantiles.is_empty(), &wall.median_change) {
        blocks.push(absent("How it is spread", &why.0));
    }
    if let Err(why) = &wall.parts {
        blocks.push(absent("Where it goes", &why.0));
    }
    blocks
}

fn of_parts(parts: &WallParts) -> Vec<Row> {
    let parts = parts.in_order();
    let whole = [0, 1].map(|side| parts.iter().map(|part| part[side]).sum::<Nanos>());
    let parts = PARTS.iter().zip(parts).map(|(name, times)| (format!("· {name}"), times));
    std::iter::once(("mean, where waiting is known".to_owned(), whole)).chain(parts).collect()
}

fn table(report: &ReleaseReport, rows: &[Row]) -> Table {
    let [old, new] = versions(report);
    let change = |row: &Row| match row.1 {
        [Nanos::ZERO, _] => Cell::Nothing,
        [old, new] => moved(new.seconds() / old.seconds() - 1.0).into(),
    };
    Table {
        label: "Wall time".to_owned(),
        rows: ("time", "times"),
        columns: vec![
            Column::words("wall time", rows, |row| row.0.clone()),
            Column::numbers(&cut(&old, HEAD), rows, |row| time(row.1[0].seconds())),
            Column::numbers(&cut(&new, HEAD), rows, |row| time(row.1[1].seconds())),
            Column::numbers("change", rows, change),
        ],
    }
}

/// The median page time in the first sentence: `median page time -3 % (-4.1 to -1.9 %)`.
pub(super) fn median_change(report: &ReleaseReport) -> Option<String> {
    let wall = report.wall.as_ref().ok()?;
    let change = wall.median_change.as_ref().ok()?;
    Some(match wall.median_interval() {
        Ok(interval) => {
            let (size, range) = sized(*change, interval);
            format!("median page time {size} ({range})")
        }
        Err(_) => format!("median page time {}", moved(*change)),
    })
}
