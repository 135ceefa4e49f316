//! What `/proc` says of the machine: its name, kernel, CPU, memory and load.

use steady_model::{Absent, Bytes, Reading};

use super::{number, value_of};
use crate::Root;

/// The host's name. Source: `/proc/sys/kernel/hostname`.
pub fn hostname(root: &Root) -> Reading<String> {
    root.read_line("/proc/sys/kernel/hostname")
}

/// The kernel's name and release, as in `Linux 6.18.44`. Source: `/proc/sys/kernel/{ostype,osrelease}`.
pub fn kernel(root: &Root) -> Reading<String> {
    let name = root.read_line("/proc/sys/kernel/ostype")?;
    Ok(format!("{name} {}", root.read_line("/proc/sys/kernel/osrelease")?))
}

/// The memory that the kernel has at its disposal. Source: `MemTotal` in `/proc/meminfo`.
pub fn memory_total(root: &Root) -> Reading<Bytes> {
    parse_memory_total(&root.read("/proc/meminfo")?)
}

/// The memory that programs can have without anything being swapped out. Source: `MemAvailable` in `/proc/meminfo`.
pub fn memory_available(root: &Root) -> Reading<Bytes> {
    parse_memory(&root.read("/proc/meminfo")?, "MemAvailable")
}

/// Reads the text of `/proc/meminfo`.
pub fn parse_memory_total(text: &str) -> Reading<Bytes> {
    parse_memory(text, "MemTotal")
}

fn parse_memory(text: &str, name: &str) -> Reading<Bytes> {
    let kibibytes = value_of(text, name).and_then(|value| value.strip_suffix("kB"));
    let kibibytes: u64 = number(kibibytes, &format!("{name} in /proc/meminfo"))?;
    Ok(Bytes(kibibytes.saturating_mul(1_024)))
}

/// How many tasks wanted to run, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadAverage {
    /// Over the last minute, weighted exponentially.
    pub one_minute: f64,
    /// Over the last five minutes.
    pub five_minutes: f64,
    /// Over the last quarter of an hour.
    pub fifteen_minutes: f64,
    /// Tasks that can run at this moment.
    pub runnable: u64,
    /// Tasks in all.
    pub tasks: u64,
}

/// How many tasks wanted to run, those in uninterruptible waits included. Source: `/proc/loadavg`.
pub fn load_average(root: &Root) -> Reading<LoadAverage> {
    parse_load_average(&root.read("/proc/loadavg")?)
}

/// Reads the text of `/proc/loadavg`.
pub fn parse_load_average(text: &str) -> Reading<LoadAverage> {
    let mut fields = text.split_ascii_whitespace();
    let mut average = || match number::<f64>(fields.next(), "load average")? {
        value if value.is_finite() && value >= 0.0 => Ok(value),
        value => Err(Absent::because(format!("load average is not possible: '{value}'"))),
    };
    let (one_minute, five_minutes, fifteen_minutes) = (average()?, average()?, average()?);
    let (runnable, tasks) = fields.next().and_then(|field| field.split_once('/')).unzip();
    let runnable = number(runnable, "runnable tasks in /proc/loadavg")?;
    Ok(LoadAverage {
        one_minute,
        five_minutes,
        fifteen_minutes,
        runnable,
        tasks: number(tasks, "tasks in /proc/loadavg")?,
    })
}

/// The CPU's model, of the first CPU where they differ. Source: `/proc/cpuinfo`.
pub fn cpu_model(root: &Root) -> Reading<String> {
    parse_cpu_model(&first_cpu(root)?)
}

/// The beginning of `/proc/cpuinfo`, longer than what it says of the first CPU: all of it takes milliseconds to make
/// on a large machine.
fn first_cpu(root: &Root) -> Reading<String> {
    root.read_start("/proc/cpuinfo", 8_192)
}

/// Reads the text of `/proc/cpuinfo`: the model's name, or implementer and part (Arm), or the name (POWER).
pub fn parse_cpu_model(text: &str) -> Reading<String> {
    let value = |key| value_of(text, key).filter(|value| !value.is_empty());
    let named = value("model name").or_else(|| value("Model Name")).or_else(|| value("cpu")).or_else(|| value("uarch"));
    let part = || Some(format!("implementer {} part {}", value("CPU implementer")?, value("CPU part")?));
    named.map(str::to_owned).or_else(part).ok_or_else(|| Absent::because("/proc/cpuinfo names no CPU model"))
}

