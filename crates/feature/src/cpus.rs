//! The CPUs that an option names.

use steady_linux::{Root, topology};

use crate::Failure;

/// Returns the CPUs that `--cpus` names, if it was given.
///
/// # Errors
/// It names none, or one that may not be used.
pub fn chosen_cpus(list: Option<&str>) -> Result<Option<Vec<usize>>, Failure> {
    let Some(list) = list else { return Ok(None) };
    let usage = |why: String| Failure::Usage(format!("--cpus '{list}': {why}"));
    let wanted = topology::parse_cpu_list(list).map_err(|reason| usage(reason.to_string()))?;
    let allowed = topology::allowed_cpus(&Root::default()).map_err(|reason| usage(reason.to_string()))?;
    match wanted.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(usage(format!("CPU {cpu} is not among those that may be used ({allowed:?})"))),
        None if wanted.is_empty() => Err(usage("it names no CPU".to_owned())),
        None => Ok(Some(wanted)),
    }
}
