//! Makes one run, from its start to the end of its last descendant.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::process::Pid;
use rustix::thread::CpuSet;
use steady_linux::counters::Meter;
use steady_linux::energy::{EnergyCount, EnergyMeter};
use steady_linux::process::{self, Child, ChildUsage, OwnPeak, Shedder};
use steady_linux::{Root, clock, procfs};
use steady_model::{Absent, Bytes, CounterScope, Hook, Nanos, Outcome, Output, Reading, Run};

use super::custom::CustomMetrics;
use super::prepared::{Prepared, Script, program};
use super::protocol::{Job, Reply, RunReply, Setup, Snapshot};
use super::streams::Sink;
use super::wait::{End, OwnScheduling, Stop, ThreadSamples, lost, outcome, wait_or_kill};
use crate::runner::Start;

/// The CPU times of the main thread and of the tree count as equal if they differ by no more than this share...
const SAME_CPU_TIME_RATIO: f64 = 0.02;
/// ... or by no more than this time, a few steps of the microsecond clock of getrusage(2).
const SAME_CPU_TIME_GRAIN: Nanos = Nanos(4_000);

/// If the peak of a run is below this, the launcher releases memory before the next one.
const SMALL_PEAK: Bytes = Bytes(16 << 20);

/// A peak of memory that exceeds the launcher's by less than this may be the launcher's own, because the kernel counts
/// pages in batches.
const PEAK_MEMORY_GRAIN: Bytes = Bytes(256 * 1024);

/// The step of the limit in messages.
const HALF_MIB: u64 = 512 * 1024;

/// Everything that runs need: prepared programs, streams, limits.
pub(super) struct RunContext {
    commands: Vec<Prepared>,
    null: File,
    script_sink: Sink,
    input: Option<PathBuf>,
    run_limit: Option<Nanos>,
    pinned: Option<usize>,
    epoch: Nanos,
    schedstat: Reading<procfs::SchedstatReader>,
    own_scheduling: Option<OwnScheduling>,
    last_pid: Reading<procfs::LastPid>,
    own_peak: Reading<Bytes>,
    peak_file: Reading<OwnPeak>,
    shedder: Shedder,
    /// Whether the previous run had a small peak of memory, or there was none.
    is_small: bool,
    meter: Reading<Meter>,
    custom: CustomMetrics,
    energy: Option<EnergyMeter>,
}

/// Distinguishes a command that cannot be executed from a system without room for a process.
fn not_started(command: usize, error: &io::Error) -> Reply {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
            Reply::Failed(format!("a process for the command could not be created: {error}"))
        }
        _ => Reply::CannotStart { command, reason: error.to_string() },
    }
}

/// Measurements of a child until it became a zombie.
struct Seen {
    end: End,
    main_thread: Reading<procfs::Schedstat>,
}

impl Seen {
    /// The least wall time: what the main thread spent on CPUs and waiting for one. The kernel reports the end before
    /// that thread leaves its CPU for the last time.
    fn least_wall(&self) -> Nanos {
        self.main_thread.as_ref().map_or(Nanos::ZERO, |main| main.cpu + main.run_delay)
    }
}

impl RunContext {
    pub(super) fn new(setup: &Setup, environment: &[(OsString, OsString)], meter: Reading<Meter>) -> io::Result<Self> {
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let shown = setup.output.0.iter().any(|output| matches!(output, Output::Stderr | Output::Inherit));
        let schedstat = procfs::SchedstatReader::new(&Root::default());
        let own_scheduling = schedstat.as_ref().ok().and_then(OwnScheduling::open);
        let custom = CustomMetrics::new(setup)?;
        let indices = 0..setup.commands.len();
        let prepared = indices.map(|index| Prepared::new(setup, index, environment, custom.input(), &null));
        Ok(RunContext {
            commands: prepared.collect::<io::Result<_>>()?,
            null,
            script_sink: Sink::of_scripts(shown)?,
            input: setup.input.clone(),
            run_limit: setup.run_limit,
            pinned: setup.pinned,
            epoch: setup.epoch,
            schedstat,
            own_scheduling,
            last_pid: procfs::LastPid::open(&Root::default()),
            own_peak: Err(Absent::because("not read yet")),
            peak_file: OwnPeak::open(),
            shedder: Shedder::new(),
            is_small: true,
            meter,
            custom,
            energy: setup.energy.then(|| EnergyMeter::open(&Root::default()).ok()).flatten(),
        })
    }

    /// Scope of the CPU's counters, or the reason why they cannot be read.
    pub(super) fn counters(&self) -> Reading<CounterScope> {
        self.meter.as_ref().map(Meter::scope).map_err(Clone::clone)
    }

