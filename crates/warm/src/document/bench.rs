//! The report of `steady warm bench`.

use steady_feature::{Record, Report};
use steady_model::{Ending, Facts, Interval, Metric, Reading, Verdict};
use steady_render::chart::{Axis, Chart, Height, Look, Marks, Series};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence, Shown, Span, origin};
use steady_render::effect::{Effect as Size, between, signed, verdict_in_words};
use steady_render::json::pretty;
use steady_render::letters::{count, one_line};
use steady_render::scale::{Kind, Scale};
use steady_render::table::{Cell, Column, Table};
use steady_render::terminal::columns::small;
use steady_render::units::{self, TIE, decimals, duration, fixed, percent, short, time, time_setting, time_with};

use crate::csv::bench_csv;
use crate::record::{BenchProgram, BenchRecord, BreakEven, Effect, LaunchMode, Mean, Measure, ModeFigures, PaidBack};

/// The times of a launch, with their row labels.
const TIMES: [(Measure, &str); 4] = [
    (Measure::Wall, "wall time"),
    (Measure::Cpu, "CPU time"),
    (Measure::AllWall, "wall time, all"),
    (Measure::AllCpu, "CPU time, all"),
];
/// The counts of a launch, with their row labels.
const COUNTS: [(Measure, &str); 9] = [
    (Measure::Switches, "switches"),
    (Measure::Migrations, "migrations"),
    (Measure::Faults, "page faults"),
    (Measure::Cycles, "cycles"),
    (Measure::StalledFrontend, "front-end stalls, cycles"),
    (Measure::StalledBackend, "back-end stalls, cycles"),
    (Measure::Instructions, "instructions"),
    (Measure::Branches, "branches"),
    (Measure::BranchMisses, "branch misses"),
];
/// With more programs than this, the text report has no tables per program.
const TABLES: usize = 8;
/// A chart continues lines up to this multiple of the measured launches.
const LONGEST_CONTINUED: usize = 20;
/// The number of characters in the small chart of a mode's launches.
const SMALL: usize = 16;

impl Report for BenchRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        bench_csv(self)
    }

    /// The JSON; each session is on a line of its own.
    fn json(&self, samples: bool) -> String {
        pretty::indented_but(&self.value(samples), "sessions")
    }
}

impl Record for BenchRecord {
    fn facts(&self) -> Facts {
        Facts {
            seed: Ok(self.seed),
            commands: self.programs.iter().map(|program| program.command.name.clone()).collect(),
            primary: Ok(Metric::Wall),
            complete: self.ending != Ending::Interrupted,
            ..Facts::new(crate::record::KIND, self.started, &self.host, &self.revision, summary(self))
        }
    }
}

/// Builds the report: one paragraph of conclusions for each program, then the figures.
fn document(record: &BenchRecord) -> Document {
    let mut answer: Vec<Sentence> = record.programs.iter().map(claims).collect();
    if record.ending == Ending::Interrupted {
        let early = "Interrupted: this report has the sessions that were complete.";
        answer.push(vec![(Emphasis::Open, early.to_owned())]);
    }
    let has_tables = record.programs.len() <= TABLES;
    let mut sections: Vec<Section> =
        record.programs.iter().flat_map(|program| of_program(program, has_tables)).collect();
    sections.push(Section::new("How it was measured", vec![Block::Facts(facts(record, has_tables))]).as_detail());
    sections.extend(origin(record.started, &record.host, &record.revision));
    Document { subject: "Steadyhand: gains from snapshots".to_owned(), answer, sections, is_brief: false }
}

fn plain(text: impl Into<String>) -> Span {
    (Emphasis::Plain, text.into())
}

fn name(program: &BenchProgram) -> String {
    one_line(&program.command.name)
}

