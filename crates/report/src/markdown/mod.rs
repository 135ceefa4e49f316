//! The report as Markdown, for a pull request or the summary of a CI job.

mod explain;
mod grid;
mod warm;

use steady_model::{Judgement, Metric, Report, Verdict};

use steady_render::markdown::sentence as spoken;

use crate::text::{breakdown, fresh_warnings, headline, machine, pairs, secondary};
use crate::units::{TIE, memory, setting, time_with};
use crate::words::{capital, noun, repeat};
pub use explain::{explain_markdown, explain_pair_markdown};
use steady_render::markdown::{code, fenced, plain};

pub use warm::{warm_bench_markdown, warm_status_markdown};

/// The report as GitHub's Markdown: the verdicts, a table of them, and what they rest on folded away.
///
/// Names of commands stand as code, whatever letters they hold.
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    for sentence in headline::sentences(report) {
        out.push_str(&format!("{}\n\n", spoken(&sentence)));
    }
    if report.record.plan.commands.len() > 1 {
        verdicts(report, &mut out);
    }
    for warning in fresh_warnings(report) {
        out.push_str(&format!("> **Warning:** {}\n\n", plain(&warning)));
    }
    costs(report, &mut out);
    circumstances(report, &mut out);
    again(report, &mut out);
    out
}

/// A row per command, a column per metric; the first command is what the others are held against.
fn verdicts(report: &Report, out: &mut String) {
    let primary = report.record.primary;
    let judged = |metric: &Metric| report.judgements.iter().any(|judgement| judgement.metric == *metric);
    let others = Metric::ALL.into_iter().filter(|metric| *metric != primary && judged(metric));
    let metrics: Vec<Metric> = std::iter::once(primary).chain(others).collect();
    let names = metrics.iter().map(|metric| capital(noun(*metric)));
    row(out, std::iter::once("Command".to_owned()).chain(names));
    row(out, (0..=metrics.len()).map(|_| "---".to_owned()));
    for command in 0..report.record.plan.commands.len() {
        let cells = metrics.iter().map(|metric| cell(report, command, *metric));
        row(out, std::iter::once(named(report, command)).chain(cells));
    }
    let level = setting(report.record.plan.confidence);
    out.push_str(&format!(
        "\nAll beside the first, with {level} intervals. The error guarantee covers {} only.\n\n",
        noun(primary)
    ));
}

/// What one metric says of one command.
fn cell(report: &Report, command: usize, metric: Metric) -> String {
    let found = report.judgements.iter().find(|one| one.command == command && one.metric == metric);
    match found {
        Some(judgement) if judgement.primary => format!("**{}** {}", judgement.verdict.name(), effect(judgement)),
        Some(judgement) => plain(&secondary::line(judgement).into_iter().map(|(_, text)| text).collect::<String>()),
        None => reference(report, command, metric),
    }
}

/// The size of the primary effect.
fn effect(judgement: &Judgement) -> String {
    // Without a difference it is the interval over all pairs that the verdict stands on.
    let open = matches!(judgement.verdict, Verdict::Same | Verdict::Undecided);
    let shown =
        judgement.verdict_interval.as_ref().ok().filter(|_| open).map(Ok).unwrap_or(judgement.interval.as_ref());
    match (&judgement.change, shown) {
        (Ok(change), Ok(interval)) => {
            let shown = crate::words::signed_beside(judgement.verdict, *change, *interval);
            let (_, range) = crate::words::signed(*change, *interval);
            if interval.holds(*change) && shown != range { plain(&shown) } else { plain(&format!("({range})")) }
        }
        (Err(absent), _) | (_, Err(absent)) => plain(&format!("(absent: {absent})")),
    }
}

/// The mean cost of the command that the others are held against.
fn reference(report: &Report, command: usize, metric: Metric) -> String {
    let found = report.breakdowns.iter().find(|one| one.command == command && one.runs > 0);
    let cost = found.and_then(|found| match metric {
        Metric::Cpu => Some(time_with(found.cpu.mean, found.cpu.interval)),
        Metric::Wall => Some(time_with(found.wall.mean, found.wall.interval)),
        Metric::Memory => found.peak_memory.as_ref().ok().map(|bytes| memory(bytes.0 as f64)),
        Metric::Elapsed => None,
        Metric::Instructions => found.counters.and_then(|means| means.instructions).map(crate::units::count),
    });
    cost.unwrap_or_else(|| "–".to_owned())
}

/// Where the time went, folded.
fn costs(report: &Report, out: &mut String) {
    let (heading, table, notes) = breakdown::content(report);
    open(out, &heading);
    let commands = 0..table.names.len();
    row(out, std::iter::once(String::new()).chain(commands.map(|command| named(report, command))));
    row(out, (0..=table.names.len()).map(|_| "---".to_owned()));
    for quantity in &table.quantities {
        let label = plain(&quantity.label.replace("  ", &TIE.repeat(4)));
        row(out, std::iter::once(label).chain(quantity.cells.iter().map(|cell| plain(cell))));
    }
    let notes: Vec<String> = notes.lines().map(|line| plain(&line)).collect();
    if !notes.is_empty() {
        out.push_str(&format!("\n{}\n", notes.join("<br>\n")));
    }
    close(out);
}

/// How the pairs ran and what the machine did, folded.
fn circumstances(report: &Report, out: &mut String) {
    let mut list = |heading: &str, lines: Vec<(&'static str, String)>| {
        if !lines.is_empty() {
            open(out, heading);
            lines.iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
            close(out);
        }
    };
    if report.record.plan.commands.len() > 1 {
        list(pairs::HEADING, pairs::lines(report));
    }
    list(machine::HEADING, machine::lines(report));
}

/// The seed, and how to repeat it.
fn again(report: &Report, out: &mut String) {
    out.push_str(&format!("Seed {}. ", report.record.plan.seed));
    match repeat(&report.record.plan) {
        Ok(line) => out.push_str(&format!("To repeat it with the same coins:\n\n{}", fenced(&line))),
        Err(why) => out.push_str(&format!("No one command line repeats it: {why}.\n")),
    }
}

/// A command's number and its name as code.
fn named(report: &Report, command: usize) -> String {
    format!("{} {}", command + 1, code(&crate::words::name(&report.record.plan, command)))
}

fn row(out: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    out.push_str(&format!("| {} |\n", cells.join(" | ")));
}

fn open(out: &mut String, heading: &str) {
    out.push_str(&format!("<details>\n<summary>{}</summary>\n\n", plain(heading)));
}

fn close(out: &mut String) {
    out.push_str("\n</details>\n\n");
}
