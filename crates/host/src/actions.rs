//! The subcommands `status`, `quiet` and `restore`.

use std::path::Path;
use std::thread;
use std::time::Duration;

use steady_feature::flags::FormatFlag;
use steady_feature::{Failure, Session, Status, attended};
use steady_linux::activity::KernelCounters;
use steady_linux::host::ProcessTimes;
use steady_linux::{Root, clock, host};
use steady_model::{Absent, Knob, Nanos, Reading};
use steady_rulers::{Best, Rulers};

use crate::flags::{HostQuietFlags, HostRestoreFlags, HostStatusFlags};
use crate::plan::QuietPlan;
use crate::record::{AttemptOutcome, HostQuestion, HostRecord, NoiseEffects, QuietRun, RulerSpread, are_done};
use crate::run::{self, Applied, HostError, QuietHost, Restored};

/// How long rulers are read.
const READING: Nanos = Nanos(1_000_000_000);
/// How long the CPU time of other processes is measured.
const BUSY_SAMPLE: Duration = Duration::from_millis(500);

/// Reports how quiet the host is and returns the exit status.
pub(crate) fn status(flags: &HostStatusFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let root = root(&flags.root.root)?;
    session.open(&flags.output, false, Status::Own)?;
    let mut record = record(&root, HostQuestion::Status);
    let Watched { busy_ratio, busiest, steal_ratio, spreads } = watch(&root, flags.no_rulers);
    record.conditions = host::conditions(&root, busy_ratio.clone(), &busiest, steal_ratio);
    (record.busy_ratio, record.spreads) = (busy_ratio, spreads);
    if flags.effects {
        record.wants_effects = true;
        record.effects = effects(&root, flags.seed, session)?;
    }
    session.write(&record.completed())?;
    Ok(0)
}

/// Measures how each knob changes the noise of a short command.
fn effects(root: &Root, seed: Option<u64>, session: &mut dyn Session) -> Result<Reading<NoiseEffects>, Failure> {
    if !root.is_live() {
        return Ok(Err(Absent::because("--root is a copy of a host's files")));
    }
    if !is_root() {
        return Ok(Err(Absent::because("only root may set knobs")));
    }
    let seed = session.seed(seed)?;
    let mut host = match run::ThisHost::new(root) {
        Ok(host) => host,
        Err(error) => return Ok(Err(Absent(format!("the command cannot be run: {error}")))),
    };
    let measured = run::effects(&mut host, &Knob::ALL, seed, &mut |share| {
        session.progress(Some(share), "setting and restoring knobs");
    });
    measured.map_err(failure)
}

/// What is measured over time.
struct Watched {
    /// Share of the CPU time that other processes used.
    busy_ratio: Reading<f64>,
    /// The programs that used most of it, with the number of CPUs that they kept busy.
    busiest: Vec<(String, f64)>,
    /// Share of the CPU time that the hypervisor gave to other guests.
    steal_ratio: Reading<f64>,
    spreads: Reading<Vec<RulerSpread>>,
}

/// Measures the CPU time of other processes while this one sleeps, then the spread of ruler readings, and stolen time
/// during both.
fn watch(root: &Root, no_rulers: bool) -> Watched {
    let skipped = || Absent::because("--no-rulers was given");
    if !root.is_live() {
        let why = || Absent::because("--root is a copy of a host's files");
        let spreads = Err(if no_rulers { skipped() } else { why() });
        return Watched { busy_ratio: Err(why()), busiest: vec![], steal_ratio: Err(why()), spreads };
    }
    let times = || ProcessTimes::read(root, clock::monotonic());
    // Reading the times of all processes takes CPU time itself.
    let (times_before, before) = (times(), KernelCounters::read(root));
    thread::sleep(BUSY_SAMPLE);
    let busy_ratio = before.until(&KernelCounters::read(root)).busy_ratio;
    let busiest = times().busiest_since(&times_before, std::process::id() as i32);
    let spreads = match no_rulers {
        true => Err(skipped()),
        false => run::spreads(&mut Rulers::new(root, Best::default()), READING),
    };
    Watched { busy_ratio, busiest, steal_ratio: before.until(&KernelCounters::read(root)).steal_ratio, spreads }
}

