//! Reports as Markdown, for a pull request or the summary of a CI job.

mod release;
mod tree;

use steady_render::markdown::{plain, sentence as spoken};

pub use release::release_markdown;

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
