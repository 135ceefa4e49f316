//! The list of runs as text, and the facts of one run as text.

use std::borrow::Cow;

use steady_model::{Facts, Kept, Metric, Reading};
use steady_render::effect::noun;
use steady_render::letters::{capital, cut, one_line, width};
use steady_render::terminal::Page;
use steady_render::timestamp::text as started;
use steady_render::units::TIE;
use steady_render::{Emphasis as Paint, Style};

/// The space between two columns, in characters.
const GAP: usize = 2;
/// The width of a verdict in characters, if it has a clause that is as short.
const VERDICT: usize = 22;
/// The maximum width of the metric next to it, in characters.
const METRIC: usize = 16;
/// The lines that the commands of a run fill at most, if they do not fit next to the other columns.
const LINES: usize = 3;
/// The number of columns, without that of the commands.
const COLUMNS: usize = 5;

/// The runs as a table with a line for each. If the verdict and the commands of a run do not fit next to the other
/// columns, those of every run are below its line.
pub fn runs_text(runs: &[Kept], style: Style) -> String {
    let mut page = Page::new(style);
    if runs.is_empty() {
        page.paragraph(0, 0, &[(Paint::Plain, "The history has no runs.".to_owned())]);
        return page.finish();
    }
    let heads = ["ID", "Started (UTC)", "Kind", "Pairs", "Verdict"];
    let lines: Vec<_> = runs.iter().map(|kept| cells(kept, verdict(&kept.facts, VERDICT, usize::MAX))).collect();
    let columns = widths(heads, &lines);
    let room = page.width().saturating_sub(columns.iter().sum::<usize>() + GAP * COLUMNS);
    if runs.iter().all(|kept| width(&commands(&kept.facts, usize::MAX)) <= room) {
        page.line(&[(Paint::Heading, line(&heads, columns, "Commands"))]);
        for (kept, cells) in runs.iter().zip(&lines) {
            let cells = cells.each_ref().map(String::as_str);
            page.line(&[(Paint::Plain, line(&cells, columns, &commands(&kept.facts, room)))]);
        }
    } else {
        let heads = heads.map(|head| if head == "Verdict" { "" } else { head });
        let lines: Vec<_> = runs.iter().map(|kept| cells(kept, String::new())).collect();
        let columns = widths(heads, &lines);
        page.line(&[(Paint::Heading, line(&heads, columns, ""))]);
        let room = page.width() - 2 * GAP;
        for (kept, cells) in runs.iter().zip(&lines) {
            page.line(&[(Paint::Plain, line(&cells.each_ref().map(String::as_str), columns, ""))]);
            let verdict = verdict(&kept.facts, room, (LINES - 1) * room);
            let commands = commands(&kept.facts, (LINES * room).saturating_sub(width(&verdict) + ": ".len()));
            page.paragraph(GAP, 2 * GAP, &[(Paint::Plain, format!("{verdict}: {commands}"))]);
        }
    }
    if runs.iter().any(|kept| !kept.facts.complete) {
        page.blank();
        page.paragraph(0, 2, &[(Paint::Plain, "* did not run to its end".to_owned())]);
    }
    page.finish()
}

/// One run: its results in sentences, and its facts.
pub fn run_text_with_sentences(kept: &Kept, sentences: &[String], style: Style) -> String {
    let mut page = Page::new(style);
    for (index, sentence) in sentences.iter().enumerate() {
        if index == 1 {
            page.blank();
        }
        let paint = if index == 0 { Paint::Heading } else { Paint::Plain };
        page.paragraph(0, 2, &[(paint, one_line(sentence))]);
    }
    facts(kept, page)
}

/// One run without sentences: its verdict, and its facts.
pub fn run_text(kept: &Kept, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(0, 2, &[(Paint::Plain, format!("{}.", capital(&one_line(&kept.facts.verdict))))]);
    facts(kept, page)
}

/// Adds the facts of a run to a page.
fn facts(kept: &Kept, mut page: Page) -> String {
    let facts = &kept.facts;
    page.heading(&format!("Run {}", kept.id));
    let mut item = |label: &str, text: String| page.item(label, "commands".len(), &[(Paint::Plain, text)]);
    item("kind", facts.kind.name().to_owned());
    item("started", started(facts.started));
    for (index, command) in facts.commands.iter().enumerate() {
        let number = if facts.commands.len() > 1 { format!("{}{TIE}", index + 1) } else { String::new() };
        item(if index == 0 { "commands" } else { "" }, number + &one_line(command));
    }
    // Properties that this kind of run does not have are left out.
    facts.pairs.iter().for_each(|pairs| item("pairs", pairs.to_string()));
    let complete = if facts.complete { "yes" } else { "no: it was interrupted, killed or stopped by a failure" };
    item("complete", complete.to_owned());
    facts.primary.iter().for_each(|metric| item("metric", words(*metric).into_owned()));
    item("host", reading(&facts.hostname));
    item("kernel", reading(&facts.kernel));
    item("revision", reading(&facts.revision));
    facts.seed.iter().for_each(|seed| item("seed", seed.to_string()));
    page.finish()
}

fn words(metric: Metric) -> Cow<'static, str> {
    match metric {
        Metric::Elapsed => "elapsed time: wall time minus the time spent waiting for a CPU".into(),
        other => noun(other),
    }
}

fn reading(reading: &Reading<String>) -> String {
    reading.as_ref().map_or_else(|absent| format!("not available: {absent}"), |text| one_line(text))
}