    /// Reads values that change over time. Call this before the runs of a request.
    pub(super) fn refresh(&mut self) {
        self.own_peak = self.peak_file.as_ref().map_err(Clone::clone).and_then(OwnPeak::read);
    }

    /// Makes one run, with the user's scripts before and after it. `word` is the value of `STEADY_RUN`. `control` is
    /// the socket that closes when `steady` ends.
    pub(super) fn run(
        &mut self,
        job: Job,
        start: Start,
        word: &str,
        probe: bool,
        control: &UnixStream,
    ) -> Result<RunReply, Stop> {
        if let Some(script) = &mut self.commands[job.command].prepare {
            script.run(word, &self.null, &self.script_sink, control)?;
        }
        let Prepared { command, sink, .. } = &self.commands[job.command];
        let old = self.custom.begin(command, sink).map_err(lost)?;
        // Scripts are children too, so the counters start after them.
        if let Ok(meter) = &mut self.meter {
            meter.begin();
        }
        let energy_before = self.energy();
        let last_pid = self.last_pid();
        let (started, child) =
            self.start(job, start, word).map_err(|error| Stop::Reply(not_started(job.command, &error)))?;
        let mut samples = probe.then(ThreadSamples::begin);
        let seen = self.watch(job.command, &child, control, samples.as_mut())?;
        let wrote_to_storage = probe && wrote_to_storage(child.pid);
        let left_its_cpu = probe && self.left_its_cpu(child.pid);
        let reaped = process::wait_for(child.pid).map_err(lost)?;
        let left = process::end_descendants().map_err(lost)?;
        // Process IDs start again at the lowest one now and then. The number is not known then.
        let tasks_started = self.last_pid().zip(last_pid).and_then(|(last, before)| last.checked_sub(before));
        let energy_joules = self.energy.as_ref().zip(energy_before.zip(self.energy()));
        let is_unambiguous = |meter: &&EnergyMeter| clock::monotonic() - started < meter.unambiguous();
        let energy_joules = energy_joules
            .filter(|(meter, _)| is_unambiguous(meter))
            .map(|(meter, counts)| meter.joules(&counts.0, &counts.1));
        let usage = reaped.usage.with(&left.usage);
        let counters = self.meter.as_mut().ok().map(|meter| meter.end(usage.cpu_time()));
        let Prepared { command, sink, .. } = &self.commands[job.command];
        let (values, no_value) = match self.custom.end(command, sink, old) {
            Ok(values) => (values, None),
            Err(no_value) => (vec![], Some(no_value)),
        };
        let outcome = outcome(reaped.status, seen.end.in_time);
        let run = self.account(job, started, seen, &usage);
        let run = Run { values, energy_joules, tasks_started, counters, outcome, left_behind: left.killed, ..run };
        self.is_small = reaped.usage.peak_memory.0 < SMALL_PEAK.0;
        if let Some(script) = &mut self.commands[job.command].conclude {
            script.run(word, &self.null, &self.script_sink, control)?;
        }
        let (runnable, asleep) = samples.map(|samples| (samples.found, samples.asleep)).unwrap_or_default();
        Ok(RunReply { run, wrote_to_storage, left_its_cpu, runnable, asleep, no_value })
    }

    /// Prepares snapshots to start runs from.
    pub(super) fn use_snapshots(
        &mut self,
        snapshots: &[Snapshot],
        environment: &[(OsString, OsString)],
    ) -> Result<(), Stop> {
        for Snapshot { command, file, words } in snapshots {
            let prepared = &mut self.commands[*command];
            let made = program(file, words, *command, &prepared.command, environment);
            prepared.snapshot = Some(made.map_err(lost)?);
        }
        Ok(())
    }

    /// Runs a script of the user for a command.
    pub(super) fn script(
        &self,
        hook: Hook,
        command: usize,
        text: &str,
        environment: &[(OsString, OsString)],
        control: &UnixStream,
    ) -> Result<(), Stop> {
        let mut script =
            Script::new(hook, text, command, &self.commands[command].command, environment).map_err(lost)?;
        script.run(hook.name(), &self.null, &self.script_sink, control)
    }

    fn start(&mut self, job: Job, start: Start, word: &str) -> io::Result<(Nanos, Child)> {
        let input = self.input.as_ref().map(File::open).transpose()?;
        let Prepared { program, snapshot, sink, .. } = &mut self.commands[job.command];
        let program = match (start, snapshot) {
            (Start::Usual, _) => program,
            (Start::Snapshot, Some(snapshot)) => snapshot,
            (Start::Snapshot, None) => return Err(io::Error::other("the command has no snapshot")),
        };
        // A child's peak starts at that of the launcher (see [`process::own_peak_memory`]).
        if self.is_small {
            self.shedder.shed();
        }
        let begun = sink.with(input.as_ref().unwrap_or(&self.null), |streams| {
            let started = clock::monotonic();
            Ok((started, program.spawn(word, job.padding as usize, streams)?))
        });
        if self.is_small {
            self.own_peak = self.peak_file.as_ref().map_err(Clone::clone).and_then(OwnPeak::read);
        }
        begun
    }

