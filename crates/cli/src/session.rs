//! The implementation of [`Session`] for the command line.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_feature::flags::{Form, OutputFlags};
use steady_feature::{Failure, Record, Report, Session, Status, typed};
use steady_linux::{Root, host, signals};
use steady_model::{Command, Host, Nanos, Reading, Seed};
use steady_process::git;
use steady_render::json::{self, ReadError};
use steady_render::letters::one_line;
use steady_render::{Style, svg};

use crate::failure::{self, notice};
use crate::features::record_kind;
use crate::history::{Home, RunLog};
use crate::letters::readable;
use crate::output::{Destinations, Export, print, style, style_on, write_all};
use crate::programs;
use crate::progress::Share;

/// One call of `steady`.
#[derive(Default)]
pub(crate) struct CommandLine {
    /// The destinations of the report, after [`Session::open`].
    destinations: Option<Destinations>,
    /// Whether the report goes to standard output, which may belong to the user's command instead.
    prints: bool,
    /// The file of `--export-svg`.
    drawing: Option<Export>,
    /// The number of the run in the history.
    stored: Option<i64>,
    /// Whether parts of the report's text were printed.
    has_printed: bool,
    progress: Share,
    /// Whether there was a notice about a command that seems to be meant for a shell.
    has_noted_shell: Cell<bool>,
    /// The log of this run, if it has been created.
    log: Option<RunLog>,
}

impl Session for CommandLine {
    fn command(&self, words: &[OsString]) -> Result<Command, Failure> {
        programs::attended(words)
    }

    fn typed_command(&self, text: &str, shell: Option<&str>, directory: &Path) -> Result<Command, Failure> {
        let command = programs::command(text, shell, directory)?;
        let parts = typed::unexpanded(text, &command.argv);
        if !parts.is_empty() && !self.has_noted_shell.replace(true) {
            let (parts, them) = (typed::series(&parts), if parts.len() == 1 { "it" } else { "them" });
            self.notice(&format!(
                "'{text}' runs without a shell, so the program gets {parts} as written; add --shell to run it in a shell, \
                 or quote {them}"
            ));
        }
        Ok(command)
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }

    fn host(&self) -> Host {
        host::probe(&Root::default())
    }

    fn revision(&self) -> Reading<String> {
        git::here()
    }

    fn version(&self) -> &'static str {
        env!("STEADY_VERSION")
    }

    fn has_separator(&self) -> bool {
        std::env::args_os().any(|word| word == "--")
    }

    fn as_root(&self) -> String {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        programs::joined(&["sudo", "steady"].map(str::to_owned).into_iter().chain(words).collect::<Vec<_>>())
    }

    fn seed(&self, given: Option<u64>) -> Result<Seed, Failure> {
        let random = || {
            let number = OsRng.try_next_u64();
            number.map_err(|error| Failure::Own(format!("the system has no random number for the seed: {error}")))
        };
        given.map_or_else(random, Ok).map(Seed)
    }

    fn data_folder(&self) -> Result<PathBuf, String> {
        Home::find().and_then(|home| home.make().map(|()| home.folder()))
    }

    fn save(&self, option: &'static str, file: &Path, text: &str) -> Result<(), Failure> {
        self.progress.clear();
        Export::open(option, file)?.save(text)
    }

    fn record(&self, json: &str) -> Option<Result<Box<dyn Record>, ReadError>> {
        let kind = record_kind(&json::kind(json)?)?;
        Some((kind.read)(json))
    }

    fn joined(&self, texts: &[String]) -> Option<Result<Box<dyn Record>, String>> {
        let kinds: Vec<String> = texts.iter().map(|text| json::kind(text)).collect::<Option<_>>()?;
        let first = kinds.first().filter(|first| kinds.iter().all(|kind| kind == *first))?;
        let join = record_kind(first)?.join?;
        Some(join(texts))
    }

    fn notice(&self, text: &str) {
        self.progress.clear();
        notice(text);
    }

    fn open(&mut self, output: &OutputFlags, samples: bool, status: Status) -> Result<(), Failure> {
        self.prints = status == Status::Own;
        let opened = match status {
            Status::Own => Destinations::open(output, samples)?,
            Status::OfTheCommand => {
                Destinations::of_command(output, samples).map_err(|failure| Failure::Own(failure.to_string()))?
            }
        };
        self.destinations = Some(opened);
        Ok(())
    }

    fn open_drawing(&mut self, file: Option<&Path>) -> Result<(), Failure> {
        if let Some(destinations) = &mut self.destinations {
            self.drawing = destinations.drawing("--export-svg", file)?;
        }
        Ok(())
    }

    fn progress(&mut self, share: Option<f64>, text: &str) {
        if self.destinations.as_ref().is_none_or(|destinations| !destinations.quiet()) {
            self.progress.show(share, text);
        }
    }

    fn lasting_step(&mut self, name: &'static str, takes: Option<Nanos>) {
        self.progress.last(name, takes);
    }

    fn log_progress(&self, line: &str) {
        let is_quiet = self.destinations.as_ref().is_some_and(Destinations::quiet);
        if !is_quiet && !io::stderr().is_terminal() {
            // An error is ignored, as in a notice.
            let _ = writeln!(io::stderr(), "{}", one_line(line));
        }
    }

    fn style(&self) -> Style {
        style()
    }

    fn print(&mut self, part: &str) -> Result<(), Failure> {
        self.progress.clear();
        let Some(destinations) = &self.destinations else {
            return print(readable(part.to_owned()).as_bytes())
                .map_err(|error| Failure::Own(format!("standard output: {error}")));
        };
        self.has_printed = true;
        if self.prints { destinations.print_text(part.to_owned()) } else { Ok(()) }
    }

    fn write(&mut self, report: &dyn Report) -> Result<(), Failure> {
        self.progress.clear();
        let Some(destinations) = &self.destinations else { return Ok(()) };
        let mut failures = if self.prints && !(self.has_printed && destinations.is_text()) {
            destinations.write(report)
        } else {
            if !self.prints && !destinations.quiet() {
                signals::write_as_others_do();
                let text = report.rendered(Form::Text, style_on(&io::stderr()), false);
                // If the text cannot be printed, the files and the exit status still have the result.
                let _ = write_all(io::stderr(), readable(text).as_bytes());
            }
            destinations.write_files(report)
        };
        if let (Some(file), Some(chart)) = (&self.drawing, report.drawing()) {
            failures.extend(file.save(&svg::text(&chart)).err());
        }
        // An error is ignored for the same reason.
        let _ = match (self.stored, self.prints) {
            (Some(id), true) => destinations.mention(id),
            (Some(id), false) if !destinations.quiet() => {
                writeln!(io::stderr(), "History: {id} (steady history report {id})")
                    .map_err(|error| Failure::Own(error.to_string()))
            }
            _ => Ok(()),
        };
        failure::last(failures)
    }

    fn log(&mut self, line: &str) {
        self.log.get_or_insert_with(RunLog::begin).line(line);
    }

    fn log_file(&mut self) -> Option<PathBuf> {
        self.log.get_or_insert_with(RunLog::begin).path()
    }

    fn keep(&mut self, record: &dyn Record) {
        self.progress.clear();
        self.stored = match self.log.take() {
            Some(log) => log.store(record),
            None => RunLog::store_without_log(record),
        };
    }
}

impl Drop for CommandLine {
    /// Stores the complete part of a run that was logged and ended with an error.
    fn drop(&mut self) {
        self.log.take().into_iter().for_each(RunLog::salvage);
    }
}
