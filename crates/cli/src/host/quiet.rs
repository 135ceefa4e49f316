//! `steady host quiet`: until somebody restores it, or for one command.

use std::io::{self, Write};

use steady_experiments::host::{self as deeds, Applied, QuietHost, Restored, Wish};
use steady_feature::attended;
use steady_linux::{Root, host, signals};
use steady_model::{DeedOutcome, HostQuestion, HostReport, Knob, QuietRun};
use steady_report::host_text;

use super::{failure, report, root, tell_of_journal};
use crate::failure::{Failure, notice};
use crate::flags::{FormatFlag, HostQuietFlags};
use crate::letters::readable;
use crate::output::{Destinations, style_on};
use crate::programs;

/// Makes the host quiet; the exit status.
pub(super) fn run(flags: &HostQuietFlags) -> Result<u8, Failure> {
    let wish = Wish::of(&flags.only, &flags.except);
    if !flags.words.is_empty() {
        // Statuses from 1 on may be the command's.
        return run_with(flags, wish).map_err(|failure| match failure {
            Failure::Usage(text) => Failure::Own(text),
            other => other,
        });
    }
    let root = root(&flags.root.root)?;
    let destinations = Destinations::open(&flags.output, false)?;
    let mut report = report(&root, HostQuestion::Quiet);
    report.as_root = as_root();
    let applied = deeds::quiet(&root, &wish, flags.die_at).map_err(failure)?;
    add(&root, &mut report, applied);
    let told = std::mem::take(&mut report.notes);
    tell_of_journal(&root, &mut report);
    report.notes = told;
    destinations.write(&report)?;
    Ok(u8::from(!report.is_complete()))
}

/// Makes the host quiet for one command; the exit status.
fn run_with(flags: &HostQuietFlags, wish: Wish) -> Result<u8, Failure> {
    if flags.output.format != FormatFlag::Text {
        let why = "standard output is the command's: --export-json FILE and its like write the report to a file";
        return Err(Failure::Usage(why.to_owned()));
    }
    let root = root(&flags.root.root)?;
    let destinations = Destinations::files(&flags.output, false)?;
    let command = programs::attended(&flags.words)?;
    let mut report = report(&root, HostQuestion::Quiet);
    report.as_root = as_root();
    let fix_addresses = wish.knobs.contains(&Knob::Aslr);
    let quiet = QuietHost::begin(&root, &wish.without(Knob::Aslr), flags.die_at).map_err(failure)?;
    add(&root, &mut report, quiet.applied().clone());
    let ran = deeds::run(&command.program, &flags.words, fix_addresses);
    let restored = quiet.end();
    let put_back = put_back(&root, &mut report, restored);
    let ran = ran.map_err(|error| attended::failure(&command, &error))?;
    report.run = Some(QuietRun {
        command: command.name.clone(),
        ended: ran.ended,
        wall: ran.wall,
        fixed_addresses: ran.fixed_addresses,
        left_behind: ran.left_behind,
    });
    if !flags.output.quiet {
        signals::write_as_others_do();
        // Where nobody listens, the exit status speaks.
        let _ = io::stderr().write_all(readable(host_text(&report, style_on(&io::stderr()))).as_bytes());
    }
    destinations.write_files(&report)?;
    put_back?;
    Ok(attended::status(ran.ended))
}

/// Takes note of what was put back; a failure where not everything was.
fn put_back(root: &Root, report: &mut HostReport, restored: Result<Restored, deeds::HostError>) -> Result<(), Failure> {
    let notes = std::mem::take(&mut report.notes);
    tell_of_journal(root, report);
    report.notes = notes;
    match restored {
        Ok(Restored { deeds, notes }) => {
            report.restored = deeds;
            report.notes.extend(notes);
        }
        Err(error) => {
            notice(&error.to_string());
            return Err(not_back());
        }
    }
    let back = HostReport { set: Vec::new(), left: Vec::new(), ..report.clone() };
    if back.is_complete() { Ok(()) } else { Err(not_back()) }
}

pub(super) fn not_back() -> Failure {
    Failure::Own("the host could not be put back altogether; steady host status tells what is left".to_owned())
}

fn add(root: &Root, report: &mut HostReport, applied: Applied) {
    let Applied { set, left, mut notes } = applied;
    let moved = set.iter().any(|deed| deed.knob == Knob::IrqAffinity && deed.outcome == DeedOutcome::Set);
    if moved && host::runs(root, "irqbalance") {
        notes.push("irqbalance runs, and moves interrupts again".to_owned());
    }
    (report.set, report.left, report.notes) = (set, left, notes);
}

/// The same command as root would type it.
fn as_root() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = ["sudo".to_owned(), "steady".to_owned()].into_iter().chain(words).collect();
    programs::joined(&words)
}
