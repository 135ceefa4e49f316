//! Pages of the demonstration's server: work on memory and text. v2 does 5 % more of it than v1.

use std::fmt::Write;
use std::hint::black_box;

/// Routes, their cost relative to the first, and their share of the requests in per cent.
pub(super) const ROUTES: [(&str, u64, u64); 2] = [("/item/<id>", 1, 70), ("/search", 2, 30)];
/// Work of v2 in per cent of the work of v1.
pub(super) const NEW_PERCENT: u64 = 105;
/// Number of items in the catalogue. It has some megabytes, so it does not stay in a private cache while a neighbour
/// runs.
const THINGS: usize = 120_000;
/// Number of items that are read for each item on a page.
const RELATED: usize = 12;

/// The catalogue that pages show.
pub(super) struct Site {
    things: Vec<Thing>,
}

struct Thing {
    name: String,
    price: u64,
    next: usize,
}

impl Site {
    /// Creates the catalogue, which is the same each time.
    pub(super) fn new() -> Site {
        let thing = |index: usize| {
            let next = (index.wrapping_mul(2_654_435_761) ^ (index >> 7)) % THINGS;
            Thing {
                name: format!("thing number {index} <{}>", index * 31 % 977),
                price: (index as u64 * 7919) % 9973,
                next,
            }
        };
        Site { things: (0..THINGS).map(thing).collect() }
    }

    /// Renders a page of `things` items, starting with item `begin`.
    pub(super) fn page(&self, begin: usize, things: u64) -> String {
        let mut page = String::with_capacity(things as usize * 40);
        let mut at = begin % THINGS;
        let mut sum = 0;
        for _ in 0..things {
            let thing = &self.things[at];
            page.push_str("<li>");
            thing.name.chars().for_each(|letter| match letter {
                '<' => page.push_str("&lt;"),
                '>' => page.push_str("&gt;"),
                letter => page.push(letter),
            });
            let _ = write!(page, " {}.{:02}</li>", thing.price / 100, thing.price % 100);
            for _ in 0..RELATED {
                let thing = &self.things[at];
                sum += thing.price;
                at = (thing.next + sum as usize) % THINGS;
            }
        }
        black_box(sum);
        page
    }
}
