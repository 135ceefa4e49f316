//! Prices, counts, processes and progress as they travel.

use serde::{Deserialize, Serialize};
use steady_model::{
    Absent, AluTime, CallCount, Counts, Interval, KernelCall, Price, Priced, Prices, ProcessUse, Progress, Reading,
    Timestamp,
};

use crate::json::ReadError;
use crate::json::wire::{Seconds, join, read_started, required, split, started};

/// What a priced event is called: `minor_fault`, `call_read`.
pub(super) fn priced_name(priced: Priced) -> &'static str {
    match priced {
        Priced::MinorFault => "minor_fault",
        Priced::MinorFaultMany => "minor_fault_many",
        Priced::MinorFaultCold => "minor_fault_cold",
        Priced::Switch => "switch",
        Priced::Fork => "fork",
        Priced::Vfork => "vfork",
        Priced::Thread => "thread",
        Priced::Exec => "exec",
        Priced::KernelEntry => "kernel_entry",
        Priced::Call(call) => call.probe_name(),
    }
}

/// What has that name.
fn priced_of(name: &str) -> Option<Priced> {
    let plain = [
        Priced::MinorFault,
        Priced::MinorFaultMany,
        Priced::MinorFaultCold,
        Priced::Switch,
        Priced::Fork,
        Priced::Vfork,
        Priced::Thread,
        Priced::Exec,
        Priced::KernelEntry,
    ];
    let mut all = plain.into_iter().chain(KernelCall::ALL.into_iter().map(Priced::Call));
    all.find(|priced| priced_name(*priced) == name)
}

/// [`Prices`] in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct PricesWire {
    #[serde(serialize_with = "write_started", deserialize_with = "read_started")]
    measured: Timestamp,
    #[serde(deserialize_with = "required")]
    kernel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kernel_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    boot: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot_absent: Option<String>,
    #[serde(flatten)]
    alu: AluWire,
    events: Vec<PriceWire>,
}

/// How fast the CPU's clock ran.
#[derive(Serialize, Deserialize)]
pub(super) struct AluWire {
    #[serde(default)]
    alu_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alu_low_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alu_high_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alu_readings: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alu_seconds_absent: Option<String>,
}

impl From<&Reading<AluTime>> for AluWire {
    fn from(alu: &Reading<AluTime>) -> Self {
        let known = alu.as_ref().ok();
        AluWire {
            alu_seconds: known.map(|alu| alu.seconds),
            alu_low_seconds: known.map(|alu| alu.interval.low),
            alu_high_seconds: known.map(|alu| alu.interval.high),
            alu_readings: known.map(|alu| alu.readings),
            alu_seconds_absent: alu.as_ref().err().map(|absent| absent.0.clone()),
        }
    }
}

impl AluWire {
    /// The reading; exports from before there was one have none.
    pub(super) fn into_alu(self) -> Result<Reading<AluTime>, ReadError> {
        let Some(seconds) = self.alu_seconds else {
            let why = self.alu_seconds_absent.unwrap_or_else(|| "it was not read when this was recorded".to_owned());
            return Ok(Err(Absent(why)));
        };
        let end = |name, end: Option<f64>| end.ok_or_else(|| ReadError::field(name, "missing".to_owned()));
        let interval = Interval {
            low: end("alu_low_seconds", self.alu_low_seconds)?,
            high: end("alu_high_seconds", self.alu_high_seconds)?,
        };
        let holds =
            0.0 < interval.low && interval.low <= seconds && seconds <= interval.high && interval.high < LONGEST_STEP;
        crate::json::check::holds(holds, "alu_seconds", "no time of a step, or not in its interval")?;
        Ok(Ok(AluTime { seconds, interval, readings: self.alu_readings.unwrap_or_default() }))
    }
}

/// No step of arithmetic takes so long, in seconds.
const LONGEST_STEP: f64 = 1.0;

/// The price of one event.
#[derive(Serialize, Deserialize)]
struct PriceWire {
    event: String,
    #[serde(deserialize_with = "required")]
    price_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    low_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    high_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price_seconds_absent: Option<String>,
}

impl From<&Prices> for PricesWire {
    fn from(prices: &Prices) -> Self {
        let (kernel, kernel_absent) = split(&prices.kernel, |kernel| kernel);
        let (boot, boot_absent) = split(&prices.boot, |boot| boot);
        let events = prices.prices.iter().map(|(priced, price)| PriceWire::of(*priced, price)).collect();
        let alu = AluWire::from(&prices.alu);
        PricesWire { measured: prices.measured, kernel, kernel_absent, boot, boot_absent, alu, events }
    }
}

