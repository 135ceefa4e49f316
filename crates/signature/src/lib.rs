//! `steady signature`: computes a file's signature from the Huffman trees of its blocks, and measures what an
//! allocator's lock costs.
#![forbid(unsafe_code)]

mod document;
mod flags;
mod judge;
mod plan;
mod record;
mod run;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::thread;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Interrupt, RecordKind, Session, Status};
use steady_linux::topology::{CacheKind, Topology, allowed_cpus};
use steady_linux::{Root, clock};
use steady_model::{Absent, Bytes, Nanos};
use steady_render::letters::one_line;
use steady_render::units::memory;
use steady_workloads::signature::{Allocator, made};

use flags::{BenchFlags, SignatureCommands, SignatureFlags};
use judge::Origin;
use plan::{BenchPlan, FilesPlan, SIZES, conditions};
use run::{BenchError, CrewRunner, FileError, measure, sign};

pub use record::{
    Answer, BenchCondition, BenchRecord, BenchRun, Cache, Figures, FilesRecord, Input, Lock, MeasuredCondition,
    Question, SCHEMA, Signed, SignedFile,
};

/// Time after which progress is shown.
const PATIENCE: Nanos = Nanos(500_000_000);

/// Entry of `steady signature` in the table of features.
pub const FEATURE: Feature = Feature {
    name: "signature",
    about: "Compute a file's block-Huffman signature in parallel; measure what an allocator's lock costs",
    flags: Feature::flags_of::<SignatureFlags>,
    run,
    status: |_| Status::Own,
    records: &[RecordKind {
        kind: record::KIND,
        read: |text| Ok(Box::new(BenchRecord::read(text)?)),
        log: None,
        join: None,
    }],
    helpers: &[],
};

/// Runs the subcommand and returns the exit status.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = SignatureFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match &flags.question {
        Some(SignatureCommands::Bench(flags)) => bench(flags, session),
        None => files(&flags, session),
    }
}

/// Prints the signature of each file as soon as it is known, then writes the report.
fn files(flags: &SignatureFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    session.open(&flags.output, false, Status::Own)?;
    let plan = FilesPlan {
        allocator: flags.allocator.into(),
        workers: flags.workers(),
        pool: flags.pool_bytes,
        block: flags.block_size,
        cpus: cpus(),
        // Measuring it takes as long as the signature of a small file.
        tick: match flags.has_times() {
            true => steady_linux::host::tick(),
            false => Err(Absent::because("nothing shows it")),
        },
    };
    let has_pools = matches!(plan.allocator, Allocator::Pool | Allocator::PoolPerBlock);
    let pool_bytes = has_pools.then_some(Bytes(plan.pool as u64));
    let mut record = FilesRecord {
        allocator: plan.allocator,
        pool_bytes,
        block_bytes: Bytes(plan.block as u64),
        files: vec![],
        stats: flags.stats,
    };
    let mut status = 0;
    for path in &flags.files {
        let name = path.to_string_lossy().into_owned();
        let begun = clock::monotonic();
        let signed = sign(Some(path.as_path()).filter(|path| *path != Path::new("-")), &plan, &mut |bytes, of| {
            if clock::monotonic() - begun >= PATIENCE {
                show(session, &name, bytes, of);
            }
        });
        if let Err(error) = &signed {
            // The first word may be a program: steady signature -- head -c 100 FILE.
            let is_first_of_several = flags.files.len() > 1 && record.files.is_empty();
            let helps = match is_first_of_several && error.is_not_found() {
                true => "; for the output of a program, use a pipe and -, as in 'zcat old.gz | steady signature -'",
                false => "",
            };
            session.notice(&format!("'{}': {error}{helps}", one_line(&name)));
            status = status.max(if error.is_of_the_file() { 2 } else { 125 });
        }
        let signed = signed.map_err(|error: FileError| Absent::because(error.to_string()));
        let file = SignedFile { name, signed };
        session.print(&document::lines(&file, flags.files.len() > 1, flags.stats))?;
        record.files.push(file);
    }
    session.write(&record)?;
    Ok(status)
}

/// Shows how much of a file has been read.
fn show(session: &mut dyn Session, name: &str, bytes: u64, of: Option<u64>) {
    let read = memory(bytes as f64);
    match of {
        Some(of) => {
            session.progress(Some(bytes as f64 / of as f64), &format!("{read} of {}  {name}", memory(of as f64)))
        }
        None => session.progress(None, &format!("{read}  {name}")),
    }
}

/// Measures what an allocator's lock costs, and reports it.
fn bench(flags: &BenchFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    session.open(&flags.output, flags.samples, Status::Own)?;
    session.open_drawing(flags.export_svg.as_deref())?;
    let bytes = bytes(flags.file.as_deref())?;
    let caches = caches();
    let plan = BenchPlan {
        input: flags.file.as_ref().map_or(Input::Made, |path| Input::File(path.to_string_lossy().into_owned())),
        conditions: conditions(bytes.len() as u64, Bytes(flags.pool_bytes as u64), &caches),
        caches,
        cpus: cpus(),
        tick: steady_linux::host::tick(),
        budget: flags.budget,
        seed: session.seed(flags.seed)?,
    };
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    session.progress(Some(0.0), "running each condition once");
    let origin = Origin { host: session.host(), started: clock::time_of_day() };
    let mut runner = CrewRunner::new(bytes, Some(readable));
    let done = measure(&plan, &mut runner, &mut |event| {
        session.progress(Some(event.spent), &format!("round {}", event.rounds + 1));
    });
    let stopped = done.stopped.clone().map(|error| match error {
        BenchError::Interrupted => Failure::Interrupted(interrupt.signal()),
        error => Failure::Own(error.to_string()),
    });
    let record = judge::record(plan, origin, done);
    let nothing_measured = record.conditions.iter().all(|one| one.figures.is_err());
    match stopped {
        Some(failure) if nothing_measured => return Err(failure),
        _ => {}
    }
    interrupt.release();
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    match stopped {
        // The report mentions the interruption, so no error is needed.
        Some(interrupted @ Failure::Interrupted(_)) => Ok(interrupted.status()),
        Some(other) => Err(other),
        None => Ok(0),
    }
}

/// Returns the bytes to compute signatures of, up to the largest size.
fn bytes(file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let most = SIZES[SIZES.len() - 1];
    let Some(path) = file else { return Ok(made(most as usize)) };
    let refused = |why: &dyn std::fmt::Display| Failure::Usage(format!("'{}': {why}", path.display()));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| refused(&error))?;
    if bytes.is_empty() { Err(refused(&"the file is empty")) } else { Ok(bytes) }
}

/// Returns the number of CPUs available, within the limits of affinity and control groups.
fn cpus() -> u32 {
    thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// Returns the data caches of the first allowed CPU.
fn caches() -> Vec<Cache> {
    let root = Root::default();
    let first = allowed_cpus(&root).ok().and_then(|cpus| cpus.first().copied());
    let topology = Topology::probe(&root).ok();
    let cpu = topology.as_ref().and_then(|topology| topology.cpu(first?));
    let caches = cpu.and_then(|cpu| cpu.caches.as_ref().ok()).map(Vec::as_slice).unwrap_or_default();
    let data = caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
    let named = data
        .filter_map(|cache| Some(Cache { name: format!("L{}", cache.level), size_bytes: *cache.size.as_ref().ok()? }));
    named.collect()
}
