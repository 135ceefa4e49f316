//! The pages of the demonstration's server: real work on memory and text, of which v2 does a twentieth more.

use std::fmt::Write;
use std::hint::black_box;

/// The routes, what a request for each costs beside one for the first, and how often of a hundred it is asked for.
pub(super) const ROUTES: [(&str, u64, u64); 2] = [("/item/<id>", 1, 70), ("/search", 2, 30)];
/// What v2 does where v1 does a hundred.
pub(super) const NEW_PERCENT: u64 = 105;
/// Things in the catalogue: some megabytes of it, so that it does not stay in a private cache beside a busy neighbour.
const THINGS: usize = 120_000;
/// Things that are looked at for each one that is shown.
const RELATED: usize = 12;

/// What there is to show.
pub(super) struct Site {
    things: Vec<Thing>,
}

struct Thing {
    name: String,
    price: u64,
    next: usize,
}

impl Site {
    /// A catalogue; the same each time.
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

    /// A page of so many things, begun at one of them.
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
