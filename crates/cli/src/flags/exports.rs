//! Where the report goes, and as what.

use std::path::PathBuf;

use clap::Args;

use super::values::FormatFlag;

/// The options about reports, the same for everything that makes one.
#[derive(Debug, Args)]
pub(crate) struct OutputFlags {
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = FormatFlag::Text)]
    pub(crate) format: FormatFlag,

    /// Write the report as JSON to this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,

    /// Write the runs to this file, a line of comma-separated values each; commands count from 0, as in the JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) export_csv: Option<PathBuf>,

    /// Write the report as Markdown to this file, for a pull request or the summary of a CI job
    #[arg(long, value_name = "FILE")]
    pub(crate) export_markdown: Option<PathBuf>,

    /// No progress bar, and no text report
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl OutputFlags {
    /// Every file that was asked for: the option, the form, the path.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, FormatFlag, &PathBuf)> {
        let files = [
            ("--export-json", FormatFlag::Json, &self.export_json),
            ("--export-csv", FormatFlag::Csv, &self.export_csv),
            ("--export-markdown", FormatFlag::Markdown, &self.export_markdown),
        ];
        files.into_iter().filter_map(|(option, format, path)| Some((option, format, path.as_ref()?)))
    }
}
