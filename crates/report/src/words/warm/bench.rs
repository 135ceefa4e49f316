//! What keeping programs warm gains: its sentences, its tables and its facts.

use steady_model::{
    BreakEven, Ending, Interval, PaidBack, Reading, Verdict, WarmBenchReport, WarmEffect, WarmFigures, WarmMean,
    WarmMeasure, WarmMode, WarmProgram,
};

use crate::text::table::{Quantity, Table};
use crate::text::{Footnotes, Paint, Span};
use crate::units::{TIE, decimals, decimals_of, duration, fixed, percent, short, time, time_setting, time_with};
use crate::words::{Effect, between, count, one_line, signed};

/// What is told of a launch, and as which line of the table.
const LINES: [(WarmMeasure, &str, &str); 9] = [
    (WarmMeasure::Wall, "wall time", "wall"),
    (WarmMeasure::Cpu, "CPU time", "CPU"),
    (WarmMeasure::AllWall, "wall time, all", "wall, all"),
    (WarmMeasure::AllCpu, "CPU time, all", "CPU, all"),
    (WarmMeasure::Switches, "switches", "switches"),
    (WarmMeasure::Migrations, "migrations", "migrations"),
    (WarmMeasure::Faults, "page faults", "faults"),
    (WarmMeasure::Cycles, "cycles", "cycles"),
    (WarmMeasure::Instructions, "instructions", "instructions"),
];

/// The heading of the table of means.
pub(crate) const MEANS: &str = "A launch: mean ± standard deviation of the sessions";
/// The heading of the table of differences.
pub(crate) const AGAINST: &str = "Against normal launches (95\u{a0}% intervals)";
/// The heading of the course.
pub(crate) const COURSE: &str = "Wall time of each launch of a session, from the first to the last";
/// What lines that end with `all` are.
pub(crate) const ALL: &str =
    "all: from the start of steady, with the taking of snapshots in it, shared out over the session's launches";

/// A program's name.
pub(crate) fn program(report: &WarmBenchReport, at: usize) -> String {
    report.record.plan.programs.get(at).map_or_else(|| "?".to_owned(), |command| one_line(&command.name))
}

/// What is claimed of a program: by wall time, and when its snapshot is paid back.
pub(crate) fn sentences(program: &WarmProgram) -> Vec<Vec<Span>> {
    let figures = |mode| program.modes.iter().find(|figures| figures.mode == mode);
    let Some(on_demand) = figures(WarmMode::OnDemand) else { return vec![] };
    let mut first = claim(on_demand, "On demand, a launch");
    if let Some(prewarm) = figures(WarmMode::Prewarm) {
        first.push((Paint::Plain, " ".to_owned()));
        first.extend(claim(prewarm, "Prewarmed, it"));
    }
    let mut all = vec![first];
    // What was never started from a snapshot has none.
    if on_demand.warm_ratio.as_ref().is_ok_and(|ratio| *ratio == 0.0) {
        return all;
    }
    all.extend(on_demand.break_even.as_ref().ok().map(|both| vec![(Paint::Plain, repaid(both))]));
    all
}

/// By wall time, with its interval.
fn claim(figures: &WarmFigures, what: &str) -> Vec<Span> {
    let Some(effect) = figures.effect(WarmMeasure::Wall) else { return vec![] };
    let (change, interval) = match (&effect.change, &effect.interval) {
        (Ok(change), Ok(interval)) => (*change, *interval),
        (Err(absent), _) | (_, Err(absent)) => {
            return vec![(Paint::Plain, format!("{what}: ")), (Paint::Open, format!("undecided: {absent}."))];
        }
    };
    let words = Effect::beside_first(change, interval);
    let (paint, claim) = match effect.verdict {
        Verdict::Faster => (Paint::Less, format!("takes {} wall time", words.relative())),
        Verdict::Slower if words.factor => (Paint::More, format!("takes {} wall time", words.relative())),
        Verdict::Slower => (Paint::More, format!("takes {} wall time", words.relative())),
        Verdict::Same => (Paint::Same, "takes as long as usual".to_owned()),
        Verdict::Undecided => (Paint::Open, "is not told apart from a normal one".to_owned()),
    };
    let range = match effect.verdict {
        Verdict::Faster | Verdict::Slower => words.range,
        Verdict::Same | Verdict::Undecided => signed(change, interval).1,
    };
    vec![(Paint::Plain, format!("{what} ")), (paint, claim), (Paint::Plain, format!(" ({range})."))]
}

