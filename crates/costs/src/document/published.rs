//! Primitives measured as in a publication that is often quoted, next to the correct measurement.
//!
//! The publication timed 100 repetitions on one CPU and subtracted an empty loop, as this feature does. Its figures
//! differ because of what its loops contain.

use steady_model::{Absent, Probe, Reading, Timed};
use steady_render::document::{Block, Emphasis, Section};
use steady_render::letters::capital;
use steady_render::table::{Cell, Column, Table};
use steady_render::units::TIE;

use super::figures::{Figures, below};
use super::tables::distribution;
use crate::record::{Cost, CostsRecord, ProbeCost};

/// A primitive of the publication.
struct Published {
    /// Name of the primitive.
    name: &'static str,
    /// The published range.
    cost: &'static str,
    /// The probe that repeats the published loop.
    as_published: Probe,
    /// The probe that measures the primitive.
    correct: Probe,
}

const PUBLISHED: [Published; 4] = [
    Published {
        name: "function call",
        cost: "0.1 to 1.2 ns",
        as_published: Probe::PublishedFunctionCall,
        correct: Probe::FunctionCall,
    },
    Published {
        name: "system call",
        cost: "1 to 2.2 ns",
        as_published: Probe::PublishedSystemCall,
        correct: Probe::SystemCall,
    },
    Published {
        name: "process switch",
        cost: "1,500 to 1,550 ns",
        as_published: Probe::PublishedProcessSwitch,
        correct: Probe::ProcessSwitch,
    },
    Published {
        name: "thread switch",
        cost: "110 to 114 ns",
        as_published: Probe::LockUncontended,
        correct: Probe::ThreadSwitchCondvar,
    },
];

/// The probes of the comparison, in the order of the table.
pub(crate) fn probes() -> Vec<Probe> {
    PUBLISHED.iter().flat_map(|primitive| [primitive.as_published, primitive.correct]).collect()
}

/// One sentence for each primitive, preceded by one for all.
pub(super) fn sentences(record: &CostsRecord) -> Vec<String> {
    if record.costs().next().is_none() {
        return vec!["Nothing could be measured.".to_owned()];
    }
    let each =
        PUBLISHED.iter().map(|primitive| format!("{}: {}.", capital(primitive.name), explanation(record, primitive)));
    std::iter::once(first(record)).chain(each).collect()
}

/// Which published costs are not of what they are named after, as far as that was counted.
fn first(record: &CostsRecord) -> String {
    let never = |count: Reading<f64>| count.is_ok_and(|count| tenths(count) == 0.0);
    let enters_no_kernel = never(found(record, Probe::PublishedSystemCall).calls_per_loop);
    let has_no_switches = never(switches(&found(record, Probe::LockUncontended)));
    match (enters_no_kernel, has_no_switches) {
        (true, true) => {
            "Two of the four published costs are of something else: the system call does not enter the kernel, \
                         and the thread switch does not switch to another thread."
        }
        (true, false) => {
            "One of the four published costs is of something else: the system call does not enter the kernel."
        }
        (false, true) => {
            "One of the four published costs is of something else: the thread switch does not switch to \
                          another thread."
        }
        (false, false) => "Four published costs, and the correct ones.",
    }
    .to_owned()
}

/// Why the published cost of a primitive differs from the correct one.
fn explanation(record: &CostsRecord, primitive: &Published) -> String {
    let size = |probe| found(record, probe).cost.as_ref().map_or_else(|why| format!("an unknown time ({why})"), size);
    let (published, correct) = (size(primitive.as_published), size(primitive.correct));
    let counted = |probe| counted(found(record, probe));
    match primitive.correct {
        Probe::FunctionCall => format!(
            "a call of an empty function costs {published}, and a call that needs the result of the one before costs \
             {correct}; calls overlap with the loop around them, so the cost depends on that loop and on the CPU"
        ),
        Probe::SystemCall => format!(
            "the function has the name of a system call, but the C library answers it ({}): {published}; a call that \
             enters the kernel costs {correct}",
            counted(primitive.as_published)
        ),
        Probe::ProcessSwitch => format!(
            "a switch through a pipe costs {published} with its write and read ({}), and {correct} without them",
            counted(primitive.as_published)
        ),
        _ => format!(
            "locking and unlocking a mutex costs {published} and switches to no other thread ({}); passing the turn to \
             another thread with the mutex and a condition variable costs {correct} ({})",
            counted(primitive.as_published),
            counted(primitive.correct)
        ),
    }
}

fn found(record: &CostsRecord, probe: Probe) -> ProbeCost {
    let missing = || ProbeCost::absent(probe, &Absent::because("not measured"));
    record.probes.iter().find(|one| one.probe == probe).cloned().unwrap_or_else(missing)
}