/// The conclusions about a program: its wall time, and when its snapshot pays for itself.
fn claims(program: &BenchProgram) -> Sentence {
    let mut claims = vec![(Emphasis::Code, name(program)), plain(": ")];
    match &program.modes {
        Err(absent) => claims.push(plain(format!("not measured: {}.", one_line(&absent.0)))),
        Ok(_) => {
            let of = |mode, words| program.figures(mode).map_or_else(Vec::new, |one| claim(one, words));
            claims.extend(of(LaunchMode::OnDemand, "on demand"));
            claims.push(plain(" "));
            claims.extend(of(LaunchMode::Prewarm, "Prewarmed"));
            if let Some(on_demand) = program.figures(LaunchMode::OnDemand) {
                claims.extend(session_claim(on_demand, "On demand").into_iter().flatten());
                let repaid = repaid(on_demand).filter(|_| !on_demand.has_few_snapshots());
                claims.extend(repaid.map(|text| plain(format!(" {text}"))));
            }
            // For prewarmed sessions the table is enough, unless they are a loss.
            if let Some(prewarm) = program.figures(LaunchMode::Prewarm).filter(|figures| is_loss(figures)) {
                claims.extend(session_claim(prewarm, "Prewarmed").into_iter().flatten());
            }
        }
    }
    claims
}

/// The sentence about the wall time of a mode, with the share of its launches from a snapshot. If the CPU time
/// certainly differs in another way, it says so.
fn claim(figures: &ModeFigures, mode: &str) -> Sentence {
    let Some(effect) = figures.effect(Measure::Wall) else { return vec![] };
    let share = match &figures.warm_ratio {
        Ok(0.0) => return vec![plain(format!("{mode}, no launch was from a snapshot."))],
        Ok(ratio) if figures.has_few_snapshots() => {
            let few = format!("only {} of the launches were from a snapshot", percent(*ratio));
            return vec![plain(format!("{mode}, ")), (Emphasis::Open, few), plain(": too few for a claim about time.")];
        }
        Ok(ratio) => format!("{} of the launches from a snapshot", percent(*ratio)),
        Err(_) => "unknown share of launches from a snapshot".to_owned(),
    };
    let what = format!("{mode} ({share}), a launch");
    let (change, interval) = match (&effect.change, &effect.interval()) {
        (Ok(change), Ok(interval)) => (*change, *interval),
        (Err(absent), _) | (_, Err(absent)) => {
            let why = format!("cannot be compared with a normal launch: {}.", one_line(&absent.0));
            return vec![plain(format!("{what} ")), (Emphasis::Open, why)];
        }
    };
    let range = || signed(change, interval).1;
    let (claim, range) = difference(effect, "wall time").unwrap_or_else(|| match effect.verdict {
        Verdict::Same => ((Emphasis::Same, "takes as much wall time as a normal launch".to_owned()), range()),
        _ => ((Emphasis::Open, "does not differ detectably from a normal launch in wall time".to_owned()), range()),
    });
    let mut sentence = vec![plain(format!("{what} ")), claim, plain(format!(" ({range})"))];
    let cpu = figures.effect(Measure::Cpu).filter(|cpu| cpu.verdict != effect.verdict);
    if let Some((claim, range)) = cpu.and_then(|cpu| difference(cpu, "CPU time")) {
        sentence.extend([plain(", but "), claim, plain(format!(" ({range})"))]);
    }
    sentence.push(plain("."));
    sentence
}

/// A difference that is certain, and its interval: `takes 62.9 % less CPU time`, `62.4 to 63.5 %`.
fn difference(effect: &Effect, noun: &str) -> Option<(Span, String)> {
    let emphasis = match effect.verdict {
        Verdict::Faster => Emphasis::Less,
        Verdict::Slower => Emphasis::More,
        Verdict::Same | Verdict::Undecided => return None,
    };
    let size = Size::of(*effect.change.as_ref().ok()?, effect.interval().ok()?);
    Some(((emphasis, format!("takes {} {noun}", size.relative())), size.range))
}

/// Whether whole sessions certainly take more time.
fn is_loss(figures: &ModeFigures) -> bool {
    let is_slower = |measure| figures.effect(measure).is_some_and(|effect| effect.verdict == Verdict::Slower);
    is_slower(Measure::AllWall) || is_slower(Measure::AllCpu)
}

