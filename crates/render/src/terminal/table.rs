//! Tables that fit a terminal. Headings and cells of several words are broken into lines. Columns that do not fit
//! continue in a further part below, which repeats the first column. Remarks, which are words without a heading in the
//! last column, are below their rows then.

use super::Page;
use crate::document::Emphasis;
use crate::letters::{cut, width};
use crate::table::{Align, Column, Shown, Table};

/// The maximum rows of a table, unless its section is shown whole.
pub(super) const ROWS: usize = 10;
/// The spaces between two columns.
const GAP: usize = 2;
/// The spaces before every line.
const INDENT: usize = 2;
/// The minimum and maximum number of lines of the headings before the table is split.
const LINES: std::ops::RangeInclusive<usize> = 2..=4;
/// The maximum number of lines of a word, approximately.
const WORD_LINES: usize = 4;
/// Columns of words are not narrowed below this width.
const SHORTEST: usize = 16;

/// Writes the first `rows` rows of a table. The headings have as few lines as possible for the table to fit, and long
/// words of them are cut only if it does not fit otherwise.
pub(super) fn write(table: &Table, rows: usize, page: &mut Page) {
    let room = page.width() - INDENT;
    let with = |head: fn(&Column) -> String| {
        let columns = table.columns.iter().map(|column| Column { head: head(column), ..column.clone() }).collect();
        Table { columns, ..table.clone() }
    };
    let least = |table: &Table| LINES.into_iter().find(|lines| total(&widths(&table.shown(rows), *lines)) <= room);
    let whole = with(Column::whole_head);
    let (table, lines) = match least(&whole) {
        Some(lines) => (whole, lines),
        None => {
            let short = with(Column::short_head);
            let lines = least(&short).unwrap_or(*LINES.end());
            (short, lines)
        }
    };
    let shown = table.shown(rows);
    let mut widths = widths(&shown, lines);
    let mut excess = total(&widths).saturating_sub(room);
    // Numbers cannot be broken. Words may therefore use the width that the widest column of numbers leaves.
    let numbers = table.columns.iter().zip(&widths).filter(|(column, _)| column.align == Align::Numbers);
    let widest = numbers.map(|(_, width)| *width).max().unwrap_or(0);
    let shortest = SHORTEST.min(room.saturating_sub(widest + GAP));
    for (column, width) in table.columns.iter().zip(&mut widths).rev() {
        let least = shortest.max(longest_word(&column.head)).max(longest_code(&shown, column));
        if column.align == Align::Words && *width > least {
            let less = excess.min(*width - least);
            (*width, excess) = (*width - less, excess - less);
        }
    }
    let all: Vec<(&Column, usize)> = table.columns.iter().zip(widths).collect();
    let Some((first, mut rest)) = all.split_first() else { return };
    let is_remark = |(column, _): &(&Column, usize)| column.align == Align::Words && column.head.is_empty();
    let remarks = rest.last().filter(|last| excess > 0 && is_remark(last)).map(|(column, _)| *column);
    if remarks.is_some() {
        rest = &rest[..rest.len() - 1];
    }
    loop {
        let mut used = first.1;
        let fitting = rest.iter().take_while(|(_, width)| {
            used += GAP + width;
            used <= room
        });
        let (part, further) = rest.split_at(fitting.count().max(1).min(rest.len()));
        let mut columns: Vec<_> = std::iter::once(*first).chain(part.iter().copied()).collect();
        widen(&mut columns, &shown, lines, room);
        set(page, &shown, &columns, remarks.filter(|_| further.is_empty()));
        if further.is_empty() {
            break;
        }
        page.blank();
        rest = further;
    }
    shown.notes().into_iter().for_each(|note| page.paragraph(2, 6, &[(Emphasis::Plain, note)]));
}

/// The widths of all columns if no heading has more than `lines` lines.
fn widths(shown: &Shown<'_>, lines: usize) -> Vec<usize> {
    shown.table.columns.iter().map(|column| column_width(shown, column, lines)).collect()
}

/// The width of columns with the gaps between them.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Gives columns of words that were narrowed the room that is left next to the columns of their part.
fn widen(columns: &mut [(&Column, usize)], shown: &Shown<'_>, lines: usize, room: usize) {
    let used = columns.iter().map(|(_, width)| width + GAP).sum::<usize>().saturating_sub(GAP);
    let mut left = room.saturating_sub(used);
    for (column, width) in columns.iter_mut().filter(|(column, _)| column.align == Align::Words) {
        let more = column_width(shown, column, lines).saturating_sub(*width).min(left);
        (*width, left) = (*width + more, left - more);
    }
}

