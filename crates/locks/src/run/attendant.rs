//! The guardian's part of watching locks. It creates the area, starts the command with the watcher, and samples waits
//! for futexes. It reads the area after the last process of the command has ended.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steady_linux::process::{Begun, ChildUsage, Joining, NotStarted, Reaped};
use steady_linux::{Root, clock, topology};
use steady_model::Nanos;
use steady_preload::area::VARIABLE;

use super::LocksRun;
use super::area::Area;
use super::futexes::Futexes;
use super::place::Facts;
use super::read::read;
use steady_process::attended::{Attendant, End, Moment, Starter, Unattended};
use steady_process::unpacked;

/// Environment variable that names libraries to load first (ld.so(8)).
const PRELOAD: &str = "LD_PRELOAD";
const WATCHER_NAME: &str = "locks.so";

/// The task that `steady` sends to the guardian.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// Environment of the command, without the variables of the watcher.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Directories for the watcher library, in order of preference.
    pub(super) folders: Vec<OsString>,
}

/// The state of a guardian while its command runs.
pub(super) struct Watching {
    area: Area,
    started: Nanos,
    before: ChildUsage,
    reaped: Nanos,
    futexes: Futexes,
    ended: Nanos,
}

impl Attendant for Watching {
    const WORD: &str = "__guardian-locks";
    type Task = Task;
    type Run = LocksRun;

    fn start(task: Task, starter: &Starter<'_>) -> Result<(Begun, Self), Unattended> {
        let refused = |what: &str, error: io::Error| Unattended::Refused(format!("{what}: {error}"));
        let area = Area::create().map_err(|error| refused("no memory can be shared with the command", error))?;
        let folders: Vec<PathBuf> = task.folders.into_iter().map(PathBuf::from).collect();
        let library = unpacked::unpack(&[(WATCHER_NAME, steady_preload::WATCHER)], &folders)
            .map(|folder| folder.join(WATCHER_NAME))
            .map_err(|error| refused("the library that watches locks cannot be written to a directory", error))?;
        let environment = with_watcher(task.environment, library, area.path());
        let begun = starter.start_with(&environment, Joining::Stay).map_err(|why| match why {
            NotStarted::NoChild(error) => Unattended::Refused(format!("no process could be started: {error}")),
            NotStarted::NoProgram(error) => Unattended::NotStarted(error.raw_os_error().unwrap_or(0)),
        })?;
        let watching = Watching {
            area,
            started: begun.at,
            before: begun.usage,
            reaped: Nanos::ZERO,
            futexes: Futexes::new(begun.at),
            ended: begun.at,
        };
        Ok((begun, watching))
    }

    fn due(&self) -> Nanos {
        self.futexes.due
    }

    fn check(&mut self, moment: Moment) -> Option<Nanos> {
        let before = clock::process_cpu();
        self.futexes.sample(moment, &self.area);
        self.futexes.plan_next(moment.now, clock::process_cpu() - before);
        None
    }

    fn continued(&mut self, _: Moment) {}

    fn ended(&mut self, moment: Moment) {
        self.ended = moment.now;
    }

    fn reaped(&mut self, reaped: &Reaped) {
        self.reaped += reaped.usage.user + reaped.usage.system;
    }

    fn finish(&mut self, end: End) -> io::Result<LocksRun> {
        let cpu = self.reaped - (self.before.user + self.before.system);
        let cpus = topology::allowed_cpus(&Root::default()).map_or(1, |cpus| cpus.len());
        let ended = end.moment.now.max(self.ended);
        self.futexes.end(ended);
        let others = self.futexes.of_threads();
        let gone = self.futexes.gone();
        let found = read(&self.area, &Facts { ended, cpu, cpus, others, gone });
        Ok(LocksRun {
            ended: end.outcome,
            wall: end.moment.now - self.started - end.moment.stopped,
            cpu,
            found,
            futexes: self.futexes.finish(),
            left_behind: end.left_behind,
        })
    }
}

/// Adds the watcher to the environment, before the libraries that `LD_PRELOAD` already names.
fn with_watcher(environment: Vec<(OsString, OsString)>, library: PathBuf, area: PathBuf) -> Vec<(OsString, OsString)> {
    let mut first = library.into_os_string();
    let mut kept = vec![];
    for (name, value) in environment {
        if name == PRELOAD {
            if !value.is_empty() {
                first.push(":");
                first.push(value);
            }
        } else if name != VARIABLE {
            kept.push((name, value));
        }
    }
    kept.push((PRELOAD.into(), first));
    kept.push((VARIABLE.into(), area.into_os_string()));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_the_user_preloads_are_kept() {
        let made =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let with = |pairs| with_watcher(made(pairs), "/w.so".into(), "/proc/1/fd/5".into());
        let after = [("LD_PRELOAD", "/w.so:a.so b.so"), ("STEADY_LOCKS", "/proc/1/fd/5")];
        let before = [("STEADY_LOCKS", "old"), ("LD_PRELOAD", "a.so b.so"), ("A", "1")];
        assert_eq!(with(&before), [made(&[("A", "1")]), made(&after)].concat());
        assert_eq!(with(&[("LD_PRELOAD", "")])[0].1, "/w.so");
    }
}
