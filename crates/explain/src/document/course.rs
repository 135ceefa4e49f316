//! How a long run went: the CPUs that it used, over time.

use steady_model::Nanos;
use steady_render::chart::{Axis, Bin, Chart, Height, Look, Marks, Series};
use steady_render::scale::{Kind, Scale};

use crate::record::{ExplainRecord, Progress};

/// Fewer points than this show nothing that the bars do not.
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

/// The chart; none for short runs.
pub(super) fn chart(record: &ExplainRecord) -> Option<Chart> {
    let rates = rates(&record.progress);
    if rates.len() < FEW {
        return None;
    }
    let height = |rate: &Rate| rate.cpu.max(rate.waiting.unwrap_or(0.0));
    let top = rates.iter().map(height).fold(0.0, f64::max).max(0.1) * 1.06;
    let columns = |of: fn(&Rate) -> f64| {
        Marks::Columns(rates.iter().map(|rate| Bin { from: rate.from, to: rate.to, height: of(rate) }).collect())
    };
    let series = |name: Option<&str>, look, marks| Series { name: name.map(str::to_owned), look, marks };
    let mut all = vec![
        series(Some("CPUs in system mode"), Look::Second, columns(|rate| rate.cpu)),
        series(Some("in user mode"), Look::First, columns(|rate| rate.user)),
    ];
    // Where it is not known, there is no line; the stretches between have one name.
    let stretches = rates.chunk_by(|one, other| one.waiting.is_some() == other.waiting.is_some());
    let lines = stretches.filter_map(|stretch| {
        let ends = |rate: &Rate| rate.waiting.map(|waiting| [(rate.from, waiting), (rate.to, waiting)]);
        stretch.iter().map(ends).collect::<Option<Vec<_>>>().map(|points| points.concat())
    });
    for (at, line) in lines.enumerate() {
        let name = (at == 0).then_some("threads waiting for a CPU");
        all.push(series(name, Look::Third, Marks::Line(line)));
    }
    let absent = rates.iter().all(|rate| rate.waiting.is_none()).then_some("Threads waiting for a CPU: absent.");
    let ticks =
        record.tick_seconds.is_ok().then_some("The kernel samples user and system mode at ticks; their sum is exact.");
    let note: Vec<&str> = absent.into_iter().chain(ticks).collect();
    Some(Chart {
        label: "CPUs that it used over time, in user and in system mode, and threads of it that waited for one"
            .to_owned(),
        height: Height::Middle,
        x: Axis::Scale(Scale::new(Kind::Clock, 0.0, rates.last().map_or(1.0, |rate| rate.to))),
        y: Axis::Scale(Scale::new(Kind::Number, 0.0, top)),
        series: all,
        note: (!note.is_empty()).then(|| note.join(" ")),
    })
}

/// The rates between the points, the first from the start; of many several together.
fn rates(progress: &[Progress]) -> Vec<Rate> {
    let group = progress.len().div_ceil(MOST).max(1);
    let zero = Nanos::ZERO;
    let mut before = Progress { at_seconds: zero, cpu_seconds: zero, user_seconds: zero, waiting_seconds: Some(zero) };
    let mut rates = Vec::new();
    for point in progress.chunks(group).filter_map(<[Progress]>::last) {
        let seconds = (point.at_seconds - before.at_seconds).seconds();
        if seconds <= 0.0 {
            continue;
        }
        let cpu = (point.cpu_seconds - before.cpu_seconds).seconds() / seconds;
        let waited = point.waiting_seconds.zip(before.waiting_seconds);
        rates.push(Rate {
            from: before.at_seconds.seconds(),
            to: point.at_seconds.seconds(),
            user: ((point.user_seconds - before.user_seconds).seconds() / seconds).min(cpu),
            cpu,
            waiting: waited.map(|(now, then)| (now - then).seconds() / seconds),
        });
        before = *point;
    }
    rates
}