/// The sentence about the times of whole sessions, which contain the start of `steady warm` and the capture.
fn session_claim(figures: &ModeFigures, mode: &str) -> Option<Sentence> {
    let change = |measure, noun: &str| {
        let effect = figures.effect(measure)?;
        let size = Size::of(*effect.change.as_ref().ok()?, effect.interval().ok()?);
        Some(match effect.verdict {
            Verdict::Faster => (Emphasis::Less, format!("{} {noun}", size.relative())),
            Verdict::Slower => (Emphasis::More, format!("{} {noun}", size.relative())),
            Verdict::Same | Verdict::Undecided => (Emphasis::Open, format!("no detectably different {noun}")),
        })
    };
    let launches = match figures.launch_wall_seconds.len() {
        1 => "the launch of a session takes".to_owned(),
        several => format!("the {several} launches of a session take"),
    };
    Some(vec![
        plain(format!(" {mode}, with the start of steady warm and the capture, {launches} ")),
        change(Measure::AllWall, "wall time")?,
        plain(" and "),
        change(Measure::AllCpu, "CPU time")?,
        plain("."),
    ])
}

/// The sections with the figures of a program; empty if it was not measured.
fn of_program(program: &BenchProgram, has_tables: bool) -> Vec<Section> {
    let Ok(modes) = &program.modes else { return vec![] };
    let name = name(program);
    let notes = program.notes.iter().flatten();
    let notes = notes.map(|note| vec![(Emphasis::Open, "Note:".to_owned()), plain(format!(" {}", one_line(note)))]);
    let mut blocks: Vec<Block> = notes.map(Block::Paragraph).collect();
    let mut sections = Vec::new();
    if !has_tables && !blocks.is_empty() {
        sections.push(Section::new(&name, std::mem::take(&mut blocks)));
    }
    blocks.extend([times(modes), counts(modes), course(modes)].map(Block::Table));
    let tables = Section::new(&name, blocks).whole();
    sections.push(match has_tables {
        true => tables,
        false if sections.is_empty() => tables.shown(Shown::OffTerminal),
        false => Section { heading: None, ..tables }.shown(Shown::OffTerminal),
    });
    let drawn = [
        (format!("{name}: wall time of each launch, from the first to the last"), course_chart(modes)),
        (format!("{name}: CPU time of all launches so far, including the snapshot"), total(modes)),
    ];
    sections.extend(
        drawn.into_iter().filter_map(|(heading, chart)| Some(Section::new(&heading, vec![Block::Chart(chart?)]))),
    );
    sections
}

/// States when the capture of a mode pays for itself, without the start of `steady warm`.
fn repaid(figures: &ModeFigures) -> Option<String> {
    let BreakEven { wall, cpu } = figures.break_even.as_ref().ok()?;
    let costs = match &cpu.capture_seconds {
        Ok(seconds) => format!("The capture on demand alone costs {} of CPU time", time(seconds.max(0.0))),
        Err(absent) => format!("The cost of the capture on demand is not measured: {}", one_line(&absent.0)),
    };
    let of = |one, measure| match Payback::of(figures, one, measure) {
        Payback::After { launches, certain_from: Some(_) } => {
            format!("it pays for itself after {}", launches_in_words(launches))
        }
        Payback::Uncertain => "it is not certain that it pays for itself".to_owned(),
        Payback::After { launches, certain_from: None } => {
            format!("it pays for itself after {}, which is not certain", launches_in_words(launches))
        }
        Payback::Later { measured, estimate } => {
            let measured = launches_in_words(measured);
            let estimate = format!("it does after about {} if later ones save as much", round(estimate));
            format!("it does not pay for itself within the measured {measured}; {estimate}")
        }
        Payback::Open { measured } => {
            let measured = launches_in_words(measured);
            format!("it does not pay for itself within the measured {measured}, and a gain per launch is not certain")
        }
    };
    let (wall, cpu) = (of(wall, Measure::Wall), of(cpu, Measure::Cpu));
    Some(match wall == cpu {
        true => format!("{costs}. In wall time and in CPU time, {wall}."),
        false => format!("{costs}. In wall time, {wall}. In CPU time, {cpu}."),
    })
}

fn launches_in_words(launches: u64) -> String {
    count(launches as usize, "launch", "launches")
}

