//! Writes reports to standard output and to files.

mod place;

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat, stat};
use rustix::io::Errno;
use steady_feature::Report;
use steady_feature::flags::{Form, FormatFlag, OutputFlags};
use steady_linux::process;
use steady_render::Style;

use crate::failure::Failure;
use crate::letters::readable;

use place::FileLocation;

/// The width of text if the terminal has none.
const WIDTH: usize = 80;

/// The destinations of a report. They are checked before the measuring begins.
pub(crate) struct Destinations {
    format: FormatFlag,
    quiet: bool,
    samples: bool,
    files: Vec<(Form, Export)>,
    /// Whether an export goes to standard output. The text of the report would be in the way there.
    has_export_on_stdout: bool,
}

/// Returns whether the file of an export is standard output, by its name or because it was redirected to that file.
fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout"].iter().any(|name| path == Path::new(name))
        || (!process::stdout_was_closed() && is_file_of(&io::stdout(), path))
}

/// Returns whether a stream was redirected to the regular file at a path.
fn is_file_of(stream: &impl AsFd, path: &Path) -> bool {
    let (Ok(of_stream), Ok(of_path)) = (fstat(stream), stat(path)) else { return false };
    FileType::from_raw_mode(of_path.st_mode).is_file()
        && (of_stream.st_dev, of_stream.st_ino) == (of_path.st_dev, of_path.st_ino)
}

/// Returns whether a file begins as a binary or a script does. No export does.
fn is_program(path: &Path) -> bool {
    let mut beginning = vec![];
    let read = File::open(path).and_then(|file| file.take(4).read_to_end(&mut beginning));
    read.is_ok() && (beginning.starts_with(b"\x7fELF") || beginning.starts_with(b"#!"))
}

/// An output file. It is checked before the measuring begins.
pub(crate) struct Export {
    option: &'static str,
    path: PathBuf,
    target: Target,
}

/// The kind of an output file.
enum Target {
    /// Standard output. A closed one and a reader that ends early are treated as for the report itself.
    StandardOutput,
    /// A pipe, a device, or the file that standard error was redirected to. It stays open, because an unnamed pipe
    /// cannot be opened again, and closing a FIFO would signal the end of file to its reader.
    Stream(File),
    /// A regular file that cannot be replaced: a mount point, or one in a directory that may not be written. It is
    /// overwritten.
    Fixed(File, FileLocation),
    /// A regular file, which is replaced when it is written. A file that exists is overwritten if it may not be replaced:
    /// one of another user in a sticky directory.
    File(FileLocation, Option<File>),
}

impl Export {
    /// Checks that the file can be written, without changing its content. A file that does not exist does not exist
    /// afterwards either, so that a failed measurement leaves no empty file. Waits for the reader of a FIFO. Call it
    /// before signals are caught, so that they interrupt this wait.
    pub(crate) fn open(option: &'static str, path: &Path) -> Result<Self, Failure> {
        if is_standard_output(path) {
            if process::stdout_was_closed() {
                return Err(Failure::Usage(format!("{option} '{}': standard output is closed", path.display())));
            }
            return Ok(Export { option, path: path.to_owned(), target: Target::StandardOutput });
        }
        let open = || match File::options().append(true).open(path) {
            Ok(file) if !file.metadata()?.is_file() => Ok(Target::Stream(file)),
            // This descriptor has the position of standard error, so that nothing there is overwritten.
            Ok(_) if is_file_of(&io::stderr(), path) => {
                Ok(Target::Stream(io::stderr().as_fd().try_clone_to_owned()?.into()))
            }
            Ok(_) if is_program(path) => Err(io::Error::other("this file is a program, and is not overwritten")),
            Ok(_) => {
                let (place, file) = (FileLocation::find(path)?, File::options().write(true).open(path)?);
                if place.check().is_ok() && !place.is_mount_point() {
                    return Ok(Target::File(place, Some(file)));
                }
                Ok(Target::Fixed(file, place))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let place = FileLocation::find(path)?;
                place.check()?;
                Ok(Target::File(place, None))
            }
            Err(error) => Err(error),
        };
        let target =
            open().map_err(|error: io::Error| Failure::Usage(format!("{option} '{}': {error}", path.display())))?;
        Ok(Export { option, path: path.to_owned(), target })
    }

