//! Samples the process tree while the command runs.

use std::collections::HashMap;

use steady_linux::process::Begun;
use steady_linux::tree::{self, ThreadWatch};
use steady_linux::{Root, procfs};
use steady_model::{Absent, Nanos, Reading};

use super::ends::Ends;
use super::series::Series;
use super::usage::Usage;
use crate::record::{ProcessUse, Progress};
use steady_process::attended::{Moment, members};

/// Samples may cost one part in this many of the time.
const SHARE: u64 = 300;

/// A process tree that is sampled repeatedly.
pub(super) struct TreeSampler {
    root: Root,
    command: i32,
    /// Time of the exec.
    started: Nanos,
    /// Creation time of the process, since boot, with the resolution of the kernel's ticks.
    made: Nanos,
    threads: Reading<ThreadWatch>,
    waiting: Nanos,
    /// How long the command had been stopped when each process was first seen.
    stopped_before: HashMap<i32, Nanos>,
    /// Run delay of the command before its exec.
    waiting_before: Nanos,
    series: Series,
    /// The last sample of each process, if the list of processes comes from samples.
    processes: Option<HashMap<i32, ProcessUse>>,
    /// Whether no sample showed more than one thread.
    pub(super) alone: bool,
    pub(super) due: Nanos,
}

impl TreeSampler {
    /// Watches a command that has started. `lists` says whether samples provide the list of processes.
    pub(super) fn new(begun: &Begun, lists: bool) -> Self {
        let root = Root::default();
        let command = begun.child.pid.as_raw_nonzero().get();
        // If the kernel keeps scheduler statistics of this process, it does so for all processes.
        let threads = ThreadWatch::new(&root, rustix::process::getpid().as_raw_nonzero().get());
        let made = procfs::process_usage(&root, command).map_or(Nanos::ZERO, |usage| usage.began);
        let series = Series::new();
        TreeSampler {
            due: begun.at + series.step(Nanos::ZERO),
            root,
            command,
            started: begun.at,
            made,
            threads,
            waiting: Nanos::ZERO,
            waiting_before: begun.schedstat.as_ref().map_or(Nanos::ZERO, |schedstat| schedstat.run_delay),
            series,
            processes: lists.then(HashMap::new),
            stopped_before: HashMap::new(),
            alone: true,
        }
    }

    /// Takes a sample. `reaped` is the use of processes that have been reaped, and `before` the use before the exec.
    /// `ends` provides how long ended tasks had waited.
    pub(super) fn look(&mut self, moment: Moment, reaped: Usage, before: Usage, ends: &mut Reading<Ends>) {
        let point = self.see(moment, reaped, before, ends);
        self.series.note(point);
    }

    /// Schedules the next sample, after one that took `cost` CPU time.
    pub(super) fn plan(&mut self, moment: Moment, cost: Nanos) {
        let at = moment.now - self.started - moment.stopped;
        self.due = moment.now + self.series.step(at).max(Nanos(cost.0.saturating_mul(SHARE)));
    }

    /// Takes the last sample, when the command has ended and has not been reaped.
    pub(super) fn look_last(&mut self, moment: Moment, reaped: Usage, before: Usage, ends: &mut Reading<Ends>) {
        self.see(moment, reaped, before, ends);
    }

    fn see(&mut self, moment: Moment, reaped: Usage, before: Usage, ends: &mut Reading<Ends>) -> Progress {
        let members = members(None);
        let mut threads = tree::threads(&self.root, &members);
        self.alone &= threads.len() <= 1;
        let of_ended = ends.as_mut().ok().map(|ends| ends.waited(&members, &mut threads));
        let waiting = match &mut self.threads {
            Ok(watch) => {
                self.waiting += watch.look(&threads, moment.now).run_delay;
                // Without exit records, the waiting of a thread after its last sample is missing.
                let waiting = of_ended.map_or(self.waiting, |of_ended| of_ended + watch.waited());
                Some(waiting - self.waiting_before)
            }
            Err(_) => None,
        };
        let mut user = reaped.user;
        for &pid in &members {
            let Ok(usage) = procfs::process_usage(&self.root, pid) else { continue };
            user += usage.user + usage.user_of_children;
            self.list(pid, &usage, moment, before);
        }
        let cpu = (tree::cpu_time(&self.root, &members) + reaped.cpu()) - before.cpu();
        Progress {
            at_seconds: moment.now - self.started - moment.stopped,
            cpu_seconds: cpu,
            user_seconds: user.min(cpu),
            waiting_seconds: waiting,
        }
    }

    /// Lists the process with its use so far. `before` is that of the command before its exec.
    fn list(&mut self, pid: i32, usage: &procfs::ProcessUsage, moment: Moment, before: Usage) {
        let Some(processes) = &mut self.processes else { return };
        let switches = procfs::switches(&self.root, pid).unwrap_or_default();
        let (before, waiting_before) =
            if pid == self.command { (before, self.waiting_before) } else { (Usage::default(), Nanos::ZERO) };
        let waiting = if usage.threads == 1 {
            let read = procfs::SchedstatReader::new(&self.root).and_then(|reader| reader.read(pid));
            read.map(|read| read.run_delay - waiting_before)
        } else {
            Err(Absent::because("the kernel reports it for the first thread only"))
        };
        let began = self.started + (usage.began - self.made);
        let earlier = *self.stopped_before.entry(pid).or_insert(moment.stopped);
        let wall = moment.now - began - (moment.stopped - earlier);
        let cpu = steady_linux::tree::own_cpu_time(pid).unwrap_or(usage.user + usage.system) - before.cpu();
        let faults = usage.minor_faults + usage.major_faults;
        let switches = switches.voluntary + switches.involuntary;
        let seen = ProcessUse {
            pid,
            parent: usage.parent,
            name: usage.name.clone(),
            threads: usage.threads,
            wall_seconds: wall,
            cpu_seconds: cpu,
            blocked_seconds: match moment.stopped {
                Nanos::ZERO => waiting.clone().map(|waiting| wall - cpu - waiting),
                _ => Err(Absent::because("it is not known how long each process was stopped")),
            },
            waiting_seconds: waiting,
            faults: faults.saturating_sub(before.minor_faults + before.major_faults),
            switches: switches.saturating_sub(before.voluntary_switches + before.involuntary_switches),
        };
        // The use of a process never decreases: a lower value under another name means that its ID was reused.
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

    /// Returns the sampled processes by falling CPU time; absent if samples do not provide the list.
    pub(super) fn processes(&mut self) -> Reading<Vec<ProcessUse>> {
        let seen =
            self.processes.take().ok_or_else(|| Absent::because("the kernel's exit records list the processes"))?;
        let mut seen: Vec<ProcessUse> = seen.into_values().collect();
        seen.sort_by_key(|process| (std::cmp::Reverse(process.cpu_seconds), process.pid != self.command, process.pid));
        Ok(seen)
    }

    /// Returns the points of the run, with `end` as the last one.
    pub(super) fn series(&mut self, end: Progress) -> Vec<Progress> {
        std::mem::replace(&mut self.series, Series::new()).ended(end)
    }
}
