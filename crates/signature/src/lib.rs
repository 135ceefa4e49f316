//! `steady signature bench`: wire plan, runner, experiment and report together.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use steady_experiments::signature::bench::{self, BenchError, CrewRunner, Done, Event, SIZES, Setting};
use steady_experiments::signature::made;
use steady_feature::Interrupt;
use steady_linux::topology::{CacheKind, Topology, allowed_cpus};
use steady_linux::{Root, clock, host};
use steady_model::{Bytes, SignatureBenchPlan, SignatureInput};

use crate::failure::Failure;
use crate::flags::SignatureBenchFlags;
use crate::output::Destinations;
use crate::resolve;

const PARTS: u64 = 1_000;
const TICK: Duration = Duration::from_millis(500);

/// Measures what an allocator's lock costs, and reports it; the exit status.
pub(crate) fn run(flags: &SignatureBenchFlags) -> Result<u8, Failure> {
    let destinations = Destinations::open(&flags.output, flags.samples)?;
    let drawing = destinations.drawing("--export-svg", flags.export_svg.as_deref())?;
    let bytes = bytes(flags.file.as_deref())?;
    let plan = plan(flags, bytes.len() as u64)?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let bar = bar(flags.output.quiet);
    let mut runner = CrewRunner::new(bytes, flags.pool_bytes, Some(readable));
    let setting = Setting { host: host::probe(&Root::default()), started: clock::time_of_day() };
    let Done { record, stopped } = bench::measure(&plan, setting, &mut runner, &mut |event| show(&bar, event));
    bar.finish_and_clear();
    let report = bench::report(record);
    let failed = |error: BenchError| match error {
        BenchError::Interrupted => Failure::Interrupted(interrupt.signal()),
        error => Failure::Own(error.to_string()),
    };
    if let (Some(error), true) = (&stopped, report.figures.iter().all(Result::is_err)) {
        return Err(failed(error.clone()));
    }
    interrupt.release();
    let written = destinations.write(&report);
    let drawn = drawing.map_or(Ok(()), |drawing| drawing.save(&steady_report::signature_bench_svg(&report)));
    written.and(drawn)?;
    match stopped.map(failed) {
        // The report says so itself.
        Some(interrupted @ Failure::Interrupted(_)) => Ok(interrupted.status()),
        Some(other) => Err(other),
        None => Ok(0),
    }
}

fn plan(flags: &SignatureBenchFlags, length: u64) -> Result<SignatureBenchPlan, Failure> {
    let (pool, caches) = (Bytes(flags.pool_bytes as u64), caches());
    let name = |path: &Path| SignatureInput::File(path.to_string_lossy().into_owned());
    Ok(SignatureBenchPlan {
        input: flags.file.as_deref().map_or(SignatureInput::Made, name),
        conditions: bench::conditions(length, pool, &caches),
        pool,
        caches,
        cpus: super::cpus(),
        budget: flags.budget,
        seed: resolve::seed(flags.seed)?,
    })
}

/// What is signed: as much as the largest size takes.
fn bytes(file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let most = SIZES[SIZES.len() - 1];
    let Some(path) = file else { return Ok(made(most as usize)) };
    let refused = |why: &dyn std::fmt::Display| Failure::Usage(format!("'{}': {why}", path.display()));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| refused(&error))?;
    if bytes.is_empty() { Err(refused(&"there is nothing in it")) } else { Ok(bytes) }
}

/// The caches of a CPU that may be used.
fn caches() -> Vec<(String, Bytes)> {
    let root = Root::default();
    let first = allowed_cpus(&root).ok().and_then(|cpus| cpus.first().copied());
    let topology = Topology::probe(&root).ok();
    let cpu = topology.as_ref().and_then(|topology| topology.cpu(first?));
    let caches = cpu.and_then(|cpu| cpu.caches.as_ref().ok()).map(Vec::as_slice).unwrap_or_default();
    let data = caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
    data.filter_map(|cache| Some((format!("L{}", cache.level), *cache.size.as_ref().ok()?))).collect()
}

fn bar(quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
    let bar = ProgressBar::with_draw_target(Some(PARTS), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:16.dim} {elapsed:>3} {wide_msg}") {
        bar.set_style(style.progress_chars("━━╌"));
    }
    bar.set_message("trying every way once");
    // It has a thread of its own, which is not wanted where nobody sees it.
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

fn show(bar: &ProgressBar, event: Event) {
    bar.set_position((event.spent * PARTS as f64) as u64);
    bar.set_message(format!("round {}", event.rounds + 1));
}