/// When a capture pays for itself, as far as the report states it.
enum Payback {
    /// After so many of the measured launches. From `certain_from` on, there is certainly no loss.
    After { launches: u64, certain_from: Option<u64> },
    /// After some of the measured launches, but neither that nor a gain per launch is certain.
    Uncertain,
    /// Not within the measured launches. The estimate is for launches that cost as much as the last ones.
    Later { measured: u64, estimate: u64 },
    /// Not within the measured launches, without an estimate.
    Open { measured: u64 },
}

impl Payback {
    /// Returns what the report states about the break-even of a mode in this time of a launch.
    fn of(figures: &ModeFigures, one: &PaidBack, measure: Measure) -> Self {
        let has_gain = figures.effect(measure).is_some_and(|effect| effect.verdict == Verdict::Faster);
        let measured = figures.launch_wall_seconds.len() as u64;
        match (&one.launches, one.extrapolated) {
            (Ok(_), false) if one.certain_launches.is_err() && !has_gain => Payback::Uncertain,
            (Ok(launches), false) => {
                Payback::After { launches: *launches, certain_from: one.certain_launches.clone().ok() }
            }
            (Ok(estimate), true) => Payback::Later { measured, estimate: *estimate },
            (Err(_), _) => Payback::Open { measured },
        }
    }
}

/// Rounds an extrapolated number of launches to two digits.
fn round(launches: u64) -> String {
    let value = launches as f64;
    let scale = 10f64.powf((value.max(1.0).log10().floor() - 1.0).max(0.0));
    fixed((value / scale).round() * scale, 0)
}

/// The table of counts, with a column for each mode.
fn counts(modes: &[ModeFigures]) -> Table {
    let rows: Vec<(Option<Measure>, &str)> =
        COUNTS.iter().map(|(measure, label)| (Some(*measure), *label)).chain([(None, "from a snapshot")]).collect();
    let cell = |figures: &ModeFigures, measure: Option<Measure>| match measure {
        Some(measure) => Cell::reading(&figures.mean(measure), |mean| mean_of(measure, mean)),
        None => Cell::reading(&figures.warm_ratio, |ratio| percent(*ratio)),
    };
    let head = Column::words("a launch: mean ± standard deviation of the sessions", &rows, |row| row.1);
    let of_modes = modes
        .iter()
        .map(|figures| Column::numbers(figures.mode.name(), &rows, |row| cell(figures, row.0)))
        .collect::<Vec<_>>();
    Table {
        label: "Counts of the launches".to_owned(),
        rows: ("row", "rows"),
        columns: std::iter::once(head).chain(of_modes).collect(),
    }
}

fn mean_of(measure: Measure, mean: &Mean) -> String {
    let off = mean.deviation.unwrap_or(f64::INFINITY);
    if measure.is_time() {
        return match mean.deviation {
            Some(_) => time_with(mean.mean, Interval { low: mean.mean - off, high: mean.mean + off }),
            None => time(mean.mean),
        };
    }
    if mean.mean >= 1e4 {
        return units::count(mean.mean);
    }
    if !off.is_finite() || off <= 0.0 {
        return short(mean.mean);
    }
    let digits = decimals(off).min(3);
    format!("{}{TIE}±{}", fixed(mean.mean, digits), fixed(off, digits))
}

/// A row of the table of times.
enum Row {
    Effect(Measure),
    PaidBack(Measure),
    Capture,
}