    /// Waits until the child becomes a zombie.
    fn watch(
        &self,
        command: usize,
        child: &Child,
        control: &UnixStream,
        samples: Option<&mut ThreadSamples>,
    ) -> Result<Seen, Stop> {
        // Opened while the child runs, to save time between its end and the readings.
        let schedstat = self.schedstat.as_ref().map_err(Clone::clone);
        let main_thread = schedstat.and_then(|reader| reader.open(number(child.pid)));
        let (sink, own) = (&self.commands[command].sink, self.own_scheduling.as_ref());
        let end = wait_or_kill(child, self.run_limit, control.as_fd(), Some(sink), own, samples)?;
        Ok(Seen { end, main_thread: main_thread.and_then(|file| file.read()) })
    }

    /// The times and the resource usage of a run, as one that succeeded.
    fn account(&self, job: Job, started: Nanos, seen: Seen, usage: &ChildUsage) -> Run {
        Run {
            command: job.command,
            cpu: self.pinned,
            padding: job.padding,
            started: started - self.epoch,
            wall: (seen.end.at - started).max(seen.least_wall()),
            user: usage.user,
            system: usage.system,
            run_delay: run_delay(seen.main_thread, usage),
            peak_memory: self.peak_memory(usage.peak_memory),
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            tasks_started: None,
            left_behind: 0,
            outcome: Outcome::Exited(0),
            counters: None,
            energy_joules: None,
            values: vec![],
        }
    }

    /// The process ID that was assigned last. `None` if it cannot be read.
    fn last_pid(&self) -> Option<u64> {
        self.last_pid.as_ref().ok()?.read().ok()
    }

    /// The present counts of energy, if they are needed and can be read.
    fn energy(&self) -> Option<EnergyCount> {
        self.energy.as_ref()?.read().ok()
    }

    /// Whether the zombie ended on, or may use, another CPU than the launcher's.
    fn left_its_cpu(&self, pid: Pid) -> bool {
        let Some(pinned) = self.pinned else { return false };
        may_use_others(rustix::thread::sched_getaffinity(Some(pid)), pinned)
            || procfs::process_stat(&Root::default(), number(pid)).is_ok_and(|stat| stat.cpu != pinned)
    }

    fn peak_memory(&self, peak: Bytes) -> Reading<Bytes> {
        let own = self.own_peak.clone()?;
        if peak.0 > own.0 + PEAK_MEMORY_GRAIN.0 {
            return Ok(peak);
        }
        // The launcher's own peak changes a little from run to run. The rounded limit rarely does.
        let limit = (own.0 + PEAK_MEMORY_GRAIN.0).div_ceil(HALF_MIB) as f64 / 2.0;
        Err(Absent::because(format!("it is less than {limit} MiB, the least that can be measured")))
    }
}

fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// Returns whether a process is known to be allowed on another CPU than `pinned`. It is not known on machines with more
/// possible CPUs than a [`CpuSet`] has, where sched_getaffinity(2) fails with EINVAL.
fn may_use_others(allowed: rustix::io::Result<CpuSet>, pinned: usize) -> bool {
    allowed.is_ok_and(|set| !set.is_set(pinned) || set.count() != 1)
}

fn wrote_to_storage(pid: Pid) -> bool {
    procfs::storage_io(&Root::default(), number(pid)).is_ok_and(|io| io.written.0 > 0)
}

/// Returns the run delay of the main thread, if that thread used all the CPU time.
pub fn run_delay(main: Reading<procfs::Schedstat>, usage: &ChildUsage) -> Reading<Nanos> {
    let main = main?;
    let tree = usage.cpu_time();
    let apart = Nanos(tree.0.abs_diff(main.cpu.0));
    if apart <= SAME_CPU_TIME_GRAIN || apart.seconds() <= SAME_CPU_TIME_RATIO * tree.seconds() {
        return Ok(main.run_delay);
    }
    Err(Absent::because("only the main thread was read, and it did not use all CPU time of the run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_affinity_is_not_a_change_of_cpu() {
        let set = |cpus: &[usize]| {
            let mut set = CpuSet::new();
            cpus.iter().for_each(|cpu| set.set(*cpu));
            Ok(set)
        };
        assert!(!may_use_others(set(&[3]), 3));
        assert!(may_use_others(set(&[2]), 3) && may_use_others(set(&[2, 3]), 3));
        assert!(!may_use_others(Err(rustix::io::Errno::INVAL), 3));
    }
}
