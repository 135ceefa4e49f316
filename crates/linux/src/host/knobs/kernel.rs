//! Knobs of the kernel's own: second threads, addresses, the watchdog, and sampling by perf events.

use steady_model::{Absent, Knob};

use super::Found;
use crate::Root;

pub(super) const SMT: &str = "/sys/devices/system/cpu/smt/control";
pub(super) const ASLR: &str = "/proc/sys/kernel/randomize_va_space";
pub(super) const NMI_WATCHDOG: &str = "/proc/sys/kernel/nmi_watchdog";
pub(super) const SAMPLE_RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
const SAMPLE_TIME: &str = "/proc/sys/kernel/perf_cpu_time_max_percent";

/// Second threads of cores: `Documentation/ABI/testing/sysfs-devices-system-cpu`.
pub(super) fn smt(root: &Root) -> Found {
    let quiet = |_: &str, value: &str| match value.trim() {
        "forceoff" => Err(Absent::because("it was switched off for good when the kernel was started (forceoff)")),
        "notsupported" => Err(Absent::because("these CPUs have one thread a core (notsupported)")),
        "notimplemented" => Err(Absent::because("this kernel cannot switch them (notimplemented)")),
        // Where cores have more than two, the number of those that are on.
        "1" => Ok("1".to_owned()),
        _ => Ok("off".to_owned()),
    };
    Found::of(root, Knob::Smt, root.has(SMT).then(|| SMT.to_owned()), quiet, "this kernel has no switch for SMT")
}

/// Addresses: `Documentation/admin-guide/sysctl/kernel.rst`.
pub(super) fn aslr(root: &Root) -> Found {
    sysctl(root, Knob::Aslr, ASLR, "0")
}

/// The hard lockup detector: same place.
pub(super) fn nmi_watchdog(root: &Root) -> Found {
    sysctl(root, Knob::NmiWatchdog, NMI_WATCHDOG, "0")
}

/// Sampling by perf events: same place. The kernel refuses to have the rate set where it is not to limit it at all.
pub(super) fn perf_sample_rate(root: &Root) -> Found {
    let mut found = sysctl(root, Knob::PerfSampleRate, SAMPLE_RATE, "1");
    if let Ok(percent @ ("0" | "100")) = root.read_line(SAMPLE_TIME).as_deref() {
        let why = format!("the kernel takes no rate while kernel.perf_cpu_time_max_percent is {percent}");
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
