//! Why a word is another in the second take.

use steady_preload::table::kind;

use super::layout::{Launch, Layout};
use crate::taken::Refusal;

/// How far a mangled pointer is turned to the left.
const TURN: u32 = 17;
/// How far the C library's allocator shifts the address of a pointer that it hides by it.
const SHIFT: u32 = 12;

/// A part of a word that is made anew at each launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// Where in the word, in bytes.
    pub(super) at: u64,
    /// How many bytes.
    pub(super) bytes: u32,
    /// What it becomes.
    pub(super) kind: u32,
    /// What is added to it in the snapshots of either take.
    pub(super) addends: [u64; 2],
}

/// What words can be explained with.
pub(super) struct Words<'a> {
    layout: &'a Layout,
    launches: &'a [Launch; 2],
}

impl<'a> Words<'a> {
    /// All that a launch makes must have been another in both: else a word that is it would look like a constant.
    pub(super) fn new(layout: &'a Layout, launches: &'a [Launch; 2]) -> Result<Words<'a>, Refusal> {
        let [one, two] = launches;
        let same_kinds = one.words.len() == two.words.len()
            && one.words.iter().zip(&two.words).all(|(left, right)| (left.0, left.1) == (right.0, right.1));
        let words_differ = one.words.iter().zip(&two.words).all(|(left, right)| left.2 != right.2);
        let halves_differ = one.halves.iter().zip(&two.halves).all(|(left, right)| left.1 != right.1);
        if !(same_kinds && words_differ && halves_differ) {
            return Err(Refusal("its launches cannot be told apart: addresses are not random here".into()));
        }
        Ok(Words { layout, launches })
    }

    /// What of the word at these places is made anew at each launch: nothing where it is an address within the program,
    /// which lies where it lay. None if there is no reason why it differs.
    pub(super) fn explain(&self, places: [u64; 2], values: [u64; 2]) -> Option<Vec<Made>> {
        if let Some((kind, which)) = self.of_launch(values) {
            return Some(vec![Made { at: 0, bytes: 8, kind, addends: [which; 2] }]);
        }
        if self.layout.same_place(values) {
            return Some(vec![]);
        }
        if let Some(offset) = self.layout.in_vdso(values) {
            return Some(vec![Made { at: 0, bytes: 8, kind: kind::VDSO, addends: [offset; 2] }]);
        }
        if self.layout.moved_along(values) || self.hidden(places, values) {
            return Some(vec![]);
        }
        if let Some(offset) = self.layout.moved_with_vdso(values) {
            return Some(vec![Made { at: 0, bytes: 8, kind: kind::VDSO, addends: [offset; 2] }]);
        }
        let made = self.mangled(values).map(|made| vec![made]).or_else(|| self.halves(values));
        made.or_else(|| self.left_over(places, values).then(Vec::new))
    }

    fn of_launch(&self, values: [u64; 2]) -> Option<(u32, u64)> {
        let [one, two] = self.launches;
        let mut both = one.words.iter().zip(&two.words);
        let found = both.find(|(left, right)| [left.2, right.2] == values).map(|(left, _)| (left.0, left.1));
        // Words that are equal are not asked for, so the limits differ where they explain any.
        let limit = || ([one.stack_limit, two.stack_limit] == values).then_some((kind::STACK_LIMIT, 0));
        found.or_else(limit)
    }

    /// Whether it is the link of a free piece of memory: an address within the program, or none, hidden by where it stands
    /// itself. That is the same at each launch.
    fn hidden(&self, places: [u64; 2], values: [u64; 2]) -> bool {
        let links = [0, 1].map(|side| values[side] ^ places[side] >> SHIFT);
        links == [0, 0] || self.layout.same_place(links)
    }

    /// Whether it is what is left of an address within the program, plain or hidden, in memory that was given back and used
    /// again: its first bytes were written over, by the same in both.
    fn left_over(&self, places: [u64; 2], values: [u64; 2]) -> bool {
        let links = [0, 1].map(|side| values[side] ^ places[side] >> SHIFT);
        let upper = |values: [u64; 2], bits: u32| values.map(|value| value >> bits);
        [8, 16, 24].into_iter().any(|bits| {
            let written_over = (values[0] ^ values[1]).trailing_zeros() >= bits;
            let is_address = |values| {
                let upper = upper(values, bits);
                upper == [0, 0] || self.layout.same_upper_part(upper, bits)
            };
            written_over && (is_address(values) || is_address(links))
        })
    }

    /// A pointer within the program, or none at all, that was mangled.
    fn mangled(&self, values: [u64; 2]) -> Option<Made> {
        let guards = [self.launches[0].guard, self.launches[1].guard];
        let addends = [0, 1].map(|side| values[side].rotate_right(TURN) ^ guards[side]);
        let known = addends[0] == addends[1] || self.layout.same_place(addends);
        known.then_some(Made { at: 0, bytes: 8, kind: kind::MANGLED, addends })
    }

    /// Two words of 4 bytes, of which one at least is another at each launch. The upper one may be what is left of an
    /// address within the program in memory that was given back and used again for a smaller number.
    fn halves(&self, values: [u64; 2]) -> Option<Vec<Made>> {
        let mut made = vec![];
        for at in [0, 4] {
            let [left, right] = values.map(|value| (value >> (at * 8)) as u32);
            let left_over = at == 4 && self.layout.same_upper_part([left, right].map(u64::from), 32);
            if left != right && !left_over {
                made.push(Made { at, bytes: 4, kind: self.half([left, right])?, addends: [0; 2] });
            }
        }
        Some(made)
    }

    fn half(&self, values: [u32; 2]) -> Option<u32> {
        let [one, two] = self.launches;
        let mut both = one.halves.iter().zip(&two.halves);
        both.find(|(left, right)| [left.1, right.1] == values).map(|(left, _)| left.0)
    }
}