impl PricesWire {
    pub(super) fn into_prices(self) -> Result<Prices, ReadError> {
        let one = |(index, wire): (usize, PriceWire)| {
            wire.into_price().map_err(|error| error.within(&format!("events[{index}]")))
        };
        Ok(Prices {
            measured: self.measured,
            kernel: join("kernel", self.kernel, self.kernel_absent)?,
            boot: join("boot", self.boot, self.boot_absent)?,
            alu: self.alu.into_alu()?,
            prices: self.events.into_iter().enumerate().map(one).collect::<Result<_, _>>()?,
        })
    }
}

impl PriceWire {
    fn of(priced: Priced, price: &Reading<Price>) -> Self {
        let known = price.as_ref().ok();
        // JSON has no infinity: an end that is not known is left out.
        let end = |of: fn(&Interval) -> f64| known.map(|price| of(&price.interval)).filter(|end| end.is_finite());
        let finite = known.filter(|price| price.seconds.is_finite());
        let why = price.as_ref().err().map(|absent| absent.0.clone());
        PriceWire {
            event: priced_name(priced).to_owned(),
            price_seconds: finite.map(|price| price.seconds),
            low_seconds: end(|interval| interval.low),
            high_seconds: end(|interval| interval.high),
            price_seconds_absent: why.or_else(|| finite.is_none().then(|| "not a number".to_owned())),
        }
    }

    fn into_price(self) -> Result<(Priced, Reading<Price>), ReadError> {
        let unknown = || ReadError::field("event", format!("'{}' is no event that has a price", self.event));
        let priced = priced_of(&self.event).ok_or_else(unknown)?;
        let interval = Interval {
            low: self.low_seconds.unwrap_or(f64::NEG_INFINITY),
            high: self.high_seconds.unwrap_or(f64::INFINITY),
        };
        let price = self.price_seconds.map(|seconds| Price { seconds, interval });
        Ok((priced, join("price_seconds", price, self.price_seconds_absent)?))
    }
}

fn write_started<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&started(*at))
}

/// [`Counts`] in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct CountsWire {
    minor_faults: u64,
    major_faults: u64,
    #[serde(deserialize_with = "required")]
    voluntary_switches: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    voluntary_switches_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    involuntary_switches: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    involuntary_switches_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    forks: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forks_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    threads: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threads_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    execs: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execs_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    calls: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    calls_by_name: Option<Vec<CallCount>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls_by_name_absent: Option<String>,
}

impl From<&Counts> for CountsWire {
    fn from(counts: &Counts) -> Self {
        let number = |reading: &Reading<u64>| split(reading, |count| count);
        let (voluntary_switches, voluntary_switches_absent) = number(&counts.voluntary_switches);
        let (involuntary_switches, involuntary_switches_absent) = number(&counts.involuntary_switches);
        let (forks, forks_absent) = number(&counts.forks);
        let (threads, threads_absent) = number(&counts.threads);
        let (execs, execs_absent) = number(&counts.execs);
        let (calls, calls_absent) = number(&counts.calls);
        let (calls_by_name, calls_by_name_absent) = split(&counts.calls_by_name, |calls| calls);
        CountsWire {
            minor_faults: counts.minor_faults,
            major_faults: counts.major_faults,
            voluntary_switches,
            voluntary_switches_absent,
            involuntary_switches,
            involuntary_switches_absent,
            forks,
            forks_absent,
            threads,
            threads_absent,
            execs,
            execs_absent,
            calls,
            calls_absent,
            calls_by_name,
            calls_by_name_absent,
        }
    }
}

impl CountsWire {
    /// The counts; an error where a reading has neither value nor reason, or there are more than there can be.
    pub(super) fn into_counts(self) -> Result<Counts, ReadError> {
        let counts = Counts {
            minor_faults: self.minor_faults,
            major_faults: self.major_faults,
            voluntary_switches: join("voluntary_switches", self.voluntary_switches, self.voluntary_switches_absent)?,
            involuntary_switches: join(
                "involuntary_switches",
                self.involuntary_switches,
                self.involuntary_switches_absent,
            )?,
            forks: join("forks", self.forks, self.forks_absent)?,
            threads: join("threads", self.threads, self.threads_absent)?,
            execs: join("execs", self.execs, self.execs_absent)?,
            calls: join("calls", self.calls, self.calls_absent)?,
            calls_by_name: join("calls_by_name", self.calls_by_name, self.calls_by_name_absent)?,
        };
        within_reason(&counts)?;
        Ok(counts)
    }
}