    /// Writes a text to the file.
    pub(crate) fn save(&self, text: &str) -> Result<(), Failure> {
        use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
        let written = match &self.target {
            Target::StandardOutput => print(text.as_bytes()),
            Target::Stream(stream) => write_all(stream, text.as_bytes()),
            Target::Fixed(file, _) => overwrite(file, text.as_bytes()),
            Target::File(place, before) => place.replace(text).or_else(|error| match before {
                // A sticky directory, or a mount point, which older kernels do not show.
                Some(file) if [PermissionDenied, ResourceBusy, CrossesDevices].contains(&error.kind()) => {
                    overwrite(file, text.as_bytes())
                }
                _ => Err(error),
            }),
        };
        written.map_err(|error| Failure::Own(format!("{} '{}': {error}", self.option, self.path.display())))
    }
}

impl Destinations {
    /// Checks that the files can be written and are different, and that standard output is open if the report goes
    /// there.
    pub(crate) fn open(flags: &OutputFlags, samples: bool) -> Result<Self, Failure> {
        if process::stdout_was_closed() && !(flags.quiet && flags.format == FormatFlag::Text) {
            let helps = "use --quiet with --export-json FILE, or redirect it";
            return Err(Failure::Usage(format!("standard output is closed, but the report goes there: {helps}")));
        }
        Destinations::files(flags, samples)
    }

    /// As [`Destinations::open`], for features whose standard output belongs to the user's command. They may close it
    /// before the report is written, so that its readers see the end of the command's output.
    pub(crate) fn of_command(flags: &OutputFlags, samples: bool) -> Result<Self, Failure> {
        if let Some((option, _, path)) = flags.files.wanted().find(|(_, _, path)| is_standard_output(path)) {
            let helps = "standard output belongs to the command; name a file, or /dev/stderr";
            return Err(Failure::Usage(format!("{option} '{}': {helps}", path.display())));
        }
        Destinations::files(flags, samples)
    }

    fn files(flags: &OutputFlags, samples: bool) -> Result<Self, Failure> {
        if samples && flags.files.export_json.is_none() && flags.format != FormatFlag::Json {
            return Err(Failure::Usage("--samples needs --export-json FILE or --format json".to_owned()));
        }
        let open = |(option, form, path): (_, _, &PathBuf)| Ok((form, Export::open(option, path)?));
        let files = flags.files.wanted().map(open).collect::<Result<Vec<_>, Failure>>()?;
        for (index, (_, file)) in files.iter().enumerate() {
            files[..index].iter().try_for_each(|(_, other)| apart(other, file))?;
        }
        let format = (flags.format != FormatFlag::Text).then_some("--format");
        let on_stdout = files.iter().filter(|(_, file)| matches!(file.target, Target::StandardOutput));
        let on_stdout: Vec<&str> = format.into_iter().chain(on_stdout.map(|(_, file)| file.option)).collect();
        if let [first, second, ..] = on_stdout.as_slice() {
            return Err(Failure::Usage(format!("{first} and {second} both write to standard output: give one a file")));
        }
        let has_export_on_stdout = on_stdout.len() > format.iter().len();
        Ok(Destinations { format: flags.format, quiet: flags.quiet, samples, files, has_export_on_stdout })
    }

