//! Where reports go: standard output and files.

mod place;

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use steady_feature::Report;
use steady_feature::flags::{Form, FormatFlag, OutputFlags};
use steady_linux::process;
use steady_render::Style;

use crate::failure::Failure;
use crate::letters::readable;

use place::Place;

/// The width of text where the terminal does not say.
const WIDTH: usize = 80;

/// The places that a report will go to, found writable before the measuring begins.
pub(crate) struct Destinations {
    format: FormatFlag,
    quiet: bool,
    samples: bool,
    files: Vec<(Form, Export)>,
}

/// A file that something will go to, found writable before the measuring begins.
pub(crate) struct Export {
    option: &'static str,
    path: PathBuf,
    target: Target,
}

/// What is written to.
enum Target {
    /// A pipe or a device. It stays open: a pipe without a name cannot be opened again by its path, and the reader of a FIFO
    /// would see an end.
    Stream(File),
    /// An ordinary file, which is replaced when it is written.
    File(Place),
}

impl Export {
    /// Checks that the file can be written; what stands in it stays. Waits for the reader of a FIFO; signals must not be
    /// caught yet, so that they end the waiting.
    pub(crate) fn open(option: &'static str, path: &Path) -> Result<Self, Failure> {
        let opened = File::options().append(true).create(true).open(path);
        let refused = |error| Failure::Usage(format!("{option} '{}': {error}", path.display()));
        let file = opened.map_err(refused)?;
        let ordinary = file.metadata().map_err(refused)?.is_file();
        let target = if ordinary { Target::File(Place::find(path).map_err(refused)?) } else { Target::Stream(file) };
        Ok(Export { option, path: path.to_owned(), target })
    }

    /// Writes the file.
    pub(crate) fn save(&self, text: &str) -> Result<(), Failure> {
        let written = match &self.target {
            Target::Stream(stream) => {
                let mut stream = stream;
                stream.write_all(text.as_bytes())
            }
            Target::File(place) => place.replace(text),
        };
        written.map_err(|error| Failure::Own(format!("{} '{}': {error}", self.option, self.path.display())))
    }
}

impl Destinations {
    /// Checks that the files can be written, and that no two are one.
    /// Standard output must be open where a report will go there.
    pub(crate) fn open(flags: &OutputFlags, samples: bool) -> Result<Self, Failure> {
        if process::stdout_was_closed() && !(flags.quiet && flags.format == FormatFlag::Text) {
            let helps = "use --quiet with --export-json FILE, or redirect it";
            return Err(Failure::Usage(format!("standard output is closed, and the report goes there: {helps}")));
        }
        Destinations::files(flags, samples)
    }

    /// As [`Destinations::open`], for commands that print nothing on standard output.
    pub(crate) fn files(flags: &OutputFlags, samples: bool) -> Result<Self, Failure> {
        if samples && flags.files.export_json.is_none() && flags.format != FormatFlag::Json {
            return Err(Failure::Usage("--samples goes with --export-json FILE or --format json".to_owned()));
        }
        let open = |(option, form, path): (_, _, &PathBuf)| Ok((form, Export::open(option, path)?));
        let files = flags.files.wanted().map(open).collect::<Result<Vec<_>, Failure>>()?;
        for (index, (_, file)) in files.iter().enumerate() {
            files[..index].iter().try_for_each(|(_, other)| apart(other, file))?;
        }
        Ok(Destinations { format: flags.format, quiet: flags.quiet, samples, files })
    }

    /// Whether text is not wanted.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    /// A drawing beside the report, where one was asked for.
    pub(crate) fn drawing(&self, option: &'static str, path: Option<&Path>) -> Result<Option<Export>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let drawing = Export::open(option, path)?;
        self.files.iter().try_for_each(|(_, other)| apart(other, &drawing))?;
        Ok(Some(drawing))
    }

    /// Writes the report everywhere. What one place cannot take does not keep it from the others; the first failure is
    /// the one that is told.
    pub(crate) fn write(&self, report: &dyn Report) -> Result<(), Failure> {
        let printed = self.print(report).map_err(|error| Failure::Own(format!("standard output: {error}")));
        let written = self.write_files(report);
        printed.and(written)
    }

    /// Writes the report to the files alone; as [`Destinations::write`].
    pub(crate) fn write_files(&self, report: &dyn Report) -> Result<(), Failure> {
        let write = |(form, file): &(Form, Export)| file.save(&report.rendered(*form, style(), self.samples));
        self.files.iter().map(write).fold(Ok(()), Result::and)
    }

    fn print(&self, report: &dyn Report) -> io::Result<()> {
        if self.quiet && self.format == FormatFlag::Text {
            return Ok(());
        }
        let shown = report.rendered(self.format.into(), style(), self.samples);
        print(if self.format == FormatFlag::Text { readable(shown) } else { shown }.as_bytes())
    }

    /// Says under the report under which number it is kept; only to people.
    pub(crate) fn mention(&self, id: i64) -> Result<(), Failure> {
        self.print_text(format!("History: {id} (steady history report {id})\n"))
    }

    /// Prints text, if standard output is for people.
    pub(crate) fn print_text(&self, text: String) -> Result<(), Failure> {
        if !self.is_text() || self.quiet {
            return Ok(());
        }
        print(readable(text).as_bytes()).map_err(|error| Failure::Own(format!("standard output: {error}")))
    }

    /// Whether standard output gets text.
    pub(crate) fn is_text(&self) -> bool {
        self.format == FormatFlag::Text
    }
}

/// Prints on standard output. A reader that has seen enough, such as head, is no failure.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    if process::stdout_was_closed() && !text.is_empty() {
        return Err(io::Error::other("it is closed"));
    }
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text).and_then(|()| stdout.flush());
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// Refuses two options that name one file.
fn apart(one: &Export, other: &Export) -> Result<(), Failure> {
    // Devices and pipes may take several reports.
    let (Target::File(place), Target::File(of_other)) = (&one.target, &other.target) else { return Ok(()) };
    if !place.is(of_other) {
        return Ok(());
    }
    let (first, second, path) = (one.option, other.option, other.path.display());
    Err(Failure::Usage(format!("{first} and {second} name the same file: '{path}'")))
}

/// The style of what goes to standard output.
pub(crate) fn style() -> Style {
    style_on(&io::stdout())
}

/// As wide as the terminal; in colour on a terminal, unless NO_COLOR is set (no-color.org).
pub(crate) fn style_on(stream: &(impl IsTerminal + AsFd)) -> Style {
    let terminal = stream.is_terminal();
    let width = rustix::termios::tcgetwinsize(stream).map_or(WIDTH, |size| usize::from(size.ws_col));
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style { width: if width == 0 { WIDTH } else { width }, color: terminal && !no_color && !dumb }
}