fn size(cost: &Cost) -> String {
    if cost.below_resolution { below(cost) } else { Figures::of(cost).median() }
}

/// What was counted in a round of the loop: kernel entries or switches.
fn counted(probe: ProbeCost) -> String {
    match probe.probe {
        Probe::PublishedProcessSwitch | Probe::ProcessSwitch => {
            format!("{} and {}", per_round(switches(&probe), "switch", "switches"), calls(&probe))
        }
        Probe::LockUncontended | Probe::ThreadSwitchCondvar => per_round(switches(&probe), "switch", "switches"),
        _ => calls(&probe),
    }
}

fn calls(probe: &ProbeCost) -> String {
    per_round(probe.calls_per_loop.clone(), "kernel entry", "kernel entries")
}

/// Context switches in a round of the loop, as the kernel counted them. Those that other processes cause are too few to
/// matter.
fn switches(probe: &ProbeCost) -> Reading<f64> {
    let samples = probe.samples.as_ref().map_err(Clone::clone)?;
    let sum = |of: fn(&Timed) -> u64| samples.iter().map(|sample| of(&sample.probe)).sum::<u64>() as f64;
    let switches = sum(|timed| timed.voluntary_switches + timed.involuntary_switches);
    Ok(switches / sum(|timed| timed.loops).max(1.0))
}

/// A count per round: `0 kernel entries a round`.
fn per_round(count: Reading<f64>, one: &str, many: &str) -> String {
    match count {
        Ok(count) => {
            let count = tenths(count);
            format!("{count}{TIE}{} a round", if count == 1.0 { one } else { many })
        }
        Err(why) => format!("{many} not counted: {why}"),
    }
}

/// A count per round. Hundredths are noise, because calls are the difference of two loops.
fn tenths(count: f64) -> f64 {
    (count * 10.0).round() / 10.0
}

/// A row of the table: a primitive, or one of its two measurements.
enum Row {
    Primitive(&'static Published),
    Probe(Box<ProbeCost>),
}

/// The table of both measurements of each primitive.
pub(super) fn table(record: &CostsRecord) -> Section {
    let rows: Vec<Row> = PUBLISHED
        .iter()
        .flat_map(|primitive| {
            let probes =
                [primitive.as_published, primitive.correct].map(|probe| Row::Probe(Box::new(found(record, probe))));
            std::iter::once(Row::Primitive(primitive)).chain(probes)
        })
        .collect();
    let figure = |head: &str, of: fn(&Cost) -> Cell| {
        Column::numbers(head, &rows, |row| match row {
            Row::Primitive(_) => "".into(),
            Row::Probe(probe) => probe.cost.as_ref().map_or_else(|why| Cell::Absent(why.0.clone()), of),
        })
    };
    let name = |row: &Row| match row {
        Row::Primitive(primitive) => Cell::Text(Emphasis::Heading, capital(primitive.name)),
        Row::Probe(probe) if PUBLISHED.iter().any(|primitive| primitive.correct == probe.probe) => "correctly".into(),
        Row::Probe(_) => "as published".into(),
    };
    let published = |row: &Row| match row {
        Row::Primitive(primitive) => primitive.cost.into(),
        Row::Probe(_) => Cell::from(""),
    };
    let count = |head: &str, of: fn(&ProbeCost) -> Reading<f64>| {
        Column::numbers(head, &rows, |row| match row {
            Row::Primitive(_) => "".into(),
            Row::Probe(probe) => Cell::reading(&of(probe), |count| tenths(*count).to_string()),
        })
    };
    let shape = |row: &Row| match row {
        Row::Probe(probe) => probe.cost.as_ref().map(distribution).unwrap_or_default(),
        Row::Primitive(_) => String::new(),
    };
    let interval =
        |cost: &Cost| if cost.below_resolution { Cell::Nothing } else { Figures::of(cost).interval().into() };
    let table = Table {
        label: "Costs as published and correctly".to_owned(),
        rows: ("measurement", "measurements"),
        columns: vec![
            Column::words("measurement", &rows, name),
            Column::numbers("published", &rows, published),
            figure("median here", |cost| size(cost).into()),
            figure("95\u{a0}% interval", interval),
            count("kernel entries", |probe| probe.calls_per_loop.clone()),
            count("switches", switches),
            Column::words("distribution", &rows, shape),
        ],
    };
    let names = |of: fn(&Published) -> Probe| PUBLISHED.iter().map(|one| of(one).name()).collect::<Vec<_>>().join(", ");
    let note = format!(
        "kernel entries, switches: counted, in a round of the loop; as published: {}; correctly: {}; <: below the \
         resolution",
        names(|one| one.as_published),
        names(|one| one.correct)
    );
    let note = Block::Paragraph(vec![(Emphasis::Plain, note)]);
    Section::new("As published, and correctly", vec![Block::Table(table), note]).whole()
}
