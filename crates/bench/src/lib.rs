//! `steady bench`: compares two builds of a project with the benchmarks that it already has.
//!
//! An [`Adapter`] describes a harness as data. Each benchmark runs in a new process of either build, or in a child of
//! one, in pairs whose order is random. [`measure`] calibrates the benchmarks and divides the time between them.
//! [`judged`] is a pure function from the samples to the verdicts, which share one error rate.
#![forbid(unsafe_code)]

mod adapter;
mod csv;
mod document;
mod flags;
mod join;
mod judge;
mod log;
mod machine;
mod record;
mod run;
mod suite;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::flags::FormatFlag;
use steady_feature::{Failure, Feature, Interrupt, LogKind, RecordKind, Session, Status, chosen_cpus};
use steady_linux::clock;
use steady_model::{Absent, Activity, Ending, Metric, MetricSource, Nanos, Seed};
use steady_render::letters::one_line;

use flags::BenchFlags;
use machine::{RunOptions, SuiteMachine};
use suite::Suite;

pub use adapter::{Adapter, Amount, Sampling};
pub use judge::judged;
pub use log::{LogWriter, logged};
pub use record::{
    BenchLook, Benchmark, Build, Compared, ErrorRate, Medians, Runs, SCHEMA, Samples, Side, SuiteRecord, Unmeasured,
};
pub use run::{Choices, Course, Event, FailedRun, Machine, Measured, NoRuns, Stop, Stopped, measure};

/// The feature `bench`.
pub const FEATURE: Feature = Feature {
    name: "bench",
    about: "Compare two builds with the benchmarks that the project already has",
    flags: Feature::flags_of::<BenchFlags>,
    run,
    status: |_: &[OsString]| Status::Own,
    records: &[RecordKind {
        kind: record::KIND,
        read: |text| Ok(Box::new(SuiteRecord::read(text)?)),
        log: Some(LogKind { read: |text| Some(Box::new(logged(text)?)), is_line: log::is_line }),
        join: Some(|texts| Ok(Box::new(join::joined(texts)?))),
    }],
    helpers: &[],
};

fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = BenchFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    steady_host::around(&flags.host, flags.output.quiet, session, |session| run_here(&flags, session))
}

/// As [`run`], after `--quiet-host` has prepared the host.
fn run_here(flags: &BenchFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    if !flags.list {
        session.open(&flags.output, flags.samples, Status::Own)?;
    }
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let signalled = |failure| match failure {
        Failure::Interrupted(_) => Failure::Interrupted(interrupt.signal()),
        failure => failure,
    };
    let seed = session.seed(flags.seed)?;
    let mut suite = suite::open(flags, seed, &readable, session).map_err(signalled)?;
    if flags.list {
        let names = suite.entries.iter().map(|entry| format!("{}\n", one_line(&entry.name))).collect::<String>();
        if !suite.unmeasured.is_empty() {
            let others: Vec<String> =
                suite.unmeasured.iter().map(|one| format!("'{}' ({})", one.name, one.reason)).collect();
            session.notice(&format!("not in both builds: {}", others.join(", ")));
        }
        suite.remove(session);
        // Unlike the text of a report, names have the same letters in every locale, so that --filter selects them.
        session.save("--list", Path::new("-"), &names)?;
        return Ok(0);
    }
    let measured = measured(flags, seed, &mut suite, &readable, session);
    suite.remove(session);
    let Outcome { record, lost } = measured.map_err(signalled)?;
    let record = judged(record);
    interrupt.release();
    if !flags.no_history {
        session.keep(&record);
    }
    if flags.output.quiet || flags.output.format != FormatFlag::Text {
        document::about_status(&record).iter().for_each(|why| session.notice(why));
    }
    // The report of a part of a suite is needed to join all parts, even if it has no results.
    if record.has_no_result() {
        session.notice(&format!("no benchmark could be measured: {}", reasons(&record)));
    }
    session.write(&record)?;
    Ok(match record.ending {
        Ending::Interrupted => lost.unwrap_or(Failure::Interrupted(interrupt.signal())).status(),
        Ending::Decided | Ending::Spent => judge::status(&record),
    })
}

