//! How a long run went: the CPUs that it used, over time.

use maud::{Markup, html};
use steady_model::{ExplainReport, Nanos, Progress};

use crate::html::scale::{Kind, Scale};
use crate::html::svg::{Path, Plot, sample};
use crate::units::fixed;

/// Fewer points than this tell nothing that the bars do not.
const FEW: usize = 4;
/// More stretches of time than this are drawn as means of several.
const MOST: usize = 600;

/// What was used between two points, per second.
struct Rate {
    from: f64,
    to: f64,
    user: f64,
    cpu: f64,
    waiting: Option<f64>,
}

/// The chart; nothing for short runs.
pub(super) fn draw(report: &ExplainReport) -> Markup {
    let rates = rates(&report.record.progress);
    if rates.len() < FEW {
        return html! {};
    }
    let height = |rate: &Rate| rate.cpu.max(rate.waiting.unwrap_or(0.0));
    let top = rates.iter().map(height).fold(0.0, f64::max).max(0.1) * 1.06;
    let time = Scale::new(Kind::Clock, 0.0, rates.last().map_or(1.0, |rate| rate.to));
    let (mut user, mut cpu, mut waiting) = (Path::default(), Path::default(), Path::default());
    let mut going = false;
    for rate in &rates {
        let (left, right) = (time.clamped(rate.from), time.clamped(rate.to));
        cpu.column(left, right, rate.cpu / top);
        user.column(left, right, rate.user / top);
        match (rate.waiting, going) {
            (Some(value), true) => waiting.on((left, value / top)),
            (Some(value), false) => waiting.start((left, value / top)),
            (None, _) => {}
        }
        rate.waiting.iter().for_each(|value| waiting.on((right, value / top)));
        going = rate.waiting.is_some();
    }
    let known = rates.iter().any(|rate| rate.waiting.is_some());
    let inside = html! { (cpu.draw("system")) (user.draw("user")) (waiting.draw("pressure")) };
    let label = "CPUs that it used over time, in user and in system mode, and threads of it that waited for one.";
    html! {
        section {
            h2 { "Over time" }
            figure {
                (Plot { label, height: "middle", x: &time.ticks(), x_labels: true, y: &ticks(top), inside }.draw())
                p.key {
                    span { (sample("user")) "CPUs in user mode" }
                    span { (sample("system")) "in system mode" }
                    @if known { span { (sample("pressure")) "threads waiting for a CPU" } }
                    @else { span { "threads waiting for a CPU: absent" } }
                }
                @if report.record.tick.is_some() {
                    p.note { "The kernel tells user and system mode apart at ticks; their sum is exact." }
                }
            }
        }
    }
}

/// The rates between the points, the first from the start; of many several together.
fn rates(progress: &[Progress]) -> Vec<Rate> {
    let group = progress.len().div_ceil(MOST).max(1);
    let mut before = Progress { at: Nanos::ZERO, cpu: Nanos::ZERO, user: Nanos::ZERO, waiting: Some(Nanos::ZERO) };
    let mut rates = Vec::new();
    for point in progress.chunks(group).filter_map(<[Progress]>::last) {
        let seconds = (point.at - before.at).seconds();
        if seconds <= 0.0 {
            continue;
        }
        let cpu = (point.cpu - before.cpu).seconds() / seconds;
        rates.push(Rate {
            from: before.at.seconds(),
            to: point.at.seconds(),
            user: ((point.user - before.user).seconds() / seconds).min(cpu),
            cpu,
            waiting: point.waiting.zip(before.waiting).map(|(now, then)| (now - then).seconds() / seconds),
        });
        before = *point;
    }
    rates
}

/// Some ticks of the axis: numbers of CPUs.
fn ticks(top: f64) -> Vec<(f64, String)> {
    let step =
        [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0].into_iter().find(|step| top / step <= 4.5);
    let step = step.unwrap_or((top / 4.0).ceil());
    let decimals =
        [(0.25, 2), (0.1, 1), (0.5, 1), (0.05, 2)].into_iter().find(|(of, _)| *of == step).map_or(0, |(_, one)| one);
    let all = (1..=4).map(|index| f64::from(index) * step).filter(|value| value / top <= 0.97);
    all.map(|value| (value / top, fixed(value, decimals))).collect()
}