fn cells(kept: &Kept, verdict: String) -> [String; COLUMNS] {
    let facts = &kept.facts;
    // Cuts 2026-11-20T14:05:12Z to the minute.
    let time: String = started(facts.started).chars().take(16).collect();
    let mark = if facts.complete { "" } else { "*" };
    let pairs = facts.pairs.as_ref().map_or_else(|_| "–".to_owned(), usize::to_string);
    let (id, kind) = (kept.id.to_string(), facts.kind.name().to_owned());
    [id, time.replace('T', " "), kind, format!("{pairs}{mark}"), verdict]
}

/// The widths of the columns.
fn widths(heads: [&str; COLUMNS], lines: &[[String; COLUMNS]]) -> [usize; COLUMNS] {
    std::array::from_fn(|column| {
        let cells = lines.iter().map(|line| width(&line[column]));
        cells.max().unwrap_or(0).max(width(heads[column]))
    })
}

/// The verdict with its metric: as many complete clauses as fit into `room` columns. If none fits, the whole verdict, of
/// which `most` columns are shown.
fn verdict(facts: &Facts, room: usize, most: usize) -> String {
    let metric = match &facts.primary {
        Err(_) | Ok(Metric::Cpu) => String::new(),
        Ok(metric) => format!(" ({})", cut(metric.name(), METRIC)),
    };
    clauses(&facts.verdict, room).unwrap_or_else(|| cut(&one_line(&facts.verdict), most)) + &metric
}

/// As many complete verdicts as fit, or a verdict without its interval. `None` if none fits.
fn clauses(all: &str, room: usize) -> Option<String> {
    let all = one_line(all);
    let short = all.split_once(" (").map(|(short, _)| short.to_owned()).filter(|_| !all.contains("; "));
    let ends = all.match_indices("; ").map(|(at, _)| format!("{}; …", &all[..at])).chain(short);
    let fits = |text: &String| width(text) <= room;
    if fits(&all) { Some(all) } else { ends.filter(fits).last() }
}

/// A line of the table. Numbers are aligned to the right, words to the left.
fn line(cells: &[&str; COLUMNS], widths: [usize; COLUMNS], commands: &str) -> String {
    let pad = |column: usize| " ".repeat(widths[column].saturating_sub(width(cells[column])));
    let gap = " ".repeat(GAP);
    let [id, time, kind, pairs, verdict] = cells;
    let left = format!("{}{id}{gap}{time}{}{gap}{kind}{}{gap}{}{pairs}", pad(0), pad(1), pad(2), pad(3));
    format!("{left}{gap}{verdict}{}{gap}{commands}", pad(4)).trim_end().to_owned()
}

/// The commands in at most `room` columns. If they do not fit, each gets a share.
fn commands(facts: &Facts, room: usize) -> String {
    const BETWEEN: &str = " · ";
    const SHORTEST: usize = 4;
    let names: Vec<String> = facts.commands.iter().map(|name| one_line(name)).collect();
    let all = names.join(BETWEEN);
    if width(&all) <= room {
        return all;
    }
    // Short names leave the rest of their share to long names.
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|index| width(&names[*index]));
    let mut left = room.saturating_sub(width(BETWEEN) * names.len().saturating_sub(1));
    let mut shown = names.clone();
    for (done, index) in order.into_iter().enumerate() {
        shown[index] = cut(&names[index], (left / (names.len() - done)).max(SHORTEST));
        left = left.saturating_sub(width(&shown[index]));
    }
    cut(&shown.join(BETWEEN), room)
}

#[cfg(test)]
mod tests {
    use steady_model::{Absent, RunKind, Timestamp};

    use super::*;

    #[test]
    fn a_verdict_is_cut_between_clauses() {
        let cut = |all: &str| clauses(all, VERDICT);
        assert_eq!(cut("31.87 ms a run (31.75 to 31.99, 95 %)").unwrap(), "31.87 ms a run");
        assert_eq!(cut("same; 5.8 % more; 7.2 % more; 1.2 % less").unwrap(), "same; 5.8 % more; …");
        assert_eq!(cut("5.8 % more").unwrap(), "5.8 % more");
        assert_eq!(cut("a verdict of one long clause without an end"), None);
    }

    /// If a verdict does not fit next to the commands, it has a line of its own.
    #[test]
    fn verdicts_are_readable_at_every_width() {
        let kept = |verdict: &str| Kept {
            id: 1,
            facts: Facts {
                kind: RunKind::new("warm"),
                started: Timestamp(0),
                hostname: Ok(String::new()),
                kernel: Ok(String::new()),
                revision: Ok(String::new()),
                seed: Err(Absent::because("it is made up")),
                commands: vec!["true".to_owned()],
                pairs: Err(Absent::because("it is made up")),
                complete: true,
                primary: Err(Absent::because("it is made up")),
                verdict: verdict.to_owned(),
            },
        };
        let whole = "50 % waiting for locks, mostly a mutex in push()";
        let text = |verdict: &str, width: usize| runs_text(&[kept(verdict)], Style { width, color: false });
        for width in [60, 80] {
            assert!(text(whole, width).contains(&format!("\n  {whole}: true\n")), "{}", text(whole, width));
            assert!(text("62.9 % less on demand", width).contains("62.9 % less on demand"));
        }
        assert!(text(whole, 100).contains(&format!("{whole}  true\n")), "{}", text(whole, 100));
        assert!(text("62.9 % less on demand", 80).contains("Verdict"));
    }
}