/// The first reasons why benchmarks have no result, each with the first benchmark that has it.
fn reasons(record: &SuiteRecord) -> String {
    const MOST: usize = 3;
    let failed = record.benchmarks.iter().filter_map(|one| Some((one.name.clone(), one.failed.clone()?)));
    let of_both = record.unmeasured.iter().filter(|one| !one.is_of_one_build);
    let all = document::by_reason(failed.chain(of_both.map(|one| (one.name.clone(), one.reason.clone()))));
    let named = all.iter().take(MOST).map(|(reason, names)| match &names[..] {
        [name] => format!("'{name}': {reason}"),
        names => format!("'{}' and {} more: {reason}", names[0], names.len() - 1),
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let rest: usize = all.iter().skip(MOST).map(|(_, names)| names.len()).sum();
    let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    named + &more
}

/// What was measured.
struct Outcome {
    /// The record. Its results are not computed yet.
    record: SuiteRecord,
    /// Why the measuring could not go on.
    lost: Option<Failure>,
}

/// Measures a suite.
fn measured(
    flags: &BenchFlags,
    seed: Seed,
    suite: &mut Suite,
    readable: &OwnedFd,
    session: &mut dyn Session,
) -> Result<Outcome, Failure> {
    let (metrics, compared) = metrics(flags, &suite.adapter)?;
    if let Some(condition) = flags.gate.fail_if {
        let custom = metrics.first().and_then(|source| source.metric(0)).filter(|_| compared == Compared::Harness);
        condition.check(custom.unwrap_or(Metric::Cpu)).map_err(Failure::Usage)?;
    }
    let cpus = chosen_cpus(flags.cpus.as_deref())?;
    let mut record = SuiteRecord { compared, ..record(flags, seed, suite, metrics.clone(), session)? };
    let options = RunOptions {
        timeout: flags.timeout(),
        is_timeout_of_budget: flags.is_timeout_of_budget(),
        cpus,
        metrics: metrics.clone(),
    };
    let choices = Choices {
        budget: flags.budget,
        seed: record.seed,
        sampling: Sampling { time: flags.time.unwrap_or(suite.adapter.sampling.time), ..suite.adapter.sampling },
        counts_iterations: suite.adapter.counts_iterations(),
        draws: flags.draws,
        timeout: flags.timeout(),
        time_metric: metrics.iter().position(|source| source.unit == "s" && !source.more_is_better),
    };
    let names: Vec<String> = suite.entries.iter().map(|entry| entry.name.clone()).collect();
    let mut machine = SuiteMachine::new(suite, options, readable)?;
    let count = names.len();
    if count == 0 {
        // All benchmarks are in one build only, as when a change adds the first ones, or in other parts of the suite.
        return Ok(Outcome { record: SuiteRecord { ending: Ending::Decided, ..record }, lost: None });
    }
    let benchmarks = if count == 1 { "1 benchmark".to_owned() } else { format!("{count} benchmarks") };
    session.log_progress(&format!("measuring {benchmarks} for at most {} s", flags.budget.seconds()));
    let budget = flags.budget.seconds();
    let mut writer = LogWriter::new(&record, &names, choices.counts_iterations);
    let mut lost = None;
    let result = measure(&record, count, &choices, &mut machine, &mut |event| match event {
        Event::Calibrating(at) => session.progress(None, &format!("calibrating {}", named(&names, &at))),
        Event::Lost(failure) => {
            session.notice(&format!("the measuring ended early: {failure}"));
            lost = Some(failure);
        }
        Event::Drawing => session.progress(None, "linking both builds again"),
        Event::Measuring(at, share, done) => {
            let left = (budget * (1.0 - share)).ceil();
            let text = format!("{done} of {count} done, at most {left} s left: {}", named(&names, &at));
            session.progress(Some(share), &text);
        }
        _ if flags.no_history => {}
        event => writer.lines(event).iter().for_each(|line| session.log(line)),
    })?;
    record.elapsed_seconds = machine.now();
    record.activity = machine.activity();
    record.ending = result.ending;
    for (course, name) in result.courses.into_iter().zip(&names) {
        record.add(name, course, result.needed);
    }
    if !flags.no_history {
        session.log(&LogWriter::last(&record));
    }
    Ok(Outcome { record, lost })
}

/// The name of the first of these benchmarks, and the number of the others.
fn named(names: &[String], benchmarks: &[usize]) -> String {
    let first = benchmarks.first().map_or("", |&at| names[at].as_str());
    let others = benchmarks.len().saturating_sub(1);
    if others > 0 { format!("{first} and {others} more") } else { first.to_owned() }
}

/// The metrics of the harness, and what is compared. A metric that the user chose comes first.
fn metrics(flags: &BenchFlags, adapter: &Adapter) -> Result<(Vec<MetricSource>, Compared), Failure> {
    let mut metrics = adapter.metrics.clone();
    let Some(chosen) = &flags.metric else { return Ok((metrics, Compared::Harness)) };
    if let Some(place) = metrics.iter().position(|source| source.name == *chosen) {
        metrics.swap(0, place);
        return Ok((metrics, Compared::Harness));
    }
    let name = &adapter.name;
    match chosen.as_str() {
        "cpu" if adapter.counts_iterations() => Ok((metrics, Compared::Cpu)),
        "cpu" => Err(Failure::Usage(format!(
            "--metric cpu: {name} takes a time and not a number of iterations, so CPU times cannot be compared"
        ))),
        _ => {
            let cpu = adapter.counts_iterations().then_some("cpu");
            let names: Vec<&str> = metrics.iter().map(|source| source.name.as_str()).chain(cpu).collect();
            Err(Failure::Usage(format!("--metric {chosen}: {name} has {}", names.join(", "))))
        }
    }
}

/// A record before the first pair.
fn record(
    flags: &BenchFlags,
    seed: Seed,
    suite: &Suite,
    metrics: Vec<MetricSource>,
    session: &dyn Session,
) -> Result<SuiteRecord, Failure> {
    let absent = || Err(Absent::because("nothing was measured"));
    Ok(SuiteRecord {
        started: clock::time_of_day(),
        host: session.host(),
        revision: session.revision(),
        harness: suite.adapter.name.clone(),
        old: suite.builds[0].build.clone(),
        new: suite.builds[1].build.clone(),
        seed,
        budget_seconds: flags.budget,
        resolution_ratio: flags.precision.resolution,
        confidence: flags.precision.confidence,
        error: flags.error,
        fail_if: flags.gate.fail_if,
        condition: None,
        require_verdict: flags.gate.require_verdict,
        metrics,
        compared: Compared::Harness,
        draws: flags.draws,
        suite: suite.size,
        shard: flags.shard.map(|(part, parts)| format!("{part}/{parts}")),
        benchmarks: vec![],
        unmeasured: suite.unmeasured.clone(),
        activity: Activity {
            steal_ratio: absent(),
            pressure: absent(),
            busy_ratio: absent(),
            throttled_ratio: absent(),
        },
        elapsed_seconds: Nanos::ZERO,
        ending: Ending::Interrupted,
    })
}
