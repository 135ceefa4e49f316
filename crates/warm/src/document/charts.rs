//! Charts of the launches of a session.

use steady_model::{Interval, Metric};
use steady_render::chart::{Axis, Chart, Height, Look, Marks, Series};
use steady_render::effect::between;
use steady_render::scale::{Kind, Scale};
use steady_render::units::TIE;

use crate::record::{LaunchMode, ModeFigures};

/// The wall time of each launch, a line for each mode; nothing without launches.
pub(super) fn course(modes: &[ModeFigures]) -> Option<Chart> {
    let lines = modes.iter().map(|figures| (figures.mode, figures.launch_wall_seconds.clone())).collect();
    let label = modes.iter().filter_map(in_words).collect::<Vec<_>>().join("; ");
    chart(format!("Wall time of each launch. {label}"), lines)
}

/// CPU time of the launches so far and of the snapshot, less that of as many normal launches; nothing without launches.
pub(super) fn behind(modes: &[ModeFigures]) -> Option<Chart> {
    let normal = modes.iter().find(|figures| figures.mode == LaunchMode::Normal)?;
    let line = |figures: &ModeFigures| {
        let mut behind = figures.break_even.as_ref().ok()?.cpu.taking_seconds.clone().ok()?;
        let pairs = figures.launch_cpu_seconds.iter().zip(&normal.launch_cpu_seconds);
        let so_far = pairs.map(|(launch, usual)| {
            behind += launch - usual;
            behind
        });
        Some((figures.mode, so_far.collect()))
    };
    let label = "CPU time of the launches so far and of the snapshot, less that of as many normal launches";
    let mut chart = chart(label.to_owned(), modes.iter().filter_map(line).collect())?;
    chart.series.insert(0, Series { name: None, look: Look::Rest, marks: Marks::Across(0.0) });
    Some(chart)
}

/// A line for each mode over the launches of a session, on an axis that includes zero.
fn chart(label: String, lines: Vec<(LaunchMode, Vec<f64>)>) -> Option<Chart> {
    let launches = lines.iter().map(|(_, line)| line.len()).max().filter(|launches| *launches > 0)?;
    let values = || lines.iter().flat_map(|(_, line)| line).copied();
    let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let room = 0.06 * (high - low);
    let y = Scale::new(Kind::Cost(Metric::Wall), if low < 0.0 { low - room } else { low }, high + room);
    let series = lines.into_iter().map(|(mode, line)| Series {
        name: Some(mode.name().to_owned()),
        look: match mode {
            LaunchMode::Normal => Look::Rest,
            LaunchMode::Prewarm => Look::Second,
            LaunchMode::OnDemand => Look::First,
        },
        marks: Marks::Line(line.into_iter().enumerate().map(|(at, value)| (at as f64 + 1.0, value)).collect()),
    });
    Some(Chart {
        label,
        height: Height::Middle,
        x: Axis::Scale(Scale::new(Kind::Number, 1.0, launches as f64)),
        y: Axis::Scale(y),
        series: series.collect(),
        note: Some("From left to right: launches of a session.".to_owned()),
    })
}

/// The course of a mode, for those who do not see the chart.
fn in_words(figures: &ModeFigures) -> Option<String> {
    let (first, last) = (figures.launch_wall_seconds.first()?, figures.launch_wall_seconds.last()?);
    let range = Interval { low: first.min(*last) * 1e6, high: first.max(*last) * 1e6 };
    Some(format!("{}: {}", figures.mode.name(), between(range, &format!("{TIE}µs"))))
}
