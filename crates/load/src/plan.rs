//! Makes the plan of a load experiment from the flags.

use std::io::ErrorKind;
use std::path::Path;

use rustix::fs::{Access, access};
use steady_feature::{Failure, Session};
use steady_linux::{Root, limits};
use steady_model::{Machine, Nanos};

use crate::flags::{LoadFlags, WorkloadFlag};
use crate::{LoadPlan, LoadWork};

const CPU_TIME: Nanos = Nanos(5_000_000_000);
const NUMBERS: u64 = 100_000_001;
const WINDOW: Nanos = Nanos(2_000_000_000);

/// The default has a row for every number of processes up to this one.
const EVERY_UP_TO: u32 = 16;
/// Beyond that, the default has this many rows per doubling.
const ROWS_PER_DOUBLING: u32 = 4;

/// Makes the plan of a load experiment.
pub(crate) fn plan(
    flags: &LoadFlags,
    cpus: Option<Vec<usize>>,
    machine: &Machine,
    session: &dyn Session,
) -> Result<LoadPlan, Failure> {
    let work = work(flags, session)?;
    let procs = match &flags.procs {
        Some(procs) => procs.0.clone(),
        None => default_procs(machine),
    };
    check_limit(&procs, &work)?;
    Ok(LoadPlan { work, procs, cpus })
}

fn work(flags: &LoadFlags, session: &dyn Session) -> Result<LoadWork, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    match flags.workload.unwrap_or(WorkloadFlag::Hash) {
        _ if !flags.command.is_empty() => {
            // A program that cannot be run is wrong usage here, because the exit status is that of `steady`.
            let command = session.command(&flags.command).map_err(|failure| Failure::Usage(failure.to_string()))?;
            check_program(&command.program)?;
            if let Some(word) = flags.command.iter().find(|word| word.to_str().is_none()) {
                return usage(&format!("'{}' is not UTF-8, which steady load needs", word.display()));
            }
            Ok(LoadWork::Command { command, window: flags.window.unwrap_or(WINDOW) })
        }
        WorkloadFlag::Hash if flags.work.is_some() => {
            usage("--work needs --workload sum; for --workload hash, use --cpu-time")
        }
        WorkloadFlag::Hash => Ok(LoadWork::Hash { cpu_time: flags.cpu_time.unwrap_or(CPU_TIME), poll: flags.poll }),
        WorkloadFlag::Sum if flags.cpu_time.is_some() || flags.poll.is_some() => {
            usage("--cpu-time and --poll need --workload hash; for --workload sum, use --work")
        }
        WorkloadFlag::Sum => Ok(LoadWork::Sum { work: flags.work.unwrap_or(NUMBERS) }),
    }
}

/// Rejects a program that cannot be executed, before anything is measured.
fn check_program(program: &Path) -> Result<(), Failure> {
    let name = program.display();
    let why = match program.metadata() {
        Ok(metadata) if metadata.is_dir() => format!("'{name}' is a directory"),
        Ok(_) if access(program, Access::EXEC_OK).is_ok() => return Ok(()),
        Ok(_) => format!("'{name}' is not executable (chmod +x)"),
        Err(error) if error.kind() == ErrorKind::NotFound => format!("'{name}' does not exist"),
        Err(error) => format!("'{name}': {error}"),
    };
    Err(Failure::Usage(why))
}

/// Returns the default numbers of processes: from 1 to twice the number of usable CPUs, beyond which no new effects
/// appear. On large machines, rows are left out so that an experiment takes minutes. The numbers of cores and of CPUs
/// stay, because effects appear there.
pub(crate) fn default_procs(machine: &Machine) -> Vec<u32> {
    let cpus = (machine.usable_cpus().ceil() as u32).max(1);
    let most = 2 * cpus;
    let mut procs: Vec<u32> = (1..=most.min(EVERY_UP_TO)).collect();
    let mut next = EVERY_UP_TO;
    while next < most {
        // Steps are a quarter of the next lower power of two.
        next += (1 << next.ilog2()) / ROWS_PER_DOUBLING;
        procs.push(next.min(most));
    }
    let cores = machine.core_count().ok().and_then(|cores| u32::try_from(cores).ok());
    procs.extend(cores.into_iter().filter(|cores| (1..=most).contains(cores)).chain([cpus, most]));
    procs.sort_unstable();
    procs.dedup();
    procs
}

/// Rejects more processes than the limit allows, before anything is measured.
fn check_limit(procs: &[u32], work: &LoadWork) -> Result<(), Failure> {
    let most = procs.iter().max().copied().unwrap_or(0);
    // Each copy of a command has a worker process that starts it.
    let processes = if matches!(work, LoadWork::Command { .. }) { 2 * u64::from(most) } else { u64::from(most) };
    match limits::process_limit(&Root::default()).filter(|limit| limit.most < processes) {
        Some(limit) => Err(Failure::Usage(format!(
            "--procs {most} needs {processes} processes, but {} allows {}",
            limit.name, limit.most
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use steady_model::{Absent, Quota};

    use super::*;

    fn machine(cpus: usize, cores: usize, quota: Option<Quota>) -> Machine {
        let per_core = cpus / cores;
        Machine {
            online: (0..cpus).collect(),
            offline: Ok(vec![]),
            allowed: (0..cpus).collect(),
            cores: Ok((0..cores).map(|core| (0..per_core).map(|thread| core + thread * cores).collect()).collect()),
            packages: Err(Absent::because("not reported")),
            kinds: vec![],
            quota: Ok(quota),
        }
    }

    #[test]
    fn small_machines_have_a_row_for_every_number() {
        assert_eq!(default_procs(&machine(2, 2, None)), [1, 2, 3, 4]);
        assert_eq!(default_procs(&machine(1, 1, None)), [1, 2]);
        assert_eq!(default_procs(&machine(8, 4, None)), (1..=16).collect::<Vec<_>>());
    }

    #[test]
    fn large_machines_have_fewer_rows_but_the_important_ones() {
        let procs = default_procs(&machine(176, 88, None));
        assert!(procs.len() < 40, "{procs:?}");
        assert!([1, 16, 88, 176, 352].iter().all(|number| procs.contains(number)), "{procs:?}");
        assert_eq!(procs.last(), Some(&352));
        assert!(procs.is_sorted());
    }

    #[test]
    fn a_quota_limits_the_usable_cpus() {
        let quota = Quota { quota: Nanos(150_000_000), period: Nanos(100_000_000) };
        assert_eq!(default_procs(&machine(64, 32, Some(quota))), [1, 2, 3, 4]);
    }
}