/// Restores the host and returns the exit status.
pub(crate) fn restore(flags: &HostRestoreFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let root = root(&flags.root.root)?;
    session.open(&flags.output, false, Status::Own)?;
    let mut record = record(&root, HostQuestion::Restore);
    let Restored { attempts, notes } = run::restore(&root, flags.force, flags.die_at).map_err(failure)?;
    record.restored = attempts;
    record.journal = run::facts(&root).0;
    record.notes = notes;
    let record = record.completed();
    session.write(&record)?;
    Ok(u8::from(!record.complete))
}

/// Makes the host quiet, for one command or until it is restored, and returns the exit status.
pub(crate) fn quiet(flags: &HostQuietFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let plan = match flags.as_published {
        true => QuietPlan::published(),
        false => QuietPlan::of(&flags.only, &flags.except),
    };
    if !flags.words.is_empty() {
        // Low exit statuses may be those of the command, so wrong usage must be 125 here.
        return quiet_for_a_command(flags, plan, session).map_err(|failure| match failure {
            Failure::Usage(text) => Failure::Own(text),
            other => other,
        });
    }
    if session.has_separator() {
        let why = "no command follows --; without --, the host stays quiet until steady host restore";
        return Err(Failure::Usage(why.to_owned()));
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
        let why = "--format needs standard output, which belongs to the command; use --export-json or its like";
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
    let all_restored = add_restored(&root, &mut record, restored, session);
    let ran = ran.map_err(|error| attended::failure(&command, &error))?;
    record.run = Some(QuietRun {
        command: command.name,
        ended: ran.ended,
        wall_seconds: ran.wall,
        fixed_addresses: ran.fixed_addresses,
        left_behind: ran.left_behind,
    });
    session.write(&record.completed())?;
    all_restored?;
    Ok(attended::status(ran.ended))
}

/// Adds the restored files to the record. Fails if some could not be restored.
fn add_restored(
    root: &Root,
    record: &mut HostRecord,
    restored: Result<Restored, HostError>,
    session: &dyn Session,
) -> Result<(), Failure> {
    record.journal = run::facts(root).0;
    match restored {
        Ok(Restored { attempts, notes }) => {
            record.restored = attempts;
            record.notes.extend(notes);
        }
        Err(error) => {
            session.notice(&error.to_string());
            return Err(not_restored());
        }
    }
    if are_done(&record.restored) { Ok(()) } else { Err(not_restored()) }
}

/// Returns the failure to restore a host.
pub(crate) fn not_restored() -> Failure {
    Failure::Own("the host could not be restored completely; steady host status reports what is left".to_owned())
}

fn add(root: &Root, record: &mut HostRecord, applied: Applied) {
    let Applied { set, left, mut notes } = applied;
    let moved = set.iter().any(|attempt| attempt.name == Knob::IrqAffinity && attempt.outcome == AttemptOutcome::Set);
    if moved && host::runs(root, "irqbalance") {
        notes.push("irqbalance is running and may move interrupts again".to_owned());
    }
    (record.set, record.left, record.notes) = (set, left, notes);
}

/// Returns the record of a host before any change.
fn record(root: &Root, kind: HostQuestion) -> HostRecord {
    let (journal, notes) = run::facts(root);
    HostRecord {
        kind,
        started: clock::time_of_day(),
        host: host::probe(root),
        is_root: is_root(),
        complete: true,
        knobs: run::find_all(root).into_iter().map(Into::into).collect(),
        conditions: Vec::new(),
        busy_ratio: Err(Absent::because("only steady host status measures it")),
        spreads: Err(Absent::because("only steady host status reads rulers")),
        effects: Err(Absent::because("only steady host status --effects measures them")),
        set: Vec::new(),
        left: Vec::new(),
        restored: Vec::new(),
        run: None,
        journal,
        notes,
        wants_effects: false,
        as_root: "sudo steady host quiet".to_owned(),
    }
}

/// Returns whether this process runs as root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Opens the root directory of the host's files.
pub(crate) fn root(folder: &Path) -> Result<Root, Failure> {
    match folder.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(Root::at(folder)),
        Ok(_) => Err(Failure::Usage(format!("--root '{}': it is not a directory", folder.display()))),
        Err(error) => Err(Failure::Usage(format!("--root '{}': {error}", folder.display()))),
    }
}

/// Returns the failure to make a host quiet or to restore it.
pub(crate) fn failure(error: HostError) -> Failure {
    Failure::Own(error.to_string())
}
