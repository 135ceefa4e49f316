//! The subcommands status, quiet and restore.

use std::path::Path;

use steady_feature::flags::FormatFlag;
use steady_feature::{Failure, Session, Status, attended};
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, host};
use steady_model::{Absent, Knob, Nanos, Reading};
use steady_rulers::{Best, Rulers};

use crate::flags::{HostQuietFlags, HostRestoreFlags, HostStatusFlags};
use crate::plan::QuietPlan;
use crate::record::{DeedOutcome, HostQuestion, HostRecord, QuietRun, RulerSpread, are_done};
use crate::run::{self, Applied, HostError, QuietHost, Restored};

/// How long the rulers are read.
const READING: Nanos = Nanos(1_000_000_000);

/// Reports how quiet the host is and returns the exit status.
pub(crate) fn status(flags: &HostStatusFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let root = root(&flags.root.root)?;
    session.open(&flags.output, false, Status::Own)?;
    let mut record = record(&root, HostQuestion::Status);
    let (spreads, steal) = watch(&root, flags.no_rulers);
    record.conditions = host::conditions(&root, steal);
    record.spreads = spreads;
    session.write(&record.completed())?;
    Ok(0)
}

/// Measures for a second how far apart rulers read, and which share of the CPU time the hypervisor gave to other guests.
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
    let spreads = run::spreads(&mut rulers, READING);
    (spreads, before.until(&Snapshot::take(root)).steal_ratio)
}

/// Puts the host back and returns the exit status.
pub(crate) fn restore(flags: &HostRestoreFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let root = root(&flags.root.root)?;
    session.open(&flags.output, false, Status::Own)?;
    let mut record = record(&root, HostQuestion::Restore);
    let Restored { deeds, notes } = run::restore(&root, flags.force, flags.die_at).map_err(failure)?;
    record.restored = deeds;
    record.journal = run::facts(&root).0;
    record.notes = notes;
    let record = record.completed();
    session.write(&record)?;
    Ok(u8::from(!record.complete))
}

/// Makes the host quiet, for one command or until somebody restores it, and returns the exit status.
pub(crate) fn quiet(flags: &HostQuietFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let plan = QuietPlan::of(&flags.only, &flags.except);
    if !flags.words.is_empty() {
        // Statuses from 1 on may be the command's.
        return quiet_for_a_command(flags, plan, session).map_err(|failure| match failure {
            Failure::Usage(text) => Failure::Own(text),
            other => other,
        });
    }
    let root = root(&flags.root.root)?;
    session.open(&flags.output, false, Status::Own)?;
    let mut record = record(&root, HostQuestion::Quiet);
    record.as_root = session.as_root();
    let applied = run::quiet(&root, &plan, flags.die_at).map_err(failure)?;
    add(&root, &mut record, applied);
    record.journal = run::facts(&root).0;
    let record = record.completed();
    session.write(&record)?;
    Ok(u8::from(!record.complete))
}

/// Makes the host quiet while a command runs, and returns the command's status.
fn quiet_for_a_command(flags: &HostQuietFlags, plan: QuietPlan, session: &mut dyn Session) -> Result<u8, Failure> {
    if flags.output.format != FormatFlag::Text {
        let why = "standard output is the command's: --export-json FILE and its like write the report to a file";
        return Err(Failure::Usage(why.to_owned()));
    }
    let root = root(&flags.root.root)?;
    session.open(&flags.output, false, Status::OfTheCommand)?;
    let command = session.command(&flags.words)?;
    let mut record = record(&root, HostQuestion::Quiet);
    record.as_root = session.as_root();
    let fix_addresses = plan.knobs.contains(&Knob::Aslr);
    let quiet = QuietHost::begin(&root, &plan.without(Knob::Aslr), flags.die_at).map_err(failure)?;
    add(&root, &mut record, quiet.applied().clone());
    let ran = run::run(&command.program, &flags.words, fix_addresses);
    let restored = quiet.end();
    let put_back = put_back(&root, &mut record, restored, session);
    let ran = ran.map_err(|error| attended::failure(&command, &error))?;
    record.run = Some(QuietRun {
        command: command.name,
        ended: ran.ended,
        wall_seconds: ran.wall,
        fixed_addresses: ran.fixed_addresses,
        left_behind: ran.left_behind,
    });
    session.write(&record.completed())?;
    put_back?;
    Ok(attended::status(ran.ended))
}

/// Adds to the record what was put back. Fails if not everything was.
fn put_back(
    root: &Root,
    record: &mut HostRecord,
    restored: Result<Restored, HostError>,
    session: &dyn Session,
) -> Result<(), Failure> {
    record.journal = run::facts(root).0;
    match restored {
        Ok(Restored { deeds, notes }) => {
            record.restored = deeds;
            record.notes.extend(notes);
        }
        Err(error) => {
            session.notice(&error.to_string());
            return Err(not_back());
        }
    }
    if are_done(&record.restored) { Ok(()) } else { Err(not_back()) }
}

/// The failure to put a host back.
pub(crate) fn not_back() -> Failure {
    Failure::Own("the host could not be put back altogether; steady host status tells what is left".to_owned())
}

fn add(root: &Root, record: &mut HostRecord, applied: Applied) {
    let Applied { set, left, mut notes } = applied;
    let moved = set.iter().any(|deed| deed.name == Knob::IrqAffinity && deed.outcome == DeedOutcome::Set);
    if moved && host::runs(root, "irqbalance") {
        notes.push("irqbalance runs, and moves interrupts again".to_owned());
    }
    (record.set, record.left, record.notes) = (set, left, notes);
}

/// The record of a host to which nothing has been done yet.
fn record(root: &Root, kind: HostQuestion) -> HostRecord {
    let (journal, notes) = run::facts(root);
    HostRecord {
        kind,
        started: clock::time_of_day(),
        host: host::probe(root),
        is_root: is_root(),
        complete: true,
        knobs: run::look(root).into_iter().map(Into::into).collect(),
        conditions: Vec::new(),
        spreads: Err(Absent::because("it is read for the status alone")),
        set: Vec::new(),
        left: Vec::new(),
        restored: Vec::new(),
        run: None,
        journal,
        notes,
        as_root: "sudo steady host quiet".to_owned(),
    }
}

/// Whether this user is root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The root below which the host's files are.
pub(crate) fn root(folder: &Path) -> Result<Root, Failure> {
    match folder.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(Root::at(folder)),
        Ok(_) => Err(Failure::Usage(format!("--root '{}': it is no folder", folder.display()))),
        Err(error) => Err(Failure::Usage(format!("--root '{}': {error}", folder.display()))),
    }
}

/// The failure for a host that could not be made quiet or put back.
pub(crate) fn failure(error: HostError) -> Failure {
    Failure::Own(error.to_string())
}
