//! Sources of the CPU time of a process tree while it runs.

use std::path::Path;

use steady_linux::activity::StolenTime;
use steady_linux::cgroup::{OwnGroup, Version};
use steady_linux::counters::TreeClock;
use steady_linux::process::Joining;
use steady_linux::{Root, tree};
use steady_model::{Absent, Nanos, Reading};
use steady_process::attended::members;

use crate::record::CpuSource;

/// The sources, best first.
///
/// - A control group counts every process in it from start to end and costs one read. In version 2 it can be killed
///   with one write.
/// - The perf event misses only programs that change their user, but it includes stolen time.
/// - /proc misses processes that ended between two readings, and each reading costs more the more processes there are.
pub(super) const BEST_FIRST: [CpuSource; 4] =
    [CpuSource::CgroupV2, CpuSource::CgroupV1, CpuSource::TaskClock, CpuSource::Proc];

/// An open source. It is opened before the command starts.
enum Instrument {
    Group(OwnGroup),
    Clock(TreeClock, StolenTime),
    Proc,
}

/// Reads the CPU time of a process tree while it runs.
pub(super) struct Meter {
    source: CpuSource,
    instrument: Instrument,
    /// CPU time of the processes that this process has reaped.
    reaped: Nanos,
    /// The largest CPU time read so far. Processes that end unseen cannot make the result smaller.
    largest: Nanos,
}

impl Meter {
    /// Opens a source, or returns the reason why it is not available.
    pub(super) fn open(source: CpuSource) -> Reading<Self> {
        let root = Root::default();
        let instrument = match source {
            CpuSource::CgroupV2 => Instrument::Group(OwnGroup::create(&root, Version::V2)?),
            CpuSource::CgroupV1 => Instrument::Group(OwnGroup::create(&root, Version::V1)?),
            CpuSource::TaskClock => Instrument::Clock(TreeClock::open()?, StolenTime::begin(&root)),
            CpuSource::Proc if !Path::new("/proc/self/stat").exists() => {
                return Err(Absent::because("/proc is not mounted"));
            }
            CpuSource::Proc => Instrument::Proc,
        };
        Ok(Meter { source, instrument, reaped: Nanos::ZERO, largest: Nanos::ZERO })
    }

    pub(super) fn source(&self) -> CpuSource {
        self.source
    }

    pub(super) fn group(&self) -> Option<&OwnGroup> {
        match &self.instrument {
            Instrument::Group(group) => Some(group),
            Instrument::Clock(..) | Instrument::Proc => None,
        }
    }

    /// How the command joins the group in which it is counted.
    pub(super) fn joining(&self) -> Joining<'_> {
        self.group().map_or(Joining::Stay, OwnGroup::joining)
    }

    /// Adds the CPU time of a process that this process reaped, including the children that it had waited for.
    pub(super) fn reaped(&mut self, cpu: Nanos) {
        self.reaped += cpu;
    }

    /// Thread ids of the process tree.
    pub(super) fn threads(&self) -> Vec<i32> {
        match self.group() {
            Some(group) => group.threads(),
            None => tree::threads(&Root::default(), &members(None)),
        }
    }

    /// CPU time so far. It includes stolen time if the source cannot separate that.
    pub(super) fn estimate(&mut self) -> Nanos {
        match &mut self.instrument {
            // If the source cannot be read now, keep the last value.
            Instrument::Group(group) => group.cpu_time().unwrap_or(self.largest),
            Instrument::Clock(clock, _) => clock.read().unwrap_or(self.largest),
            Instrument::Proc => self.largest.max(self.reaped + processes()),
        }
    }

    /// CPU time so far, for a comparison with `limit`. From the limit on it is a lower bound without stolen time, so no
    /// command is ended early.
    pub(super) fn read(&mut self, limit: Nanos) -> Nanos {
        let mut now = self.estimate();
        if let Instrument::Clock(_, stolen) = &self.instrument
            && now >= limit
        {
            now = now.since(stolen.at_most(&Root::default())).max(self.reaped + processes());
        }
        self.largest = self.largest.max(now);
        now
    }

    /// CPU time of a tree that has no process left.
    ///
    /// Returns the larger of the source and the sum of what wait4(2) returned. Both can only be too small:
    ///
    /// - wait4 misses children whose parents ignore SIGCHLD, because the kernel adds their CPU time to no process.
    /// - A group misses nothing, but its CPU time is in whole microseconds.
    /// - From the perf event, the time that may have been stolen is subtracted.
    pub(super) fn total(&mut self) -> Nanos {
        self.read(Nanos::ZERO).max(self.reaped)
    }
}

fn processes() -> Nanos {
    tree::cpu_time(&Root::default(), &members(None))
}
