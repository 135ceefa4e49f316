//! What features ask of the command line.

use std::ffi::OsString;
use std::io::{self, Write};

use steady_feature::flags::{Form, OutputFlags};
use steady_feature::{Failure, Record, Reporting, Session};
use steady_linux::{Root, host, signals};
use steady_model::{Command, Host, Reading};

use crate::history::{Keeper, OfFeature};
use crate::letters::readable;
use crate::output::{Destinations, style_on};
use crate::{programs, revisions};

/// This call of `steady`.
#[derive(Default)]
pub(crate) struct CommandLine {
    /// Where reports go, once that is known.
    destinations: Option<Destinations>,
}

impl Session for CommandLine {
    fn command(&self, words: &[OsString]) -> Result<Command, Failure> {
        programs::attended(words)
    }

    fn host(&self) -> Host {
        host::probe(&Root::default())
    }

    fn revision(&self) -> Reading<String> {
        revisions::here()
    }

    fn open(&mut self, output: &OutputFlags, samples: bool) -> Result<(), Failure> {
        // Statuses from 1 on may be the command's.
        let opened = Destinations::files(output, samples).map_err(|failure| Failure::Own(failure.to_string()))?;
        self.destinations = Some(opened);
        Ok(())
    }

    fn report(&mut self, record: &dyn Record, reporting: Reporting) -> Result<(), Failure> {
        let record = OfFeature(record);
        if !reporting.quiet {
            signals::write_as_others_do();
            let text = record.0.rendered(Form::Text, style_on(&io::stderr()), false);
            // Where nobody listens, the exit status speaks.
            let _ = io::stderr().write_all(readable(text).as_bytes());
        }
        let written = self.destinations.as_ref().map_or(Ok(()), |destinations| destinations.write_files(&record));
        // What cannot be shown is kept all the same.
        let kept = if reporting.keep { Keeper::keep_at_once(&record) } else { None };
        if let Some(id) = kept.filter(|_| !reporting.quiet) {
            let _ = writeln!(io::stderr(), "History: {id} (steady history report {id})");
        }
        written
    }
}
