//! The driver's side: it launches one program again and again, as a shell or make would, and notes what that takes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::thread;

use crate::record::Spent;
use steady_linux::{clock, process};
use steady_model::{Nanos, Outcome};

use super::protocol::{Account, Task};

/// The whole life of a driver; whether it did all that it was to do. Its streams are those of the programs.
pub fn drive(words: &mut dyn Iterator<Item = OsString>) -> bool {
    let begun = clock::monotonic();
    let used = cpu();
    let Some(task) = words.next().and_then(|word| serde_json::from_str::<Task>(&word.to_string_lossy()).ok()) else {
        return false;
    };
    let account = launches(&task, begun, used).map_err(|error| error.to_string());
    // Written whole or not at all is no matter: nobody reads it before the driver has ended.
    serde_json::to_vec(&account).is_ok_and(|text| fs::write(&task.account, text).is_ok())
}

/// CPU time of this process and of those that it has waited for. The former is exact; what children used is told in
/// microseconds, cut once for all of them.
fn cpu() -> Nanos {
    let children = process::children_usage().map_or(Nanos::ZERO, |usage| usage.user + usage.system);
    clock::process_cpu() + children
}

fn launches(task: &Task, begun: Nanos, used: Nanos) -> io::Result<Account> {
    let name = task.words.first().map_or("", String::as_str);
    let mut command = Command::new(&task.program);
    // Without anything else to arrange the library launches by posix_spawn(3), which the hook sees.
    command.arg0(name).args(task.words.iter().skip(1));
    let mut spent = Vec::with_capacity(task.count as usize);
    let (own, children) = (process::own_usage()?, process::children_usage()?);
    let mut ended: Option<Outcome> = None;
    let mut alike = true;
    for launch in 0..task.count {
        if launch > 0 && task.pause > Nanos::ZERO {
            thread::sleep(task.pause.into());
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
