//! Values from the files of `/proc`: pure parsers, and readers that find the files below a [`Root`](crate::Root).
//!
//! Source of all formats: proc(5) and the kernel's `Documentation/filesystems/proc.rst`.

mod children;
mod machine;
mod maps;
mod process;
mod schedstat;
mod times;
mod usage;

pub use children::descendants;
pub use machine::{
    LastPid, LoadAverage, cpu_model, hostname, hypervisor, kernel, load_average, memory_available, memory_total,
    parse_cpu_model, parse_load_average, parse_memory_total,
};
pub use maps::{Mapping, parse_maps};
pub use process::{
    ProcessStat, RunnableThreads, Sleep, StorageIo, parse_process_stat, parse_storage_io, parse_syscall, process_stat,
    storage_io, waits_for_futex,
};
pub use schedstat::{OwnMigrations, Schedstat, SchedstatFile, SchedstatReader, parse_schedstat};
pub use times::{CpuTicks, CpuTimes, cpu_pressure, cpu_times, parse_cpu_times, parse_pressure_total};
pub use usage::{ProcessUsage, Switches, parse_process_usage, parse_switches, process_usage, switches};

use std::str::FromStr;

use steady_model::{Absent, Reading};

/// Parses `text` as a number. `what` names the number in the reason of an error.
pub(crate) fn number<T: FromStr>(text: Option<&str>, what: &str) -> Reading<T> {
    let text = text.map(str::trim).ok_or_else(|| Absent::because(format!("{what} is missing")))?;
    text.parse().map_err(|_| Absent::because(format!("{what} is not a number: '{}'", excerpt(text))))
}

/// Returns the start of a text, for use in a reason.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(24).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Returns the value of `key` in lines of the form `key: value`, without surrounding blanks.
pub(crate) fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}
