//! `steady costs`: wire plan, runner, experiment and report together.

mod bar;
mod plan;
mod plots;
pub(crate) mod prices;

use steady_experiments::costs::{self, CostsError, Done, ProberRunner, Setting};
use steady_feature::Interrupt;
use steady_host::around;
use steady_linux::{Root, clock, host};
use steady_model::{CostsReport, Machine};

use crate::failure::Failure;
use crate::flags::{CostsFlags, CostsOf, Form};
use crate::history::Keeper;
use crate::output::{Destinations, Shown, print, style};
use crate::revisions;
use crate::session::CommandLine;

use bar::RoundBar;
use plots::Plots;

/// The clocks alone.
struct Clocks<'a>(&'a CostsReport);

impl Shown for Clocks<'_> {
    fn rendered(&self, form: Form, samples: bool) -> String {
        match form {
            Form::Text => steady_report::clocks_text(self.0, style()),
            _ => self.0.rendered(form, samples),
        }
    }
}

/// Measures what primitives cost, and reports it; the exit status.
pub(crate) fn run(flags: &CostsFlags) -> Result<u8, Failure> {
    if flags.list {
        let listed = print(plan::list().as_bytes());
        return listed.map(|()| 0).map_err(|error| Failure::Own(format!("standard output: {error}")));
    }
    around(&flags.host, flags.output.quiet, &mut CommandLine::default(), |_| run_here(flags))
}

/// The same on the host as it is now.
fn run_here(flags: &CostsFlags) -> Result<u8, Failure> {
    let machine = plan::machine();
    let plan = plan::plan(flags, &machine)?;
    let destinations = Destinations::open(&flags.output, flags.samples)?;
    let plots = flags.plots.as_deref().map(Plots::open).transpose()?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let bar = RoundBar::new(flags.output.quiet);
    let mut runner = ProberRunner::new(plan.cpus.clone(), Some(readable));
    let Done { record, stopped, .. } =
        costs::measure(&plan, setting(machine), &mut runner, &mut |event| bar.show(&event));
    drop((runner, bar));
    let report = costs::report(record);
    if report.costs.iter().all(|(_, cost)| cost.is_err()) {
        return Err(nothing(&report, stopped, &interrupt));
    }
    interrupt.release();
    // Stored first: writing may block or fail.
    let kept = if flags.no_history { None } else { Keeper::keep_at_once(&report) };
    let written = match flags.of {
        Some(CostsOf::Clocks) => destinations.write(&Clocks(&report)),
        None => destinations.write(&report),
    };
    let drawn = plots.map_or(Ok(()), |plots| plots.draw(&report));
    written.and(drawn)?;
    kept.map_or(Ok(()), |id| destinations.mention(id))?;
    match stopped {
        // The report says so itself.
        Some(CostsError::Interrupted) => Ok(Failure::Interrupted(interrupt.signal()).status()),
        Some(error) => Err(Failure::Own(format!("not all could be measured: {error}"))),
        None => Ok(0),
    }
}

/// What an experiment is told of this machine.
fn setting(machine: Machine) -> Setting {
    Setting {
        host: host::probe(&Root::default()),
        machine,
        started: clock::time_of_day(),
        revision: revisions::here(),
        clocks: costs::clocks(),
    }
}

/// Why there is nothing to report.
fn nothing(report: &CostsReport, stopped: Option<CostsError>, interrupt: &Interrupt) -> Failure {
    let absent = report.costs.iter().find_map(|(probe, cost)| Some((probe.name(), cost.as_ref().err()?)));
    match (stopped, absent) {
        (Some(CostsError::Interrupted), _) => Failure::Interrupted(interrupt.signal()),
        (Some(error), _) => Failure::Own(format!("nothing could be measured: {error}")),
        (None, Some((probe, why))) => Failure::Own(format!("nothing could be measured: {probe}: {why}")),
        (None, None) => Failure::Own("nothing could be measured".to_owned()),
    }
}
