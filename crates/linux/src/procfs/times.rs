//! CPU time of the machine by use, and CPU pressure.

use std::io::ErrorKind;

use rustix::io::Errno;
use steady_model::{Absent, Nanos, Reading};

use super::number;
use crate::Root;
use crate::root::unreadable;

/// CPU time since boot by use, in ticks of the user-visible clock (`sysconf(_SC_CLK_TCK)`, 100 per second).
///
/// Guest time is part of `user` and `nice`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Time in user mode.
    pub user: u64,
    /// Time in user mode with low priority (nice).
    pub nice: u64,
    /// Time in kernel mode.
    pub system: u64,
    /// Time in which the CPU was idle.
    pub idle: u64,
    /// Idle time while a task of this CPU waits for storage; the kernel calls this value unreliable.
    pub iowait: u64,
    /// Time serving hardware interrupts.
    pub irq: u64,
    /// Time serving soft interrupts.
    pub softirq: u64,
    /// Time that the hypervisor gave to other guests.
    pub steal: u64,
}

impl CpuTicks {
    /// Time in use by this machine: all except idle, iowait and steal.
    pub fn busy(&self) -> u64 {
        [self.user, self.nice, self.system, self.irq, self.softirq].into_iter().fold(0, u64::saturating_add)
    }

    /// Sum of all uses.
    pub fn total(&self) -> u64 {
        [self.idle, self.iowait, self.steal].into_iter().fold(self.busy(), u64::saturating_add)
    }

    /// Difference to `earlier`. A count that has decreased adds zero: iowait can decrease, and counts decrease when
    /// CPUs go offline.
    pub fn since(&self, earlier: &CpuTicks) -> CpuTicks {
        CpuTicks {
            user: self.user.saturating_sub(earlier.user),
            nice: self.nice.saturating_sub(earlier.nice),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

/// CPU lines of `/proc/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// Sum over all CPUs.
    pub total: CpuTicks,
    /// Number and time of each online CPU.
    pub each: Vec<(usize, CpuTicks)>,
}

/// Parses the text of `/proc/stat`: the line of all CPUs and one line per CPU.
pub fn parse_cpu_times(text: &str) -> Reading<CpuTimes> {
    let mut total = None;
    let mut each = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let Some(cpu) = fields.next().and_then(|name| name.strip_prefix("cpu")) else { continue };
        let ticks = parse_ticks(fields)?;
        match cpu {
            "" => total = Some(ticks),
            index => each.push((number(Some(index), "number of a CPU in /proc/stat")?, ticks)),
        }
    }
    let total = total.ok_or_else(|| Absent::because("/proc/stat has no line for all CPUs"))?;
    Ok(CpuTimes { total, each })
}

fn parse_ticks<'a>(mut fields: impl Iterator<Item = &'a str>) -> Reading<CpuTicks> {
    let mut next = |what: &str| number(fields.next(), what);
    Ok(CpuTicks {
        user: next("user time in /proc/stat")?,
        nice: next("nice time in /proc/stat")?,
        system: next("system time in /proc/stat")?,
        idle: next("idle time in /proc/stat")?,
        iowait: next("iowait time in /proc/stat")?,
        irq: next("interrupt time in /proc/stat")?,
        softirq: next("soft interrupt time in /proc/stat")?,
        steal: next("steal time in /proc/stat")?,
    })
}

/// CPU time of the machine since boot by use. Source: `/proc/stat`.
pub fn cpu_times(root: &Root) -> Reading<CpuTimes> {
    parse_cpu_times(&root.read("/proc/stat")?)
}

/// Parses the text of `/proc/pressure/cpu`: the total of its line "some".
pub fn parse_pressure_total(text: &str) -> Reading<Nanos> {
    let some = text.lines().find(|line| line.split_ascii_whitespace().next() == Some("some"));
    let some = some.ok_or_else(|| Absent::because("/proc/pressure/cpu has no line 'some'"))?;
    let total = some.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="));
    let micros: u64 = number(total, "total in /proc/pressure/cpu")?;
    Ok(Nanos(micros.saturating_mul(1_000)))
}

/// Time since boot in which at least one task waited for a CPU. Source: `/proc/pressure/cpu`, kernel 4.20 and later.
pub fn cpu_pressure(root: &Root) -> Reading<Nanos> {
    let file = "/proc/pressure/cpu";
    let text = std::fs::read_to_string(root.path(file)).map_err(|error| no_pressure(file, &error))?;
    parse_pressure_total(&text)
}

/// Converts an error into a reason. The kernel may be built without pressure stall information, or booted with it
/// disabled.
fn no_pressure(file: &str, error: &std::io::Error) -> Absent {
    if error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error()) {
        return Absent::because("pressure stall information is switched off; to enable it, boot with psi=1");
    }
    match error.kind() {
        ErrorKind::NotFound => Absent::because("the kernel has no pressure stall information (CONFIG_PSI, psi=1)"),
        _ => unreadable(file, error),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::{UNSOUND, tree};

    #[test]
    fn time_is_parsed_per_cpu_and_in_total() {
        let times = cpu_times(&tree("vm")).unwrap();
        assert_eq!(times.total.user, 7_296);
        assert_eq!(times.total.steal, 10);
        assert_eq!(times.each.len(), 2);
        assert_eq!(times.each[1].0, 1);
        assert_eq!(times.total.busy(), 7_296 + 2_188 + 31);
        assert_eq!(times.total.total(), times.total.busy() + 168_232 + 495 + 10);
    }

    #[test]
    fn decreased_counts_add_nothing() {
        let earlier = CpuTicks { user: 5, iowait: 9, ..CpuTicks::default() };
        let later = CpuTicks { user: 7, iowait: 8, ..CpuTicks::default() };
        assert_eq!(later.since(&earlier), CpuTicks { user: 2, ..CpuTicks::default() });
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        assert_eq!(cpu_pressure(&tree("vm")), Ok(Nanos(5_827_040_000)));
        let off = no_pressure("/proc/pressure/cpu", &Errno::OPNOTSUPP.into());
        assert!(off.0.contains("switched off"));
        assert!(cpu_pressure(&tree("no-psi")).unwrap_err().0.contains("CONFIG_PSI"));
        for unsound in UNSOUND {
            assert!(cpu_pressure(&tree(unsound)).is_err(), "{unsound}");
            assert!(cpu_times(&tree(unsound)).is_err(), "{unsound}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "(\\PC|cpu[0-9]? ([0-9]{1,20} ){0,9}\n|some |total=[0-9]*|\n)*") {
            if let Ok(times) = parse_cpu_times(&text) {
                let _ = times.total.since(&CpuTicks::default()).total();
            }
            let _ = parse_pressure_total(&text);
        }
    }
}
