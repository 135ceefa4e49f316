//! The driver: a process that launches one program repeatedly, as a shell or make would, and records the cost.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::thread;

use crate::record::Spent;
use steady_linux::{clock, process};
use steady_model::{Nanos, Outcome};
use steady_preload::card::OBSERVED_VARIABLE;

use super::protocol::{Account, Task};

/// The main function of a driver. Returns whether it has written its account. The programs inherit its streams.
pub fn drive(words: &mut dyn Iterator<Item = OsString>) -> bool {
    let begun = clock::monotonic();
    let used = cpu();
    let Some(task) = words.next().and_then(|word| serde_json::from_str::<Task>(&word.to_string_lossy()).ok()) else {
        return false;
    };
    let account = launches(&task, begun, used).map_err(|error| error.to_string());
    // The file need not be written atomically, because it is read after the driver has ended.
    serde_json::to_vec(&account).is_ok_and(|text| fs::write(&task.account, text).is_ok())
}

/// Returns the CPU time of this process and of the children that it has waited for. For this process it is exact; for
/// the children it is in microseconds, truncated once for their sum.
fn cpu() -> Nanos {
    let children = process::children_usage().map_or(Nanos::ZERO, |usage| usage.user + usage.system);
    clock::process_cpu() + children
}

fn launches(task: &Task, begun: Nanos, used: Nanos) -> io::Result<Account> {
    let name = task.words.first().map_or("", String::as_str);
    let mut command = Command::new(&task.program);
    // With no other options set, the standard library launches by posix_spawn(3), which the hook replaces.
    command.arg0(name).args(task.words.iter().skip(1));
    // The hook counts the launches of this process separately, without those by the programs.
    command.env(OBSERVED_VARIABLE, std::process::id().to_string());
    let mut spent = Vec::with_capacity(task.count as usize);
    let (own, children) = (process::own_usage()?, process::children_usage()?);
    let mut ended: Option<Outcome> = None;
    let mut alike = true;
    for launch in 0..task.count {
        if launch > 0 && task.pause > Nanos::ZERO {
            thread::sleep(task.pause.into());
        }
        if task.sync {
            rustix::fs::sync();
        }
        let before = (clock::monotonic(), cpu());
        let status = command.spawn()?.wait()?;
        spent.push(Spent { wall: clock::monotonic() - before.0, cpu: cpu() - before.1 });
        let outcome = outcome(status);
        if alike && *ended.get_or_insert(outcome) != outcome {
            (ended, alike) = (Some(outcome), false);
        }
    }
    let (own_after, children_after) = (process::own_usage()?, process::children_usage()?);
    let since = |of: fn(&process::ChildUsage) -> u64| {
        of(&own_after).saturating_sub(of(&own)) + of(&children_after).saturating_sub(of(&children))
    };
    Ok(Account {
        begun,
        used,
        launches: spent,
        voluntary_switches: since(|usage| usage.voluntary_switches),
        involuntary_switches: since(|usage| usage.involuntary_switches),
        minor_faults: since(|usage| usage.minor_faults),
        major_faults: since(|usage| usage.major_faults),
        ended: ended.unwrap_or(Outcome::Exited(0)),
        alike,
    })
}

fn outcome(status: ExitStatus) -> Outcome {
    match status.signal() {
        Some(signal) => Outcome::Signalled(signal),
        None => Outcome::Exited(status.code().unwrap_or_default()),
    }
}
