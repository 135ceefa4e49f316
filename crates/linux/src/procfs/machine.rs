//! Reads host name, kernel, CPU, memory, load and hypervisor of the machine.

use steady_model::{Absent, Bytes, Reading};

use super::{number, value_of};
use crate::Root;
use crate::root::OpenText;

const LOADAVG: &str = "/proc/loadavg";

/// Name of the host. Source: `/proc/sys/kernel/hostname`.
pub fn hostname(root: &Root) -> Reading<String> {
    root.read_line("/proc/sys/kernel/hostname")
}

/// Name and release of the kernel, as in `Linux 6.18.44`. Source: `/proc/sys/kernel/{ostype,osrelease}`.
pub fn kernel(root: &Root) -> Reading<String> {
    let name = root.read_line("/proc/sys/kernel/ostype")?;
    Ok(format!("{name} {}", root.read_line("/proc/sys/kernel/osrelease")?))
}

/// Memory that the kernel manages. Source: `MemTotal` in `/proc/meminfo`.
pub fn memory_total(root: &Root) -> Reading<Bytes> {
    parse_memory_total(&root.read("/proc/meminfo")?)
}

/// Memory that programs can get without swapping. Source: `MemAvailable` in `/proc/meminfo`.
pub fn memory_available(root: &Root) -> Reading<Bytes> {
    parse_memory(&root.read("/proc/meminfo")?, "MemAvailable")
}

/// Parses `MemTotal` in the text of `/proc/meminfo`.
pub fn parse_memory_total(text: &str) -> Reading<Bytes> {
    parse_memory(text, "MemTotal")
}

fn parse_memory(text: &str, name: &str) -> Reading<Bytes> {
    let kibibytes = value_of(text, name).and_then(|value| value.strip_suffix("kB"));
    let kibibytes: u64 = number(kibibytes, &format!("{name} in /proc/meminfo"))?;
    Ok(Bytes(kibibytes.saturating_mul(1_024)))
}

/// Average number of tasks that ran or waited to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadAverage {
    /// Average over the last minute, weighted exponentially.
    pub one_minute: f64,
    /// Average over the last five minutes.
    pub five_minutes: f64,
    /// Average over the last 15 minutes.
    pub fifteen_minutes: f64,
    /// Number of tasks that are runnable now.
    pub runnable: u64,
    /// Number of all tasks.
    pub tasks: u64,
}

/// Reads the load averages, which include tasks in uninterruptible waits. Source: `/proc/loadavg`.
pub fn load_average(root: &Root) -> Reading<LoadAverage> {
    parse_load_average(&root.read(LOADAVG)?)
}

/// Reads the process ID that the kernel assigned last in this PID namespace. It assigns them in ascending order, to
/// threads too, and starts again after the largest one. Source: `/proc/loadavg`, which stays open.
#[derive(Debug)]
pub struct LastPid(OpenText);

impl LastPid {
    /// Opens the file, or says why it cannot be read.
    pub fn open(root: &Root) -> Reading<LastPid> {
        OpenText::open(root, LOADAVG).map(LastPid)
    }

    /// Reads the present value.
    pub fn read(&self) -> Reading<u64> {
        self.0.read(|text| number(text.split_ascii_whitespace().nth(4), "the last process ID in /proc/loadavg"))
    }
}