/// The table of times: those of normal launches, and the differences of the other modes.
fn times(modes: &[ModeFigures]) -> Table {
    let mut rows: Vec<(Row, &str)> = TIMES.iter().map(|(measure, label)| (Row::Effect(*measure), *label)).collect();
    rows.extend([
        (Row::PaidBack(Measure::Wall), "pays for itself, wall time"),
        (Row::PaidBack(Measure::Cpu), "pays for itself, CPU time"),
        (Row::Capture, "CPU time of the snapshot"),
    ]);
    let cell = |figures: &ModeFigures, row: &Row| match (row, &figures.break_even) {
        (Row::Effect(measure), _) => figures.effect(*measure).map_or(Cell::Nothing, effect),
        (Row::PaidBack(measure), Ok(both)) => {
            let one = if *measure == Measure::Wall { &both.wall } else { &both.cpu };
            match &one.launches {
                Err(few) if figures.has_few_snapshots() => Cell::Absent(few.0.clone()),
                _ => paid(&Payback::of(figures, one, *measure)).into(),
            }
        }
        (Row::PaidBack(_) | Row::Capture, Err(absent)) => Cell::Absent(absent.0.clone()),
        (Row::Capture, Ok(both)) => Cell::reading(&both.cpu.capture_seconds, |seconds| time(seconds.max(0.0))),
    };
    // Means of the other modes are not shown: the loads of the sessions differed, so they could contradict the changes.
    let normal = modes.iter().find(|figures| figures.mode == LaunchMode::Normal);
    let mean = |row: &Row| match (row, normal) {
        (Row::Effect(measure), Some(normal)) => Cell::reading(&normal.mean(*measure), |mean| mean_of(*measure, mean)),
        _ => Cell::Nothing,
    };
    let head = Column::words("a launch, compared with a normal one (95\u{a0}% intervals)", &rows, |row| row.1);
    let normal = Column::numbers(LaunchMode::Normal.name(), &rows, |row| mean(&row.0));
    let warm = modes.iter().filter(|figures| figures.mode != LaunchMode::Normal);
    let of_modes = warm.map(|figures| Column::words(figures.mode.name(), &rows, |row| cell(figures, &row.0)));
    Table {
        label: "Times, compared with normal launches".to_owned(),
        rows: ("row", "rows"),
        columns: [head, normal].into_iter().chain(of_modes).collect(),
    }
}

fn effect(effect: &Effect) -> Cell {
    let with_interval: Reading<String> = effect.change.clone().and_then(|change| {
        let (size, range) = signed(change, effect.interval()?);
        Ok(format!("{size} ({range})"))
    });
    Cell::reading(&with_interval, String::clone)
}

/// Formats from which launch on a snapshot has paid for itself, and whether that is certain.
fn paid(payback: &Payback) -> String {
    match payback {
        Payback::After { launches, certain_from: Some(certain) } if certain > launches => {
            format!("launch{TIE}{launches} (certain from{TIE}{certain})")
        }
        Payback::After { launches, certain_from: Some(_) } => format!("launch{TIE}{launches} (certain)"),
        Payback::Uncertain => format!("not{TIE}certain"),
        Payback::After { launches, certain_from: None } => format!("launch{TIE}{launches} (not{TIE}certain)"),
        Payback::Later { measured, estimate } => {
            format!("not within{TIE}{measured} launches (estimate:{TIE}{})", round(*estimate))
        }
        Payback::Open { measured } => format!("not within{TIE}{measured} launches"),
    }
}

/// A table with a small chart of the launches of each mode, and the values of its first and last bar. All charts have
/// the same scale. If there are many launches, each bar is the mean of as many of them.
fn course(modes: &[ModeFigures]) -> Table {
    let launches = modes.iter().map(|figures| figures.launch_wall_seconds.len()).max().unwrap_or(0);
    let together = launches.div_ceil(SMALL).max(1);
    let mean = |launches: &[f64]| launches.iter().sum::<f64>() / launches.len() as f64;
    let bars = |figures: &ModeFigures| figures.launch_wall_seconds.chunks(together).map(mean).collect();
    let heights: Vec<Vec<f64>> = modes.iter().map(bars).collect();
    let most = heights.iter().flatten().copied().fold(0.0, f64::max);
    // The maximum of all modes, appended here and cut off below, gives all charts the same scale.
    let drawn = |heights: &Vec<f64>| {
        let cells = small(&[heights.as_slice(), &[most]].concat());
        cells.chars().take(heights.len()).collect::<String>().replace(' ', TIE)
    };
    let rows: Vec<(&ModeFigures, &Vec<f64>)> = modes.iter().zip(&heights).collect();
    let bar = |bar: Option<&f64>| bar.map_or(Cell::Nothing, |seconds| time(*seconds).into());
    let each = match together {
        1 => "wall time, a bar for each launch".to_owned(),
        _ => format!("wall time, a bar for the mean of {together} launches"),
    };
    let columns = vec![
        Column::words(&each, &rows, |row| row.0.mode.name()),
        Column::words("from the first to the last", &rows, |row| drawn(row.1)),
        Column::numbers("first bar", &rows, |row| bar(row.1.first())),
        Column::numbers("last bar", &rows, |row| bar(row.1.last())),
    ];
    Table { label: "Launches in their order".to_owned(), rows: ("mode", "modes"), columns }
}

