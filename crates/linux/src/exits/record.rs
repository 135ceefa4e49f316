//! The exit record of one task: `struct taskstats`.

use steady_model::{Absent, Nanos, Reading, Timestamp};

/// What the kernel reports about a task (a thread) when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskExit {
    /// Thread id. The id of a process's first thread is the process id.
    pub pid: i32,
    /// Process id. Before version 12 of the record (Linux 5.17) it is not known, and a first thread cannot be
    /// distinguished from others.
    pub tgid: Option<i32>,
    /// Parent of its process when the task ended: the process that created it or adopted it.
    pub parent: i32,
    /// Name of the task: the first 15 bytes of its program's name, unless it has set another name.
    pub name: String,
    /// Start time in seconds, only for labels.
    pub began: Timestamp,
    /// Time from its start to its end, in whole microseconds. A thread that executes a program continues as the first
    /// thread of its process and takes over that thread's start time. Its own time before the exec is then missing, and
    /// the first thread's time is counted twice.
    pub wall: Nanos,
    /// CPU time as the scheduler measured it. It is exact for a task that never waited for anything. For others, the
    /// time since the last tick or context switch before the end is missing.
    pub cpu: Nanos,
    /// User time in the kernel's accounting: whole ticks if the kernel samples by ticks.
    pub user: Nanos,
    /// System time, with the same precision as the user time.
    pub system: Nanos,
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Context switches in which the task gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// Context switches in which the task was preempted.
    pub involuntary_switches: u64,
    /// Time spent runnable, waiting for a CPU.
    pub run_delay: Reading<Nanos>,
    /// Whether it was the last task of its process. Before version 12 this is known only for some processes with
    /// several threads.
    pub last_of_process: Option<bool>,
    /// Whether its process executed no program after it was forked.
    pub never_executed: bool,
}

/// First version with the process id and the flag for the last task.
const WITH_PROCESS: u16 = 12;
/// Bit of `ac_flag` (linux/acct.h): forked, but no program executed.
const FORKED_ONLY: u8 = 0x01;
/// Bit of `ac_flag`: the last task of its process.
const LAST_OF_PROCESS: u8 = 0x20;
/// End of the first delays, in bytes from the start. Two odd versions have extra fields between delays, so later fields
/// have other offsets.
const AFTER_FIRST_DELAYS: usize = 64;
/// End of all delays, in bytes from the start.
const AFTER_ALL_DELAYS: usize = 368;
/// Length of a name in bytes.
const NAME: usize = 32;
/// Length of version 14 without the extra fields, in bytes.
const PLAIN_14: usize = 432;

/// Longest time between two ticks of the kernel (`CONFIG_HZ=100`).
const LONGEST_TICK: Nanos = Nanos(10_000_000);

/// Parses a `struct taskstats`. Returns `None` if it is too short.
///
/// Newer versions add fields at the end. The exceptions are version 15 and version 14 of Linux 6.14, which have two
/// more fields after each delay.
pub fn parse_task(bytes: &[u8]) -> Option<TaskExit> {
    let version = u16::from_ne_bytes(bytes.first_chunk().copied()?);
    let fields = Fields { bytes, odd: version == 15 || version == 14 && bytes.len() > PLAIN_14 };
    let flags = fields.bytes_at(8, 1)?[0];
    let whole = version >= WITH_PROCESS;
    let (user, system) = (fields.micros(152)?, fields.micros(160)?);
    let (times_on_cpu, run_delay, booked) = (fields.long(16)?, Nanos(fields.long(24)?), Nanos(fields.long(72)?));
    let (wall, voluntary_switches) = (fields.micros(144)?, fields.long(272)?);
    // Every task that ends has run on a CPU. A count of 0 means that the kernel keeps no delays.
    let scheduled = times_on_cpu > 0;
    let cpu = match voluntary_switches {
        _ if !scheduled => user + system,
        // Without voluntary switches, the task always ran or waited for a CPU. The booked time is at most a tick too
        // small. The rest of the wall time is a wait that the copied delays do not contain: it began before the kernel
        // copied the wall time.
        0 => booked.max((wall - run_delay).min(booked + LONGEST_TICK)),
        _ => booked,
    };
    Some(TaskExit {
        pid: fields.number(128)?,
        tgid: if whole { Some(fields.number(368)?) } else { None },
        parent: fields.number(132)?,
        name: name(fields.bytes_at(80, NAME)?),
        began: Timestamp(if version >= 10 { fields.long(344)? } else { u64::from(fields.word(136)?) }),
        wall,
        cpu,
        user,
        system,
        minor_faults: fields.long(168)?,
        major_faults: fields.long(176)?,
        voluntary_switches,
        involuntary_switches: fields.long(280)?,
        run_delay: if scheduled { Ok(run_delay) } else { Err(not_counted()) },
        last_of_process: whole.then_some(flags & LAST_OF_PROCESS != 0),
        never_executed: flags & FORKED_ONLY != 0,
    })
}

