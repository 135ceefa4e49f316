//! One table of all probes, by group: median, interval, spread, and the distribution in small.

use steady_model::{Cost, CostsReport};

use super::bars::{bars, gathered};
use super::{Footnotes, mark};
use crate::text::{Page, Paint};
use crate::words::costs::{Entry, Figures, Group, HEADING, below, grouped, modes, spread};
use crate::words::width;

/// Between two columns.
const GAP: usize = 2;
/// Before every line.
const INDENT: usize = 2;
/// The columns of a distribution in small, and the fewest that show anything.
const SMALL: usize = 24;
const SMALLEST: usize = 8;
/// The heads of the columns.
const HEADS: [&str; 4] = ["median", "95\u{a0}% interval", "spread", "distribution"];

/// A probe's line: its figures, or what stands in their place.
pub(crate) struct Line<'a> {
    /// The probe's name.
    pub(crate) name: &'static str,
    /// What it costs.
    pub(crate) said: Said,
    /// The two groups that its repetitions fall into, in words.
    pub(crate) modes: Option<String>,
    /// What it rests on, where it was measured.
    pub(crate) cost: Option<&'a Cost>,
}

/// What a probe costs, in words.
pub(crate) enum Said {
    /// Its median, interval and spread.
    Figures([String; 3]),
    /// It cannot be told from nothing; the spread.
    Below(String, String),
    /// It was not measured: the mark of the reason.
    Absent(String),
}

