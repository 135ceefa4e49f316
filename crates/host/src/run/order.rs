//! What is set before what.

use steady_model::Knob;

/// The order in which knobs are set; they are put back in the reverse order.
///
/// - **Turbo first**: it lowers the highest rate that a policy may have, to which its lowest is set then.
/// - **The preference before the governor**: drivers that have both refuse any preference but the governor's own under
///   `performance`, so on the way back the governor has to go first.
/// - **SMT last**: the policies of CPUs that are off have no values that could be set, and come back with those that they
///   went with. On the way back the CPUs return before anything of theirs is put back. Interrupts are moved before,
///   so that none has to be moved by the kernel, which would not move it back.
/// - **Caches** hold nothing to put back, and are dropped once nothing else is to be done.
pub(crate) const ORDER: [Knob; 12] = [
    Knob::Turbo,
    Knob::Epp,
    Knob::Governor,
    Knob::MinFrequency,
    Knob::NmiWatchdog,
    Knob::PerfSampleRate,
    Knob::Thp,
    Knob::Swap,
    Knob::Aslr,
    Knob::IrqAffinity,
    Knob::Smt,
    Knob::Caches,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_has_its_place() {
        let mut sorted = ORDER;
        sorted.sort_unstable();
        let mut all = Knob::ALL;
        all.sort_unstable();
        assert_eq!(sorted, all);
    }

    #[test]
    fn what_depends_on_another_comes_after_it() {
        let place = |knob| ORDER.iter().position(|one| *one == knob).unwrap();
        for (first, then) in [
            (Knob::Turbo, Knob::MinFrequency),
            (Knob::Epp, Knob::Governor),
            (Knob::Governor, Knob::Smt),
            (Knob::MinFrequency, Knob::Smt),
            (Knob::IrqAffinity, Knob::Smt),
            (Knob::Smt, Knob::Caches),
        ] {
            assert!(place(first) < place(then), "{first:?} {then:?}");
        }
    }
}
