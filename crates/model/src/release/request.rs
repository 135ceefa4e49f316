//! What a service reports about one request.

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// How the version that serves a request was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assignment {
    /// A random draw for each request, within one process.
    Random,
    /// A random draw for each pair of time slots: all requests that begin in a slot get the slot's version.
    Slot,
    /// By process, on purpose: some processes run one version while others run the other.
    Canary,
    /// Not known: the process has one version, and the data show which other versions ran at the same time.
    None,
}

impl Assignment {
    /// All ways of assignment.
    pub const ALL: [Assignment; 4] = [Assignment::Random, Assignment::Slot, Assignment::Canary, Assignment::None];

    /// Returns the name in lines, stores and reports: `random`, `slot`, `canary`, `none`.
    pub fn name(self) -> &'static str {
        match self {
            Assignment::Random => "random",
            Assignment::Slot => "slot",
            Assignment::Canary => "canary",
            Assignment::None => "none",
        }
    }
}

/// A ruler that runs on the thread of a request, directly before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestRuler {
    /// Several hundred small functions called in permuted order, which load the instruction fetch.
    Icode,
    /// System calls: short ones, and a byte through a pipe.
    Syscall,
    /// A chain of dependent integer operations.
    Alu,
    /// Dependent loads from a working set that the private caches do not hold.
    Memory,
}

impl RequestRuler {
    /// All rulers, in the order of their numbers in the C interface.
    pub const ALL: [RequestRuler; 4] =
        [RequestRuler::Icode, RequestRuler::Syscall, RequestRuler::Alu, RequestRuler::Memory];

    /// Returns the name in lines, stores and reports: `icode`, `syscall`, `alu`, `memory`.
    pub fn name(self) -> &'static str {
        match self {
            RequestRuler::Icode => "icode",
            RequestRuler::Syscall => "syscall",
            RequestRuler::Alu => "alu",
            RequestRuler::Memory => "memory",
        }
    }

    /// Returns the position in [`RequestRuler::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A span of time in which one version served all requests. Slots are numbered by `begin / seconds` and come in pairs:
/// slots 2k and 2k + 1. A random draw decides which slot of a pair has which version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimeSlot {
    /// The beginning, in whole seconds of `CLOCK_MONOTONIC`; a multiple of `seconds`.
    pub begin: u64,
    /// The length in seconds; at least 1.
    pub seconds: u32,
}

/// A process that serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestProcess {
    /// The process ID in the process's own PID namespace.
    pub pid: u32,
    /// When it began to count requests, in nanoseconds of `CLOCK_MONOTONIC`. Distinguishes processes with the same ID.
    pub began: u64,
}

/// One answered request. Texts may contain any Unicode, including control characters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The name of the service.
    pub service: String,
    /// The process that answered.
    pub process: RequestProcess,
    /// The number of the request in its process, from 1.
    pub number: u64,
    /// The version that answered.
    pub version: String,
    /// The template of the route, such as `/item/<id>`.
    pub route: String,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// The time of the answer, in nanoseconds of `CLOCK_MONOTONIC`.
    pub end: u64,
    /// CPU time of the request's thread; for a coroutine, the sum over its steps.
    pub cpu: Nanos,
    /// Wall time from the beginning to the answer.
    pub wall: Nanos,
    /// How the version was chosen.
    pub assignment: Assignment,
    /// The slot in which the request began, if versions change by slot.
    pub slot: Option<TimeSlot>,
    /// The time that the request's thread waited for a CPU, if it was read.
    pub delay: Option<Nanos>,
    /// The ruler that ran before the request and its CPU time, if one ran.
    pub ruler: Option<(RequestRuler, Nanos)>,
}
