//! Hosts that are made quiet and put back, with a death at every step.

mod made;
mod random;

use steady_model::{Knob, Nanos};

use super::apply::apply;
use super::journal::Holder;
use super::restore::{release, restore_all};
use super::{Applied, HostError, Restored};
use crate::plan::QuietPlan;
use crate::record::DeedOutcome;
use made::Made;

/// The recorded hosts.
const TREES: [&str; 5] =
    ["host-intel-active", "host-intel-passive", "host-amd-pstate", "host-acpi-cpufreq", "host-no-cpufreq"];

fn all() -> QuietPlan {
    // Addresses too, so that every knob is in it.
    QuietPlan { knobs: Knob::ALL.to_vec(), named: Vec::new() }
}

fn quiet(made: &mut Made) -> Applied {
    apply(made, &all(), Holder::Stays).unwrap()
}

fn restore(made: &mut Made) -> Restored {
    restore_all(made, false).unwrap()
}

fn done(restored: &Restored) -> bool {
    restored.deeds.iter().all(|deed| matches!(deed.outcome, DeedOutcome::Restored | DeedOutcome::WasBack))
}

/// How many steps it takes to make a host quiet, and to put it back.
fn steps(name: &str) -> (u32, u32) {
    let mut made = Made::recorded(name);
    quiet(&mut made);
    let there = made.steps;
    restore(&mut made);
    (there, made.steps - there)
}

#[test]
fn what_was_there_is_put_back_to_the_byte() {
    for name in TREES {
        let mut made = Made::recorded(name);
        let before = made.files();
        let applied = quiet(&mut made);
        let set = applied.set.iter().filter(|deed| deed.outcome == DeedOutcome::Set).count();
        assert!(set > 0 && before != made.files(), "{name}");
        assert!(made.journal().is_some(), "{name}");
        let restored = restore(&mut made);
        assert!(done(&restored), "{name}: {restored:?}");
        assert_eq!(made.files(), before, "{name}");
        assert!(made.journal().is_none(), "{name}");
        assert_eq!(restore(&mut made), Restored::default(), "{name}: there is nothing left");
    }
}

#[test]
fn killed_between_any_two_steps_it_is_put_back_all_the_same() {
    for name in TREES {
        let (there, _) = steps(name);
        for at in 0..there {
            let mut made = Made::recorded(name);
            let before = made.files();
            assert!(made.killed_after(at, quiet), "{name} at {at} of {there}");
            let restored = restore(&mut made);
            assert!(done(&restored), "{name} at {at} of {there}: {restored:?}");
            assert_eq!(made.files(), before, "{name} at {at} of {there}");
            assert!(made.journal().is_none(), "{name} at {at}");
        }
    }
}

#[test]
fn killed_in_the_midst_of_putting_back_the_rest_is_put_back_the_next_time() {
    for name in TREES {
        let (_, back) = steps(name);
        for at in 0..back {
            let mut made = Made::recorded(name);
            let before = made.files();
            quiet(&mut made);
            assert!(made.killed_after(at, restore), "{name} at {at} of {back}");
            let restored = restore(&mut made);
            assert!(done(&restored), "{name} at {at} of {back}: {restored:?}");
            assert_eq!(made.files(), before, "{name} at {at} of {back}");
        }
    }
}

#[test]
fn a_second_quiet_keeps_the_first_originals_wherever_either_was_killed() {
    for name in TREES {
        let (there, _) = steps(name);
        for at in 0..there {
            let mut made = Made::recorded(name);
            let before = made.files();
            made.killed_after(at, quiet);
            made.killed_after(there - at, quiet);
            quiet(&mut made);
            let restored = restore(&mut made);
            assert!(done(&restored), "{name} at {at} of {there}: {restored:?}");
            assert_eq!(made.files(), before, "{name} at {at} of {there}");
        }
    }
}

#[test]
fn a_command_puts_back_what_nobody_else_wants() {
    let gone = Holder::Process { pid: 1, began: Nanos(1) };
    let here = Holder::this_process();
    let mut made = Made::recorded("host-intel-active");
    let before = made.files();
    apply(&mut made, &QuietPlan::of(&[Knob::NmiWatchdog], &[]), Holder::Stays).unwrap();
    apply(&mut made, &all(), here.clone()).unwrap();
    apply(&mut made, &QuietPlan::of(&[Knob::Swap], &[]), gone).unwrap();
    assert!(done(&release(&mut made, &here).unwrap()));
    let file = "/proc/sys/kernel/nmi_watchdog";
    assert_eq!(made.text(file), "0", "it is to stay");
    assert_eq!(made.text("/proc/sys/vm/swappiness"), before["/proc/sys/vm/swappiness"], "whoever wanted it is gone");
    made.overwrite(file, &before[file]);
    assert_eq!(made.files(), before, "all else is back");
    made.overwrite(file, "0");
    assert!(done(&restore(&mut made)));
    assert_eq!(made.files(), before);
}

