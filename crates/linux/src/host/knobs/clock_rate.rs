//! Knobs of the CPU clock rate: `Documentation/admin-guide/pm/cpufreq.rst`, `intel_pstate.rst` and `amd-pstate.rst`.

use steady_model::{Absent, Knob, Reading};

use super::{Found, KnobFile, entries, fitting, read};
use crate::Root;

/// File of intel_pstate: 1 keeps the clock below the turbo range.
pub(super) const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
/// File of intel_pstate: the lowest performance of all CPUs, in percent of the highest with turbo. The kernel lowers it to
/// the highest without turbo when [`NO_TURBO`] is set, and leaves it there (`store_no_turbo`). tuned sets it to 100.
pub(super) const LEAST_PERFORMANCE: &str = "/sys/devices/system/cpu/intel_pstate/min_perf_pct";
/// File of cpufreq, if the driver (acpi-cpufreq, amd-pstate, cppc) supports boosts: 0 keeps the clock below them.
pub(super) const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
const NO_DRIVER: &str = "there is no cpufreq driver; the hypervisor or the firmware sets the clock rate";

/// The governor with which a program or the administrator fixes the clock rate.
const FIXED: &str = "userspace";
const FIXED_REASON: &str = "the clock rate is fixed (governor userspace), and the kernel would forget the rate";

/// Returns the directories of the policies. A policy is a group of CPUs that share a clock.
fn policies(root: &Root) -> Vec<String> {
    entries(root, POLICIES, "policy").into_iter().map(|name| format!("{POLICIES}/{name}")).collect()
}

/// Returns the file `name` of each policy that has it.
fn of_policies(root: &Root, name: &str) -> Vec<String> {
    let files = policies(root).into_iter().map(|policy| format!("{policy}/{name}"));
    files.filter(|file| root.has(file)).collect()
}

/// Returns the reason why `what` is missing: there is no driver, or the driver does not have it.
fn missing(root: &Root, what: &str) -> String {
    let Some(policy) = policies(root).into_iter().next() else { return NO_DRIVER.to_owned() };
    let driver = root.read_line(&format!("{policy}/scaling_driver")).unwrap_or_else(|_| "cpufreq".to_owned());
    format!("the driver {driver} has {what}")
}

pub(super) fn turbo(root: &Root) -> Found {
    if root.has(NO_TURBO) {
        let mut found = Found::of(root, Knob::Turbo, [NO_TURBO.to_owned()], |_, _| Ok("1".to_owned()), NO_DRIVER);
        if !found.settings.is_empty() {
            let unchanged = |_: &str, value: &str| Ok(value.to_owned());
            let least = Found::of(root, Knob::Turbo, [LEAST_PERFORMANCE.to_owned()], unchanged, NO_DRIVER);
            // Files are restored in the reverse order.
            found.settings.splice(0..0, least.settings);
        }
        // While the driver is switched off, its file exists but has no value.
        if !found.settings.is_empty() || !root.has(BOOST) {
            return found;
        }
    }
    // Write the files of the policies first, because a write to the file for all changes all of them.
    let files = of_policies(root, "boost").into_iter().chain(root.has(BOOST).then(|| BOOST.to_owned()));
    let why = missing(root, "no boost switch");
    let mut found = Found::of(root, Knob::Turbo, files, |_, _| Ok("0".to_owned()), &why);
    let of_all = found.settings.iter().find(|setting| setting.file == BOOST).map(|setting| setting.value.clone());
    if let Some(of_all) = of_all {
        let policies = found.settings.iter_mut().filter(|setting| setting.file != BOOST);
        policies.for_each(|setting: &mut KnobFile| setting.may_become.push(of_all.clone()));
    }
    found
}

pub(super) fn governor(root: &Root) -> Found {
    let quiet = |file: &str, value: &str| match value.trim() {
        FIXED => Err(Absent::because(FIXED_REASON)),
        _ => offered(root, file, "scaling_governor", "scaling_available_governors"),
    };
    Found::of(root, Knob::Governor, of_policies(root, "scaling_governor"), quiet, NO_DRIVER)
}

pub(super) fn epp(root: &Root) -> Found {
    const NAME: &str = "energy_performance_preference";
    let quiet = |file: &str, _: &str| offered(root, file, NAME, "energy_performance_available_preferences");
    let why = missing(root, "no energy performance preference");
    Found::of(root, Knob::Epp, of_policies(root, NAME), quiet, &why)
}

/// Returns `performance` as the quiet value, if the list next to the file contains it.
fn offered(root: &Root, file: &str, name: &str, list: &str) -> Reading<String> {
    const QUIET: &str = "performance";
    let list_file = file.replace(name, list);
    let offers = root.read_line(&list_file).ok();
    match fitting(offers.as_deref(), QUIET) {
        Some(false) => {
            Err(Absent::because(format!("{QUIET} is not among {list} ({})", offers.as_deref().unwrap_or_default())))
        }
        // Without a list, only the kernel knows whether it accepts the value.
        Some(true) | None => Ok(QUIET.to_owned()),
    }
}

pub(super) fn min_frequency(root: &Root) -> Found {
    let quiet = |file: &str, _: &str| {
        if read(root, &file.replace("scaling_min_freq", "scaling_governor")).is_ok_and(|name| name.trim() == FIXED) {
            return Err(Absent::because(FIXED_REASON));
        }
        let most = read(root, &file.replace("scaling_min_freq", "scaling_max_freq"))?;
        let number = most.trim().parse::<u64>();
        number.map(|khz| khz.to_string()).map_err(|_| Absent::because("scaling_max_freq is not a number"))
    };
    Found::of(root, Knob::MinFrequency, of_policies(root, "scaling_min_freq"), quiet, NO_DRIVER)
}
