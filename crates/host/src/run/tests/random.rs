//! Restoring is the inverse of making quiet: random hosts, with kills at random steps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::made::SimulatedHost;
use super::{done, quiet, restore};

const CPUS: &str = "/sys/devices/system/cpu";

/// Adds random white space around a value, as kernel files may have it.
fn odd(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (value, "[ \t]{0,2}", "[ ]{0,1}\n?").prop_map(|(value, before, after)| format!("{before}{value}{after}"))
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(words).prop_map(str::to_owned)
}

/// Generates the files of one policy.
fn policy(cpu: usize) -> impl Strategy<Value = BTreeMap<String, String>> {
    let governor = odd(one_of(&["powersave", "performance", "schedutil"]));
    // The kernel rewrites this file, with its own white space.
    let preference = prop::option::of(one_of(&["performance\n", "balance_power\n", "power\n", "128\n"]));
    let boost = prop::option::of(one_of(&["0\n", "1\n"]));
    let offers = prop::option::of(one_of(&["performance powersave schedutil\n", "powersave schedutil\n"]));
    (governor, preference, boost, offers, one_of(&["400\n", "1500\n", "3000\n"])).prop_map(
        move |(governor, preference, boost, offers, least)| {
            let file = |name: &str| format!("{CPUS}/cpufreq/policy{cpu}/{name}");
            let mut files =
                BTreeMap::from([(file("scaling_max_freq"), "3000\n".to_owned()), (file("scaling_min_freq"), least)]);
            // Under this governor, the driver shows no other preference.
            let preference =
                preference.map(|one| if governor.trim() == "performance" { "performance\n".into() } else { one });
            files.insert(file("scaling_governor"), governor);
            files.extend(preference.map(|text| (file("energy_performance_preference"), text)));
            files.extend(boost.map(|text| (file("boost"), text)));
            files.extend(offers.map(|text| (file("scaling_available_governors"), text)));
            files
        },
    )
}

/// Generates the files of a host with eight threads on four cores.
fn files() -> impl Strategy<Value = BTreeMap<String, String>> {
    let policies = prop::option::of((0..8).map(policy).collect::<Vec<_>>());
    let turbo = prop::option::of((one_of(&["0\n", "1\n"]), prop::option::of(one_of(&["20\n", "66\n", "100\n"]))));
    let smt = one_of(&["on\n", "off\n", " on ", "forceoff\n", "notsupported\n"]);
    let thp = one_of(&["[always] madvise never\n", " always  [madvise]\tnever", "always madvise [never]\n", "never"]);
    let numbers = (odd(one_of(&["0", "1", "2"])), odd(one_of(&["0", "1"])), odd(one_of(&["1", "63000", "100000"])));
    let swap = odd(one_of(&["0", "1", "60", "200"]));
    let interrupts =
        prop::collection::btree_map(8..30_u32, one_of(&["0-7\n", "4\n", " 0,4 ", "7\n", "1-2", "4-7\n"]), 0..6);
    (policies, turbo, smt, thp, numbers, swap, interrupts).prop_map(
        |(policies, turbo, smt, thp, (aslr, watchdog, rate), swap, interrupts)| {
            let mut files = BTreeMap::from([
                (format!("{CPUS}/online"), if smt.trim() == "on" { "0-7\n" } else { "0-3\n" }.to_owned()),
                (format!("{CPUS}/smt/control"), smt),
                ("/sys/kernel/mm/transparent_hugepage/enabled".to_owned(), thp),
                ("/proc/sys/kernel/randomize_va_space".to_owned(), aslr),
                ("/proc/sys/kernel/nmi_watchdog".to_owned(), watchdog),
                ("/proc/sys/kernel/perf_event_max_sample_rate".to_owned(), rate),
                ("/proc/sys/vm/swappiness".to_owned(), swap),
                ("/proc/swaps".to_owned(), "Filename Type\n/dev/x partition\n".to_owned()),
                ("/proc/self/status".to_owned(), "Cpus_allowed_list:\t0-7\n".to_owned()),
            ]);
            for cpu in 0..8 {
                let (core, file) = (cpu % 4, |name: &str| format!("{CPUS}/cpu{cpu}/topology/{name}"));
                files.insert(file("core_id"), format!("{core}\n"));
                files.insert(file("physical_package_id"), "0\n".to_owned());
                files.insert(file("thread_siblings_list"), format!("{core},{}\n", core + 4));
            }
            let mut policies = policies.unwrap_or_default();
            if files[&format!("{CPUS}/smt/control")].trim() != "on" {
                policies.truncate(4);
            }
            if let Some((turbo, least)) = turbo.filter(|_| !policies.is_empty()) {
                // With `no_turbo` set, no policy has a rate above the nominal one.
                if turbo.trim() == "1" {
                    for (file, text) in policies.iter_mut().flatten() {
                        let is_high = file.ends_with("scaling_max_freq") || text.trim() == "3000";
                        if is_high {
                            *text = "2000\n".to_owned();
                        }
                    }
                }
                files.insert(format!("{CPUS}/intel_pstate/no_turbo"), turbo);
                files.extend(least.map(|percent| (format!("{CPUS}/intel_pstate/min_perf_pct"), percent)));
            } else if policies.iter().flatten().any(|(file, _)| file.ends_with("/boost")) {
                files.insert(format!("{CPUS}/cpufreq/boost"), "1\n".to_owned());
            }
            files.extend(policies.into_iter().flatten());
            let interrupts = interrupts.into_iter();
            files.extend(interrupts.map(|(number, cpus)| (format!("/proc/irq/{number}/smp_affinity_list"), cpus)));
            files
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn any_host_is_restored_after_kills_at_any_steps(files in files(), first in 0..200_u32, second in 0..200_u32) {
        let mut host = SimulatedHost::new(&files);
        let before = host.files();
        host.killed_after(first, quiet);
        host.killed_after(second, restore);
        let restored = restore(&mut host);
        prop_assert!(done(&restored), "{restored:?}");
        prop_assert_eq!(host.files(), before);
        prop_assert!(host.journal().is_none());
    }
}