/// When the snapshot is paid back.
fn repaid([wall, cpu]: &[BreakEven; 2]) -> String {
    let after = |one: &BreakEven| match one.paid_back {
        PaidBack::After(launch) => format!("after {}", count(launch as usize, "launch", "launches")),
        PaidBack::Probably(launch) => format!("after about {} launches", round(launch)),
        PaidBack::Never => "not at all".to_owned(),
    };
    let takes = format!("Its snapshot takes {} of CPU time, beside the launches", time(cpu.taking.max(0.0)));
    match (wall.paid_back, cpu.paid_back) {
        (PaidBack::Never, PaidBack::Never) => format!("{takes}, and is never paid back."),
        _ => format!(
            "{takes}. It is paid back {} in the time that they are waited for, and {} in CPU time, with that of the taking.",
            after(wall),
            after(cpu)
        ),
    }
}

/// Two digits of what is an extrapolation.
fn round(launches: u64) -> String {
    let value = launches as f64;
    let scale = 10f64.powf((value.max(1.0).log10().floor() - 1.0).max(0.0));
    fixed((value / scale).round() * scale, 0)
}

/// The means, a column per mode.
pub(crate) fn means(program: &WarmProgram) -> (Table, Footnotes) {
    let mut notes = Footnotes::default();
    let mut quantities: Vec<Quantity> = Vec::new();
    for (measure, label, short) in LINES {
        let cell = |figures: &WarmFigures| match figures.mean(measure) {
            Ok(mean) => self::mean(measure, &mean),
            Err(absent) => format!("absent{TIE}{}", notes.mark(&one_line(&absent.0))),
        };
        quantities.push(Quantity { label, short, cells: program.modes.iter().map(cell).collect() });
    }
    let warm = |figures: &WarmFigures| match &figures.warm_ratio {
        Ok(ratio) => percent(*ratio),
        Err(absent) => format!("absent{TIE}{}", notes.mark(&one_line(&absent.0))),
    };
    let cells = program.modes.iter().map(warm).collect();
    quantities.push(Quantity { label: "from a snapshot", short: "snapshot", cells });
    let names = program.modes.iter().map(|figures| figures.mode.name().to_owned()).collect();
    (Table { names, quantities }, notes)
}

fn mean(measure: WarmMeasure, mean: &WarmMean) -> String {
    let off = mean.deviation.unwrap_or(f64::INFINITY);
    if measure.is_time() {
        return match mean.deviation {
            Some(_) => time_with(mean.mean, Interval { low: mean.mean - off, high: mean.mean + off }),
            None => time(mean.mean),
        };
    }
    if mean.mean >= 1e4 || !off.is_finite() || off <= 0.0 {
        return if mean.mean >= 1e4 { crate::units::count(mean.mean) } else { short(mean.mean) };
    }
    let digits = decimals(off).min(3);
    format!("{}{TIE}±{}", fixed(mean.mean, digits), fixed(off, digits))
}

/// The differences, a column per mode but the normal one.
pub(crate) fn against(program: &WarmProgram) -> (Table, Footnotes) {
    let mut notes = Footnotes::default();
    let modes = || program.modes.iter().filter(|figures| figures.mode != WarmMode::Normal);
    let mut quantities = Vec::new();
    for (measure, label, short) in LINES.into_iter().filter(|(measure, ..)| measure.is_time()) {
        let cell =
            |figures: &WarmFigures| figures.effect(measure).map_or_else(String::new, |one| effect(one, &mut notes));
        quantities.push(Quantity { label, short, cells: modes().map(cell).collect() });
    }
    for (at, label, short) in [(0, "paid back, wall", "back, wall"), (1, "paid back, CPU", "back, CPU")] {
        let cell = |figures: &WarmFigures| paid(&figures.break_even, at, &mut notes);
        quantities.push(Quantity { label, short, cells: modes().map(cell).collect() });
    }
    let cell = |figures: &WarmFigures| {
        figures.break_even.as_ref().map_or_else(|_| String::new(), |both| time(both[1].taking.max(0.0)))
    };
    quantities.push(Quantity { label: "CPU of taking", short: "taking", cells: modes().map(cell).collect() });
    let names = modes().map(|figures| figures.mode.name().to_owned()).collect();
    (Table { names, quantities }, notes)
}