/// Parses the text of `/proc/loadavg`.
pub fn parse_load_average(text: &str) -> Reading<LoadAverage> {
    let mut fields = text.split_ascii_whitespace();
    let mut average = || match number::<f64>(fields.next(), "load average")? {
        value if value.is_finite() && value >= 0.0 => Ok(value),
        value => Err(Absent::because(format!("invalid load average in /proc/loadavg: '{value}'"))),
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

/// Model of the first CPU. Source: `/proc/cpuinfo`.
pub fn cpu_model(root: &Root) -> Reading<String> {
    parse_cpu_model(&first_cpu(root)?)
}

/// Reads the start of `/proc/cpuinfo`, which includes the first CPU. On a large machine, the kernel needs milliseconds
/// to write the whole file.
fn first_cpu(root: &Root) -> Reading<String> {
    root.read_start("/proc/cpuinfo", 8_192)
}

/// Parses the text of `/proc/cpuinfo`: the model name, or implementer and part (Arm), or the name (POWER).
pub fn parse_cpu_model(text: &str) -> Reading<String> {
    let value = |key| value_of(text, key).filter(|value| !value.is_empty());
    let named = value("model name").or_else(|| value("Model Name")).or_else(|| value("cpu")).or_else(|| value("uarch"));
    let part = || Some(format!("implementer {} part {}", value("CPU implementer")?, value("CPU part")?));
    named.map(str::to_owned).or_else(part).ok_or_else(|| Absent::because("/proc/cpuinfo has no CPU model"))
}

/// Returns the hypervisor, such as `kvm`; `a hypervisor` if its name is not known; `None` on a physical machine.
///
/// Source: the flag `hypervisor` in `/proc/cpuinfo` (x86), `/sys/hypervisor/type`, the clocks that a hypervisor
/// provides, and the machine's vendor and product names in the firmware.
pub fn hypervisor(root: &Root) -> Reading<Option<String>> {
    let info = first_cpu(root)?;
    let flags = value_of(&info, "flags");
    let flagged = flags.is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let firmware = firmware_names(root);
    // A rented physical machine has the name of its cloud in the firmware too, so on x86 the flag decides.
    match (flags.is_some(), flagged) {
        (true, false) => Ok(None),
        (true, true) => Ok(Some(named_hypervisor(root, &firmware).unwrap_or("a hypervisor").to_owned())),
        (false, _) if info.trim().is_empty() => Err(Absent::because("/proc/cpuinfo is empty")),
        (false, _) if firmware.contains(".metal") => Ok(None),
        (false, _) => match named_hypervisor(root, &firmware) {
            Some(name) => Ok(Some(name.to_owned())),
            None if firmware.is_empty() => Err(Absent::because("neither the CPU nor the firmware names a hypervisor")),
            None => Ok(None),
        },
    }
}

/// Returns the vendor and product names in the firmware.
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

/// Marks in the names of the kernel and the firmware, most reliable first, and the hypervisor that each means.
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
    fn hypervisors_are_found() {
        let under = |name| hypervisor(&tree(name)).unwrap();
        assert_eq!(under("vm").as_deref(), Some("kvm"));
        assert_eq!(under("laptop-smt"), None);
        assert_eq!(under("cgroup-v1").as_deref(), Some("a hypervisor"));
        assert_eq!(under("no-psi").as_deref(), Some("kvm"), "Arm has no flag, but the firmware names it");
        assert!(hypervisor(&tree("missing")).is_err());
    }

    #[test]
    fn cpu_models_have_names() {
        assert_eq!(cpu_model(&tree("vm")).unwrap(), "Intel(R) Xeon(R) Processor");
        assert_eq!(cpu_model(&tree("no-psi")).unwrap(), "implementer 0x41 part 0xd0c");
        assert_eq!(kernel(&tree("vm")).unwrap(), "Linux 6.18.44-fc-v657");
        for unsound in UNSOUND {
            assert!(cpu_model(&tree(unsound)).is_err(), "{unsound}");
            assert!(memory_total(&tree(unsound)).is_err(), "{unsound}");
            assert!(LastPid::open(&tree(unsound)).and_then(|file| file.read()).is_err(), "{unsound}");
            assert!(load_average(&tree(unsound)).is_err(), "{unsound}");
        }
    }

    #[test]
    fn amounts_are_parsed_in_their_units() {
        assert_eq!(memory_total(&tree("vm")).unwrap(), Bytes(24_684_092 * 1_024));
        assert_eq!(memory_available(&tree("vm")).unwrap(), Bytes(12_342_145 * 1_024));
        assert_eq!(LastPid::open(&tree("vm")).and_then(|file| file.read()), Ok(5_665));
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
