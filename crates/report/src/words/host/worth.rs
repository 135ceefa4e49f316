//! What setting a knob is worth, and who says so.

use steady_model::Knob;

/// What it is worth, in one line, and the source.
pub(crate) fn worth(knob: Knob) -> (&'static str, &'static str) {
    match knob {
        Knob::Turbo => (
            "the clock does not rise above its nominal rate while the CPU is cool and few cores are busy",
            "LLVM, Benchmarking tips; pyperf, Tune the system",
        ),
        Knob::Governor => (
            "the clock does not follow the load of the moments before",
            "Linux, admin-guide/pm/cpufreq; LLVM, Benchmarking tips",
        ),
        Knob::Epp => {
            ("a CPU that chooses its own clock does not save energy with it", "Linux, admin-guide/pm/intel_pstate")
        }
        Knob::MinFrequency => ("the clock does not fall while a run waits", "pyperf, Tune the system"),
        Knob::Smt => ("nobody shares a core with a run", "LLVM, Benchmarking tips"),
        Knob::Aslr => (
            "every run has the same addresses, whose luck is then in every run: left unless it is named",
            "Mytkowicz and others, ASPLOS 2009; LLVM, Benchmarking tips",
        ),
        Knob::NmiWatchdog => {
            ("no interrupt looks for CPUs that hang, and its counter is free", "Linux, admin-guide/lockup-watchdogs")
        }
        Knob::PerfSampleRate => ("samplers interrupt no more than once a second", "pyperf, Tune the system"),
        Knob::IrqAffinity => (
            "devices interrupt other CPUs than the two that duets run on",
            "Linux, core-api/irq/irq-affinity; pyperf, Tune the system",
        ),
        Knob::Thp => ("no huge pages are made in the midst of a run", "Linux, admin-guide/mm/transhuge"),
        Knob::Swap => ("a run's memory is put on disk last of all", "Linux, admin-guide/sysctl/vm"),
        Knob::Caches => ("what is measured begins with no file in memory", "Linux, admin-guide/sysctl/vm"),
    }
}
