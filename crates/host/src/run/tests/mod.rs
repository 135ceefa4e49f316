//! Tests that make hosts quiet and restore them, with a crash at every step.

mod made;
mod random;

use steady_model::{Knob, Nanos};

use super::apply::apply;
use super::journal::Holder;
use super::restore::{release, restore_all};
use super::{Applied, HostError, Restored};
use crate::plan::QuietPlan;
use crate::record::AttemptOutcome;
use made::SimulatedHost;

/// Recorded files of hosts, in `testdata/trees`.
const TREES: [&str; 5] =
    ["host-intel-active", "host-intel-passive", "host-amd-pstate", "host-acpi-cpufreq", "host-no-cpufreq"];

fn all() -> QuietPlan {
    // Every knob, including aslr.
    QuietPlan { knobs: Knob::ALL.to_vec(), named: Vec::new() }
}

fn quiet(host: &mut SimulatedHost) -> Applied {
    apply(host, &all(), Holder::Stays).unwrap()
}

fn restore(host: &mut SimulatedHost) -> Restored {
    restore_all(host, false).unwrap()
}

fn done(restored: &Restored) -> bool {
    restored
        .attempts
        .iter()
        .all(|attempt| matches!(attempt.outcome, AttemptOutcome::Restored | AttemptOutcome::WasBack))
}

/// Returns the number of steps to make a host quiet, and to restore it.
fn steps(name: &str) -> (u32, u32) {
    let mut host = SimulatedHost::recorded(name);
    quiet(&mut host);
    let there = host.steps;
    restore(&mut host);
    (there, host.steps - there)
}

#[test]
fn files_are_restored_byte_for_byte() {
    for name in TREES {
        let mut host = SimulatedHost::recorded(name);
        let before = host.files();
        let applied = quiet(&mut host);
        let set = applied.set.iter().filter(|attempt| attempt.outcome == AttemptOutcome::Set).count();
        assert!(set > 0 && before != host.files(), "{name}");
        assert!(host.journal().is_some(), "{name}");
        let restored = restore(&mut host);
        assert!(done(&restored), "{name}: {restored:?}");
        assert_eq!(host.files(), before, "{name}");
        assert!(host.journal().is_none(), "{name}");
        assert_eq!(restore(&mut host), Restored::default(), "{name}: a second restore does something");
    }
}

#[test]
fn files_are_restored_after_a_kill_at_any_step() {
    for name in TREES {
        let (there, _) = steps(name);
        for at in 0..there {
            let mut host = SimulatedHost::recorded(name);
            let before = host.files();
            assert!(host.killed_after(at, quiet), "{name} at {at} of {there}");
            let restored = restore(&mut host);
            assert!(done(&restored), "{name} at {at} of {there}: {restored:?}");
            assert_eq!(host.files(), before, "{name} at {at} of {there}");
            assert!(host.journal().is_none(), "{name} at {at}");
        }
    }
}

#[test]
fn a_killed_restore_is_completed_by_the_next_one() {
    for name in TREES {
        let (_, back) = steps(name);
        for at in 0..back {
            let mut host = SimulatedHost::recorded(name);
            let before = host.files();
            quiet(&mut host);
            assert!(host.killed_after(at, restore), "{name} at {at} of {back}");
            let restored = restore(&mut host);
            assert!(done(&restored), "{name} at {at} of {back}: {restored:?}");
            assert_eq!(host.files(), before, "{name} at {at} of {back}");
        }
    }
}

#[test]
fn a_second_quiet_keeps_the_original_values_even_if_both_are_killed() {
    for name in TREES {
        let (there, _) = steps(name);
        for at in 0..there {
            let mut host = SimulatedHost::recorded(name);
            let before = host.files();
            host.killed_after(at, quiet);
            host.killed_after(there - at, quiet);
            quiet(&mut host);
            let restored = restore(&mut host);
            assert!(done(&restored), "{name} at {at} of {there}: {restored:?}");
            assert_eq!(host.files(), before, "{name} at {at} of {there}");
        }
    }
}

#[test]
fn a_command_restores_what_no_other_holder_needs() {
    let gone = Holder::Process { pid: 1, began: Nanos(1) };
    let here = Holder::this_process();
    let mut host = SimulatedHost::recorded("host-intel-active");
    let before = host.files();
    apply(&mut host, &QuietPlan::of(&[Knob::NmiWatchdog], &[]), Holder::Stays).unwrap();
    apply(&mut host, &all(), here.clone()).unwrap();
    apply(&mut host, &QuietPlan::of(&[Knob::Swap], &[]), gone).unwrap();
    assert!(done(&release(&mut host, &here).unwrap()));
    let file = "/proc/sys/kernel/nmi_watchdog";
    assert_eq!(host.text(file), "0", "another holder needs it");
    assert_eq!(
        host.text("/proc/sys/vm/swappiness"),
        before["/proc/sys/vm/swappiness"],
        "the process that needed it has ended"
    );
    host.overwrite(file, &before[file]);
    assert_eq!(host.files(), before, "everything else is restored");
    host.overwrite(file, "0");
    assert!(done(&restore(&mut host)));
    assert_eq!(host.files(), before);
}

