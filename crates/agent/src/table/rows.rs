//! The rows of one service that have not been passed on, their conversion to [`ReleaseRows`], and the numbers of the
//! names that they refer to.

use std::collections::HashMap;

use steady_model::{
    Assignment, ProcessRow, ReleaseRow, ReleaseRows, ReleaseRulerRow, RequestRuler, RequestSums, RulerSums, WallRow,
};

use crate::line::Text;

/// The key of a row of requests of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) second: u64,
    pub(super) process: u64,
    pub(super) version: u32,
    pub(super) route: u32,
    pub(super) class: Option<u32>,
    pub(super) slot_seconds: u32,
    pub(super) assignment: Assignment,
    pub(super) second_of_pair: bool,
}

/// The key of a row with the CPU time of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProcessKey {
    pub(super) second: u64,
    pub(super) slot_seconds: u32,
    pub(super) process: u64,
    pub(super) version: Option<u32>,
}

/// CPU time of a process and of its requests, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessCpu {
    pub(super) cpu: f64,
    pub(super) requests_cpu: f64,
}

/// The names that the rows of a service refer to by number.
#[derive(Debug)]
pub(super) struct AllNames {
    pub(super) versions: Names,
    pub(super) routes: Names,
    pub(super) classes: Names,
}

/// Second, process, version and ruler.
type RulerKey = (u64, u64, u32, RequestRuler);
/// First second of the interval, version, route and bucket.
type WallKey = (u64, u32, u32, u16);

/// The rows of a service that have not been passed on.
#[derive(Debug, Default)]
pub(super) struct OpenRows {
    pub(super) requests: HashMap<Key, RequestSums>,
    pub(super) rulers: HashMap<RulerKey, RulerSums>,
    pub(super) walls: HashMap<WallKey, u32>,
    pub(super) processes: HashMap<ProcessKey, ProcessCpu>,
}

impl OpenRows {
    pub(super) fn len(&self) -> usize {
        self.requests.len() + self.rulers.len() + self.walls.len() + self.processes.len()
    }

    /// Converts the rows, with only those names that occur in them.
    pub(super) fn into_rows(self, service: &str, host: &str, names: &AllNames) -> ReleaseRows {
        let mut versions = Used::of(&names.versions);
        let mut routes = Used::of(&names.routes);
        let mut classes = Used::of(&names.classes);
        let requests = self.requests.into_iter().map(|(key, sums)| ReleaseRow {
            second: key.second,
            host: 0,
            process: key.process,
            version: versions.place(key.version),
            route: routes.place(key.route),
            class: key.class.map_or(0, |class| classes.place(class) + 1),
            assignment: key.assignment,
            span_seconds: key.slot_seconds.max(1),
            slot_seconds: key.slot_seconds,
            second_of_pair: key.second_of_pair,
            sums,
        });
        let requests = requests.collect();
        let rulers = self.rulers.into_iter().map(|((second, process, version, ruler), sums)| {
            let version = Some(versions.place(version));
            ReleaseRulerRow { second, host: 0, process, version, ruler, sums }
        });
        let rulers = rulers.collect();
        let walls = walls(self.walls, &mut versions, &mut routes);
        let processes = self.processes.into_iter().map(|(key, sums)| ProcessRow {
            second: key.second,
            slot_seconds: key.slot_seconds,
            host: 0,
            process: key.process,
            version: key.version.map(|version| versions.place(version)),
            cpu: sums.cpu,
            requests_cpu: sums.requests_cpu,
        });
        let processes = processes.collect();
        // If there are classes, the first name is empty and stands for requests without a class.
        let unnamed = (!classes.texts.is_empty()).then(String::new);
        ReleaseRows {
            service: service.to_owned(),
            hosts: vec![host.to_owned()],
            versions: versions.texts,
            routes: routes.texts,
            classes: unnamed.into_iter().chain(classes.texts).collect(),
            requests,
            rulers,
            processes,
            walls,
            ..ReleaseRows::default()
        }
    }
}