    /// Returns whether `--quiet` was given.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    /// Opens the file of a drawing, if `path` is given. It must differ from the files of the report.
    pub(crate) fn drawing(&mut self, option: &'static str, path: Option<&Path>) -> Result<Option<Export>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let drawing = Export::open(option, path)?;
        self.files.iter().try_for_each(|(_, other)| apart(other, &drawing))?;
        if matches!(drawing.target, Target::StandardOutput) {
            if self.has_export_on_stdout || self.format != FormatFlag::Text {
                return Err(Failure::Usage(format!(
                    "{option} and another format both write to standard output: give one a file"
                )));
            }
            self.has_export_on_stdout = true;
        }
        Ok(Some(drawing))
    }

    /// Writes the report to all destinations. If one fails, the others are still written. Returns all failures.
    pub(crate) fn write(&self, report: &dyn Report) -> Vec<Failure> {
        let printed = self.print(report).map_err(|error| Failure::Own(format!("standard output: {error}")));
        printed.err().into_iter().chain(self.write_files(report)).collect()
    }

    /// As [`Destinations::write`], to the files only.
    pub(crate) fn write_files(&self, report: &dyn Report) -> Vec<Failure> {
        let write = |(form, file): &(Form, Export)| file.save(&report.rendered(*form, style(), self.samples)).err();
        self.files.iter().filter_map(write).collect()
    }

    fn print(&self, report: &dyn Report) -> io::Result<()> {
        if (self.quiet || self.has_export_on_stdout) && self.format == FormatFlag::Text {
            return Ok(());
        }
        let shown = report.rendered(self.format.into(), style(), self.samples);
        print(if self.format == FormatFlag::Text { readable(shown) } else { shown }.as_bytes())
    }

    /// Prints the number of the run in the history below the text of the report.
    pub(crate) fn mention(&self, id: i64) -> Result<(), Failure> {
        self.print_text(format!("History: {id} (steady history report {id})\n"))
    }

    /// Prints text if the format of standard output is text.
    pub(crate) fn print_text(&self, text: String) -> Result<(), Failure> {
        if !self.is_text() || self.quiet || self.has_export_on_stdout {
            return Ok(());
        }
        print(readable(text).as_bytes()).map_err(|error| Failure::Own(format!("standard output: {error}")))
    }

    /// Returns whether the format of standard output is text.
    pub(crate) fn is_text(&self) -> bool {
        self.format == FormatFlag::Text
    }
}

/// Prints on standard output. A reader that closes its end early, such as head(1), is not an error.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    if process::stdout_was_closed() && !text.is_empty() {
        return Err(io::Error::other("it is closed"));
    }
    let written = write_all(io::stdout().lock(), text);
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// Writes to a stream, and waits whenever it is full. Another process may have made it non-blocking.
pub(crate) fn write_all(stream: impl AsFd, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        match rustix::io::write(&stream, text) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => text = &text[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(&stream, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Replaces the content of a file.
fn overwrite(mut file: &File, text: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text)
}

/// Refuses two options with the same file.
fn apart<'a>(one: &'a Export, other: &'a Export) -> Result<(), Failure> {
    // Several reports may go to the same device or pipe.
    let place = |export: &'a Export| match &export.target {
        Target::File(place, _) | Target::Fixed(_, place) => Some(place),
        Target::StandardOutput | Target::Stream(_) => None,
    };
    if !place(one).zip(place(other)).is_some_and(|(place, of_other)| place.is(of_other)) {
        return Ok(());
    }
    let (first, second, path) = (one.option, other.option, other.path.display());
    Err(Failure::Usage(format!("{first} and {second} name the same file: '{path}'")))
}

/// The style of text on standard output.
pub(crate) fn style() -> Style {
    style_on(&io::stdout())
}

/// The style of text on a stream: the width of its terminal, else that in COLUMNS, and colours on a terminal unless
/// NO_COLOR is set (no-color.org).
pub(crate) fn style_on(stream: &(impl IsTerminal + AsFd)) -> Style {
    let terminal = stream.is_terminal();
    let of_terminal = rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = of_terminal.filter(|width| *width > 0).or_else(columns).filter(|width| *width > 0).unwrap_or(WIDTH);
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style { width, color: terminal && !no_color && !dumb }
}
