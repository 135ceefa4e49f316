//! Runs `steady compare`: from its flags to its report.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, FromArgMatches};
use steady_feature::flags::FormatFlag;
use steady_feature::{Failure, Interrupt, Record as _, Session, Status};
use steady_host::around;
use steady_linux::{Root, cgroup, clock, topology};
use steady_model::{Absent, Cold, Ending, Layout, Metric, Plan, Reading, Record};
use steady_process::log::Appender;

use crate::commands::{CommandRunner, HookScripts};
use crate::flags::CompareFlags;
use crate::judge::judge;
use crate::ratchet::RatchetFile;
use crate::report::Compared;
use crate::revisions::{self, Trees};
use crate::run::warm_runs::{self, Folder};
use crate::run::{
    Cleaned, CompareContext, CompareError, Event, between_scripts, check_counters, measured, show, show_begin,
};
use crate::{document, failure, plan};

/// The smallest CPU quota for duets, in CPUs. Under a smaller quota, both sides would be throttled.
const DUET_CPUS: f64 = 2.0;

/// Runs a comparison and reports it. Returns the exit status.
pub(crate) fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let mut flags = CompareFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    let places = |id: &str| matches.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
    plan::complete(&mut flags, &places("parameter_list"), &places("commands"))?;
    plan::add_reference(&mut flags);
    around(&flags.host, flags.output.quiet, session, |session| run_here(&flags, session))
}

/// As [`run`], after `--quiet-host` has prepared the host.
fn run_here(flags: &CompareFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let mut plan = plan::plan(flags, session)?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let trees = revisions::build(flags, &mut plan, &interrupt, &readable, session)?;
    let ready = Ready { flags, trees: trees.as_ref(), interrupt, readable };
    let status = match &flags.ratchet {
        Some(file) => ready.ratchet(file, &plan, session),
        None => ready.measured(&plan, session).and_then(|(compared, cleaned)| {
            let status = ready.reported(&compared, session)?;
            cleaned.map(|()| status)
        }),
    };
    if let Some(trees) = trees {
        trees.remove(session);
    }
    status
}

/// A comparison with a resolved plan and built revisions, ready to be measured.
struct Ready<'a> {
    flags: &'a CompareFlags,
    trees: Option<&'a Trees>,
    interrupt: Interrupt,
    readable: OwnedFd,
}

impl Ready<'_> {
    /// Measures one comparison and keeps it in the history. Also returns whether the cleanup scripts succeeded.
    fn measured(&self, plan: &Plan, session: &mut dyn Session) -> Result<(Compared, Result<(), Failure>), Failure> {
        let mut log = if self.flags.no_history { None } else { Log::open(session) };
        let readable = || self.readable.try_clone().map_err(|error| Failure::Own(error.to_string()));
        let also_readable = readable()?;
        let opens = self.trees.and_then(Trees::watch);
        let explained = |error: CompareError, session: &mut dyn Session| {
            let failure = failure::failure(plan, error, &self.interrupt, also_readable, session);
            match self.trees {
                Some(trees) => trees.explain(plan, failure),
                None => failure,
            }
        };
        let (mut record, cleaned) = match measure(plan, self.trees, readable()?, log.as_mut(), session) {
            Ok((record, Ok(()))) => (record, Ok(())),
            Ok((record, Err(error))) => (record, Err(explained(error.into(), session))),
            Err(error) => return Err(explained(error, session)),
        };
        record.unused_revisions = opens.is_some_and(|opens| !opens.end());
        if let Some(log) = &mut log {
            // An error is ignored, as in [`Log::note`].
            let _ = log.appender.ended(&record);
        }
        let compared = Compared(judge(record));
        // The history comes first, because writing the report may block or fail.
        if !self.flags.no_history {
            session.keep(&compared);
        }
        Ok((compared, cleaned))
    }

    /// Writes the report. Returns its exit status.
    fn reported(&self, compared: &Compared, session: &mut dyn Session) -> Result<u8, Failure> {
        self.interrupt.release();
        let output = &self.flags.output;
        if output.quiet || output.format != FormatFlag::Text {
            document::about_status(&compared.0).iter().for_each(|why| session.notice(why));
        }
        session.write(compared)?;
        Ok(match compared.0.record.ending {
            Ending::Interrupted => Failure::Interrupted(self.interrupt.signal()).status(),
            Ending::Decided | Ending::Spent => compared.status(),
        })
    }

    /// Compares a candidate with the accepted command, and accepts it if it is certainly better.
    fn ratchet(&self, file: &Path, plan: &Plan, session: &mut dyn Session) -> Result<u8, Failure> {
        let (mut file, mut ratchet) = RatchetFile::open(file, plan.alpha())?;
        let tried = ratchet.try_next(plan, |ratchet, plan| {
            file.save(ratchet)?;
            let (compared, cleaned) = self.measured(plan, session)?;
            cleaned.map(|()| compared.0)
        })?;
        file.save(&ratchet)?;
        let status = self.reported(&Compared(tried.report), session)?;
        session.notice(&format!("{} {}", tried.outcome.in_words(), ratchet.in_words()));
        Ok(status)
    }
}

