//! What a service tells of one request.

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// How it was decided which version serves a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assignment {
    /// By a coin for each request, within one process.
    Random,
    /// By a coin for each pair of time slots: every request that begins in a slot gets the slot's version.
    Slot,
    /// By the process: some processes run the one, at the same time as others run the other, and that was meant.
    Canary,
    /// By nothing that is known: the process has one version, and what else runs meanwhile is to be seen from the data.
    None,
}

impl Assignment {
    /// Every way.
    pub const ALL: [Assignment; 4] = [Assignment::Random, Assignment::Slot, Assignment::Canary, Assignment::None];

    /// Its name in lines, stores and reports: `random`, `slot`, `canary`, `none`.
    pub fn name(self) -> &'static str {
        match self {
            Assignment::Random => "random",
            Assignment::Slot => "slot",
            Assignment::Canary => "canary",
            Assignment::None => "none",
        }
    }
}

/// A ruler that runs on the thread of a request, right before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestRuler {
    /// Several hundred small functions, called in permuted order: the fetching of instructions.
    Icode,
    /// System calls: short ones, and a byte through a pipe.
    Syscall,
    /// A chain of dependent integer operations.
    Alu,
    /// Dependent loads from a working set that the private caches do not hold.
    Memory,
}

impl RequestRuler {
    /// Every one, in the order of their numbers in the C interface.
    pub const ALL: [RequestRuler; 4] =
        [RequestRuler::Icode, RequestRuler::Syscall, RequestRuler::Alu, RequestRuler::Memory];

    /// Its name in lines, stores and reports: `icode`, `syscall`, `alu`, `memory`.
    pub fn name(self) -> &'static str {
        match self {
            RequestRuler::Icode => "icode",
            RequestRuler::Syscall => "syscall",
            RequestRuler::Alu => "alu",
            RequestRuler::Memory => "memory",
        }
    }

    /// The position in [`RequestRuler::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A stretch of time in which one version served all requests. Slots come in pairs: of the slots 2k and 2k + 1, counted by
/// `begin / seconds`, a coin decides which has the one version and which the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimeSlot {
    /// Where it begins, in whole seconds of `CLOCK_MONOTONIC`; a multiple of `seconds`.
    pub begin: u64,
    /// How long it is, in seconds; at least 1.
    pub seconds: u32,
}

/// A process that serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestProcess {
    /// Its number, as it sees it itself.
    pub pid: u32,
    /// When it began to count its requests, in nanoseconds of `CLOCK_MONOTONIC`: tells it from others of the same number.
    pub began: u64,
}

/// One request, when it has been answered. Text is any Unicode, control characters included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The service that it was for.
    pub service: String,
    /// The process that answered.
    pub process: RequestProcess,
    /// Which request of that process it was, from 1 on.
    pub number: u64,
    /// The version that answered.
    pub version: String,
    /// The template of its route, such as `/item/<id>`.
    pub route: String,
    /// The status of the answer; 0 where there was none.
    pub status: u16,
    /// When it had been answered, in nanoseconds of `CLOCK_MONOTONIC`.
    pub end: u64,
    /// CPU time of the thread (of each step of a coroutine).
    pub cpu: Nanos,
    /// From its beginning to its end.
    pub wall: Nanos,
    /// How its version was decided.
    pub assignment: Assignment,
    /// The slot in which it began, where slots decide.
    pub slot: Option<TimeSlot>,
    /// How long its thread waited for a CPU meanwhile, where that was read.
    pub delay: Option<Nanos>,
    /// The ruler that ran before it, and the CPU time that this took, where one ran.
    pub ruler: Option<(RequestRuler, Nanos)>,
}