/// What the CPU runs under: `kvm` and the like, `a hypervisor` where it does not say which, or `None` on the metal.
///
/// Source: the flag `hypervisor` in `/proc/cpuinfo` (x86), `/sys/hypervisor/type`, the clocks that a hypervisor
/// offers, and the names that the firmware gives the machine.
pub fn hypervisor(root: &Root) -> Reading<Option<String>> {
    let info = first_cpu(root)?;
    let flags = value_of(&info, "flags");
    let flagged = flags.is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let firmware = firmware_names(root);
    // A bare machine that is rented out carries its cloud's name too, so on x86 the flag decides.
    match (flags.is_some(), flagged) {
        (true, false) => Ok(None),
        (true, true) => Ok(Some(named_hypervisor(root, &firmware).unwrap_or("a hypervisor").to_owned())),
        (false, _) if info.trim().is_empty() => Err(Absent::because("/proc/cpuinfo is empty")),
        (false, _) if firmware.contains(".metal") => Ok(None),
        (false, _) => match named_hypervisor(root, &firmware) {
            Some(name) => Ok(Some(name.to_owned())),
            None if firmware.is_empty() => Err(Absent::because("neither the CPU nor the firmware says")),
            None => Ok(None),
        },
    }
}

/// The vendor and the product that the firmware names.
fn firmware_names(root: &Root) -> String {
    let files = ["/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name", "/sys/class/dmi/id/bios_vendor"];
    let names: Vec<String> = files.iter().filter_map(|file| root.read_line(file).ok()).collect();
    names.join("\n")
}

fn named_hypervisor(root: &Root, firmware: &str) -> Option<&'static str> {
    let clocks = root.read_line("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    let kind = root.read_line("/sys/hypervisor/type");
    let clues = [kind.unwrap_or_default(), clocks.unwrap_or_default(), firmware.to_owned()];
    clues.iter().find_map(|clue| HYPERVISORS.iter().find(|(mark, _)| clue.contains(mark)).map(|&(_, name)| name))
}

/// Marks in the kernel's and the firmware's names, the surest first, and what they tell.
const HYPERVISORS: [(&str, &str); 14] = [
    ("kvm-clock", "kvm"),
    ("hyperv_clocksource", "hyperv"),
    ("xen", "xen"),
    ("Xen", "xen"),
    ("KVM", "kvm"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Virtual Machine", "hyperv"),
    ("Apple Virtualization", "apple"),
    ("QEMU", "qemu"),
    ("Amazon EC2", "kvm"),
    ("Google Compute Engine", "kvm"),
    ("OpenStack", "kvm"),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::{UNSOUND, tree};

    #[test]
    fn machines_tell_what_they_run_under() {
        let under = |name| hypervisor(&tree(name)).unwrap();
        assert_eq!(under("vm").as_deref(), Some("kvm"));
        assert_eq!(under("laptop-smt"), None);
        assert_eq!(under("cgroup-v1").as_deref(), Some("a hypervisor"));
        assert_eq!(under("no-psi").as_deref(), Some("kvm"), "Arm: no flag, but the firmware says");
        assert!(hypervisor(&tree("missing")).is_err());
    }

    #[test]
    fn models_have_names() {
        assert_eq!(cpu_model(&tree("vm")).unwrap(), "Intel(R) Xeon(R) Processor");
        assert_eq!(cpu_model(&tree("no-psi")).unwrap(), "implementer 0x41 part 0xd0c");
        assert_eq!(kernel(&tree("vm")).unwrap(), "Linux 6.18.44-fc-v657");
        for unsound in UNSOUND {
            assert!(cpu_model(&tree(unsound)).is_err(), "{unsound}");
            assert!(memory_total(&tree(unsound)).is_err(), "{unsound}");
            assert!(load_average(&tree(unsound)).is_err(), "{unsound}");
        }
    }

    #[test]
    fn amounts_are_read_in_their_units() {
        assert_eq!(memory_total(&tree("vm")).unwrap(), Bytes(24_684_092 * 1_024));
        assert_eq!(memory_available(&tree("vm")).unwrap(), Bytes(12_342_145 * 1_024));
        let load = load_average(&tree("vm")).unwrap();
        assert_eq!((load.one_minute, load.fifteen_minutes, load.runnable, load.tasks), (0.27, 0.07, 1, 87));
        for broken in ["", "1 2", "nan 1 1 1/2", "1 2 3 4", "1 2 3 x/4", "-1 2 3 1/2"] {
            assert!(parse_load_average(broken).is_err(), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "(\\PC|MemTotal: [0-9]{0,21} kB\n|[0-9./ ]|model name\t: |\n)*") {
            let _ = (parse_memory_total(&text), parse_load_average(&text), parse_cpu_model(&text));
        }
    }
}