/// The log of a comparison. Launchers append their runs to the same file.
struct Log {
    path: PathBuf,
    appender: Appender,
}

impl Log {
    fn open(session: &mut dyn Session) -> Option<Self> {
        let path = session.log_file()?;
        Some(Log { appender: Appender::open(&path).ok()?, path })
    }

    /// Appends an event to the log.
    fn note(&mut self, event: &Event) {
        // Errors are ignored: the data is also in memory, and a full disk may have room for the history at the end.
        let _ = match event {
            Event::Begun(record) => self.appender.begun(record),
            Event::Looked(look) => self.appender.look(look),
            Event::Watched(moment) => self.appender.moment(moment),
            Event::WarmedUp { .. } | Event::Measured(_) | Event::CleanupFailed(_) => Ok(()),
        };
    }
}

/// Measures a plan whose commands run in these trees on this machine, with progress but without a log. The measuring
/// ends when `interrupt` becomes readable.
///
/// # Errors
/// See [`CompareError`].
pub fn measure_plan(
    plan: &Plan,
    trees: &Trees,
    interrupt: OwnedFd,
    session: &mut dyn Session,
) -> Result<Record, CompareError> {
    let (record, cleaned) = measure(plan, Some(trees), interrupt, None, session)?;
    cleaned?;
    Ok(record)
}

fn measure(
    plan: &Plan,
    trees: Option<&Trees>,
    interrupt: OwnedFd,
    log: Option<&mut Log>,
    session: &mut dyn Session,
) -> Result<Cleaned, CompareError> {
    show_begin(session);
    if plan.metric == Some(Metric::Instructions) {
        // Setup scripts may take long, so a metric that cannot be measured is refused before them.
        check_counters(plan, &CommandRunner::start(plan, None, None, None)?.counters())?;
    }
    let mut scripts = HookScripts::new(plan, Some(&interrupt))?;
    between_scripts(plan, &mut scripts, HookScripts::hook, |_| {
        let place = warm_runs::place(plan, session);
        let measured = measure_in(plan, trees, place.as_ref(), interrupt, log, session);
        if let Some(Ok(folder)) = place {
            folder.remove(session);
        }
        measured
    })
}

/// As [`measure`] without scripts, with a folder for snapshots if the plan needs one.
fn measure_in(
    plan: &Plan,
    trees: Option<&Trees>,
    place: Option<&Result<Folder, Cold>>,
    interrupt: OwnedFd,
    mut log: Option<&mut Log>,
    session: &mut dyn Session,
) -> Result<Record, CompareError> {
    let folder = place.and_then(|place| place.as_ref().ok()).map(Folder::path);
    let mut runner = CommandRunner::start(plan, log.as_ref().map(|log| log.path.clone()), Some(interrupt), folder)?;
    trees.iter().for_each(|trees| runner.renew_programs_in(trees.workspace().path()));
    let cold = match place.map(|place| warm_runs::images(plan, place, session)) {
        None => None,
        Some(Ok(images)) => {
            runner.add_images(images);
            None
        }
        Some(Err(cold)) => Some(cold),
    };
    let duets = duet_cpus(plan).and_then(|cpus| {
        runner
            .add_duet(cpus.0, cpus.1)
            .map_err(|error| Absent::because(format!("commands cannot be pinned to a CPU: {error}")))
    });
    let setting = CompareContext {
        host: session.host(),
        duets,
        started: clock::time_of_day(),
        revision: session.revision(),
        counters: runner.counters(),
        tick: steady_linux::host::tick(),
        cold,
        one_look: false,
    };
    measured(plan, setting, &mut runner, &mut |event| {
        log.iter_mut().for_each(|log| log.note(&event));
        show(session, &event);
    })
}

/// The two CPUs of duets, or why there are no duets.
fn duet_cpus(plan: &Plan) -> Reading<(usize, usize)> {
    if plan.layout == Some(Layout::Turns) || plan.commands.len() < 2 {
        return Err(Absent::because("duets were not requested"));
    }
    if let Ok(Some(quota)) = cgroup::cpu_quota(&Root::default())
        && quota.cpus() < DUET_CPUS
    {
        return Err(Absent::because(format!("the control group may use {:.2} CPUs", quota.cpus())));
    }
    let allowed = match &plan.cpus {
        Some(cpus) => cpus.clone(),
        None => topology::allowed_cpus(&Root::default())?,
    };
    topology::Topology::probe(&Root::default())?.duet_cpus(&allowed)
}
