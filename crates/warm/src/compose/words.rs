//! Finds the reason why a word differs between two captures.

use steady_preload::table::kind;

use super::layout::{LaunchValues, Layout};
use crate::captured::Refusal;

/// The number of bits by which a mangled pointer is rotated left.
const TURN: u32 = 17;
/// The shift of the C library's allocator, which hides a pointer by its own address shifted right (safe-linking).
const SHIFT: u32 = 12;

/// A part of a word that each launch creates again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NewPart {
    /// Its offset in the word, in bytes.
    pub(super) at: u64,
    /// Its length in bytes.
    pub(super) bytes: u32,
    /// The type of its new value.
    pub(super) kind: u32,
    /// The addend of the new value, in the snapshot of each capture.
    pub(super) addends: [u64; 2],
}

/// The known reasons for differences.
pub(super) struct Words<'a> {
    layout: &'a Layout,
    launches: &'a [LaunchValues; 2],
}

impl<'a> Words<'a> {
    /// Checks that all values of a launch differ between the captures. If one did not, a word with it would look
    /// constant.
    pub(super) fn new(layout: &'a Layout, launches: &'a [LaunchValues; 2]) -> Result<Words<'a>, Refusal> {
        let [one, two] = launches;
        let same_kinds = one.words.len() == two.words.len()
            && one.words.iter().zip(&two.words).all(|(left, right)| (left.0, left.1) == (right.0, right.1));
        let words_differ = one.words.iter().zip(&two.words).all(|(left, right)| left.2 != right.2);
        let halves_differ = one.halves.iter().zip(&two.halves).all(|(left, right)| left.1 != right.1);
        if !(same_kinds && words_differ && halves_differ) {
            return Err(Refusal("its captures cannot be compared: addresses are not random here".into()));
        }
        Ok(Words { layout, launches })
    }

    /// Returns the parts of a word that each launch creates again. There are none if the word is an address in the
    /// program, because a snapshot keeps its addresses. Returns `None` if there is no reason for the difference.
    pub(super) fn explain(&self, places: [u64; 2], values: [u64; 2]) -> Option<Vec<NewPart>> {
        if let Some((kind, which)) = self.of_launch(values) {
            return Some(vec![NewPart { at: 0, bytes: 8, kind, addends: [which; 2] }]);
        }
        if self.layout.same_place(values) {
            return Some(vec![]);
        }
        if let Some(offset) = self.layout.in_vdso(values) {
            return Some(vec![NewPart { at: 0, bytes: 8, kind: kind::VDSO, addends: [offset; 2] }]);
        }
        if self.layout.moved_along(values) || self.hidden(places, values) {
            return Some(vec![]);
        }
        if let Some(offset) = self.layout.moved_with_vdso(values) {
            return Some(vec![NewPart { at: 0, bytes: 8, kind: kind::VDSO, addends: [offset; 2] }]);
        }
        let made = self.mangled(values).map(|made| vec![made]).or_else(|| self.halves(values));
        made.or_else(|| self.left_over(places, values).then(Vec::new))
    }

    fn of_launch(&self, values: [u64; 2]) -> Option<(u32, u64)> {
        let [one, two] = self.launches;
        let mut both = one.words.iter().zip(&two.words);
        let found = both.find(|(left, right)| [left.2, right.2] == values).map(|(left, _)| (left.0, left.1));
        // This is called for values that differ, so equal limits never match.
        let limit = || ([one.stack_limit, two.stack_limit] == values).then_some((kind::STACK_LIMIT, 0));
        found.or_else(limit)
    }

    /// Returns whether it is the link of a free block of memory: an address in the program or null, hidden by the
    /// link's own address, which a snapshot keeps.
    fn hidden(&self, places: [u64; 2], values: [u64; 2]) -> bool {
        let links = [0, 1].map(|side| values[side] ^ places[side] >> SHIFT);
        links == [0, 0] || self.layout.same_place(links)
    }

    /// Returns whether it is the rest of an address in the program, plain or hidden, in memory that was freed and used
    /// again. Its lowest bytes have been overwritten by the same bytes in both captures.
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

    /// Returns the reason if it is a mangled pointer in the program, or a mangled constant such as null.
    fn mangled(&self, values: [u64; 2]) -> Option<NewPart> {
        let guards = [self.launches[0].guard, self.launches[1].guard];
        let addends = [0, 1].map(|side| values[side].rotate_right(TURN) ^ guards[side]);
        let known = addends[0] == addends[1] || self.layout.same_place(addends);
        known.then_some(NewPart { at: 0, bytes: 8, kind: kind::MANGLED, addends })
    }

    /// Returns the reasons if at least one half of the word differs at each launch. The upper half may be the rest of
    /// an address in the program, in memory that was freed and used again for a smaller number.
    fn halves(&self, values: [u64; 2]) -> Option<Vec<NewPart>> {
        let mut made = vec![];
        for at in [0, 4] {
            let [left, right] = values.map(|value| (value >> (at * 8)) as u32);
            let left_over = at == 4 && self.layout.same_upper_part([left, right].map(u64::from), 32);
            if left != right && !left_over {
                made.push(NewPart { at, bytes: 4, kind: self.half([left, right])?, addends: [0; 2] });
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