fn walls(counts: HashMap<WallKey, u32>, versions: &mut Used<'_>, routes: &mut Used<'_>) -> Vec<WallRow> {
    let mut counts: Vec<(WallKey, u32)> = counts.into_iter().collect();
    counts.sort_unstable();
    let same = |one: &(WallKey, u32), other: &(WallKey, u32)| {
        let of = |((second, version, route, _), _): &(WallKey, u32)| (*second, *version, *route);
        of(one) == of(other)
    };
    let row = |counts: &[(WallKey, u32)]| {
        let (second, version, route, _) = counts[0].0;
        let (version, route) = (versions.place(version), routes.place(route));
        let counts = counts.iter().map(|((.., bucket), count)| (*bucket, *count)).collect();
        WallRow { second, host: 0, version, route, counts }
    };
    counts.chunk_by(same).map(row).collect()
}

/// The names that occur in some rows, with new numbers in the order of their first use.
struct Used<'a> {
    names: &'a Names,
    places: HashMap<u32, u32>,
    texts: Vec<String>,
}

impl<'a> Used<'a> {
    fn of(names: &'a Names) -> Self {
        Used { names, places: HashMap::new(), texts: Vec::new() }
    }

    fn place(&mut self, number: u32) -> u32 {
        let next = self.texts.len() as u32;
        *self.places.entry(number).or_insert_with(|| {
            self.texts.push(self.names.plain(number).to_owned());
            next
        })
    }
}

/// A name is replaced by a new one if it was not used for longer than this.
const UNUSED_SECONDS: u64 = 600;

/// The number that stands for all names beyond the limit.
pub(super) const OTHER_NUMBER: u32 = u32::MAX;
/// The text of [`OTHER_NUMBER`].
const OTHER: &str = "(other)";

/// A limited number of names, and their numbers.
#[derive(Debug)]
pub(super) struct Names {
    places: HashMap<Box<str>, u32>,
    all: Vec<Name>,
    most: usize,
    /// The bytes of all names together.
    bytes: usize,
    /// The most bytes of all names together.
    most_bytes: usize,
}

#[derive(Debug)]
struct Name {
    plain: String,
    used: u64,
}

impl Names {
    pub(super) fn new(most: usize) -> Names {
        Names { places: HashMap::new(), all: Vec::new(), most, bytes: 0, most_bytes: usize::MAX }
    }

    /// Returns the bytes of all names together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Limits the bytes of the names that are added from now on, together with those that are there.
    pub(super) fn limit_bytes(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
    }

    /// Returns the number of a name that is used at `now`, in seconds of a monotonic clock. Adds the name if it is new;
    /// `None` if there is no space for it. A name may replace another one; `forget` is then called with its number,
    /// before it is returned.
    pub(super) fn place(&mut self, text: Text<'_>, now: u64, forget: impl FnOnce(u32)) -> Option<u32> {
        if let Some(&place) = self.places.get(text.written()) {
            self.all[place as usize].used = now;
            return Some(place);
        }
        let name = Name { plain: text.plain().into_owned(), used: now };
        let bytes = self.bytes + name.plain.len();
        let place = if self.all.len() < self.most && bytes <= self.most_bytes {
            self.bytes = bytes;
            self.all.push(name);
            self.all.len() - 1
        } else {
            let (oldest, replaced) = self.all.iter().enumerate().min_by_key(|(_, name)| name.used)?;
            let bytes = bytes - replaced.plain.len();
            if replaced.used + UNUSED_SECONDS >= now || bytes > self.most_bytes {
                return None;
            }
            self.places.retain(|_, place| *place as usize != oldest);
            self.bytes = bytes;
            self.all[oldest] = name;
            forget(oldest as u32);
            oldest
        } as u32;
        self.places.insert(text.written().into(), place);
        Some(place)
    }

    /// Returns the number of a name as [`Names::place`] does. Middleware sends `(other)` for the names beyond its own
    /// limit, so this name has the number of the names beyond the limit here.
    pub(super) fn place_or_other(&mut self, text: Text<'_>, now: u64, forget: impl FnOnce(u32)) -> Option<u32> {
        if text.written() == OTHER { Some(OTHER_NUMBER) } else { self.place(text, now, forget) }
    }

    /// Returns the name with a number.
    pub(super) fn plain(&self, place: u32) -> &str {
        self.all.get(place as usize).map_or(OTHER, |name| &name.plain)
    }

    /// Returns the names that were used at `then` or later.
    pub(super) fn used_since(&self, then: u64) -> impl Iterator<Item = &str> {
        self.all.iter().filter(move |name| name.used >= then).map(|name| name.plain.as_str())
    }
}
