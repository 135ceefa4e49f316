//! Options for the format and the files of a report.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// A format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for a terminal.
    Text,
    /// JSON with everything in the report.
    Json,
    /// Rows of comma-separated values.
    Csv,
    /// Markdown in GitHub's dialect.
    Markdown,
    /// AsciiDoc.
    AsciiDoc,
    /// The markup of Org mode.
    Org,
    /// An HTML page with charts.
    Html,
}

/// The value of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatFlag {
    /// Text for a terminal
    Text,
    /// JSON, for other programs
    Json,
    /// Comma-separated values
    Csv,
    /// Markdown for a pull request
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

/// The options about reports. They are the same in all features that have one.
#[derive(Debug, Args)]
pub struct OutputFlags {
    /// The format of standard output
    #[arg(long, value_enum, default_value_t = FormatFlag::Text)]
    pub format: FormatFlag,

    /// The files that the report is written to.
    #[command(flatten)]
    pub files: FileFlags,

    /// Show no progress, and do not print the report as text
    #[arg(short, long)]
    pub quiet: bool,
}

/// The files that a report is written to.
#[derive(Clone, Debug, Args)]
pub struct FileFlags {
    /// Write the report as JSON to this file. In this and the other --export options, - is standard output,
    /// unless that belongs to a COMMAND
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,

    /// Write rows of comma-separated values to this file: the runs of a comparison of commands, or else the rows of the
    /// report's table. Commands are numbered from 0, as in the JSON
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,

    /// Write the report as Markdown to this file, for a pull request or the summary of a CI job
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,

    /// Write the report as AsciiDoc to this file
    #[arg(long, value_name = "FILE")]
    pub export_asciidoc: Option<PathBuf>,

    /// Write the report for Org mode to this file
    #[arg(long, value_name = "FILE")]
    pub export_orgmode: Option<PathBuf>,

    /// Write the report as an HTML page with charts to this file. The page needs no other files and no network
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,
}

impl FileFlags {
    /// All requested files: the option, the format and the path of each.
    pub fn wanted(&self) -> impl Iterator<Item = (&'static str, Form, &PathBuf)> {
        let files = [
            ("--export-json", Form::Json, &self.export_json),
            ("--export-csv", Form::Csv, &self.export_csv),
            ("--export-markdown", Form::Markdown, &self.export_markdown),
            ("--export-asciidoc", Form::AsciiDoc, &self.export_asciidoc),
            ("--export-orgmode", Form::Org, &self.export_orgmode),
            ("--export-html", Form::Html, &self.export_html),
        ];
        files.into_iter().filter_map(|(option, form, path)| Some((option, form, path.as_ref()?)))
    }
}
