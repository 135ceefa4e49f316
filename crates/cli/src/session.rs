//! What features ask of the command line.

use std::ffi::OsString;
use std::io::{self, Write};

use steady_feature::flags::{Form, OutputFlags};
use steady_feature::{Failure, Record, Report, Session, Status};
use steady_linux::{Root, host, signals};
use steady_model::{Command, Host, Reading};

use crate::failure::notice;
use crate::history::{Keeper, OfFeature};
use crate::letters::readable;
use crate::output::{Destinations, OfReport, style_on};
use crate::{programs, revisions};

/// This call of `steady`.
#[derive(Default)]
pub(crate) struct CommandLine {
    /// Where reports go, once that is known.
    destinations: Option<Destinations>,
    /// Whether standard output is among them; it may be the command's.
    prints: bool,
}

impl Session for CommandLine {
    fn command(&self, words: &[OsString]) -> Result<Command, Failure> {
        programs::attended(words)
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }

    fn host(&self) -> Host {
        host::probe(&Root::default())
    }

    fn revision(&self) -> Reading<String> {
        revisions::here()
    }

    fn as_root(&self) -> String {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        programs::joined(&["sudo", "steady"].map(str::to_owned).into_iter().chain(words).collect::<Vec<_>>())
    }

    fn notice(&self, text: &str) {
        notice(text);
    }

    fn open(&mut self, output: &OutputFlags, samples: bool, status: Status) -> Result<(), Failure> {
        self.prints = status == Status::Own;
        let opened = match status {
            Status::Own => Destinations::open(output, samples)?,
            Status::OfTheCommand => {
                Destinations::files(output, samples).map_err(|failure| Failure::Own(failure.to_string()))?
            }
        };
        self.destinations = Some(opened);
        Ok(())
    }

    fn write(&mut self, report: &dyn Report) -> Result<(), Failure> {
        let Some(destinations) = &self.destinations else { return Ok(()) };
        if self.prints {
            return destinations.write(&OfReport(report));
        }
        if !destinations.quiet() {
            signals::write_as_others_do();
            let text = report.rendered(Form::Text, style_on(&io::stderr()), false);
            // Where nobody listens, the exit status speaks.
            let _ = io::stderr().write_all(readable(text).as_bytes());
        }
        destinations.write_files(&OfReport(report))
    }

    fn keep(&mut self, record: &dyn Record) {
        let Some(id) = Keeper::keep_at_once(&OfFeature(record)) else { return };
        let Some(destinations) = &self.destinations else { return };
        // As above.
        let _ = match self.prints {
            true => destinations.mention(id),
            false if destinations.quiet() => Ok(()),
            false => writeln!(io::stderr(), "History: {id} (steady history report {id})")
                .map_err(|error| Failure::Own(error.to_string())),
        };
    }
}
