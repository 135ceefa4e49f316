//! `steady host`: how quiet it is, making it quiet, putting it back.

mod beside;
mod quiet;

use std::path::Path;

use steady_experiments::host::{self as deeds, HostError, Restored, spreads};
use steady_experiments::rulers::{Best, Rulers};
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, host};
use steady_model::{Absent, HostQuestion, HostReport, Nanos, Reading, RulerSpread};

use crate::failure::Failure;
use crate::flags::{Form, HostCommands, HostFlags, HostRestoreFlags, HostStatusFlags};
use crate::output::{Destinations, Shown, style};

pub(crate) use beside::around;

/// How long the rulers are read.
const READING: Nanos = Nanos(1_000_000_000);

impl Shown for HostReport {
    /// It has no samples.
    fn rendered(&self, form: Form, _: bool) -> String {
        match form {
            Form::Text => steady_report::host_text(self, style()),
            Form::Json => steady_report::host_json_text(self),
            Form::Csv => steady_report::host_csv(self),
            Form::Markdown => steady_report::host_markdown(self),
            Form::Html => steady_report::host_html(self),
        }
    }
}

/// Does what was asked for; the exit status.
pub(crate) fn run(flags: &HostFlags) -> Result<u8, Failure> {
    match &flags.command {
        HostCommands::Status(flags) => status(flags),
        HostCommands::Quiet(flags) => quiet::run(flags),
        HostCommands::Restore(flags) => restore(flags),
    }
}

fn status(flags: &HostStatusFlags) -> Result<u8, Failure> {
    let root = root(&flags.root.root)?;
    let destinations = Destinations::open(&flags.output, false)?;
    let mut report = report(&root, HostQuestion::Status);
    let (spreads, steal) = watch(&root, flags.no_rulers);
    report.conditions = host::conditions(&root, steal);
    report.spreads = spreads;
    destinations.write(&report)?;
    Ok(0)
}

/// What can only be told over some time: how far rulers read apart, and the CPU time that a hypervisor took.
fn watch(root: &Root, no_rulers: bool) -> (Reading<Vec<RulerSpread>>, Reading<f64>) {
    let not = |why: &str| (Err(Absent::because(why)), Err(Absent::because(why)));
    if no_rulers {
        return not("--no-rulers was given");
    }
    if !root.is_live() {
        return not("what is looked at is a copy of a host's files");
    }
    let mut rulers = Rulers::new(root, Best::default());
    let before = Snapshot::take(root);
    let spreads = spreads(&mut rulers, READING);
    (spreads, before.until(&Snapshot::take(root)).steal_ratio)
}

fn restore(flags: &HostRestoreFlags) -> Result<u8, Failure> {
    let root = root(&flags.root.root)?;
    let destinations = Destinations::open(&flags.output, false)?;
    let mut report = report(&root, HostQuestion::Restore);
    let Restored { deeds, notes } = deeds::restore(&root, flags.force, flags.die_at).map_err(failure)?;
    report.restored = deeds;
    tell_of_journal(&root, &mut report);
    report.notes = notes;
    destinations.write(&report)?;
    Ok(u8::from(!report.is_complete()))
}

/// A report of a host of which nothing has been done.
fn report(root: &Root, question: HostQuestion) -> HostReport {
    let mut report = HostReport {
        question,
        started: clock::time_of_day(),
        host: host::probe(root),
        is_root: rustix::process::geteuid().is_root(),
        as_root: "sudo steady host quiet".to_owned(),
        knobs: deeds::look(root),
        conditions: Vec::new(),
        spreads: Err(Absent::because("it is read for the status alone")),
        set: Vec::new(),
        left: Vec::new(),
        restored: Vec::new(),
        run: None,
        journal: Ok(None),
        notes: Vec::new(),
    };
    tell_of_journal(root, &mut report);
    report
}

fn tell_of_journal(root: &Root, report: &mut HostReport) {
    let (journal, notes) = deeds::facts(root);
    report.journal = journal;
    report.notes = notes;
}

/// The folder that stands for the host's own.
fn root(folder: &Path) -> Result<Root, Failure> {
    match folder.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(Root::at(folder)),
        Ok(_) => Err(Failure::Usage(format!("--root '{}': it is no folder", folder.display()))),
        Err(error) => Err(Failure::Usage(format!("--root '{}': {error}", folder.display()))),
    }
}

fn failure(error: HostError) -> Failure {
    Failure::Own(error.to_string())
}