/// The second command does not see the files of CPUs that the first one took offline.
#[test]
fn a_second_command_keeps_the_host_quiet_after_the_end_of_the_first() {
    let first = Holder::this_process();
    let mut host = SimulatedHost::recorded("host-intel-active");
    let before = host.files();
    apply(&mut host, &all(), first.clone()).unwrap();
    let quiet_files = host.files();
    apply(&mut host, &all(), Holder::Stays).unwrap();
    let released = release(&mut host, &first).unwrap();
    assert_eq!((released.attempts.len(), released.notes), (0, vec![]));
    assert_eq!(host.files(), quiet_files);
    assert!(done(&restore(&mut host)));
    assert_eq!(host.files(), before);
    // The second one needs only one thread per core, or only the governor.
    for knob in [Knob::Smt, Knob::Governor] {
        apply(&mut host, &all(), first.clone()).unwrap();
        apply(&mut host, &QuietPlan::of(&[knob], &[]), Holder::Stays).unwrap();
        let released = release(&mut host, &first).unwrap();
        assert!(done(&released), "{knob:?}: {released:?}");
        assert!(done(&restore(&mut host)), "{knob:?}");
        assert_eq!(host.files(), before, "{knob:?}");
    }
}

#[test]
fn values_that_earlier_commands_could_not_restore_are_no_failure_of_later_ones() {
    let here = Holder::this_process();
    let file = "/proc/sys/kernel/randomize_va_space";
    let mut host = SimulatedHost::recorded("host-intel-active");
    let before = host.files();
    apply(&mut host, &QuietPlan::of(&[Knob::Aslr], &[]), Holder::Stays).unwrap();
    host.overwrite(file, "1\n");
    assert!(!done(&restore(&mut host)), "another program changed it");
    apply(&mut host, &QuietPlan::of(&[Knob::NmiWatchdog], &[]), here.clone()).unwrap();
    let released = release(&mut host, &here).unwrap();
    assert!(done(&released) && released.attempts.len() == 1, "{released:?}");
    assert!(released.notes[0].contains("of earlier commands"), "{released:?}");
    host.overwrite(file, &before[file]);
    assert_eq!(host.files(), before);
}

#[test]
fn interrupts_that_no_longer_exist_have_nothing_to_restore() {
    let mut host = SimulatedHost::recorded("host-intel-active");
    quiet(&mut host);
    host.hide("/proc/irq/9/smp_affinity_list");
    let restored = restore(&mut host);
    assert!(done(&restored), "{restored:?}");
    assert!(restored.notes.iter().any(|note| note.contains("/proc/irq/9/")), "{restored:?}");
    assert!(host.journal().is_none());
    // Without any interrupt, /proc may be that of a container.
    quiet(&mut host);
    host.hide_folder("/proc/irq");
    let restored = restore(&mut host);
    assert!(!done(&restored), "{restored:?}");
    assert!(host.journal().is_some_and(|journal| journal.entries.iter().all(|one| one.knob == Knob::IrqAffinity)));
}

/// Switching SMT on again would start a CPU that was offline before.
#[test]
fn smt_stays_while_a_cpu_is_offline() {
    let mut host = SimulatedHost::recorded("host-intel-active");
    host.overwrite("/sys/devices/system/cpu/online", "0-6\n");
    let before = host.files();
    let applied = apply(&mut host, &QuietPlan::of(&[Knob::Smt], &[Knob::Smt]), Holder::Stays).unwrap();
    assert!(applied.left.is_empty() || applied.left[0].reason.contains("CPU 7 is offline"), "{applied:?}");
    quiet(&mut host);
    assert_eq!(host.text("/sys/devices/system/cpu/online"), "0-6\n");
    assert!(done(&restore(&mut host)));
    assert_eq!(host.files(), before);
}

/// Switching turbo off lowers the lowest performance that the administrator chose, and the kernel leaves it there.
#[test]
fn the_lowest_performance_is_restored_after_turbo() {
    const FILE: &str = "/sys/devices/system/cpu/intel_pstate/min_perf_pct";
    let plan = QuietPlan::of(&[Knob::Turbo], &[]);
    for (before, quiet) in [("100\n", "66\n"), ("20\n", "20\n")] {
        let mut host = SimulatedHost::recorded("host-intel-active");
        host.overwrite(FILE, before);
        apply(&mut host, &plan, Holder::Stays).unwrap();
        assert_eq!(host.text(FILE), quiet);
        let restored = restore(&mut host);
        assert!(done(&restored), "{restored:?}");
        assert_eq!(host.text(FILE), before);
        let is_reported = restored.attempts.iter().any(|attempt| attempt.file == FILE);
        assert_eq!(is_reported, before != quiet, "{restored:?}");
    }
    // Another program has chosen another value while the host was quiet.
    let mut host = SimulatedHost::recorded("host-intel-active");
    apply(&mut host, &plan, Holder::Stays).unwrap();
    host.overwrite(FILE, "30\n");
    assert!(!done(&restore(&mut host)));
    assert_eq!(host.text(FILE), "30\n");
}

