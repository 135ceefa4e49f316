//! The distribution of a probe's repetitions, a few lines high.

use steady_model::Cost;

use super::bars::{bars, gathered};
use crate::text::{Page, Paint};
use crate::units::TIE;
use crate::words::costs::{amount, beyond, modes};
use crate::words::{count, width};

/// The lines of bars.
const HEIGHT: usize = 6;
/// The columns beyond which a histogram is not more readable, and the most for one bin.
const WIDEST: usize = 72;
const BROADEST: usize = 4;

/// The histogram below its heading; nothing where nothing lies in its bins.
pub(super) fn write(cost: &Cost, page: &mut Page) {
    let histogram = &cost.histogram;
    let most = histogram.counts.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let label = most.to_string();
    let left = 2 + width(&label) + 2;
    let room = page.width().min(WIDEST).saturating_sub(left + 1).max(8);
    let counts = gathered(&histogram.counts, room);
    let broad = (room / counts.len().max(1)).clamp(1, BROADEST);
    let columns = counts.len() * broad;
    page.heading(&heading(cost));
    for (at, line) in bars(&counts, HEIGHT).iter().enumerate() {
        let bars: String = line.chars().flat_map(|letter| std::iter::repeat_n(letter, broad)).collect();
        let axis = if at == 0 { format!("  {label} ┤") } else { format!("{}│", " ".repeat(left - 1)) };
        page.line(&[(Paint::Plain, format!("{axis}{bars}"))]);
    }
    let marks = Marks { low: histogram.low, span: histogram.width * histogram.counts.len() as f64, columns };
    page.line(&[(Paint::Plain, format!("{}└{}", " ".repeat(left - 1), marks.axis(cost)))]);
    page.line(&[(Paint::Plain, format!("{}{}", " ".repeat(left), marks.ends()))]);
    page.paragraph(left, left, &[(Paint::Plain, key(cost))]);
}

fn heading(cost: &Cost) -> String {
    let what = format!("{}: {} in bins of {}", cost.probe.name(), repetitions(cost), amount(cost.histogram.width));
    match modes(cost) {
        Some(modes) => format!("{what}; {modes}"),
        None => what,
    }
}

fn repetitions(cost: &Cost) -> String {
    count(cost.repetitions, "repetition", "repetitions")
}

/// What the marks on the axis are, and what lies beyond its ends.
fn key(cost: &Cost) -> String {
    let mut parts = vec![format!("┼{TIE}median"), format!("├{TIE}┤{TIE}its{TIE}95{TIE}%{TIE}interval")];
    if cost.modes.len() == 2 {
        parts.push(format!("▲{TIE}the{TIE}two{TIE}modes"));
    }
    parts.extend(beyond(cost));
    parts.join("; ")
}

/// Where values lie along the axis.
struct Marks {
    low: f64,
    span: f64,
    columns: usize,
}

impl Marks {
    /// The column of a value; nowhere beyond the ends.
    fn column(&self, value: f64) -> Option<usize> {
        let share = (value - self.low) / self.span;
        (0.0..=1.0).contains(&share).then(|| ((share * self.columns as f64) as usize).min(self.columns - 1))
    }

    /// The axis, with the modes, the interval and the median on it.
    fn axis(&self, cost: &Cost) -> String {
        let mut axis = vec!['─'; self.columns];
        let mut put = |value: f64, letter: char| {
            if let Some(column) = self.column(value) {
                axis[column] = letter;
            }
        };
        if cost.modes.len() == 2 {
            cost.modes.iter().for_each(|mode| put(mode.median, '▲'));
        }
        put(cost.interval.low, '├');
        put(cost.interval.high, '┤');
        put(cost.median, '┼');
        axis.into_iter().collect()
    }

    /// What the ends of the axis are.
    fn ends(&self) -> String {
        let (low, high) = (amount(self.low), amount(self.low + self.span));
        let gap = self.columns.saturating_sub(width(&low) + width(&high)).max(2);
        format!("{low}{}{high}", " ".repeat(gap))
    }
}
