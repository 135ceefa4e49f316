//! What a word of a made-up take means.

use proptest::prelude::*;
use steady_preload::table::{Patch, kind};

use super::made::{LIBRARY, LOADER, PAGE};
use crate::taken::Taken;

/// What a word means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// The same at each launch.
    Constant(u64),
    /// An address in a region.
    Place(usize, u64),
    /// An address right behind the library, or before it.
    Behind,
    Before(u64),
    /// Such an address, mangled; or none.
    Mangled(usize, u64),
    MangledNothing,
    /// The link of a free piece of memory, hidden by where it stands.
    Hidden(usize, u64),
    HiddenNothing,
    /// An address in the kernel's object.
    Vdso(u64),
    /// What a launch makes.
    Of(u32),
    /// The number of arguments beside something constant, or the number of the thread.
    Half(u32, bool, u32),
}

pub(super) fn any() -> impl Strategy<Value = Meaning> {
    let place = || (0_usize..6, 0_u64..2 * PAGE);
    let made = [
        kind::STACK,
        kind::ARGV,
        kind::ENVIRONMENT,
        kind::AUXILIARY,
        kind::RANDOM,
        kind::PLATFORM,
        kind::EXECFN,
        kind::ARGV0,
        kind::ARGV0_NAME,
        kind::CANARY,
        kind::POINTER_GUARD,
        kind::BREAK,
        kind::DRAWN,
    ];
    prop_oneof![
        prop::num::u64::ANY.prop_map(Meaning::Constant),
        place().prop_map(|(region, offset)| Meaning::Place(region, offset)),
        Just(Meaning::Behind),
        (0..PAGE).prop_map(Meaning::Before),
        place().prop_map(|(region, offset)| Meaning::Mangled(region, offset)),
        Just(Meaning::MangledNothing),
        place().prop_map(|(region, offset)| Meaning::Hidden(region, offset)),
        Just(Meaning::HiddenNothing),
        (0..2 * PAGE + 1).prop_map(Meaning::Vdso),
        prop::sample::select(made.to_vec()).prop_map(Meaning::Of),
        (prop::sample::select(vec![kind::ARGC, kind::TID]), prop::bool::ANY, prop::num::u32::ANY)
            .prop_map(|(kind, high, other)| Meaning::Half(kind, high, other)),
    ]
}

impl Meaning {
    /// The word at this address of a take, and how it is to be patched.
    pub(super) fn at(&self, taken: &Taken, address: u64) -> (u64, Option<Patch>) {
        let place = |region: usize, offset: u64| taken.regions[region].address + offset;
        let guard = u64::from_le_bytes(taken.stack.random[8..].try_into().expect("eight bytes"));
        let patch = |kind, addend| Some(Patch { address, kind, bytes: 8, addend });
        let mangled = |pointer: u64| ((pointer ^ guard).rotate_left(17), patch(kind::MANGLED, pointer));
        match *self {
            Meaning::Constant(value) => (value, None),
            Meaning::Place(region, offset) => (place(region, offset), None),
            Meaning::Behind => (place(LIBRARY, 3 * PAGE), None),
            Meaning::Before(by) => (place(LOADER, 0) - by, None),
            Meaning::Mangled(region, offset) => mangled(place(region, offset)),
            Meaning::MangledNothing => mangled(0),
            Meaning::Hidden(region, offset) => (place(region, offset) ^ address >> 12, None),
            Meaning::HiddenNothing => (address >> 12, None),
            Meaning::Vdso(offset) => (taken.stack.vdso.0 + offset, patch(kind::VDSO, offset)),
            Meaning::Of(kind) => (made(taken, kind), patch(kind, 0)),
            Meaning::Half(kind, high, other) => {
                let half = if kind == kind::ARGC { taken.stack.arguments as u32 } else { taken.thread.tid as u32 };
                let (low, up) = if high { (other, half) } else { (half, other) };
                let patch = Patch { address: address + 4 * u64::from(high), kind, bytes: 4, addend: 0 };
                (u64::from(up) << 32 | u64::from(low), Some(patch))
            }
        }
    }
}

/// What a launch made of one of its words.
fn made(taken: &Taken, kind: u32) -> u64 {
    let stack = &taken.stack;
    let told = |kind: u64| stack.auxiliary.1.iter().find(|pair| pair.0 == kind).expect("it is told").1;
    match kind {
        kind::STACK => stack.pointer,
        kind::ARGV => stack.pointer + 8,
        kind::ENVIRONMENT => stack.environment,
        kind::AUXILIARY => stack.auxiliary.0,
        kind::RANDOM => told(25),
        kind::PLATFORM => told(15),
        kind::EXECFN => told(31),
        kind::ARGV0 => stack.name.0,
        kind::ARGV0_NAME => stack.name_part,
        kind::CANARY => u64::from_le_bytes(stack.random[..8].try_into().expect("eight bytes")) & !0xff,
        kind::POINTER_GUARD => u64::from_le_bytes(stack.random[8..].try_into().expect("eight bytes")),
        kind::BREAK => taken.heap_end,
        _ => taken.drawn[0],
    }
}

/// What a snapshot may point to on the stack.
pub(super) fn on_stack(taken: &Taken) -> Vec<u64> {
    use kind::{ARGV, ARGV0, ARGV0_NAME, AUXILIARY, ENVIRONMENT, EXECFN, PLATFORM, RANDOM, STACK};
    let kinds = [STACK, ARGV, ENVIRONMENT, AUXILIARY, RANDOM, PLATFORM, EXECFN, ARGV0, ARGV0_NAME];
    kinds.map(|kind| made(taken, kind)).to_vec()
}