#[test]
fn values_of_other_programs_are_restored_only_by_force() {
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let mut host = SimulatedHost::recorded("host-intel-passive");
    let before = host.files();
    quiet(&mut host);
    host.overwrite(governor, "ondemand\n");
    let restored = restore(&mut host);
    let foreign: Vec<_> = restored.attempts.iter().filter(|attempt| attempt.outcome.name() == "foreign").collect();
    assert_eq!(foreign.len(), 1, "{restored:?}");
    assert_eq!((foreign[0].file.as_str(), host.text(governor).as_str()), (governor, "ondemand\n"));
    assert!(host.journal().is_some_and(|journal| journal.entries.len() == 1), "everything else is restored");
    let forced = restore_all(&mut host, true).unwrap();
    assert_eq!(forced.attempts[0].outcome, AttemptOutcome::Forced("ondemand".to_owned()));
    assert_eq!(host.files(), before);
    assert!(host.journal().is_none());
}

#[test]
fn a_new_quiet_treats_values_of_other_programs_as_original() {
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let mut host = SimulatedHost::recorded("host-intel-passive");
    quiet(&mut host);
    host.overwrite(governor, "ondemand\n");
    restore(&mut host);
    quiet(&mut host);
    assert_eq!(host.text(governor), "performance");
    assert!(done(&restore(&mut host)));
    assert_eq!(host.text(governor), "ondemand\n");
}

#[test]
fn missing_files_are_reported_and_restored_when_they_return() {
    let file = "/proc/sys/kernel/nmi_watchdog";
    let mut host = SimulatedHost::recorded("host-intel-active");
    let before = host.files();
    quiet(&mut host);
    let path = host.hide(file);
    let restored = restore(&mut host);
    let gone = restored.attempts.iter().find(|attempt| attempt.file == file).unwrap();
    assert!(matches!(&gone.outcome, AttemptOutcome::Gone(why) if why.contains("does not exist")), "{gone:?}");
    assert_eq!(restored.attempts.iter().filter(|attempt| attempt.outcome.name() == "gone").count(), 1);
    host.unhide(file, path);
    assert!(done(&restore(&mut host)));
    assert_eq!(host.files(), before);
}

#[test]
fn nothing_is_changed_if_no_journal_can_be_written() {
    for name in TREES {
        let mut host = SimulatedHost::recorded(name);
        let before = host.files();
        host.is_full = true;
        assert!(matches!(apply(&mut host, &all(), Holder::Stays), Err(HostError::NotJournalled(_))), "{name}");
        assert_eq!(host.files(), before, "{name}");
    }
}

#[test]
fn a_reboot_makes_the_journal_void() {
    let mut host = SimulatedHost::recorded("host-intel-active");
    quiet(&mut host);
    host.reboot();
    let after = host.files();
    assert_eq!(restore(&mut host), Restored::default());
    assert_eq!(host.files(), after, "values of the new boot were changed");
    assert!(host.journal().is_none());
}

#[test]
fn refused_writes_are_reported_and_others_are_done() {
    let mut host = SimulatedHost::recorded("host-intel-active");
    host.add_file("/proc/irq/7/smp_affinity_list", "0-7\n");
    let before = host.files();
    let applied = quiet(&mut host);
    let of = |number: u32| {
        let file = format!("/proc/irq/{number}/smp_affinity_list");
        applied.set.iter().find(|attempt| attempt.file == file).unwrap().outcome.clone()
    };
    assert!(matches!(of(7), AttemptOutcome::Refused(_)));
    assert_eq!(of(9), AttemptOutcome::Set);
    assert!(done(&restore(&mut host)));
    assert_eq!(host.files(), before);
}

#[test]
fn interrupts_of_cpus_that_go_offline_are_moved_and_restored() {
    let file = "/proc/irq/16/smp_affinity_list";
    let mut host = SimulatedHost::recorded("host-intel-active");
    let before = host.files();
    assert_eq!(before[file], "4\n");
    apply(&mut host, &QuietPlan::of(&[Knob::Smt], &[]), Holder::Stays).unwrap();
    assert_eq!(host.text(file), "0-3", "CPU 4 is offline");
    assert_eq!(host.text("/proc/irq/9/smp_affinity_list"), "0-7\n", "interrupts with other CPUs stay");
    assert!(done(&restore(&mut host)));
    assert_eq!(host.files(), before);
}

#[test]
fn only_requested_knobs_are_set() {
    let mut host = SimulatedHost::recorded("host-intel-active");
    let before = host.files();
    let applied = apply(&mut host, &QuietPlan::of(&[Knob::Turbo, Knob::Thp], &[Knob::Thp]), Holder::Stays).unwrap();
    assert!(applied.set.iter().all(|attempt| attempt.name == Knob::Turbo), "{applied:?}");
    assert_eq!(
        host.text("/sys/kernel/mm/transparent_hugepage/enabled"),
        before["/sys/kernel/mm/transparent_hugepage/enabled"]
    );
    assert!(!QuietPlan::of(&[], &[]).knobs.contains(&Knob::Aslr), "aslr must be named");
    assert_eq!(QuietPlan::of(&[Knob::Aslr], &[]).knobs, [Knob::Aslr]);
}
