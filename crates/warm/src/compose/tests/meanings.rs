//! The meanings of words in made-up captures.

use proptest::prelude::*;
use steady_preload::table::{Patch, kind};

use super::made::{LIBRARY, LOADER, PAGE};
use crate::captured::Captured;

/// The meaning of a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// The same value at each launch.
    Constant(u64),
    /// An address in a region.
    Place(usize, u64),
    /// The address just behind the library.
    Behind,
    /// An address before the loader, by this distance.
    Before(u64),
    /// A mangled address in a region.
    Mangled(usize, u64),
    /// A mangled null pointer.
    MangledNothing,
    /// The link of a free block of memory to a place in a region, hidden by the link's own address.
    Hidden(usize, u64),
    /// The same with a null pointer.
    HiddenNothing,
    /// An address in the vDSO.
    Vdso(u64),
    /// A value that each launch creates again.
    Of(u32),
    /// One half is the number of arguments or the thread number, the other is constant.
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
    /// Returns the word at an address of a capture, and its expected patch.
    pub(super) fn at(&self, captured: &Captured, address: u64) -> (u64, Option<Patch>) {
        let place = |region: usize, offset: u64| captured.regions[region].address + offset;
        let guard = u64::from_le_bytes(captured.stack.random[8..].try_into().expect("eight bytes"));
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
            Meaning::Vdso(offset) => (captured.stack.vdso.0 + offset, patch(kind::VDSO, offset)),
            Meaning::Of(kind) => (made(captured, kind), patch(kind, 0)),
            Meaning::Half(kind, high, other) => {
                let half =
                    if kind == kind::ARGC { captured.stack.arguments as u32 } else { captured.thread.tid as u32 };
                let (low, up) = if high { (other, half) } else { (half, other) };
                let patch = Patch { address: address + 4 * u64::from(high), kind, bytes: 4, addend: 0 };
                (u64::from(up) << 32 | u64::from(low), Some(patch))
            }
        }
    }
}

/// Returns the value that a launch created.
fn made(captured: &Captured, kind: u32) -> u64 {
    let stack = &captured.stack;
    let auxiliary = |kind: u64| stack.auxiliary.1.iter().find(|pair| pair.0 == kind).expect("an auxiliary entry").1;
    match kind {
        kind::STACK => stack.pointer,
        kind::ARGV => stack.pointer + 8,
        kind::ENVIRONMENT => stack.environment,
        kind::AUXILIARY => stack.auxiliary.0,
        kind::RANDOM => auxiliary(25),
        kind::PLATFORM => auxiliary(15),
        kind::EXECFN => auxiliary(31),
        kind::ARGV0 => stack.name.0,
        kind::ARGV0_NAME => stack.name_part,
        kind::CANARY => u64::from_le_bytes(stack.random[..8].try_into().expect("eight bytes")) & !0xff,
        kind::POINTER_GUARD => u64::from_le_bytes(stack.random[8..].try_into().expect("eight bytes")),
        kind::BREAK => captured.heap_end,
        _ => captured.drawn[0],
    }
}

/// Returns the addresses on the stack that a snapshot may contain.
pub(super) fn on_stack(captured: &Captured) -> Vec<u64> {
    use kind::{ARGV, ARGV0, ARGV0_NAME, AUXILIARY, ENVIRONMENT, EXECFN, PLATFORM, RANDOM, STACK};
    let kinds = [STACK, ARGV, ENVIRONMENT, AUXILIARY, RANDOM, PLATFORM, EXECFN, ARGV0, ARGV0_NAME];
    kinds.map(|kind| made(captured, kind)).to_vec()
}