/// The smallest and the largest number as text: `6 to 7`. If the bench was interrupted, programs differ by one session.
fn range(numbers: impl Iterator<Item = usize> + Clone) -> String {
    match (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(0)) {
        (least, most) if least == most => most.to_string(),
        (least, most) => format!("{least} to {most}"),
    }
}

/// The facts about how the bench was run.
fn facts(record: &BenchRecord, has_tables: bool) -> Vec<Fact> {
    let plan = &record.plan;
    let trials = || record.programs.iter().flat_map(|program| &program.samples);
    let all: usize = trials().map(|trial| 1 + trial.sessions().len()).sum();
    let timed = range(trials().map(|trial| trial.run_count()));
    let counted = range(trials().map(|trial| trial.counted().len() / LaunchMode::ALL.len()));
    let sessions = format!(
        "{all} in {}, with {} each: for each program and mode, {timed} for times and {counted} for counts of events, in \
         random order; the first one of each program has 1{TIE}launch and is discarded",
        duration(record.elapsed_seconds),
        count(plan.count as usize, "launch", "launches"),
    );
    let driver = "one process that launches by posix_spawn and waits; a shell's fork would cost the same in all modes";
    let mut facts = vec![
        Fact::new("sessions", sessions),
        Fact::new("driver", driver),
        Fact::new("store", "an empty one for each session, so each session creates its snapshots again"),
        Fact::new("all", "from the start of steady, including the captures, divided by the number of launches"),
        Fact::new("pays for itself", "without the start of steady, which a script pays for once for all its programs"),
    ];
    if plan.pause_seconds.0 > 0 {
        let pause = format!("{} between launches, not counted", time_setting(plan.pause_seconds));
        facts.push(Fact::new("pause", pause));
    }
    if plan.sync {
        facts.push(Fact::new("sync", "written data was sent to disks before each launch, not counted"));
    }
    if plan.cold {
        facts.push(Fact::new("cold", "the page cache was dropped before each session"));
    }
    if !has_tables {
        facts.push(Fact::new("tables", "in Markdown and HTML only, because there are many programs"));
    }
    facts.push(Fact::new("seed", record.seed.to_string()));
    facts
}

/// A summary for the list of the history, in the order of the programs: `62.9 % less on demand; 59.5 % less prewarmed`.
/// A program with too few snapshots on demand has the result of prewarm.
fn summary(record: &BenchRecord) -> String {
    let one = |program: &BenchProgram| {
        let of = |mode| program.figures(mode).filter(|figures| !figures.has_few_snapshots());
        let (figures, how) = match (of(LaunchMode::OnDemand), of(LaunchMode::Prewarm)) {
            (Some(figures), _) => (figures, "on demand"),
            (None, Some(figures)) => (figures, "prewarmed"),
            (None, None) if program.modes.is_ok() => return "too few snapshots".to_owned(),
            (None, None) => return "not measured".to_owned(),
        };
        let effect = figures.effect(Measure::Wall);
        let words = effect.map(|effect| verdict_in_words(effect.verdict, &effect.change, &effect.interval()));
        format!("{} {how}", words.unwrap_or_default())
    };
    record.programs.iter().map(one).collect::<Vec<_>>().join("; ").replace(TIE, " ")
}

/// A chart of the wall time of each launch, with a line for each mode; `None` without launches.
fn course_chart(modes: &[ModeFigures]) -> Option<Chart> {
    let line = |figures: &ModeFigures| {
        let points = figures.launch_wall_seconds.iter().enumerate().map(|(at, seconds)| (at as f64 + 1.0, *seconds));
        (figures.mode, points.collect())
    };
    let label = modes.iter().filter_map(in_words).collect::<Vec<_>>().join("; ");
    let note = "x axis: launches of a session".to_owned();
    chart(format!("Wall time of each launch. {label}"), note, modes.iter().map(line).collect())
}

