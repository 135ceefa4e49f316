//! Looking at the tree while it lives.

use std::collections::HashMap;

use steady_linux::process::Begun;
use steady_linux::tree::{self, ThreadWatch};
use steady_linux::{Root, procfs};
use steady_model::{Absent, Nanos, Reading};

use super::series::Series;
use super::usage::Usage;
use crate::record::{ProcessUse, Progress};
use steady_process::attended::{Moment, members};

/// Looks may cost this share of the time.
const SHARE: u64 = 300;

/// A tree that is looked at now and then.
pub(super) struct Watch {
    root: Root,
    command: i32,
    /// When the command became the program, and in the kernel's ticks since the boot when it was made.
    started: Nanos,
    made: Nanos,
    threads: Reading<ThreadWatch>,
    waiting: Nanos,
    series: Series,
    /// What was seen of each process, where they are to be listed from what is seen.
    processes: Option<HashMap<i32, ProcessUse>>,
    /// Whether there was never more than one thread to be seen.
    pub(super) alone: bool,
    pub(super) due: Nanos,
}

impl Watch {
    /// Of a command that has begun; `lists` says whether its processes are to be listed from what is seen.
    pub(super) fn new(begun: &Begun, lists: bool) -> Self {
        let root = Root::default();
        let command = begun.child.pid.as_raw_nonzero().get();
        // Where the kernel keeps statistics of this process, it does of the others.
        let threads = ThreadWatch::new(&root, rustix::process::getpid().as_raw_nonzero().get());
        let made = procfs::process_usage(&root, command).map_or(Nanos::ZERO, |usage| usage.began);
        let series = Series::new();
        Watch {
            due: begun.at + series.step(Nanos::ZERO),
            root,
            command,
            started: begun.at,
            made,
            threads,
            waiting: Nanos::ZERO,
            series,
            processes: lists.then(HashMap::new),
            alone: true,
        }
    }

    /// Looks; `reaped` is what of the tree has been reaped already, and `before` what the command had used before its exec.
    pub(super) fn look(&mut self, moment: Moment, reaped: Usage, before: Usage) {
        let point = self.see(moment, reaped, before);
        self.series.note(point);
    }

    /// Plans the next look, after one that took so much CPU time.
    pub(super) fn plan(&mut self, moment: Moment, cost: Nanos) {
        let at = moment.now - self.started - moment.stopped;
        self.due = moment.now + self.series.step(at).max(Nanos(cost.0.saturating_mul(SHARE)));
    }

    /// A last look at a tree whose command has ended and is not reaped yet.
    pub(super) fn look_last(&mut self, moment: Moment, reaped: Usage, before: Usage) {
        self.see(moment, reaped, before);
    }

    fn see(&mut self, moment: Moment, reaped: Usage, before: Usage) -> Progress {
        let members = members(None);
        let threads = tree::threads(&self.root, &members);
        self.alone &= threads.len() <= 1;
        let waiting = match &mut self.threads {
            Ok(watch) => {
                self.waiting += watch.look(&threads, moment.now).run_delay;
                Some(self.waiting)
            }
            Err(_) => None,
        };
        let mut user = reaped.user;
        for &pid in &members {
            let Ok(usage) = procfs::process_usage(&self.root, pid) else { continue };
            user += usage.user + usage.user_of_children;
            self.list(pid, &usage, moment);
        }
        let cpu = (tree::cpu_time(&self.root, &members) + reaped.cpu()) - before.cpu();
        Progress {
            at_seconds: moment.now - self.started - moment.stopped,
            cpu_seconds: cpu,
            user_seconds: user.min(cpu),
            waiting_seconds: waiting,
        }
    }

    fn list(&mut self, pid: i32, usage: &procfs::ProcessUsage, moment: Moment) {
        let Some(processes) = &mut self.processes else { return };
        let switches = procfs::switches(&self.root, pid).unwrap_or_default();
        let waiting = if usage.threads == 1 {
            procfs::SchedstatReader::new(&self.root).and_then(|reader| reader.read(pid)).map(|read| read.run_delay)
        } else {
            Err(Absent::because("the kernel tells it of the first thread only"))
        };
        let began = self.started + (usage.began - self.made);
        let seen = ProcessUse {
            pid,
            parent: usage.parent,
            name: usage.name.clone(),
            threads: usage.threads,
            wall_seconds: moment.now - began,
            cpu_seconds: steady_linux::tree::own_cpu_time(pid).unwrap_or(usage.user + usage.system),
            waiting_seconds: waiting,
            faults: usage.minor_faults + usage.major_faults,
            switches: switches.voluntary + switches.involuntary,
        };
        // Of one that ends nothing gets less; a number that is used again is another process.
        match processes.get_mut(&pid) {
            Some(before) if before.name == seen.name || before.cpu_seconds <= seen.cpu_seconds => {
                let threads = before.threads.max(seen.threads);
                *before = ProcessUse { threads, ..seen };
            }
            _ => {
                processes.insert(pid, seen);
            }
        }
    }

    /// The processes that were seen, those that used most CPU time first; absent if they were not to be listed.
    pub(super) fn processes(&mut self) -> Reading<Vec<ProcessUse>> {
        let seen = self.processes.take().ok_or_else(|| Absent::because("the kernel told of each"))?;
        let mut seen: Vec<ProcessUse> = seen.into_values().collect();
        seen.sort_by_key(|process| (std::cmp::Reverse(process.cpu_seconds), process.pid != self.command, process.pid));
        Ok(seen)
    }

    /// How it went, with its end.
    pub(super) fn series(&mut self, end: Progress) -> Vec<Progress> {
        std::mem::replace(&mut self.series, Series::new()).ended(end)
    }
}
