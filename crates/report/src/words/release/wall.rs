//! Wall time: how it is distributed, and where it goes.

use steady_model::{Absent, Nanos, Reading, ReleaseDesign, ReleaseReport, ReleaseWall, WallPart};

use super::{moved, sized, versions};
use crate::text::tree::{Branch, Tree};
use crate::units::{setting, time};
use crate::words::cut;

/// The heading of the table: one after the other, the versions have no times in common.
pub(crate) fn heading(report: &ReleaseReport) -> &'static str {
    match report.design {
        ReleaseDesign::OneAfterTheOther => "Wall time, as it was (what load did is in it)",
        _ => "Wall time, both versions at the same times and mix of routes",
    }
}
/// How much of a version's name fits above a column.
const HEAD: usize = 16;

/// The heads of the columns.
pub(crate) fn heads(report: &ReleaseReport) -> [String; 3] {
    let [old, new] = versions(report);
    [cut(&old, HEAD), cut(&new, HEAD), "change".to_owned()]
}

/// Quantiles, then the parts of the mean; nothing where wall time was not told.
pub(crate) fn wall(report: &ReleaseReport) -> Reading<Tree> {
    let wall = report.wall.as_ref().map_err(Clone::clone)?;
    let quantile = |(share, times): &(f64, [Nanos; 2])| {
        let label = match *share {
            0.5 => "median".to_owned(),
            share => format!("{} below", setting(share)),
        };
        row(0, label, times)
    };
    let absent = |what: &str, why: &Absent| Branch {
        label: format!("{what} is absent: {}", super::named_reason(&why.0)),
        ..Branch::default()
    };
    let mut branches: Vec<Branch> = wall.quantiles.iter().map(quantile).collect();
    if let (true, Err(why)) = (branches.is_empty(), &wall.median_change) {
        branches.push(absent("how it is spread", why));
    }
    match &wall.parts {
        Ok(parts) => branches.extend(of_parts(parts)),
        Err(why) => branches.push(absent("where it goes", why)),
    }
    Ok(Tree { heads: heads(report).to_vec(), branches })
}

fn of_parts(parts: &[[Nanos; 2]; 3]) -> Vec<Branch> {
    let whole = [0, 1].map(|side| parts.iter().map(|part| part[side]).sum::<Nanos>());
    let names = [
        (WallPart::Cpu, "on a CPU"),
        (WallPart::Waiting, "waiting for a CPU"),
        (WallPart::Blocked, "blocked: other services, disks, locks"),
    ];
    let parts = names.iter().zip(parts).map(|((_, name), times)| row(1, (*name).to_owned(), times));
    std::iter::once(row(0, "mean, where waiting is known".to_owned(), &whole)).chain(parts).collect()
}

fn row(depth: usize, label: String, times: &[Nanos; 2]) -> Branch {
    let change = match times {
        [Nanos::ZERO, _] => "–".to_owned(),
        [old, new] => moved(new.seconds() / old.seconds() - 1.0),
    };
    let cells = vec![time(times[0].seconds()), time(times[1].seconds()), change];
    Branch { depth, label, cells, remark: String::new() }
}

/// The median page time in the first sentence: `median page time -3 % (-4.1 to -1.9 %)`.
pub(crate) fn median_change(report: &ReleaseReport) -> Option<String> {
    let ReleaseWall { median_change, median_interval, .. } = report.wall.as_ref().ok()?;
    let change = median_change.as_ref().ok()?;
    Some(match median_interval {
        Ok(interval) => {
            let (size, range) = sized(*change, *interval);
            format!("median page time {size} ({range})")
        }
        Err(_) => format!("median page time {}", moved(*change)),
    })
}
