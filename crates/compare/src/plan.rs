//! Resolves the flags into a plan. Everything is looked up and checked once, before anything is measured.

mod additions;
mod commands;
mod elf;
mod expansion;
mod parameters;

use std::fs::File;
use std::os::unix::fs::FileTypeExt;

use steady_feature::flags::failures;
use steady_feature::{Failure, Session, chosen_cpus};
use steady_linux::Root;
use steady_linux::energy::EnergyMeter;
use steady_model::{
    CUSTOM_METRICS_MAX, Effort, Layout, Metric, MetricInput, MetricSource, Nanos, Output, PerCommand, Plan,
};

use crate::flags::{AroundFlags, ChosenMetric, CompareFlags, LayoutFlag, MetricFlag, RunFlags};

pub(crate) use parameters::{Given, complete};

/// Returns the plan that the flags describe.
pub(crate) fn plan(flags: &CompareFlags, session: &dyn Session) -> Result<Plan, Failure> {
    let compared = commands::compared(flags, session)?;
    check_limits(flags)?;
    check_ratchet(flags, compared.commands.len())?;
    check_relink(flags, compared.commands.len())?;
    let plan = of_runs(&flags.run, compared.output, session)?;
    check_conditions(flags, compared.commands.len(), plan.metric)?;
    Ok(Plan {
        effort: flags.runs.map_or(Effort::Budget(flags.budget), Effort::Pairs),
        pairs_min: flags.min_runs,
        pairs_max: flags.max_runs,
        resolution: flags.precision.resolution,
        confidence: flags.precision.confidence,
        setup: compared.setup,
        prepare: compared.prepare,
        conclude: compared.conclude,
        cleanup: compared.cleanup,
        relink: compared.relink,
        fail_if: flags.gate.fail_if,
        require_verdict: flags.gate.require_verdict,
        warm: flags.warm,
        commands: compared.commands,
        ..plan
    })
}

/// A plan with the options about the runs, for commands that share all of them. It has no commands yet.
///
/// # Errors
/// Options that exclude each other, a script for each command, or a file that cannot be read or written.
pub fn plan_of_runs(flags: &RunFlags, session: &dyn Session) -> Result<Plan, Failure> {
    let AroundFlags { setup, prepare, conclude, cleanup, child_output, .. } = &flags.around;
    for (option, given) in [("setup", setup), ("prepare", prepare), ("conclude", conclude), ("cleanup", cleanup)] {
        if given.len() > 1 {
            return Err(Failure::Usage(format!("--{option}: give it once, for all commands")));
        }
    }
    if child_output.len() > 1 {
        return Err(Failure::Usage("--output: give it once, for all commands".to_owned()));
    }
    let plan = of_runs(flags, PerCommand(child_output.clone()), session)?;
    let all = |given: &[String]| PerCommand(given.to_vec());
    Ok(Plan { setup: all(setup), prepare: all(prepare), conclude: all(conclude), cleanup: all(cleanup), ..plan })
}

/// A plan with the options about the runs. It has no commands and no scripts yet.
fn of_runs(flags: &RunFlags, outputs: PerCommand<Output>, session: &dyn Session) -> Result<Plan, Failure> {
    check_layout(flags)?;
    check_input(flags)?;
    check_metrics(flags, &outputs)?;
    let (metric, further_metrics) = metrics(flags)?;
    note_direction(flags, session);
    let plan = Plan::new(vec![], Effort::Budget(Nanos::ZERO), session.seed(flags.seed)?);
    Ok(Plan {
        metric,
        further_metrics,
        metrics: flags.metric_from.clone(),
        metric_input: flags.metric_input.clone().unwrap_or_default(),
        layout: layout(flags.layout),
        warmup: flags.warmup,
        input: flags.around.input.clone(),
        output: output(flags, outputs)?,
        failures: failures(flags.ignore_failure.as_ref()),
        timeout: flags.timeout,
        cpus: chosen_cpus(flags.cpus.as_deref())?,
        ..plan
    })
}

/// Resolves `--reference`. A command that is not one of the typed ones is added, unless it may be one of the values of
/// parameters. The text of a typed command becomes its number, because its name may be another one.
pub(crate) fn add_reference(flags: &mut CompareFlags) {
    let variants = &mut flags.variants;
    let Some(reference) = &variants.reference else { return };
    let is_expanded =
        !(variants.parameter_list.is_empty() && variants.parameter_scan.is_empty() && variants.rev.is_empty());
    if is_expanded || variants.command_name.contains(reference) || reference.parse::<usize>().is_ok() {
        return;
    }
    let place = flags.commands.iter().position(|command| command == reference);
    if place.is_none() {
        if !variants.command_name.is_empty() && variants.command_name.len() == flags.commands.len() {
            variants.command_name.insert(0, reference.clone());
        }
        flags.commands.insert(0, reference.clone());
    }
    variants.reference = Some((place.unwrap_or(0) + 1).to_string());
}

