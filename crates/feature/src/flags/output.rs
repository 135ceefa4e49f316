//! Where the report goes, and as what.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What a report may be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for a terminal.
    Text,
    /// JSON, whole.
    Json,
    /// Comma-separated rows.
    Csv,
    /// GitHub's Markdown.
    Markdown,
    /// A page of HTML.
    Html,
}

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatFlag {
    /// For people
    Text,
    /// For programs
    Json,
    /// The runs, a line each
    Csv,
    /// For a pull request
    Markdown,
}

impl From<FormatFlag> for Form {
    fn from(format: FormatFlag) -> Form {
        match format {
            FormatFlag::Text => Form::Text,
            FormatFlag::Json => Form::Json,
            FormatFlag::Csv => Form::Csv,
            FormatFlag::Markdown => Form::Markdown,
        }
    }
}

/// The options about reports, the same for everything that makes one.
#[derive(Debug, Args)]
pub struct OutputFlags {
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = FormatFlag::Text)]
    pub format: FormatFlag,

    /// The files that it is written to.
    #[command(flatten)]
    pub files: FileFlags,

    /// No progress bar, and no text report
    #[arg(short, long)]
    pub quiet: bool,
}

/// The files that a report is written to.
#[derive(Clone, Debug, Args)]
pub struct FileFlags {
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,

    /// Write the report's rows (of compare and judge: the runs) to this file as comma-separated values; commands count from
    /// 0, as in the JSON
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,

    /// Write the report as Markdown to this file, for a pull request or the summary of a CI job
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,

    /// Write the report as a page of HTML with charts to this file; the page needs nothing besides itself
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,
}

impl FileFlags {
    /// Every file that was asked for: the option, the form, the path.
    pub fn wanted(&self) -> impl Iterator<Item = (&'static str, Form, &PathBuf)> {
        let files = [
            ("--export-json", Form::Json, &self.export_json),
            ("--export-csv", Form::Csv, &self.export_csv),
            ("--export-markdown", Form::Markdown, &self.export_markdown),
            ("--export-html", Form::Html, &self.export_html),
        ];
        files.into_iter().filter_map(|(option, form, path)| Some((option, form, path.as_ref()?)))
    }
}
