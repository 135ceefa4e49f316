//! What keeping programs warm gains, as Markdown.

use steady_model::WarmBenchReport;

use crate::markdown::{row, spoken};
use crate::text::Footnotes;
use crate::text::table::Table;
use crate::words::warm::bench as words;
use steady_render::markdown::{code, plain};

/// The report as GitHub's Markdown: for each program what is claimed of it, and its tables.
pub fn warm_bench_markdown(report: &WarmBenchReport) -> String {
    let mut out = String::new();
    if let Some(text) = words::early(report) {
        out.push_str(&format!("> **{text}**\n\n"));
    }
    for (at, program) in report.programs.iter().enumerate() {
        out.push_str(&format!("### {}\n\n", code(&words::program(report, at))));
        let program = match program {
            Ok(program) => program,
            Err(absent) => {
                out.push_str(&format!("absent: {}\n\n", plain(&absent.0)));
                continue;
            }
        };
        words::sentences(program).iter().for_each(|sentence| out.push_str(&format!("{}\n\n", spoken(sentence))));
        program.notes.iter().for_each(|note| out.push_str(&format!("> **Note:** {}\n\n", plain(note))));
        table(words::MEANS, words::means(program), &mut out);
        table(words::AGAINST, words::against(program), &mut out);
    }
    words::facts(report).iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
    out.push_str(&format!("- {}\n", plain(words::ALL)));
    out
}

fn table(heading: &str, (table, notes): (Table, Footnotes), out: &mut String) {
    row(out, std::iter::once(plain(heading)).chain(table.names.iter().map(|name| plain(name))));
    row(out, std::iter::once("---".to_owned()).chain(table.names.iter().map(|_| "---:".to_owned())));
    for quantity in &table.quantities {
        row(out, std::iter::once(plain(quantity.label)).chain(quantity.cells.iter().map(|cell| plain(cell))));
    }
    out.push('\n');
    notes.lines().for_each(|line| out.push_str(&format!("{}\n\n", plain(&line))));
}
