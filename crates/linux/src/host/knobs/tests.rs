//! Knobs of recorded hosts.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::trees::tree;

const HOSTS: [&str; 6] = [
    "host-intel-active",
    "host-intel-passive",
    "host-amd-pstate",
    "host-acpi-cpufreq",
    "host-no-cpufreq",
    "host-unreadable",
];

fn state(name: &str, knob: Knob) -> KnobState {
    find(&tree(name), knob, false).state()
}

/// Value, quiet value, whether it is quiet, and whether it can be set.
fn summary(name: &str, knob: Knob) -> (String, String, bool, bool) {
    let state = state(name, knob);
    (state.value.unwrap_or_default(), state.quiet_value.unwrap_or_default(), state.is_quiet, state.settable.is_ok())
}

fn expected(value: &str, quiet: &str, is_quiet: bool, settable: bool) -> (String, String, bool, bool) {
    (value.to_owned(), quiet.to_owned(), is_quiet, settable)
}

fn why(name: &str, knob: Knob) -> String {
    state(name, knob).settable.expect_err("it cannot be set").0
}

#[test]
fn turbo_uses_the_file_of_its_driver() {
    assert_eq!(summary("host-intel-active", Knob::Turbo), expected("0", "1", false, true));
    assert_eq!(summary("host-intel-passive", Knob::Turbo), expected("1", "1", true, true));
    assert_eq!(summary("host-amd-pstate", Knob::Turbo), expected("0, 1", "0", false, true));
    assert_eq!(summary("host-acpi-cpufreq", Knob::Turbo), expected("1", "0", false, true));
    assert!(why("host-no-cpufreq", Knob::Turbo).contains("no cpufreq driver"));
    let amd = find(&tree("host-amd-pstate"), Knob::Turbo, false);
    let files: Vec<&str> = amd.settings.iter().map(|setting| setting.file.rsplit('/').nth(1).unwrap()).collect();
    assert_eq!(files, ["policy0", "policy1", "policy2", "policy3", "cpufreq"], "the file for all is written last");
}

/// The kernel changes `min_perf_pct` with `no_turbo`, so it is restored, but it is no part of the reported state.
#[test]
fn a_file_that_only_follows_is_read_before_the_one_that_is_set() {
    let turbo = find(&tree("host-intel-active"), Knob::Turbo, false);
    let files: Vec<(&str, bool)> = turbo.settings.iter().map(|one| (one.file.as_str(), one.is_quiet())).collect();
    assert_eq!(files, [(clock_rate::LEAST_PERFORMANCE, true), (clock_rate::NO_TURBO, false)]);
    let state = turbo.state();
    assert_eq!((state.value, state.files), (Ok("0".to_owned()), vec![clock_rate::NO_TURBO.to_owned()]));
}

#[test]
fn governors_are_those_that_the_driver_has() {
    assert_eq!(summary("host-intel-active", Knob::Governor), expected("powersave", "performance", false, true));
    assert_eq!(summary("host-intel-passive", Knob::Governor), expected("schedutil", "performance", false, true));
    let acpi = state("host-acpi-cpufreq", Knob::Governor);
    assert_eq!((acpi.value, acpi.is_quiet), (Ok("ondemand".to_owned()), false));
    assert!(acpi.settable.unwrap_err().0.contains("not among scaling_available_governors (conservative ondemand"));
}

/// The kernel forgets the rate that the governor `userspace` has set.
#[test]
fn a_fixed_clock_rate_is_left() {
    let top = std::env::temp_dir().join(format!("steady-knobs-userspace-{}", std::process::id()));
    let policy = top.join("sys/devices/system/cpu/cpufreq/policy0");
    std::fs::create_dir_all(&policy).unwrap();
    for (name, text) in [
        ("scaling_governor", "userspace\n"),
        ("scaling_available_governors", "performance userspace\n"),
        ("scaling_min_freq", "800000\n"),
        ("scaling_max_freq", "2000000\n"),
    ] {
        std::fs::write(policy.join(name), text).unwrap();
    }
    let root = Root::at(&top);
    for knob in [Knob::Governor, Knob::MinFrequency] {
        let why = find(&root, knob, false).settable().unwrap_err().0;
        assert!(why.contains("the clock rate is fixed"), "{knob:?}: {why}");
    }
    std::fs::write(policy.join("scaling_governor"), "performance\n").unwrap();
    assert!(find(&root, Knob::MinFrequency, false).settable().is_ok());
    std::fs::remove_dir_all(&top).unwrap();
}

