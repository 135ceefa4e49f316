//! Reads the published tables and prints what their points say, as Markdown.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod table;

use steady_model::Reading;
use steady_stats::{CountRange, Fitted, Scaling};
use table::{Table, tables};

fn main() {
    println!(
        "| table | per CPU | per wall | at full load | a core each up to | a logical CPU each up to | a second thread adds |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let all: Vec<(Table, Reading<Scaling>)> = tables()
        .into_iter()
        .map(|table| {
            let said = steady_stats::scaling(&table.points);
            (table, said)
        })
        .collect();
    for (table, said) in &all {
        match said {
            Ok(said) => println!("{}", line(table, said)),
            Err(absent) => println!("| {} | absent: {absent} |", table.name),
        }
    }
    for (table, said) in &all {
        if let Ok(said) = said {
            println!("\n{}:\n", table.name);
            notes(table, said).iter().for_each(|note| println!("- {note}"));
        }
    }
}

/// By what factor the rates range, how much more CPU time the same work takes in the last row, and the knees.
fn line(table: &Table, said: &Scaling) -> String {
    let stated = table.stated.map_or_else(String::new, |(cpus, cores)| format!(" ({cpus} CPUs, {cores} cores)"));
    let gain = said.second_thread_gain.as_ref().map_or_else(
        |_| "-".to_owned(),
        |gain| {
            let percent = |value: f64| format!("{:.0}", 100.0 * value);
            format!("{} % ({} to {})", percent(gain.value), percent(gain.interval.low), percent(gain.interval.high))
        },
    );
    format!(
        "| {}{stated} | {:.2} | {:.2} | {:.2} | {} | {} | {gain} |",
        table.name,
        said.per_cpu_factor,
        said.per_wall_factor,
        said.full_load_inflation,
        range(&said.cores),
        range(&said.logical_cpus),
    )
}

fn range(range: &Reading<CountRange>) -> String {
    match range {
        Ok(range) if range.low == range.high => range.low.to_string(),
        Ok(range) => format!("{} to {}", range.low, range.high),
        Err(_) => "-".to_owned(),
    }
}

/// What is absent, with its reason; what it costs to take turns; the law; the caveats.
fn notes(table: &Table, said: &Scaling) -> Vec<String> {
    let mut notes: Vec<String> = turns(table, said).into_iter().collect();
    let mut absent = |what: &str, reason: Option<String>| {
        notes.extend(reason.map(|reason| format!("{what}: absent, {reason}")));
    };
    absent("cores", said.cores.as_ref().err().map(ToString::to_string));
    absent("logical CPUs", said.logical_cpus.as_ref().err().map(ToString::to_string));
    absent("a second thread", said.second_thread_gain.as_ref().err().map(ToString::to_string));
    absent("Universal Scalability Law", said.law.as_ref().err().map(ToString::to_string));
    if let Ok(law) = &said.law {
        let peak = law
            .peak
            .as_ref()
            .map_or_else(|absent| format!("no peak ({absent})"), |peak| format!("peak N {}", fitted(peak)));
        notes.push(format!(
            "Universal Scalability Law: lambda {}, sigma {}, kappa {}, {peak}; {:.1} % of throughput unexplained",
            fitted(&law.lambda),
            fitted(&law.sigma),
            fitted(&law.kappa),
            100.0 * law.residual_ratio
        ));
    }
    notes.extend(said.caveats.iter().cloned());
    notes
}

/// How far work per CPU second ranges where there are as many processes as logical CPUs, or more: from there on nothing
/// changes but that processes take turns.
fn turns(table: &Table, said: &Scaling) -> Option<String> {
    let from = said.logical_cpus.as_ref().ok()?.high;
    let rates: Vec<(u32, f64)> = table
        .points
        .iter()
        .filter(|point| point.procs >= from)
        .map(|point| (point.procs, point.work_per_cpu_second))
        .collect();
    let (first, last) = (rates.first()?, rates.last()?);
    let change = 100.0 * (last.1 / first.1 - 1.0);
    // Not "-0.0".
    let change = if change.abs() < 0.05 { 0.0 } else { change };
    let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let least = rates.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
    (rates.len() > 1).then(|| {
        format!(
            "processes take turns from N = {} on: from there to N = {} work per CPU second changes by {change:+.1} %, and \
             ranges over {:.1} %",
            first.0,
            last.0,
            100.0 * (most / least - 1.0)
        )
    })
}

fn fitted(fitted: &Fitted) -> String {
    let short = |value: f64| match value.abs() {
        large if large >= 10.0 => format!("{value:.0}"),
        small if small < 1e-3 && small > 0.0 => format!("{value:.1e}"),
        _ => format!("{value:.3}"),
    };
    format!("{} ({} to {})", short(fitted.value), short(fitted.interval.low), short(fitted.interval.high))
}
