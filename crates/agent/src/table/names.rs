//! Texts of a service, by small numbers. They are looked up as written, so that what is known already is not decoded again.

use std::collections::HashMap;

use crate::line::Text;

/// A text that nobody used for so many seconds makes room for another one.
const UNUSED_SECONDS: u64 = 600;

/// The number of all that are too many together, and their text.
pub(super) const NONE_OF_THEM: u32 = u32::MAX;
const OTHER: &str = "(other)";

/// Texts, at most so many.
#[derive(Debug)]
pub(super) struct Names {
    places: HashMap<Box<str>, u32>,
    all: Vec<Name>,
    most: usize,
}

#[derive(Debug)]
struct Name {
    plain: String,
    used: u64,
}

impl Names {
    pub(super) fn new(most: usize) -> Names {
        Names { places: HashMap::new(), all: Vec::new(), most }
    }

    /// The number of a text that is used now, in seconds of any clock that does not go back; `None` where it is one too many.
    pub(super) fn place(&mut self, text: Text<'_>, now: u64) -> Option<u32> {
        if let Some(&place) = self.places.get(text.written()) {
            self.all[place as usize].used = now;
            return Some(place);
        }
        let name = Name { plain: text.plain().into_owned(), used: now };
        let place = if self.all.len() < self.most {
            self.all.push(name);
            self.all.len() - 1
        } else {
            let (oldest, _) = self.all.iter().enumerate().min_by_key(|(_, name)| name.used)?;
            if self.all[oldest].used + UNUSED_SECONDS >= now {
                return None;
            }
            self.places.retain(|_, place| *place as usize != oldest);
            self.all[oldest] = name;
            oldest
        } as u32;
        self.places.insert(text.written().into(), place);
        Some(place)
    }

    /// The text of a number.
    pub(super) fn plain(&self, place: u32) -> &str {
        self.all.get(place as usize).map_or(OTHER, |name| &name.plain)
    }

    /// The texts that were used since then.
    pub(super) fn used_since(&self, then: u64) -> impl Iterator<Item = &str> {
        self.all.iter().filter(move |name| name.used >= then).map(|name| name.plain.as_str())
    }
}