#[test]
fn preferences_and_rates_include_all_policies() {
    let epp = state("host-intel-active", Knob::Epp);
    assert_eq!(epp.value.as_deref(), Ok("balance_performance, balance_power"));
    assert_eq!((epp.files.len(), epp.settable), (8, Ok(())));
    assert!(
        why("host-intel-passive", Knob::Epp).contains("the driver intel_cpufreq has no energy performance preference")
    );
    assert_eq!(summary("host-intel-active", Knob::MinFrequency), expected("400000", "4800000", false, true));
    assert!(why("host-unreadable", Knob::MinFrequency).contains("scaling_max_freq is not a number"));
}

#[test]
fn smt_is_on_off_or_not_available() {
    assert_eq!(summary("host-intel-active", Knob::Smt), expected("on", "off", false, true));
    assert_eq!(summary("host-intel-passive", Knob::Smt), expected("off", "off", true, true));
    for (name, value) in
        [("host-amd-pstate", "notsupported"), ("host-acpi-cpufreq", "forceoff"), ("host-no-cpufreq", "notimplemented")]
    {
        assert_eq!(summary(name, Knob::Smt), expected(value, "", true, false), "{name}");
        assert!(why(name, Knob::Smt).contains(value), "{name}");
    }
    assert!(why("missing", Knob::Smt).contains("no switch"));
}

#[test]
fn white_space_is_not_part_of_a_value() {
    assert_eq!(summary("host-acpi-cpufreq", Knob::Thp), expected("madvise", "never", false, true));
    assert_eq!(summary("host-acpi-cpufreq", Knob::PerfSampleRate), expected("63000", "1", false, true));
    assert_eq!(summary("host-acpi-cpufreq", Knob::Swap), expected("60", "1", false, true));
    let found = find(&tree("host-acpi-cpufreq"), Knob::Thp, false);
    assert_eq!(found.settings[0].value, "  always   [madvise]\tnever  \n", "the exact text is kept");
}

#[test]
fn huge_page_sizes_that_do_not_inherit_are_files_of_the_knob() {
    let found = find(&tree("host-intel-active"), Knob::Thp, false);
    let files: Vec<&str> = found.settings.iter().map(|setting| setting.file.as_str()).collect();
    assert_eq!(files, [kernel::HUGE_PAGES, "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"]);
    assert!(state("host-amd-pstate", Knob::Thp).is_quiet);
    assert!(why("host-no-cpufreq", Knob::Thp).contains("no transparent huge pages"));
}

#[test]
fn a_rate_without_a_limit_cannot_be_set() {
    assert!(why("host-intel-passive", Knob::PerfSampleRate).contains("perf_cpu_time_max_percent is 0"));
    assert!(why("host-no-cpufreq", Knob::PerfSampleRate).contains("does not exist"));
    assert!(why("host-unreadable", Knob::PerfSampleRate).contains("is not text"));
    assert!(why("host-amd-pstate", Knob::Swap).contains("no swap is in use"));
}

#[test]
fn interrupts_avoid_the_cores_of_duets() {
    let root = tree("host-intel-active");
    for (smt_goes_off, free) in [(true, "0,3"), (false, "0,3-4,7")] {
        let found = find(&root, Knob::IrqAffinity, smt_goes_off);
        let of = |number: u32| {
            let file = format!("/proc/irq/{number}/smp_affinity_list");
            found.settings.iter().find(|setting| setting.file == file)
        };
        assert!(of(0).is_none(), "interrupt 0 cannot be moved");
        assert_eq!(of(9).unwrap().quiet.as_deref(), Ok(free));
        assert_eq!(of(126).unwrap().is_quiet(), !smt_goes_off, "CPU 7 is free while it is online");
    }
    assert_eq!(stranded(&root).iter().map(|one| one.value.as_str()).collect::<Vec<_>>(), ["4\n", "7\n"]);
    assert!(why("host-acpi-cpufreq", Knob::IrqAffinity).contains("no CPU outside their cores"));
}

