//! Knobs of the kernel (SMT, address randomisation, watchdog, perf sampling) and of memory (huge pages, swap, caches).

use steady_model::{Absent, Knob, Reading};

use super::{Found, KnobFile, entries, file, fitting};
use crate::Root;
use crate::topology::{online_cpus, parse_cpu_list};

pub(super) const SMT: &str = "/sys/devices/system/cpu/smt/control";
pub(super) const ASLR: &str = "/proc/sys/kernel/randomize_va_space";
pub(super) const NMI_WATCHDOG: &str = "/proc/sys/kernel/nmi_watchdog";
pub(super) const SAMPLE_RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
const SAMPLE_TIME: &str = "/proc/sys/kernel/perf_cpu_time_max_percent";

/// Second threads of cores (SMT): `Documentation/ABI/testing/sysfs-devices-system-cpu`.
///
/// Switching SMT on starts all CPUs, so it is not switched off while another one is offline.
pub(super) fn smt(root: &Root) -> Found {
    let quiet = |_: &str, value: &str| match value.trim() {
        "off" => Ok("off".to_owned()),
        "forceoff" => Err(Absent::because("SMT is switched off until the next boot (forceoff)")),
        "notsupported" => Err(Absent::because("these CPUs have one thread per core (notsupported)")),
        "notimplemented" => Err(Absent::because("this kernel cannot switch SMT (notimplemented)")),
        // If cores have more than two threads, the value is the number of threads that are on.
        "1" => Ok("1".to_owned()),
        _ => match offline(root) {
            Some(cpus) => Err(Absent(format!("CPU {cpus} is offline, and switching SMT on again would start it"))),
            None => Ok("off".to_owned()),
        },
    };
    Found::of(root, Knob::Smt, root.has(SMT).then(|| SMT.to_owned()), quiet, "this kernel has no switch for SMT")
}

/// Returns the list of the CPUs that are present and offline, if there are any.
fn offline(root: &Root) -> Option<String> {
    let present = root.read_line("/sys/devices/system/cpu/present").and_then(|list| parse_cpu_list(&list)).ok()?;
    let online = online_cpus(root).ok()?;
    let offline: Vec<usize> = present.into_iter().filter(|cpu| !online.contains(cpu)).collect();
    (!offline.is_empty()).then(|| file::as_list(&offline))
}

/// Address space randomisation: `Documentation/admin-guide/sysctl/kernel.rst`.
pub(super) fn aslr(root: &Root) -> Found {
    sysctl(root, Knob::Aslr, ASLR, "0")
}

/// Hard lockup detector: `Documentation/admin-guide/sysctl/kernel.rst`.
pub(super) fn nmi_watchdog(root: &Root) -> Found {
    sysctl(root, Knob::NmiWatchdog, NMI_WATCHDOG, "0")
}

/// Sampling rate of perf events: `Documentation/admin-guide/sysctl/kernel.rst`. The kernel refuses to change the rate
/// if `perf_cpu_time_max_percent` turns the limit off.
pub(super) fn perf_sample_rate(root: &Root) -> Found {
    let mut found = sysctl(root, Knob::PerfSampleRate, SAMPLE_RATE, "1");
    if let Ok(percent @ ("0" | "100")) = root.read_line(SAMPLE_TIME).as_deref() {
        let why = format!("the kernel does not accept a rate while kernel.perf_cpu_time_max_percent is {percent}");
        found.settings.iter_mut().for_each(|setting| setting.quiet = Err(Absent::because(why.clone())));
    }
    found
}

pub(super) fn sysctl(root: &Root, knob: Knob, file: &str, quiet: &str) -> Found {
    if !root.has(file) {
        return Found::none(knob, format!("{file} does not exist in this kernel"));
    }
    Found::of(root, knob, [file.to_owned()], |_, _| Ok(quiet.to_owned()), "")
}

/// Transparent huge pages: `Documentation/admin-guide/mm/transhuge.rst`.
pub(super) const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const HUGE_PAGES_FOLDER: &str = "/sys/kernel/mm/transparent_hugepage";
pub(super) const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const SWAPS: &str = "/proc/swaps";
pub(super) const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Newer kernels have a file per page size. Sizes set to `always` or `madvise` are files of the knob. Sizes set to
/// `inherit` follow the file for all sizes.
pub(super) fn huge_pages(root: &Root) -> Found {
    const QUIET: &str = "never";
    if !root.has(HUGE_PAGES) {
        return Found::none(Knob::Thp, "this kernel has no transparent huge pages");
    }
    let sizes = entries(root, HUGE_PAGES_FOLDER, "hugepages-").into_iter();
    let sizes = sizes.map(|size| format!("{HUGE_PAGES_FOLDER}/{size}/enabled")).filter(|file| {
        let text = super::read(root, file).unwrap_or_default();
        text.contains("[always]") || text.contains("[madvise]")
    });
    let quiet = |_: &str, value: &str| -> Reading<String> {
        // A single word is the current value and no list of choices.
        match fitting(value.contains('[').then_some(value), QUIET) {
            Some(false) => Err(Absent::because(format!("{QUIET} is not among its values ({})", value.trim()))),
            Some(true) | None => Ok(QUIET.to_owned()),
        }
    };
    Found::of(root, Knob::Thp, [HUGE_PAGES.to_owned()].into_iter().chain(sizes), quiet, "")
}

/// Swappiness: `Documentation/admin-guide/sysctl/vm.rst`. The quiet value is not 0, with which the kernel may kill
/// processes while there is swap space. swapoff(2) is not used either: it may cause the same, and cannot be undone
/// exactly.
pub(super) fn swap(root: &Root) -> Found {
    let swaps = root.read(SWAPS).unwrap_or_default();
    if swaps.lines().skip(1).all(|line| line.trim().is_empty()) {
        return Found::none(Knob::Swap, "no swap is in use");
    }
    sysctl(root, Knob::Swap, SWAPPINESS, "1")
}

/// Page cache, dentries and inodes: `Documentation/admin-guide/sysctl/vm.rst`. The file has no value to restore.
pub(super) fn caches(root: &Root) -> Found {
    if !root.has(DROP_CACHES) {
        return Found::none(Knob::Caches, format!("{DROP_CACHES} does not exist in this kernel"));
    }
    let setting = KnobFile {
        knob: Knob::Caches,
        file: DROP_CACHES.to_owned(),
        value: "kept".to_owned(),
        quiet: Ok("3".to_owned()),
        may_become: Vec::new(),
        may_write: file::may_write(root, DROP_CACHES),
    };
    Found { knob: Knob::Caches, settings: vec![setting], absent: None }
}