/// Writes some columns next to one another, with their headings aligned at the bottom, and each remark below its row.
fn set(page: &mut Page, shown: &Shown<'_>, columns: &[(&Column, usize)], remarks: Option<&Column>) {
    let heads: Vec<Vec<String>> = columns.iter().map(|(column, width)| broken(&column.head, *width)).collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        let mut spans = Vec::new();
        for (head, (column, width)) in heads.iter().zip(columns) {
            let text = (line + head.len()).checked_sub(height).and_then(|at| head.get(at)).cloned().unwrap_or_default();
            spans.push((Emphasis::Heading, padded(&text, column.align, *width, spans.is_empty())));
        }
        // One heading span for the line, so that its colour ends with the text and not after the padding.
        let text: String = spans.into_iter().map(|(_, text)| text).collect();
        page.line(&[(Emphasis::Heading, text.trim_end().to_owned())]);
    }
    for row in 0..shown.rows {
        let cells: Vec<_> = columns
            .iter()
            .map(|(column, width)| {
                let (emphasis, text) = shown.cell(column, row);
                (emphasis, if column.align == Align::Words { broken(&text, *width) } else { vec![text] })
            })
            .collect();
        let height = cells.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
        for line in 0..height {
            let mut spans = Vec::new();
            for ((emphasis, lines), (column, width)) in cells.iter().zip(columns) {
                let text = lines.get(line).map_or("", String::as_str);
                spans.push((*emphasis, padded(&cut(text, *width), column.align, *width, spans.is_empty())));
            }
            page.line(&spans);
        }
        let remark = remarks.map(|column| shown.cell(column, row)).filter(|(_, text)| !text.is_empty());
        remark.into_iter().for_each(|remark| page.paragraph(2 * INDENT, 2 * INDENT, &[remark]));
    }
}

/// Pads a cell to its width and adds the gap before it.
fn padded(text: &str, align: Align, columns: usize, is_first: bool) -> String {
    let before = " ".repeat(if is_first { INDENT } else { GAP });
    let fill = " ".repeat(columns.saturating_sub(width(text)));
    match align {
        Align::Words => format!("{before}{text}{fill}"),
        Align::Numbers => format!("{before}{fill}{text}"),
    }
}

/// Returns the width of a column if its heading has at most `lines` lines.
fn column_width(shown: &Shown<'_>, column: &Column, lines: usize) -> usize {
    let cells = (0..shown.rows).map(|row| width(&shown.cell(column, row).1)).max().unwrap_or(0);
    let head = &column.head;
    let whole = width(head);
    let narrowest = (longest_word(head)..=whole).find(|room| broken(head, *room).len() <= lines);
    cells.max(narrowest.unwrap_or(whole))
}

/// Returns the width of the longest word in names and commands, which are never cut.
fn longest_code(shown: &Shown<'_>, column: &Column) -> usize {
    let cells = (0..shown.rows).map(|row| shown.cell(column, row));
    let code = cells.filter(|(emphasis, _)| *emphasis == Emphasis::Code);
    code.map(|(_, text)| longest_word(&text)).max().unwrap_or(0)
}

fn longest_word(head: &str) -> usize {
    head.split(' ').map(width).max().unwrap_or(0)
}

/// Breaks a text into lines of at most `room` columns. Longer words, such as paths, are broken after punctuation, and
/// shortened to a few lines. No-break spaces at the beginning indent every line.
fn broken(text: &str, room: usize) -> Vec<String> {
    let indent: String = text.chars().take_while(|letter| *letter == '\u{a0}').collect();
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let word = &cut(word, WORD_LINES * room);
        let parts = if width(word) > room { parts(word) } else { vec![word.as_str()] };
        for (part, gap) in parts.into_iter().zip([" "].into_iter().chain(std::iter::repeat(""))) {
            match lines.last_mut() {
                Some(line) if width(line) + gap.len() + width(part) <= room => line.extend([gap, part]),
                Some(_) => lines.push(format!("{indent}{part}")),
                None => lines.push(part.to_owned()),
            }
        }
    }
    lines
}