#[test]
fn unreadable_knobs_are_never_settable() {
    for name in ["missing", "host-unreadable"] {
        for knob in Knob::ALL {
            let found = find(&tree(name), knob, true);
            let state = found.state();
            assert!(!state.is_quiet || !found.settings.is_empty(), "{name}: {knob:?}");
            assert!(state.value.is_ok() || state.settable.is_err(), "{name}: {knob:?}: {state:?}");
            assert!(state.settable.is_ok() || !state.settable.unwrap_err().0.is_empty());
        }
    }
    assert!(state("host-unreadable", Knob::Swap).value.is_err());
}

#[test]
fn read_only_files_have_a_reason() {
    let top = std::env::temp_dir().join(format!("steady-knobs-{}", std::process::id()));
    let root = Root::at(&top);
    let file = "/proc/sys/kernel/nmi_watchdog";
    fs::create_dir_all(root.path(file).parent().unwrap()).unwrap();
    fs::write(root.path(file), "1\n").unwrap();
    let mut permissions = fs::metadata(root.path(file)).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(root.path(file), permissions).unwrap();
    let state = find(&root, Knob::NmiWatchdog, false).state();
    fs::remove_dir_all(&top).unwrap();
    assert_eq!((state.value, state.quiet_value), (Ok("1".to_owned()), Ok("0".to_owned())));
    assert!(state.settable.unwrap_err().0.contains("read-only"));
}

#[test]
fn missing_rights_are_the_reason_only_if_root_could_set_a_file() {
    let setting = |quiet: Reading<&str>| KnobFile {
        knob: Knob::IrqAffinity,
        file: "/proc/irq/1/smp_affinity_list".to_owned(),
        value: "0-1".to_owned(),
        quiet: quiet.map(str::to_owned),
        may_become: vec![],
        may_write: Err(file::only_root()),
    };
    let reason = |settings: Vec<KnobFile>| {
        let state = Found { knob: Knob::IrqAffinity, settings, absent: None }.state();
        (state.settable.unwrap_err(), state.needs_root)
    };
    let full = || Absent::because("no CPU is left");
    assert_eq!(reason(vec![setting(Err(full()))]), (full(), false));
    assert_eq!(reason(vec![setting(Err(full())), setting(Ok("2"))]), (file::only_root(), true));
    assert_eq!(reason(vec![setting(Ok("0-1"))]), (file::only_root(), false), "it is quiet already");
}

#[test]
fn every_file_of_a_knob_is_allowed_for_it() {
    for name in HOSTS {
        for knob in Knob::ALL {
            let found = find(&tree(name), knob, false);
            assert!(found.settings.iter().all(|setting| is_of(setting.knob, &setting.file)), "{name}: {found:?}");
        }
    }
    assert!(
        !is_of(Knob::Turbo, "/etc/passwd")
            && !is_of(Knob::Governor, "/sys/devices/system/cpu/cpufreq/a/b/scaling_governor")
    );
    assert!(!is_of(Knob::Governor, "/sys/devices/system/cpu/cpufreq/../scaling_governor"));
    assert!(!is_of(Knob::Swap, "/proc/sys/kernel/swappiness") && is_of(Knob::Swap, "/proc/sys/vm/swappiness"));
}

proptest! {
    #[test]
    fn no_file_content_makes_it_panic(text in "(\\PC|[\\[\\]a-z0-9,\n -]){0,40}") {
        let top = std::env::temp_dir().join(format!("steady-knobs-any-{}", std::process::id()));
        let root = Root::at(&top);
        let files =
            [kernel::HUGE_PAGES, clock_rate::BOOST, kernel::SMT, "/proc/irq/1/smp_affinity_list"];
        for file in files {
            fs::create_dir_all(root.path(file).parent().unwrap()).unwrap();
            fs::write(root.path(file), &text).unwrap();
        }
        for knob in Knob::ALL {
            let found = find(&root, knob, true);
            let _ = (found.state(), found.is_quiet());
        }
        fs::remove_dir_all(&top).unwrap();
    }
}