/// Sums of these must not overflow.
fn within_reason(counts: &Counts) -> Result<(), ReadError> {
    let readings = [
        ("minor_faults", Some(counts.minor_faults)),
        ("major_faults", Some(counts.major_faults)),
        ("voluntary_switches", counts.voluntary_switches.clone().ok()),
        ("involuntary_switches", counts.involuntary_switches.clone().ok()),
        ("forks", counts.forks.clone().ok()),
        ("threads", counts.threads.clone().ok()),
        ("execs", counts.execs.clone().ok()),
        ("calls", counts.calls.clone().ok()),
    ];
    let named = counts.calls_by_name.iter().flatten().map(|call| ("calls_by_name", Some(call.count)));
    for (name, count) in readings.into_iter().chain(named) {
        crate::json::check::holds(count.unwrap_or(0) <= crate::json::check::MOST, name, "more than there can be")?;
    }
    Ok(())
}

/// [`ProcessUse`] in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct ProcessWire {
    pid: i32,
    parent: i32,
    name: String,
    threads: u32,
    wall_seconds: Seconds,
    cpu_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    waiting_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting_seconds_absent: Option<String>,
    faults: u64,
    switches: u64,
}

impl From<&ProcessUse> for ProcessWire {
    fn from(one: &ProcessUse) -> Self {
        let (waiting_seconds, waiting_seconds_absent) = split(&one.waiting, Seconds);
        ProcessWire {
            pid: one.pid,
            parent: one.parent,
            name: one.name.clone(),
            threads: one.threads,
            wall_seconds: Seconds(one.wall),
            cpu_seconds: Seconds(one.cpu),
            waiting_seconds,
            waiting_seconds_absent,
            faults: one.faults,
            switches: one.switches,
        }
    }
}

impl ProcessWire {
    pub(super) fn into_process(self) -> Result<ProcessUse, ReadError> {
        let waiting = join("waiting_seconds", self.waiting_seconds, self.waiting_seconds_absent)?;
        Ok(ProcessUse {
            pid: self.pid,
            parent: self.parent,
            name: self.name,
            threads: self.threads,
            wall: self.wall_seconds.0,
            cpu: self.cpu_seconds.0,
            waiting: waiting.map(|seconds| seconds.0),
            faults: self.faults,
            switches: self.switches,
        })
    }
}

/// [`Progress`] in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct ProgressWire {
    at_seconds: Seconds,
    cpu_seconds: Seconds,
    user_seconds: Seconds,
    /// Null where it was not told at that moment; the reasons are those of `waiting_seconds` at the top.
    #[serde(deserialize_with = "required")]
    waiting_seconds: Option<Seconds>,
}

impl From<&Progress> for ProgressWire {
    fn from(one: &Progress) -> Self {
        ProgressWire {
            at_seconds: Seconds(one.at),
            cpu_seconds: Seconds(one.cpu),
            user_seconds: Seconds(one.user),
            waiting_seconds: one.waiting.map(Seconds),
        }
    }
}

impl From<ProgressWire> for Progress {
    fn from(wire: ProgressWire) -> Self {
        Progress {
            at: wire.at_seconds.0,
            cpu: wire.cpu_seconds.0,
            user: wire.user_seconds.0,
            waiting: wire.waiting_seconds.map(|seconds| seconds.0),
        }
    }
}

/// A list of readings as it was, or the reason why there is none.
pub(super) fn list<T, W>(
    name: &str,
    (wire, absent): (Option<Vec<W>>, Option<String>),
    read: impl Fn(W) -> Result<T, ReadError>,
) -> Result<Reading<Vec<T>>, ReadError> {
    match join(name, wire, absent)? {
        Err(Absent(reason)) => Ok(Err(Absent(reason))),
        Ok(all) => {
            let one = |(index, wire)| read(wire).map_err(|error: ReadError| error.within(&format!("{name}[{index}]")));
            Ok(Ok(all.into_iter().enumerate().map(one).collect::<Result<_, _>>()?))
        }
    }
}
