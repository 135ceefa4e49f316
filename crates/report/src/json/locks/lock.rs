//! One lock.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{LockHolds, LockKind, LockTimes, LockUse, Nanos, Reading};

use super::place::{self, PlaceWire, SiteWire};
use crate::json::ReadError;
use crate::json::object::Object;
use crate::json::wire::{Seconds, join, required};

/// A lock; an address as text, for it is no number to count with.
pub(super) fn value(lock: &LockUse) -> Value {
    let mut object = Object::new();
    object.put("id", lock.id);
    object.put("kind", lock.kind.name());
    object.put("process", lock.process);
    object.put("address", format!("{:#x}", lock.address));
    object.put("destroyed", lock.destroyed);
    object.put("acquisitions", lock.acquisitions);
    object.put("contended", lock.contended);
    object.put("given_up", lock.given_up);
    waits(&mut object, &lock.waits);
    holds(&mut object, &lock.holds);
    object.put("threads", lock.threads);
    object.time("gain_seconds", &lock.gain);
    match &lock.made_at {
        Ok(made) => object.put("made_at", place::value(made)),
        Err(absent) => object.absent("made_at", &absent.0),
    }
    object.put("waiting", lock.waiting.clone());
    match &lock.held_by {
        Ok(thread) => object.put("held_by", *thread),
        Err(absent) => object.absent("held_by", &absent.0),
    }
    object.put("sites", lock.sites.iter().map(place::site).collect::<Vec<_>>());
    object.into()
}

/// A figure's name, and where it stands.
type Figure<'a, T, V> = (&'a str, fn(&T) -> V);

/// Each figure of some times, absent together.
fn figures<T>(object: &mut Object, of: &Reading<T>, figures: &[Figure<'_, T, Nanos>]) {
    for (name, pick) in figures {
        object.time(name, &of.as_ref().map(pick).map_err(Clone::clone));
    }
}

/// Each count, absent with the same reason.
fn counts<T>(object: &mut Object, of: &Reading<T>, counts: &[Figure<'_, T, u64>]) {
    for (name, pick) in counts {
        match of {
            Ok(of) => object.put(name, pick(of)),
            Err(absent) => object.absent(name, &absent.0),
        }
    }
}

fn waits(object: &mut Object, waits: &Reading<LockTimes>) {
    counts(object, waits, &[("waits", |waits| waits.count)]);
    figures(
        object,
        waits,
        &[
            ("wait_seconds", |waits| waits.total),
            ("wait_median_seconds", |waits| waits.median),
            ("wait_p99_seconds", |waits| waits.p99),
            ("wait_max_seconds", |waits| waits.most),
        ],
    );
}

fn holds(object: &mut Object, holds: &Reading<LockHolds>) {
    figures(
        object,
        holds,
        &[
            ("hold_seconds", |holds| holds.total),
            ("hold_mean_seconds", |holds| holds.mean),
            ("hold_median_seconds", |holds| holds.median),
            ("hold_p99_seconds", |holds| holds.p99),
            ("hold_max_seconds", |holds| holds.most),
        ],
    );
    counts(
        object,
        holds,
        &[
            ("holds_timed_contended", |holds| holds.timed_contended),
            ("holds_timed_sampled", |holds| holds.timed_sampled),
        ],
    );
}

/// A lock, to be read. What is absent together has its reason beside the first.
#[derive(Deserialize)]
pub(super) struct LockWire {
    id: u32,
    kind: LockKind,
    process: usize,
    address: String,
    destroyed: bool,
    acquisitions: u64,
    contended: u64,
    given_up: u64,
    #[serde(deserialize_with = "required")]
    waits: Option<u64>,
    #[serde(default)]
    waits_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    wait_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    wait_median_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    wait_p99_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    wait_max_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    hold_seconds: Option<Seconds>,
    #[serde(default)]
    hold_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    hold_mean_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    hold_median_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    hold_p99_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    hold_max_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    holds_timed_contended: Option<u64>,
    #[serde(deserialize_with = "required")]
    holds_timed_sampled: Option<u64>,
    threads: u32,
    #[serde(deserialize_with = "required")]
    gain_seconds: Option<Seconds>,
    #[serde(default)]
    gain_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    made_at: Option<PlaceWire>,
    #[serde(default)]
    made_at_absent: Option<String>,
    waiting: Vec<usize>,
    #[serde(deserialize_with = "required")]
    held_by: Option<usize>,
    #[serde(default)]
    held_by_absent: Option<String>,
    sites: Vec<SiteWire>,
}

/// What must be there because what stands before it is.
fn there<T>(name: &str, value: Option<T>) -> Result<T, ReadError> {
    value.ok_or_else(|| ReadError::field(name, "missing, though the others are there"))
}

fn time(name: &str, value: Option<Seconds>) -> Result<Nanos, ReadError> {
    Ok(there(name, value)?.0)
}

impl LockWire {
    /// The lock; an error where a reading has neither value nor reason, or its address is none.
    pub(super) fn into_lock(self) -> Result<LockUse, ReadError> {
        let waits = match join("waits", self.waits, self.waits_absent.clone())? {
            Err(absent) => Err(absent),
            Ok(count) => Ok(LockTimes {
                count,
                total: time("wait_seconds", self.wait_seconds)?,
                median: time("wait_median_seconds", self.wait_median_seconds)?,
                p99: time("wait_p99_seconds", self.wait_p99_seconds)?,
                most: time("wait_max_seconds", self.wait_max_seconds)?,
            }),
        };
        let holds = match join("hold_seconds", self.hold_seconds, self.hold_seconds_absent.clone())? {
            Err(absent) => Err(absent),
            Ok(total) => Ok(LockHolds {
                total: total.0,
                mean: time("hold_mean_seconds", self.hold_mean_seconds)?,
                median: time("hold_median_seconds", self.hold_median_seconds)?,
                p99: time("hold_p99_seconds", self.hold_p99_seconds)?,
                most: time("hold_max_seconds", self.hold_max_seconds)?,
                timed_contended: there("holds_timed_contended", self.holds_timed_contended)?,
                timed_sampled: there("holds_timed_sampled", self.holds_timed_sampled)?,
            }),
        };
        let made_at = match join("made_at", self.made_at, self.made_at_absent)? {
            Ok(made) => Ok(made.into_place().map_err(|error| error.within("made_at"))?),
            Err(absent) => Err(absent),
        };
        let site =
            |(at, wire): (usize, SiteWire)| wire.into_site().map_err(|error| error.within(&format!("sites[{at}]")));
        Ok(LockUse {
            id: self.id,
            kind: self.kind,
            process: self.process,
            address: address(&self.address)?,
            destroyed: self.destroyed,
            acquisitions: self.acquisitions,
            contended: self.contended,
            given_up: self.given_up,
            waits,
            holds,
            threads: self.threads,
            sites: self.sites.into_iter().enumerate().map(site).collect::<Result<_, _>>()?,
            made_at,
            waiting: self.waiting,
            held_by: join("held_by", self.held_by, self.held_by_absent)?,
            gain: join("gain_seconds", self.gain_seconds, self.gain_seconds_absent)?.map(|gain| gain.0),
        })
    }
}

fn address(text: &str) -> Result<u64, ReadError> {
    let digits = text.strip_prefix("0x").ok_or_else(|| ReadError::field("address", "it does not begin with 0x"))?;
    u64::from_str_radix(digits, 16).map_err(|error| ReadError::field("address", error.to_string()))
}
