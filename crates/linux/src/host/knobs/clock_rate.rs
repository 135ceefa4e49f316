//! Knobs of the CPU's clock: `Documentation/admin-guide/pm/cpufreq.rst`, `intel_pstate.rst` and `amd-pstate.rst`.

use steady_model::{Absent, Knob, Reading};

use super::{Found, Setting, entries, fitting, read};
use crate::Root;

/// intel_pstate's own: 1 keeps below the turbo range.
pub(super) const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
/// cpufreq's, where the driver (acpi-cpufreq, amd-pstate, cppc) has such rates: 0 keeps below them.
pub(super) const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
const NO_DRIVER: &str = "there is no cpufreq driver: the hypervisor or the firmware chooses the clock's rate";

/// The policies: one for each group of CPUs that share a clock.
fn policies(root: &Root) -> Vec<String> {
    entries(root, POLICIES, "policy").into_iter().map(|name| format!("{POLICIES}/{name}")).collect()
}

/// The file of this name of all policies that have it.
fn of_policies(root: &Root, name: &str) -> Vec<String> {
    let files = policies(root).into_iter().map(|policy| format!("{policy}/{name}"));
    files.filter(|file| root.has(file)).collect()
}

/// `what` is missing though there is a driver.
fn missing(root: &Root, what: &str) -> String {
    let Some(policy) = policies(root).into_iter().next() else { return NO_DRIVER.to_owned() };
    let driver = root.read_line(&format!("{policy}/scaling_driver")).unwrap_or_else(|_| "cpufreq".to_owned());
    format!("the driver {driver} has {what}")
}

pub(super) fn turbo(root: &Root) -> Found {
    if root.has(NO_TURBO) {
        let found = Found::of(root, Knob::Turbo, [NO_TURBO.to_owned()], |_, _| Ok("1".to_owned()), NO_DRIVER);
        // While the driver is switched off its file is there without a value.
        if !found.settings.is_empty() || !root.has(BOOST) {
            return found;
        }
    }
    // The policies first: the kernel writes to all of them whatever is written to the one for all.
    let files = of_policies(root, "boost").into_iter().chain(root.has(BOOST).then(|| BOOST.to_owned()));
    let why = missing(root, "no switch for boosts");
    let mut found = Found::of(root, Knob::Turbo, files, |_, _| Ok("0".to_owned()), &why);
    let of_all = found.settings.iter().find(|setting| setting.file == BOOST).map(|setting| setting.value.clone());
    if let Some(of_all) = of_all {
        let policies = found.settings.iter_mut().filter(|setting| setting.file != BOOST);
        policies.for_each(|setting: &mut Setting| setting.may_become.push(of_all.clone()));
    }
    found
}

pub(super) fn governor(root: &Root) -> Found {
    let quiet = |file: &str, _: &str| offered(root, file, "scaling_governor", "scaling_available_governors");
    Found::of(root, Knob::Governor, of_policies(root, "scaling_governor"), quiet, NO_DRIVER)
}

pub(super) fn epp(root: &Root) -> Found {
    const NAME: &str = "energy_performance_preference";
    let quiet = |file: &str, _: &str| offered(root, file, NAME, "energy_performance_available_preferences");
    let why = missing(root, "no energy performance preference");
    Found::of(root, Knob::Epp, of_policies(root, NAME), quiet, &why)
}

/// `performance`, where the list beside the file offers it.
fn offered(root: &Root, file: &str, name: &str, list: &str) -> Reading<String> {
    const QUIET: &str = "performance";
    let list_file = file.replace(name, list);
    let offers = root.read_line(&list_file).ok();
    match fitting(offers.as_deref(), QUIET) {
        Some(false) => {
            Err(Absent::because(format!("{QUIET} is not among {list} ({})", offers.as_deref().unwrap_or_default())))
        }
        // Without a list the kernel decides.
        Some(true) | None => Ok(QUIET.to_owned()),
    }
}

pub(super) fn min_frequency(root: &Root) -> Found {
    let quiet = |file: &str, _: &str| {
        let most = read(root, &file.replace("scaling_min_freq", "scaling_max_freq"))?;
        let number = most.trim().parse::<u64>();
        number.map(|khz| khz.to_string()).map_err(|_| Absent::because("scaling_max_freq is no number"))
    };
    Found::of(root, Knob::MinFrequency, of_policies(root, "scaling_min_freq"), quiet, NO_DRIVER)
}
