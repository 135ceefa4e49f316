//! Charts of bars as letters, a line each.

use super::Page;
use crate::chart::{Axis, Chart};
use crate::document::Emphasis;
use crate::letters::{cut, width};

/// What the bars of each series are made of, in the order of the key.
const LETTERS: [&str; 4] = ["█", "▒", "░", "·"];
/// Names are cut to this.
const LONGEST: usize = 24;

/// Writes the rows of a chart of bars, and the key if there are several series. There is no room for other charts.
pub(super) fn write(chart: &Chart, page: &mut Page) {
    let (Axis::Names(names), Axis::Scale(scale)) = (&chart.y, &chart.x) else { return };
    let rows = chart.rows();
    let names: Vec<String> = names.iter().map(|name| cut(name, LONGEST)).collect();
    let labels = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let total = |row: &[(usize, &crate::chart::Bar)]| match row {
        [(_, bar)] => bar.text.clone(),
        _ => String::new(),
    };
    let longest = rows.iter().map(|row| width(&total(row))).max().unwrap_or(0);
    let room = page.width().saturating_sub(2 + labels + 2 + 1 + longest).max(8) as f64;
    for (name, row) in names.iter().zip(&rows) {
        let mut line = format!("  {name}{}  ", " ".repeat(labels - width(name)));
        for (series, bar) in row {
            let cells = ((scale.clamped(bar.to) - scale.clamped(bar.from)) * room).round() as usize;
            line.push_str(&LETTERS[series % LETTERS.len()].repeat(cells.max(usize::from(bar.to > bar.from))));
        }
        page.line(&[(Emphasis::Plain, format!("{line}\u{a0}{}", total(row)))]);
    }
    let named: Vec<String> = chart
        .series
        .iter()
        .zip(LETTERS)
        .filter_map(|(series, letter)| Some(format!("{letter}\u{a0}{}", series.name.as_ref()?)))
        .collect();
    if named.len() > 1 {
        page.paragraph(2, 2, &[(Emphasis::Plain, named.join("  "))]);
    }
    if let Some(note) = &chart.note {
        page.paragraph(2, 2, &[(Emphasis::Plain, note.clone())]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;

    #[test]
    fn bars_fill_the_line_and_have_a_key() {
        let mut page = Page::new(Style { width: 40, color: false });
        write(&crate::chart::sample(), &mut page);
        let rows = "  one      ██████▒▒▒▒▒▒▒▒▒▒▒▒▒\n  another  █████████████████████████ 4 s\n";
        assert_eq!(page.finish(), format!("{rows}  █ waiting ▒ the rest\n"));
    }
}
