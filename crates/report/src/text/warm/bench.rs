//! What keeping programs warm gains, as text.

use steady_model::{WarmBenchReport, WarmFigures, WarmProgram};

use crate::text::{Footnotes, Style};
use crate::text::{Page, Paint};
use crate::units::time;
use crate::words::warm::bench as words;
use crate::words::{one_line, width};

/// Eighths of a line, from the least that can be seen to all of it.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Beside the bars: the figures of the first and the last launch.
const ROOM: usize = 26;
/// With more programs than this only what is claimed of each is told, and the tables are left to the other forms.
const TABLES: usize = 8;

/// The report as text: for each program what is claimed of it, then the means, the differences and the launches one by one.
pub fn warm_bench_text(report: &WarmBenchReport, style: Style) -> String {
    let mut page = Page::new(style);
    if let Some(text) = words::early(report) {
        page.paragraph(0, 2, &[(Paint::Open, text.to_owned())]);
    }
    let tables = report.programs.len() <= TABLES;
    for (at, program) in report.programs.iter().enumerate() {
        page.heading(&words::program(report, at));
        match program {
            Ok(program) => self::program(program, tables, &mut page),
            Err(absent) => page.paragraph(2, 4, &[(Paint::Plain, format!("absent: {}", one_line(&absent.0)))]),
        }
    }
    page.blank();
    let facts = words::facts(report);
    let labels = facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    facts.into_iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, text)]));
    if tables && report.programs.iter().any(Result::is_ok) {
        page.paragraph(2, 4, &[(Paint::Plain, words::ALL.to_owned())]);
    } else if !tables {
        let text = "Tables of so many programs are in --format markdown, csv and json, and in --export-html.";
        page.paragraph(2, 2, &[(Paint::Plain, text.to_owned())]);
    }
    page.finish()
}

fn program(program: &WarmProgram, tables: bool, page: &mut Page) {
    words::sentences(program).iter().for_each(|sentence| page.paragraph(2, 2, sentence));
    for note in &program.notes {
        page.paragraph(2, 4, &[(Paint::Open, "Note:".to_owned()), (Paint::Plain, format!(" {}", one_line(note)))]);
    }
    if !tables {
        return;
    }
    for (heading, (table, notes)) in [(words::MEANS, words::means(program)), (words::AGAINST, words::against(program))]
    {
        part(heading, page);
        table.write(page);
        Footnotes::write(&notes, page);
    }
    part(words::COURSE, page);
    course(&program.modes, page);
}

fn part(heading: &str, page: &mut Page) {
    page.blank();
    page.paragraph(2, 4, &[(Paint::Heading, heading.to_owned())]);
}

/// A line of bars for each mode, all of one scale.
fn course(modes: &[WarmFigures], page: &mut Page) {
    let labels = modes.iter().map(|figures| width(figures.mode.name())).max().unwrap_or(0);
    let columns = page.width().saturating_sub(2 + labels + 2 + ROOM).max(8);
    let gathered: Vec<Vec<f64>> = modes.iter().map(|figures| self::gathered(figures, columns)).collect();
    let most = gathered.iter().flatten().copied().fold(0.0, f64::max);
    for (figures, launches) in modes.iter().zip(&gathered) {
        let bars: String = launches.iter().map(|value| bar(*value, most)).collect();
        let ends = launches.first().zip(launches.last());
        let ends = ends.map_or_else(String::new, |(first, last)| format!("{} → {}", time(*first), time(*last)));
        let name = figures.mode.name();
        let pad = " ".repeat(labels - width(name) + 2);
        page.line(&[(Paint::Plain, format!("  {name}{pad}{bars}  {ends}"))]);
    }
}

/// The wall time of each launch, of many the mean of several together.
fn gathered(figures: &WarmFigures, columns: usize) -> Vec<f64> {
    let together = figures.course.len().div_ceil(columns).max(1);
    let mean = |launches: &[[f64; 2]]| launches.iter().map(|launch| launch[0]).sum::<f64>() / launches.len() as f64;
    figures.course.chunks(together).map(mean).collect()
}

fn bar(value: f64, most: f64) -> char {
    let eighths = (value / most * EIGHTHS.len() as f64).ceil();
    // What is no number is cast to zero.
    EIGHTHS[(eighths.clamp(1.0, EIGHTHS.len() as f64) as usize).saturating_sub(1)]
}