#[test]
fn what_somebody_else_set_is_left_unless_it_is_forced() {
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let mut made = Made::recorded("host-intel-passive");
    let before = made.files();
    quiet(&mut made);
    made.overwrite(governor, "ondemand\n");
    let restored = restore(&mut made);
    let foreign: Vec<_> = restored.deeds.iter().filter(|deed| deed.outcome.name() == "foreign").collect();
    assert_eq!(foreign.len(), 1, "{restored:?}");
    assert_eq!((foreign[0].file.as_str(), made.text(governor).as_str()), (governor, "ondemand\n"));
    assert!(made.journal().is_some_and(|journal| journal.entries.len() == 1), "the rest is back");
    let forced = restore_all(&mut made, true).unwrap();
    assert_eq!(forced.deeds[0].outcome, DeedOutcome::Forced("ondemand".to_owned()));
    assert_eq!(made.files(), before);
    assert!(made.journal().is_none());
}

#[test]
fn what_somebody_else_set_in_between_is_what_a_new_quiet_puts_back() {
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let mut made = Made::recorded("host-intel-passive");
    quiet(&mut made);
    made.overwrite(governor, "ondemand\n");
    restore(&mut made);
    quiet(&mut made);
    assert_eq!(made.text(governor), "performance");
    assert!(done(&restore(&mut made)));
    assert_eq!(made.text(governor), "ondemand\n");
}

#[test]
fn what_is_gone_is_told_and_put_back_once_it_is_there_again() {
    let file = "/proc/sys/kernel/nmi_watchdog";
    let mut made = Made::recorded("host-intel-active");
    let before = made.files();
    quiet(&mut made);
    let path = made.hide(file);
    let restored = restore(&mut made);
    let gone = restored.deeds.iter().find(|deed| deed.file == file).unwrap();
    assert!(matches!(&gone.outcome, DeedOutcome::Gone(why) if why.contains("does not exist")), "{gone:?}");
    assert_eq!(restored.deeds.iter().filter(|deed| deed.outcome.name() == "gone").count(), 1);
    made.unhide(file, path);
    assert!(done(&restore(&mut made)));
    assert_eq!(made.files(), before);
}

#[test]
fn nothing_is_changed_without_a_journal() {
    for name in TREES {
        let mut made = Made::recorded(name);
        let before = made.files();
        made.is_full = true;
        assert!(matches!(apply(&mut made, &all(), Holder::Stays), Err(HostError::NotJournalled(_))), "{name}");
        assert_eq!(made.files(), before, "{name}");
    }
}

#[test]
fn a_boot_makes_a_journal_void() {
    let mut made = Made::recorded("host-intel-active");
    quiet(&mut made);
    made.reboot();
    let after = made.files();
    assert_eq!(restore(&mut made), Restored::default());
    assert_eq!(made.files(), after, "these are the values of another boot");
    assert!(made.journal().is_none());
}

#[test]
fn what_is_refused_is_told_and_the_rest_is_done() {
    let mut made = Made::recorded("host-intel-active");
    made.grow("/proc/irq/7/smp_affinity_list", "0-7\n");
    let before = made.files();
    let applied = quiet(&mut made);
    let of = |number: u32| {
        let file = format!("/proc/irq/{number}/smp_affinity_list");
        applied.set.iter().find(|deed| deed.file == file).unwrap().outcome.clone()
    };
    assert!(matches!(of(7), DeedOutcome::Refused(_)));
    assert_eq!(of(9), DeedOutcome::Set);
    assert!(done(&restore(&mut made)));
    assert_eq!(made.files(), before);
}

#[test]
fn interrupts_of_cpus_that_go_off_are_put_back_though_they_were_not_named() {
    let file = "/proc/irq/16/smp_affinity_list";
    let mut made = Made::recorded("host-intel-active");
    let before = made.files();
    assert_eq!(before[file], "4\n");
    apply(&mut made, &QuietPlan::of(&[Knob::Smt], &[]), Holder::Stays).unwrap();
    assert_eq!(made.text(file), "0-3", "CPU 4 is off");
    assert_eq!(made.text("/proc/irq/9/smp_affinity_list"), "0-7\n", "those that have others were let be");
    assert!(done(&restore(&mut made)));
    assert_eq!(made.files(), before);
}

#[test]
fn only_what_is_wished_for_is_touched() {
    let mut made = Made::recorded("host-intel-active");
    let before = made.files();
    let applied = apply(&mut made, &QuietPlan::of(&[Knob::Turbo, Knob::Thp], &[Knob::Thp]), Holder::Stays).unwrap();
    assert!(applied.set.iter().all(|deed| deed.name == Knob::Turbo), "{applied:?}");
    assert_eq!(
        made.text("/sys/kernel/mm/transparent_hugepage/enabled"),
        before["/sys/kernel/mm/transparent_hugepage/enabled"]
    );
    assert!(!QuietPlan::of(&[], &[]).knobs.contains(&Knob::Aslr), "it has to be named");
    assert_eq!(QuietPlan::of(&[Knob::Aslr], &[]).knobs, [Knob::Aslr]);
}
