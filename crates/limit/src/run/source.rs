//! Where the CPU time of the tree is read while it runs.

use std::path::Path;

use steady_linux::activity::StolenTime;
use steady_linux::cgroup::{OwnGroup, Version};
use steady_linux::counters::TreeClock;
use steady_linux::process::Joining;
use steady_linux::{Root, tree};
use steady_model::{Absent, Nanos, Reading};
use steady_process::attended::members;

use crate::record::CpuSource;

/// The sources, best first. A group has every process in it from its start to its end, at the cost of one read, and can
/// be killed at once. The event is as complete but for programs that change their user, and counts what the hypervisor
/// stole. In /proc what ended unseen is missing, and each look costs more the more processes there are.
pub(super) const BEST_FIRST: [CpuSource; 4] =
    [CpuSource::CgroupV2, CpuSource::CgroupV1, CpuSource::TaskClock, CpuSource::Proc];

/// What is read, opened before the command is started.
enum Instrument {
    Group(OwnGroup),
    Clock(TreeClock, StolenTime),
    Proc,
}

/// The CPU time of a tree, read live.
pub(super) struct Meter {
    source: CpuSource,
    instrument: Instrument,
    /// What processes used that this process has reaped.
    reaped: Nanos,
    /// The most that was read so far: what has ended unseen takes nothing back.
    most: Nanos,
}

impl Meter {
    /// Opens one of the sources; absent where it cannot be had.
    pub(super) fn open(source: CpuSource) -> Reading<Self> {
        let root = Root::default();
        let instrument = match source {
            CpuSource::CgroupV2 => Instrument::Group(OwnGroup::create(&root, Version::V2)?),
            CpuSource::CgroupV1 => Instrument::Group(OwnGroup::create(&root, Version::V1)?),
            CpuSource::TaskClock => Instrument::Clock(TreeClock::open()?, StolenTime::begin(&root)),
            CpuSource::Proc if !Path::new("/proc/self/stat").exists() => {
                return Err(Absent::because("/proc is not there"));
            }
            CpuSource::Proc => Instrument::Proc,
        };
        Ok(Meter { source, instrument, reaped: Nanos::ZERO, most: Nanos::ZERO })
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

    /// How the command gets to where it is counted.
    pub(super) fn joining(&self) -> Joining<'_> {
        self.group().map_or(Joining::Stay, OwnGroup::joining)
    }

    /// Adds what a process used that was reaped here, with what it had waited for.
    pub(super) fn reaped(&mut self, cpu: Nanos) {
        self.reaped += cpu;
    }

    /// The threads of the tree.
    pub(super) fn threads(&self) -> Vec<i32> {
        match self.group() {
            Some(group) => group.threads(),
            None => tree::threads(&Root::default(), &members(None)),
        }
    }

    /// CPU time so far, stolen time included where that cannot be told apart.
    pub(super) fn roughly(&mut self) -> Nanos {
        match &mut self.instrument {
            // What cannot be read now is as it was.
            Instrument::Group(group) => group.cpu_time().unwrap_or(self.most),
            Instrument::Clock(clock, _) => clock.read().unwrap_or(self.most),
            Instrument::Proc => self.most.max(self.reaped + processes()),
        }
    }

    /// CPU time so far, to be held against `limit`: what is judged by it has surely used that much.
    pub(super) fn read(&mut self, limit: Nanos) -> Nanos {
        let mut now = self.roughly();
        if let Instrument::Clock(_, stolen) = &self.instrument
            && now >= limit
        {
            now = now.since(stolen.at_most(&Root::default())).max(self.reaped + processes());
        }
        self.most = self.most.max(now);
        now
    }

    /// CPU time of a tree of which nothing is left.
    ///
    /// The larger of the source and the sum of what wait4(2) told. Either may only miss something, and nothing in them is
    /// not the tree's: wait4 misses children whose parents ignored their end, for the kernel adds those to nobody; a group
    /// misses nothing, but is told in whole microseconds. Of the event what may have been stolen is left away.
    pub(super) fn at_the_end(&mut self) -> Nanos {
        self.read(Nanos::ZERO).max(self.reaped)
    }
}

fn processes() -> Nanos {
    tree::cpu_time(&Root::default(), &members(None))
}