/// The lines by group, and the reasons of what is absent.
pub(crate) fn lines(report: &CostsReport) -> (Vec<(Group, Vec<Line<'_>>)>, Footnotes) {
    let mut notes = Footnotes::default();
    let mut line = |(probe, cost): &Entry| match cost {
        Ok(cost) => (probe.name(), said(cost), modes(cost)),
        Err(absent) => (probe.name(), Said::Absent(format!("absent\u{a0}{}", mark(absent, &mut notes))), None),
    };
    let groups = grouped(report)
        .into_iter()
        .map(|(group, costs)| {
            let lines = costs.into_iter().map(|entry| {
                let (name, said, modes) = line(entry);
                Line { name, said, modes, cost: entry.1.as_ref().ok() }
            });
            (group, lines.collect())
        })
        .collect();
    (groups, notes)
}

fn said(cost: &Cost) -> Said {
    if cost.below_resolution {
        return Said::Below(below(cost), spread(cost));
    }
    let figures = Figures::of(cost);
    Said::Figures([figures.median(), figures.interval(), spread(cost)])
}

/// The columns that a table takes.
struct Widths {
    name: usize,
    median: usize,
    interval: usize,
    spread: usize,
    small: usize,
}

/// Sets the table.
pub(super) fn write(report: &CostsReport, page: &mut Page) {
    let (groups, notes) = lines(report);
    if groups.is_empty() {
        return;
    }
    page.heading(HEADING);
    let widths = Widths::of(&groups, page.width());
    match &widths {
        Some(widths) => page.line(&[(Paint::Heading, head(widths))]),
        None => page.paragraph(2, 2, &[(Paint::Heading, "median; 95\u{a0}% interval, spread".to_owned())]),
    }
    for (group, lines) in &groups {
        page.line(&[(Paint::Heading, group.heading().to_owned())]);
        for line in lines {
            match &widths {
                Some(widths) => page.line(&[(Paint::Plain, wide(line, widths))]),
                None => narrow(line, page),
            }
            if let Some(text) = &line.modes {
                page.paragraph(INDENT + 4, INDENT + 4, &[(Paint::Open, text.clone())]);
            }
        }
    }
    notes.write(page);
}

impl Widths {
    /// The columns that all lines need; nothing where there is no room for them beside one another.
    fn of(groups: &[(Group, Vec<Line<'_>>)], room: usize) -> Option<Self> {
        let all = || groups.iter().flat_map(|(_, lines)| lines);
        let figures = |at: usize| {
            let cells = all().filter_map(move |line| match &line.said {
                Said::Figures(cells) => Some(width(&cells[at])),
                Said::Below(_, spread) if at == 2 => Some(width(spread)),
                Said::Below(..) | Said::Absent(_) => None,
            });
            cells.max().unwrap_or(0).max(width(HEADS[at]))
        };
        let (median, mut interval, spread) = (figures(0), figures(1), figures(2));
        // What stands in the place of median and interval takes both of their columns.
        let instead = all().filter_map(|line| match &line.said {
            Said::Below(text, _) | Said::Absent(text) => Some(width(text)),
            Said::Figures(_) => None,
        });
        interval = interval.max(instead.max().unwrap_or(0).saturating_sub(median + GAP));
        let name = all().map(|line| width(line.name)).max().unwrap_or(0);
        let used = INDENT + name + GAP + median + GAP + interval + GAP + spread;
        let left = room.checked_sub(used)?.saturating_sub(GAP).min(SMALL);
        Some(Widths { name, median, interval, spread, small: if left < SMALLEST { 0 } else { left } })
    }
}

/// The heads of the columns.
fn head(widths: &Widths) -> String {
    let [median, interval, spread, small] = HEADS;
    let small = if width(small) <= widths.small { small } else { "" };
    format!("{}{}", figures(widths, "", [median, interval, spread]), " ".repeat(GAP) + small)
}

/// A probe on one line.
fn wide(line: &Line<'_>, widths: &Widths) -> String {
    let left = match &line.said {
        Said::Figures([median, interval, spread]) => figures(widths, line.name, [median, interval, spread]),
        Said::Below(text, spread) => instead(widths, line.name, text, spread),
        Said::Absent(text) => instead(widths, line.name, text, ""),
    };
    let small = line.cost.filter(|_| widths.small > 0).map(|cost| small(cost, widths.small));
    format!("{left}{}{}", " ".repeat(GAP), small.unwrap_or_default())
}

/// The name to the left, the figures to the right.
fn figures(widths: &Widths, name: &str, [median, interval, spread]: [&str; 3]) -> String {
    let cells = [(median, widths.median), (interval, widths.interval), (spread, widths.spread)];
    let cells: String = cells.iter().map(|(cell, wide)| " ".repeat(GAP) + &right(cell, *wide)).collect();
    format!("{}{name}{}{cells}", " ".repeat(INDENT), " ".repeat(widths.name.saturating_sub(width(name))))
}

/// The same with one text in the place of median and interval.
fn instead(widths: &Widths, name: &str, text: &str, spread: &str) -> String {
    let both = Widths { median: widths.median + GAP + widths.interval, interval: 0, ..*widths };
    let name = format!("{}{name}{}", " ".repeat(INDENT), " ".repeat(widths.name.saturating_sub(width(name))));
    let gap = " ".repeat(GAP);
    format!("{name}{gap}{}{gap}{}", right(text, both.median), right(spread, widths.spread))
}

/// A probe on two lines.
fn narrow(line: &Line<'_>, page: &mut Page) {
    let (first, rest) = match &line.said {
        Said::Figures([median, interval, spread]) => {
            (format!("{median};"), format!("{interval}, spread\u{a0}{spread}"))
        }
        Said::Below(text, spread) => (format!("{text};"), format!("spread\u{a0}{spread}")),
        Said::Absent(text) => (text.clone(), String::new()),
    };
    page.paragraph(INDENT, INDENT + 4, &[(Paint::Plain, format!("{}: {first}", line.name))]);
    if !rest.is_empty() {
        page.paragraph(INDENT + 4, INDENT + 4, &[(Paint::Plain, rest)]);
    }
}

/// The distribution in small.
pub(crate) fn small(cost: &Cost, columns: usize) -> String {
    bars(&gathered(&cost.histogram.counts, columns), 1).swap_remove(0)
}

fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}