/// A number and a noun, in the plural if needed: `1 command`, `2 commands`.
fn plural(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The metric of the verdict (`None` if the warm-up chooses it), and the further ones that not every comparison has.
fn metrics(flags: &RunFlags) -> Result<(Option<Metric>, Vec<Metric>), Failure> {
    let custom = || flags.metric_from.iter().enumerate().filter_map(|(index, source)| source.metric(index));
    let chosen = |chosen: &ChosenMetric| match chosen {
        ChosenMetric::BuiltIn(MetricFlag::Auto) => Ok(custom().next()),
        ChosenMetric::BuiltIn(MetricFlag::Cpu) => Ok(Some(Metric::Cpu)),
        ChosenMetric::BuiltIn(MetricFlag::Elapsed) => Ok(Some(Metric::Elapsed)),
        ChosenMetric::BuiltIn(MetricFlag::Wall) => Ok(Some(Metric::Wall)),
        ChosenMetric::BuiltIn(MetricFlag::Memory) => Ok(Some(Metric::Memory)),
        ChosenMetric::BuiltIn(MetricFlag::Instructions) => Ok(Some(Metric::Instructions)),
        ChosenMetric::BuiltIn(MetricFlag::Faults) => Ok(Some(Metric::Faults)),
        ChosenMetric::BuiltIn(MetricFlag::Switches) => Ok(Some(Metric::Switches)),
        ChosenMetric::BuiltIn(MetricFlag::Energy) => match EnergyMeter::open(&Root::default()) {
            Ok(_) => Ok(Some(Metric::Energy)),
            Err(absent) => Err(Failure::Usage(format!("the metric energy is not available: {absent}"))),
        },
        ChosenMetric::Custom(name) => match custom().find(|metric| metric.name() == name) {
            Some(metric) => Ok(Some(metric)),
            None => {
                let known: Vec<String> = Metric::built_in().map(|metric| metric.name().to_owned()).collect();
                Err(Failure::Usage(format!(
                    "there is no metric '{name}': choose auto, {}, or the name of a --metric-from",
                    known.join(", ")
                )))
            }
        },
    };
    let mut all = flags.metric.iter().map(chosen).collect::<Result<Vec<_>, _>>()?.into_iter();
    let primary = all.next().flatten();
    let mut further: Vec<Metric> = all.flatten().filter(|metric| Metric::OPTIONAL.contains(metric)).collect();
    further.dedup();
    Ok((primary, further))
}

/// Notes which direction counts as worse if the unit is a rate, of which more is usually better.
fn note_direction(flags: &RunFlags, session: &dyn Session) {
    let is_rate = |source: &&MetricSource| !source.more_is_better && source.unit.ends_with("/s");
    if let Some(MetricSource { name, unit, .. }) = flags.metric_from.iter().find(is_rate) {
        session.notice(&format!("a larger {name} counts as worse; write {name}[{unit},more] if it is better"));
    }
}

/// Checks the custom metrics: their names, and that what they are read from has no other destination.
fn check_metrics(flags: &RunFlags, outputs: &PerCommand<Output>) -> Result<(), Failure> {
    let sources = &flags.metric_from;
    if sources.len() > CUSTOM_METRICS_MAX {
        return Err(Failure::Usage(format!("--metric-from: at most {CUSTOM_METRICS_MAX} metrics are possible")));
    }
    let is_repeated =
        |(index, source): &(usize, &MetricSource)| sources[..*index].iter().any(|one| one.name == source.name);
    if let Some((_, source)) = sources.iter().enumerate().find(is_repeated) {
        return Err(Failure::Usage(format!("--metric-from: the name '{}' is there twice", source.name)));
    }
    let input = flags.metric_input.clone().unwrap_or_default();
    let is_used = flags.around.show_output || outputs.0.iter().any(|output| *output != Output::Null);
    match input {
        _ if sources.is_empty() => Ok(()),
        MetricInput::Stdout if is_used => Err(Failure::Usage(
            "the standard output of the commands goes to --metric-from: leave out --output and --show-output, or \
             choose another --metric-input"
                .to_owned(),
        )),
        MetricInput::File(path) if path.exists() && !path.is_file() => {
            Err(Failure::Usage(format!("--metric-input '{}': it is not a file", path.display())))
        }
        MetricInput::File(_) if flags.layout == LayoutFlag::Duet => Err(Failure::Usage(
            "--metric-input with a file excludes --layout duet, because both commands would write it: use --layout turns"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

fn layout(flag: LayoutFlag) -> Option<Layout> {
    match flag {
        LayoutFlag::Auto => None,
        LayoutFlag::Turns => Some(Layout::Turns),
        LayoutFlag::Duet => Some(Layout::Duet),
    }
}

/// Refuses a condition that can never hold, also because there is only one command and therefore no verdict: such a
/// gate would always pass.
fn check_conditions(flags: &CompareFlags, commands: usize, metric: Option<Metric>) -> Result<(), Failure> {
    if let Some(condition) = flags.gate.fail_if {
        condition.check(metric.unwrap_or(Metric::Cpu)).map_err(Failure::Usage)?;
    }
    if commands < 2 && (flags.gate.fail_if.is_some() || flags.gate.require_verdict) {
        return Err(Failure::Usage(
            "--fail-if and --require-verdict need a verdict: give two commands or more".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses a loop over candidates with another number of commands than two.
fn check_ratchet(flags: &CompareFlags, commands: usize) -> Result<(), Failure> {
    match flags.ratchet {
        Some(_) if commands != 2 => {
            Err(Failure::Usage("--ratchet needs two commands: the accepted one and the candidate".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Refuses layouts to draw for a single command: the interval of its mean has runs as units.
fn check_relink(flags: &CompareFlags, commands: usize) -> Result<(), Failure> {
    match flags.variants.relink.is_empty() || commands > 1 {
        true => Ok(()),
        false => Err(Failure::Usage("--relink needs two commands or more, whose difference is measured".to_owned())),
    }
}

/// Refuses a smallest number of pairs above the largest.
fn check_limits(flags: &CompareFlags) -> Result<(), Failure> {
    match (flags.min_runs, flags.max_runs) {
        (Some(min), Some(max)) if min > max => {
            Err(Failure::Usage(format!("--min-runs {min} is above --max-runs {max}")))
        }
        _ => Ok(()),
    }
}

/// The destinations of the commands' output. Checks that files can be written.
fn output(flags: &RunFlags, outputs: PerCommand<Output>) -> Result<PerCommand<Output>, Failure> {
    if flags.around.show_output {
        return Ok(PerCommand(vec![Output::Stderr]));
    }
    for path in outputs.0.iter().filter_map(|output| match output {
        Output::File(path) => Some(path),
        _ => None,
    }) {
        let refused = |why: String| Failure::Usage(format!("--output '{}': {why}", path.display()));
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            return Err(refused("this is a FIFO, and each run opens the file again".to_owned()));
        }
        let opened = File::options().append(true).create(true).open(path);
        opened.map_err(|error| refused(error.to_string()))?;
    }
    Ok(outputs)
}

/// Refuses scripts around each run with duets: the scripts of one command would run next to the other command.
fn check_layout(flags: &RunFlags) -> Result<(), Failure> {
    let around = [("prepare", &flags.around.prepare), ("conclude", &flags.around.conclude)];
    match around.iter().find(|(_, scripts)| !scripts.is_empty()) {
        Some((option, _)) if flags.layout == LayoutFlag::Duet => Err(Failure::Usage(format!(
            "--{option} excludes --layout duet, because it would run next to the other command: use --layout turns"
        ))),
        _ => Ok(()),
    }
}

/// Refuses an input that is not a file. The first run would read a pipe to its end, and opening one may block forever.
fn check_input(flags: &RunFlags) -> Result<(), Failure> {
    let Some(path) = &flags.around.input else { return Ok(()) };
    let usage = |why: String| Failure::Usage(format!("--input '{}': {why}", path.display()));
    if path.as_os_str() == "-" {
        return Err(usage(
            "standard input can be read only once, and every run reads its input: name a file".to_owned(),
        ));
    }
    let metadata = path.metadata().map_err(|error| usage(error.to_string()))?;
    if !metadata.is_file() {
        return Err(usage("it must be a file, because every run reads it from the beginning".to_owned()));
    }
    File::open(path).map_err(|error| usage(error.to_string())).map(drop)
}