fn effect(effect: &WarmEffect, notes: &mut Footnotes) -> String {
    match (&effect.change, &effect.interval) {
        (Ok(change), Ok(interval)) => {
            let (size, range) = signed(*change, *interval);
            format!("{size} ({range})")
        }
        (Err(absent), _) | (_, Err(absent)) => format!("absent{TIE}{}", notes.mark(&one_line(&absent.0))),
    }
}

fn paid(break_even: &Reading<[BreakEven; 2]>, at: usize, notes: &mut Footnotes) -> String {
    let one = match break_even {
        Ok(both) => &both[at],
        Err(absent) => return format!("absent{TIE}{}", notes.mark(&one_line(&absent.0))),
    };
    match (one.paid_back, one.certain) {
        (PaidBack::After(launch), Some(certain)) if certain > launch => {
            format!("launch{TIE}{launch} (surely{TIE}{certain})")
        }
        (PaidBack::After(launch), Some(_)) => format!("launch{TIE}{launch} (surely)"),
        (PaidBack::After(launch), None) => format!("launch{TIE}{launch} (not{TIE}sure)"),
        (PaidBack::Probably(launch), _) => format!("about launch{TIE}{}", round(launch)),
        (PaidBack::Never, _) => "never".to_owned(),
    }
}

/// What stands below all: a label and what belongs to it.
pub(crate) fn facts(report: &WarmBenchReport) -> Vec<(&'static str, String)> {
    let record = &report.record;
    let plan = &record.plan;
    let runs = record.trials.iter().flatten().map(|trial| trial.runs.len()).max().unwrap_or(0);
    let mut facts = vec![(
        "sessions",
        format!(
            "{} of each mode, in an order drawn by coin, of {} each, in {}",
            runs,
            count(plan.count as usize, "launch", "launches"),
            duration(record.elapsed)
        ),
    )];
    facts.push((
        "driver",
        "one process that launches by posix_spawn and waits: a shell's own fork would be the same in all modes"
            .to_owned(),
    ));
    facts.push(("store", "a new one for each session, so each takes its snapshots again".to_owned()));
    if plan.pause.0 > 0 {
        facts.push(("rests", format!("{} between launches, counted nowhere", time_setting(plan.pause))));
    }
    if plan.cold {
        facts.push(("cold", "the page cache was dropped before each session".to_owned()));
    }
    facts.push(("seed", plan.seed.to_string()));
    facts
}

/// That it was interrupted.
pub(crate) fn early(report: &WarmBenchReport) -> Option<&'static str> {
    (report.record.ending == Ending::Interrupted).then_some("It was interrupted: what is whole is shown.")
}

/// The gains in a few words, for a list: `true -62.9 %, cat -60.1 % wall on demand`.
pub fn warm_bench_summary(report: &WarmBenchReport) -> String {
    let told = report.programs.iter().enumerate().filter_map(|(at, program)| {
        let figures = program.as_ref().ok()?.modes.iter().find(|figures| figures.mode == WarmMode::OnDemand)?;
        let change = *figures.effect(WarmMeasure::Wall)?.change.as_ref().ok()?;
        Some(format!(
            "{} {}{TIE}%",
            self::program(report, at),
            fixed(change * 100.0, decimals_of(change * 100.0, 3).min(1))
        ))
    });
    let told: Vec<String> = told.collect();
    let text = match told.len() {
        0 => "nothing was measured whole".to_owned(),
        1..=3 => format!("{} wall on demand", told.join(", ")),
        many => format!("{}, ... ({many} programs) wall on demand", told[..2].join(", ")),
    };
    text.replace(TIE, " ")
}

/// The course of a mode in words, for those who do not see the chart.
pub(crate) fn course(figures: &WarmFigures) -> String {
    let ends = figures.course.first().zip(figures.course.last());
    ends.map_or_else(String::new, |(first, last)| {
        let range = Interval { low: first[0].min(last[0]) * 1e6, high: first[0].max(last[0]) * 1e6 };
        format!("{}: {}", figures.mode.name(), between(range, &format!("{TIE}µs")))
    })
}
