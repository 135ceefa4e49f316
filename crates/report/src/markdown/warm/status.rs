//! What is kept of programs, as Markdown.

use steady_model::{WarmQuestion, WarmReport};

use crate::markdown::row;
use crate::words::warm::status::{self, HEADS, facts, launches, of_program, reasons, sentence};
use steady_render::markdown::plain;

/// The report as GitHub's Markdown: what was asked about each program, or what is kept of all of them.
pub fn warm_status_markdown(report: &WarmReport) -> String {
    let mut out = String::new();
    if report.question != WarmQuestion::Status {
        for program in &report.programs {
            let (claim, rest) = of_program(report, program);
            out.push_str(&format!("- **{}**{}\n", plain(&claim), plain(&rest)));
        }
        return out;
    }
    out.push_str(&format!("**{}**\n", plain(&sentence(report))));
    if !report.programs.is_empty() {
        out.push('\n');
        row(&mut out, HEADS.iter().map(|head| plain(head)));
        row(&mut out, HEADS.iter().map(|head| if *head == "Program" { "---".to_owned() } else { "---:".to_owned() }));
        for program in &report.programs {
            row(&mut out, status::row(report, program).iter().map(|cell| plain(cell)));
        }
    }
    let lines = reasons(report).into_iter().map(|(program, why)| format!("- {}: {}\n", plain(&program), plain(&why)));
    list(&mut out, "Not warm", lines.collect());
    if let Ok(store) = &report.store {
        let line = |(label, text): (&str, String)| format!("- {label}: {}\n", plain(&text));
        list(&mut out, "Launches", launches(store).into_iter().map(line).collect());
        list(&mut out, "Store", facts(store).into_iter().map(line).collect());
    }
    out
}

fn list(out: &mut String, heading: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        out.push_str(&format!("\n**{heading}**\n\n{}", lines.concat()));
    }
}
