//! `steady locks`: wire command, guardian, names and report together.

use std::io::{self, Write};
use std::path::PathBuf;

use steady_experiments::locks::{Frame, Symbols, locks, report, watchable};
use steady_feature::attended;
use steady_linux::{Root, clock, host, signals};
use steady_model::LocksReport;
use steady_report::locks_text;

use crate::failure::Failure;
use crate::flags::{Form, LocksFlags};
use crate::history::Keeper;
use crate::letters::readable;
use crate::output::{Destinations, Shown, style, style_on};
use crate::{programs, revisions};

impl Shown for LocksReport {
    /// It has no samples.
    fn rendered(&self, form: Form, _: bool) -> String {
        match form {
            Form::Text => steady_report::locks_text(self, style()),
            Form::Json => steady_report::locks_json_text(self),
            Form::Csv => steady_report::locks_csv(self),
            Form::Markdown => steady_report::locks_markdown(self),
            Form::Html => steady_report::locks_html(self),
        }
    }
}

/// Runs the command with its locks watched and reports them; the exit status.
pub(crate) fn run(flags: &LocksFlags) -> Result<u8, Failure> {
    // Statuses from 1 on may be the command's.
    let destinations =
        Destinations::files(&flags.output(), false).map_err(|failure| Failure::Own(failure.to_string()))?;
    let command = programs::attended(&flags.words)?;
    watchable(&command.program).map_err(|why| Failure::Own(why.to_string()))?;
    let started = clock::time_of_day();
    let environment = std::env::vars_os().collect();
    let ran =
        locks(&command, &flags.words, environment, folders()).map_err(|error| attended::failure(&command, &error))?;
    let frame = Frame {
        command,
        started,
        host: host::probe(&Root::default()),
        revision: revisions::here(),
        order: flags.sort.into(),
    };
    let report = report(frame, ran, &mut Symbols::default());
    if !flags.quiet {
        signals::write_as_others_do();
        // Where nobody listens, the exit status speaks.
        let _ = io::stderr().write_all(readable(locks_text(&report, style_on(&io::stderr()))).as_bytes());
    }
    let written = destinations.write_files(&report);
    // What cannot be shown is kept all the same.
    let kept = if flags.no_history { None } else { Keeper::keep_at_once(&report) };
    if let Some(id) = kept.filter(|_| !flags.quiet) {
        let _ = writeln!(io::stderr(), "History: {id} (steady history report {id})");
    }
    written?;
    Ok(attended::status(report.ended))
}

/// Where the watcher may be put: programs of other users are to load it too, so rather not into what is this user's alone.
fn folders() -> Vec<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    [Some(PathBuf::from("/tmp")), Some(PathBuf::from("/var/tmp")), cache.or(home)].into_iter().flatten().collect()
}
