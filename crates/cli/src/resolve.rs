//! From the flags as typed to a plan: everything is looked up and checked once, before anything is measured.

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::{Root, topology};
use steady_model::{Effort, FailureRule, Layout, Metric, Output, Plan, Seed};

use crate::failure::Failure;
use crate::flags::{CompareFlags, IgnoredFailures, LayoutFlag, MetricFlag};
use crate::programs;

/// The plan of a comparison.
pub(crate) fn plan(flags: &CompareFlags) -> Result<Plan, Failure> {
    let commands = flags.commands.iter().map(|text| programs::command(text, flags.shell.as_deref()));
    let commands = commands.collect::<Result<Vec<_>, _>>()?;
    check_conditions(flags)?;
    check_prepare(flags)?;
    check_input(flags)?;
    Ok(Plan {
        seed: seed(flags.seed)?,
        effort: flags.runs.map_or(Effort::Budget(flags.budget), Effort::Pairs),
        resolution: flags.resolution,
        confidence: flags.confidence,
        metric: metric(flags.metric),
        layout: layout(flags.layout),
        warmup: flags.warmup,
        prepare: flags.prepare.clone(),
        input: flags.input.clone(),
        output: if flags.show_output { Output::Stderr } else { Output::Null },
        failures: failures(flags.ignore_failure.as_ref()),
        timeout: flags.timeout,
        cpus: cpus(flags.cpus.as_deref())?,
        fail_if: flags.fail_if,
        require_verdict: flags.require_verdict,
        commands,
    })
}

fn seed(given: Option<u64>) -> Result<Seed, Failure> {
    let drawn = || OsRng.try_next_u64().map_err(|error| Failure::Own(format!("no random seed to be had: {error}")));
    given.map_or_else(drawn, Ok).map(Seed)
}

fn metric(flag: MetricFlag) -> Option<Metric> {
    match flag {
        MetricFlag::Auto => None,
        MetricFlag::Cpu => Some(Metric::Cpu),
        MetricFlag::Elapsed => Some(Metric::Elapsed),
        MetricFlag::Wall => Some(Metric::Wall),
        MetricFlag::Memory => Some(Metric::Memory),
    }
}

fn layout(flag: LayoutFlag) -> Option<Layout> {
    match flag {
        LayoutFlag::Auto => None,
        LayoutFlag::Turns => Some(Layout::Turns),
        LayoutFlag::Duet => Some(Layout::Duet),
    }
}

fn failures(flag: Option<&IgnoredFailures>) -> FailureRule {
    match flag {
        None => FailureRule::Abort,
        Some(IgnoredFailures::All) => FailureRule::IgnoreAll,
        Some(IgnoredFailures::Codes(codes)) => FailureRule::IgnoreCodes(codes.clone()),
    }
}

/// A condition on a verdict that there will not be would never hold, and a gate would stand open.
fn check_conditions(flags: &CompareFlags) -> Result<(), Failure> {
    if flags.commands.len() < 2 && (flags.fail_if.is_some() || flags.require_verdict) {
        return Err(Failure::Usage(
            "--fail-if and --require-verdict are about a verdict: give two commands or more".to_owned(),
        ));
    }
    Ok(())
}

fn check_prepare(flags: &CompareFlags) -> Result<(), Failure> {
    let (given, commands) = (flags.prepare.len(), flags.commands.len());
    if given > 1 && given != commands {
        return Err(Failure::Usage(format!(
            "--prepare is given {given} times for {commands} commands: give it once for all, or once per command"
        )));
    }
    if given > 0 && flags.layout == LayoutFlag::Duet {
        return Err(Failure::Usage("--prepare cannot go with --layout duet: use --layout turns".to_owned()));
    }
    Ok(())
}

/// A pipe would be read empty by the first run, and opening one may wait for ever.
fn check_input(flags: &CompareFlags) -> Result<(), Failure> {
    let Some(path) = &flags.input else { return Ok(()) };
    let usage = |why: String| Failure::Usage(format!("--input '{}': {why}", path.display()));
    let metadata = path.metadata().map_err(|error| usage(error.to_string()))?;
    if !metadata.is_file() {
        return Err(usage("it must be a file, for every run reads it from its beginning".to_owned()));
    }
    std::fs::File::open(path).map_err(|error| usage(error.to_string())).map(drop)
}

fn cpus(list: Option<&str>) -> Result<Option<Vec<usize>>, Failure> {
    let Some(list) = list else { return Ok(None) };
    let usage = |why: String| Failure::Usage(format!("--cpus '{list}': {why}"));
    let wanted = topology::parse_cpu_list(list).map_err(|reason| usage(reason.to_string()))?;
    let allowed = topology::allowed_cpus(&Root::default()).map_err(|reason| usage(reason.to_string()))?;
    match wanted.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(usage(format!("CPU {cpu} is not among those that may be used ({allowed:?})"))),
        None if wanted.is_empty() => Err(usage("it names no CPU".to_owned())),
        None => Ok(Some(wanted)),
    }
}