fn not_counted() -> Absent {
    Absent::because("the kernel keeps no run delays of tasks (for older kernels, boot with `delayacct`)")
}

/// The fields of a record, addressed by their offsets in version 14.
struct Fields<'a> {
    bytes: &'a [u8],
    odd: bool,
}

impl Fields<'_> {
    fn bytes_at(&self, place: usize, length: usize) -> Option<&[u8]> {
        let between = match place {
            _ if !self.odd => 0,
            // Two extra fields already follow the first delay (at 16).
            0..32 => 0,
            32..48 => 16,
            48..AFTER_FIRST_DELAYS => 32,
            AFTER_FIRST_DELAYS..328 => 48,
            328..344 => 64,
            344..AFTER_ALL_DELAYS => 80,
            _ => 96,
        };
        self.bytes.get(place + between..)?.get(..length)
    }

    fn long(&self, place: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes_at(place, 8)?.first_chunk().copied()?))
    }

    fn word(&self, place: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes_at(place, 4)?.first_chunk().copied()?))
    }

    fn number(&self, place: usize) -> Option<i32> {
        i32::try_from(self.word(place)?).ok()
    }

    fn micros(&self, place: usize) -> Option<Nanos> {
        Some(Nanos(self.long(place)?.saturating_mul(1_000)))
    }
}

fn name(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Offset of the structure in a message, after the headers and the task's id.
    const PLACE: usize = 36;

    fn recorded() -> Vec<u8> {
        crate::trees::netlink("process")[PLACE..].to_vec()
    }

    /// The recorded structure, cut to the length that `version` had.
    fn as_version(version: u16, length: usize) -> Vec<u8> {
        let mut bytes = recorded()[..length].to_vec();
        bytes[..2].copy_from_slice(&version.to_ne_bytes());
        bytes
    }

    #[test]
    fn all_fields_of_a_process_are_parsed() {
        let read = parse_task(&recorded()).unwrap();
        assert_eq!((read.pid, read.tgid, read.parent, read.name.as_str()), (29108, Some(29108), 29067, "true"));
        assert_eq!((read.wall, read.cpu, read.run_delay), (Nanos(1_331_000), Nanos(304_297), Ok(Nanos(4_803))));
        assert_eq!((read.user, read.system, read.began), (Nanos::ZERO, Nanos::ZERO, Timestamp(1_795_205_368)));
        assert_eq!((read.minor_faults, read.major_faults), (52, 1));
        assert_eq!((read.voluntary_switches, read.involuntary_switches), (2, 1));
        assert_eq!((read.last_of_process, read.never_executed), (Some(true), false));
    }

    #[test]
    fn older_versions_have_no_process_id() {
        let new = parse_task(&recorded()).unwrap();
        for (version, length) in [(8, 328), (9, 344), (10, 352), (11, 368)] {
            let old = parse_task(&as_version(version, length)).unwrap();
            assert_eq!(old, TaskExit { tgid: None, last_of_process: None, ..new.clone() }, "version {version}");
        }
        for (version, length) in [(12, 400), (13, 416), (14, 432), (17, 560)] {
            assert_eq!(parse_task(&as_version(version, length)), Some(new.clone()), "version {version}");
        }
    }

    #[test]
    fn versions_with_extra_fields_are_parsed() {
        let plain = recorded();
        let mut odd = plain[..32].to_vec();
        let mut from = 32;
        for until in [48, 64, 328, 344, 368, 416, 432] {
            odd.extend([0xee; 16]);
            odd.extend(&plain[from..until]);
            from = until;
        }
        odd.extend([0xee; 16]);
        for version in [14_u16, 15] {
            odd[..2].copy_from_slice(&version.to_ne_bytes());
            assert_eq!(parse_task(&odd), parse_task(&plain), "version {version}");
        }
    }

    #[test]
    fn cpu_time_without_switches_is_wall_time_minus_run_delay() {
        let mut bytes = recorded();
        bytes[272..280].fill(0);
        assert_eq!(parse_task(&bytes).unwrap().cpu, Nanos(1_331_000 - 4_803));
        // The task waited for the rest of the second after its delays were copied.
        bytes[144..152].copy_from_slice(&1_000_000_u64.to_ne_bytes());
        assert_eq!(parse_task(&bytes).unwrap().cpu, Nanos(304_297 + 10_000_000));
    }

    #[test]
    fn without_accounting_the_run_delay_is_missing() {
        let mut bytes = recorded();
        bytes[16..32].fill(0);
        let read = parse_task(&bytes).unwrap();
        assert!(read.run_delay.unwrap_err().0.contains("delayacct"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..700), version in 0_u16..20) {
            let _ = parse_task(&bytes);
            let mut versioned = version.to_ne_bytes().to_vec();
            versioned.extend(bytes);
            let _ = parse_task(&versioned);
        }
    }
}
