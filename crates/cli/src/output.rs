//! Where reports go: standard output and files.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use steady_model::Report;
use steady_report::Style;

use crate::failure::Failure;
use crate::flags::{FormatFlag, OutputFlags};

/// The width of text where the terminal does not say.
const WIDTH: usize = 80;

/// The places that a report will go to, found writable before the measuring begins.
pub(crate) struct Destinations {
    format: FormatFlag,
    quiet: bool,
    samples: bool,
    json: Option<PathBuf>,
}

impl Destinations {
    /// Checks that the files can be written.
    pub(crate) fn open(flags: &OutputFlags, samples: bool) -> Result<Self, Failure> {
        if samples && flags.export_json.is_none() && flags.format != FormatFlag::Json {
            return Err(Failure::Usage("--samples goes with --export-json FILE or --format json".to_owned()));
        }
        if let Some(path) = &flags.export_json {
            let opened = File::options().append(true).create(true).open(path);
            opened.map_err(|error| Failure::Usage(format!("--export-json '{}': {error}", path.display())))?;
        }
        Ok(Destinations { format: flags.format, quiet: flags.quiet, samples, json: flags.export_json.clone() })
    }

    /// Writes the report everywhere. What one place cannot take does not keep it from the others.
    pub(crate) fn write(&self, report: &Report) -> Result<(), Failure> {
        let printed = self.print(report).map_err(|error| Failure::Own(format!("standard output: {error}")));
        let saved = match &self.json {
            Some(path) => save(path, &steady_report::json_text(report, self.samples))
                .map_err(|error| Failure::Own(format!("--export-json '{}': {error}", path.display()))),
            None => Ok(()),
        };
        printed.and(saved)
    }

    fn print(&self, report: &Report) -> io::Result<()> {
        let text = match self.format {
            FormatFlag::Json => steady_report::json_text(report, self.samples),
            FormatFlag::Text if self.quiet => return Ok(()),
            FormatFlag::Text => steady_report::text(report, style()),
        };
        print(text.as_bytes())
    }
}

/// Prints on standard output. A reader that has seen enough, such as head, is no failure.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text).and_then(|()| stdout.flush());
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// As wide as the terminal; in colour on a terminal, unless NO_COLOR is set (no-color.org).
fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    let width = rustix::termios::tcgetwinsize(io::stdout()).map_or(WIDTH, |size| usize::from(size.ws_col));
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style { width: if width == 0 { WIDTH } else { width }, color: terminal && !no_color && !dumb }
}

/// Writes a file whole or not at all; what is no ordinary file (a device, a pipe) is written as it is.
fn save(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize()?;
    if !path.is_file() {
        return fs::write(&path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        // Nothing is left behind; what cannot be removed could not be written either.
        let _ = fs::remove_file(&temporary);
    }
    written
}