/// The parts of a long word: each ends with punctuation.
fn parts(word: &str) -> Vec<&str> {
    word.split_inclusive(['/', ':', '_', '-', '+', '=', ',', '&']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;

    fn text(table: &Table, width: usize) -> String {
        let mut page = Page::new(Style { width, color: false });
        write(table, ROWS, &mut page);
        page.finish()
    }

    fn numbers(head: &str, cells: [&str; 2]) -> Column {
        Column::numbers(head, &cells, |cell| *cell)
    }

    #[test]
    fn long_headings_are_shortened() {
        let name = format!("1\u{a0}./program-{} --option", "x".repeat(500));
        let table = Table { label: String::new(), rows: ("", ""), columns: vec![numbers(&name, ["1", "2"])] };
        let written = text(&table, 80);
        assert!(written.lines().all(|line| width(line) <= 62) && written.contains('…'), "{written}");
    }

    #[test]
    fn long_words_of_headings_are_cut_only_if_the_table_does_not_fit() {
        let name = "median_of_the_working_tree";
        let columns = (1..4).map(|at| numbers(&format!("{at}\u{a0}{name}"), ["1", "2"])).collect();
        let table = Table { label: String::new(), rows: ("", ""), columns };
        assert_eq!(text(&table, 120).matches(name).count(), 3);
        let narrow = text(&table, 80);
        assert!(narrow.matches('…').count() == 3 && !narrow.contains(name), "{narrow}");
    }

    #[test]
    fn headings_are_broken_and_tables_are_split() {
        let mut table = Table {
            label: "Rows".to_owned(),
            rows: ("row", "rows"),
            columns: vec![
                numbers("number of children", ["1", "16"]),
                numbers("mean wall time (ms)", ["5013", "6017"]),
                numbers("hashes per wall ms", ["73", "42"]),
            ],
        };
        let wide = ["  number of  mean wall  hashes per", "   children  time (ms)     wall ms"];
        assert_eq!(text(&table, 80).lines().take(2).collect::<Vec<_>>(), wide);
        assert_eq!(text(&table, 80).lines().nth(3), Some("         16       6017          42"));
        table.columns.extend((0..6).map(|_| numbers("anything", ["1234567890", "0"])));
        let narrow = text(&table, 40);
        assert!(narrow.lines().all(|line| width(line) <= 40), "{narrow}");
        assert!(narrow.matches("children").count() > 1, "each part names its rows: {narrow}");
    }

    #[test]
    fn cells_of_words_are_broken_if_they_do_not_fit() {
        let rows = ["push() in src/queue.c:88", "pop()"];
        let columns = vec![numbers("waited", ["12 ms", "1 s"]), Column::words("holder", &rows, |row| *row)];
        let table = Table { label: "Places".to_owned(), rows: ("place", "places"), columns };
        let mut page = Page::new(Style { width: 40, color: false });
        page.style.width = 30;
        write(&table, ROWS, &mut page);
        let lines = ["  waited  holder", "   12 ms  push() in", "          src/queue.c:88", "     1 s  pop()"];
        assert_eq!(page.finish().lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn remarks_are_below_their_rows_if_they_do_not_fit() {
        let remarks = ["", "estimated, and not counted"];
        let mut columns = vec![Column::words("", &["calls", "other"], |row| *row), numbers("time", ["12 ms", "1 s"])];
        columns.push(numbers("share of all", ["1234567 %", "0 %"]));
        columns.push(Column::words("", &remarks, |row| *row));
        let table = Table { label: "Times".to_owned(), rows: ("time", "times"), columns };
        assert!(text(&table, 80).lines().any(|line| line.ends_with("0 %  estimated, and not counted")));
        let narrow = text(&table, 40);
        let last: Vec<&str> = narrow.lines().skip(2).collect();
        assert_eq!(last, ["  calls  12 ms  1234567 %", "  other    1 s        0 %", "    estimated, and not counted"]);
    }

    #[test]
    fn indentation_applies_to_every_line() {
        let rows = ["all", "\u{a0}\u{a0}waiting for a CPU"];
        let columns = vec![Column::words("", &rows, |row| *row), numbers("time", ["12 ms", "1,234,567,890,123,456 s"])];
        let table = Table { label: "Times".to_owned(), rows: ("time", "times"), columns };
        let narrow = text(&table, 40);
        assert!(narrow.lines().all(|line| width(line) <= 40), "{narrow}");
        let last: Vec<&str> = narrow.lines().skip(2).collect();
        assert_eq!(last, ["    waiting for  1,234,567,890,123,456 s", "    a CPU"]);
    }

    #[test]
    fn columns_of_words_are_left_aligned_and_narrowed() {
        let rows = ["/usr/lib/x86_64-linux-gnu/libpthread.so.0", "a"];
        let table = Table {
            label: "Places".to_owned(),
            rows: ("place", "places"),
            columns: vec![Column::words("place", &rows, |row| *row), numbers("waited", ["12 ms", "1 s"])],
        };
        assert_eq!(text(&table, 80).lines().nth(2), Some(format!("  a{}    1 s", " ".repeat(41)).as_str()));
        let narrow = text(&table, 44);
        let lines = ["  /usr/lib/x86_64-linux-gnu/           12 ms", "  libpthread.so.0"];
        assert_eq!(narrow.lines().skip(1).take(2).collect::<Vec<_>>(), lines);
        assert_eq!(narrow.lines().nth(3), Some("  a                                      1 s"));
    }

    #[test]
    fn narrowed_columns_use_the_room_of_their_part() {
        let rows = ["initialised when the second module is imported"];
        let wide = |head: &str| Column::numbers(head, &["1234567890123456789"], |cell| *cell);
        let by = Column::words("initialised by", &rows, |row| *row);
        let columns = vec![Column::words("", &["a"], |row| *row), wide("first"), wide("second"), by];
        let table = Table { label: "Places".to_owned(), rows: ("place", "places"), columns };
        let narrow = text(&table, 60);
        assert!(narrow.lines().any(|line| line.ends_with(rows[0])), "{narrow}");
    }
}