/// A chart of the CPU time of the launches so far and of the snapshot. Where a line crosses that of normal launches,
/// the snapshot has paid for itself. If that is beyond the measured launches, lines continue with the mean of the
/// second half of the launches. `None` without launches.
fn total(modes: &[ModeFigures]) -> Option<Chart> {
    let measured = modes.iter().map(|figures| figures.launch_cpu_seconds.len()).max().unwrap_or(0);
    let paid = |figures: &ModeFigures| figures.break_even.as_ref().ok()?.cpu.launches.clone().ok();
    let last = modes.iter().filter_map(paid).max().unwrap_or(0) as usize;
    let end = if last > measured { last.saturating_mul(5) / 4 } else { measured };
    let end = end.min(measured.saturating_mul(LONGEST_CONTINUED));
    let line = |figures: &ModeFigures| {
        let mut total = match &figures.break_even {
            Ok(both) => both.cpu.capture_seconds.clone().ok()?,
            Err(_) if figures.mode == LaunchMode::Normal => 0.0,
            Err(_) => return None,
        };
        let launches = &figures.launch_cpu_seconds;
        let mut points: Vec<(f64, f64)> = vec![(0.0, total)];
        for (at, seconds) in launches.iter().enumerate() {
            total += seconds;
            points.push((at as f64 + 1.0, total));
        }
        let late = &launches[launches.len() / 2..];
        let more = end.saturating_sub(launches.len()) as f64;
        if more > 0.0 && !late.is_empty() {
            total += more * late.iter().sum::<f64>() / late.len() as f64;
            points.push((end as f64, total));
        }
        Some((figures.mode, points))
    };
    let lines: Vec<(LaunchMode, Vec<(f64, f64)>)> = modes.iter().filter_map(line).collect();
    if lines.len() < 2 {
        return None;
    }
    let label = "CPU time of the launches so far and of the snapshot, by mode";
    let note = match end > measured {
        true => format!("x axis: launches; after {measured}, lines continue with the mean of the later launches"),
        false => "x axis: launches".to_owned(),
    };
    chart(label.to_owned(), note, lines)
}

/// A chart with a line for each mode over launches. The y axis includes zero.
fn chart(label: String, note: String, lines: Vec<(LaunchMode, Vec<(f64, f64)>)>) -> Option<Chart> {
    let points = || lines.iter().flat_map(|(_, line)| line).copied();
    let least = points().map(|point| point.0).reduce(f64::min)?;
    let most = points().map(|point| point.0).reduce(f64::max).filter(|most| *most > 0.0)?;
    let (low, high) =
        points().map(|point| point.1).fold((0.0_f64, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
    let room = 0.06 * (high - low);
    let y = Scale::new(Kind::Cost(Metric::Wall), if low < 0.0 { low - room } else { low }, high + room);
    let series = lines.into_iter().map(|(mode, line)| Series {
        name: Some(mode.name().to_owned()),
        look: match mode {
            LaunchMode::Normal => Look::Rest,
            LaunchMode::Prewarm => Look::Second,
            LaunchMode::OnDemand => Look::First,
        },
        marks: Marks::Line(line),
    });
    Some(Chart {
        label,
        height: Height::Middle,
        x: Axis::Scale(Scale::new(Kind::Number, least, most)),
        y: Axis::Scale(y),
        series: series.collect(),
        note: Some(note),
    })
}

/// Describes the course of a mode for the chart's text alternative.
fn in_words(figures: &ModeFigures) -> Option<String> {
    let (first, last) = (figures.launch_wall_seconds.first()?, figures.launch_wall_seconds.last()?);
    let range = Interval { low: first.min(*last) * 1e6, high: first.max(*last) * 1e6 };
    Some(format!("{}: {}", figures.mode.name(), between(range, &format!("{TIE}µs"))))
}
