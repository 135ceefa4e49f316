//! The record of one task that has ended: `struct taskstats`.

use steady_model::{Absent, Nanos, Reading, Timestamp};

/// What the kernel tells of a task, a thread that is, when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskExit {
    /// The thread's number. That of a process's first thread is the process's.
    pub pid: i32,
    /// The process it is a thread of; before version 12 of the record (Linux 5.17) a first thread cannot be told from
    /// others.
    pub tgid: Option<i32>,
    /// The process that had made it, or that had taken it in, at its end.
    pub parent: i32,
    /// Its name: the first 15 bytes of its program's, unless it gave itself another one.
    pub name: String,
    /// When it began: a label.
    pub began: Timestamp,
    /// From its start to its end, to the microsecond. A thread that executes a program goes on as its process's first,
    /// whose start it takes over: its own life until then is not in it, and that of the first is told a second time.
    pub wall: Nanos,
    /// CPU time by the scheduler. Of a task that never waited for anything it is exact; of others what was used since the
    /// last tick or switch before the end is missing.
    pub cpu: Nanos,
    /// User time, as the kernel's ticks say: whole ticks, where it samples by ticks.
    pub user: Nanos,
    /// System time, likewise.
    pub system: Nanos,
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Times that it gave its CPU up to wait.
    pub voluntary_switches: u64,
    /// Times that the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Time spent runnable, waiting for a CPU.
    pub run_delay: Reading<Nanos>,
    /// Whether it is the last of its process to end; before version 12 that is known of some with threads only.
    pub last_of_process: Option<bool>,
    /// Whether it never executed a program of its own since its process was forked.
    pub never_executed: bool,
}

/// Before this version nothing tells the process and whether it ends.
const WITH_PROCESS: u16 = 12;
/// `ac_flag` (linux/acct.h): forked, but never executed; the last of its process.
const FORKED_ONLY: u8 = 0x01;
const LAST_OF_PROCESS: u8 = 0x20;
/// Where the fields begin that all versions have at one place, and where those begin behind which the two odd versions
/// have put others in between.
const AFTER_FIRST_DELAYS: usize = 64;
const AFTER_ALL_DELAYS: usize = 368;
/// The length of a name, and of version 14 without the fields in between.
const NAME: usize = 32;
const PLAIN_14: usize = 432;

/// The time between two ticks of the kernel where they are rarest (`CONFIG_HZ=100`).
const LONGEST_TICK: Nanos = Nanos(10_000_000);

/// Reads a `struct taskstats`; `None` where it is too short to be one.
///
/// Newer versions add at the end, but for 15 and the 14 of Linux 6.14: these have two more fields behind each delay.
pub fn parse_task(bytes: &[u8]) -> Option<TaskExit> {
    let version = u16::from_ne_bytes(bytes.first_chunk().copied()?);
    let fields = Fields { bytes, odd: version == 15 || version == 14 && bytes.len() > PLAIN_14 };
    let flags = fields.bytes_at(8, 1)?[0];
    let whole = version >= WITH_PROCESS;
    let (user, system) = (fields.micros(152)?, fields.micros(160)?);
    let (times_on_cpu, run_delay, booked) = (fields.long(16)?, Nanos(fields.long(24)?), Nanos(fields.long(72)?));
    let (wall, voluntary_switches) = (fields.micros(144)?, fields.long(272)?);
    // Every task that ends has had a CPU.
    let scheduled = times_on_cpu > 0;
    let cpu = match voluntary_switches {
        _ if !scheduled => user + system,
        // It ran or waited for a CPU. What is booked lags by at most a tick; the rest is a wait that began after the kernel had
        // copied the delays into the record, and before it copied the wall time.
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
    Absent::because("the kernel keeps no delays of tasks (its boot parameter `delayacct` makes older ones do so)")
}

/// The fields, by where version 14 has them.
struct Fields<'a> {
    bytes: &'a [u8],
    odd: bool,
}

impl Fields<'_> {
    fn bytes_at(&self, place: usize, length: usize) -> Option<&[u8]> {
        let between = match place {
            _ if !self.odd => 0,
            // Behind the first delay (at 16) there are two more fields already.
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

    /// Where the structure begins in a message, behind the headers and the number of the task.
    const PLACE: usize = 36;

    fn recorded() -> Vec<u8> {
        crate::trees::netlink("process")[PLACE..].to_vec()
    }

    /// The recorded structure as `version` had it, which was so long.
    fn as_version(version: u16, length: usize) -> Vec<u8> {
        let mut bytes = recorded()[..length].to_vec();
        bytes[..2].copy_from_slice(&version.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_process_that_has_ended_is_read_whole() {
        let read = parse_task(&recorded()).unwrap();
        assert_eq!((read.pid, read.tgid, read.parent, read.name.as_str()), (29108, Some(29108), 29067, "true"));
        assert_eq!((read.wall, read.cpu, read.run_delay), (Nanos(1_331_000), Nanos(304_297), Ok(Nanos(4_803))));
        assert_eq!((read.user, read.system, read.began), (Nanos::ZERO, Nanos::ZERO, Timestamp(1_795_205_368)));
        assert_eq!((read.minor_faults, read.major_faults), (52, 1));
        assert_eq!((read.voluntary_switches, read.involuntary_switches), (2, 1));
        assert_eq!((read.last_of_process, read.never_executed), (Some(true), false));
    }

    #[test]
    fn older_versions_do_not_tell_the_process() {
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
    fn versions_with_fields_in_between_are_read_alike() {
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
    fn a_task_that_only_ran_used_all_the_time_it_did_not_wait() {
        let mut bytes = recorded();
        bytes[272..280].fill(0);
        assert_eq!(parse_task(&bytes).unwrap().cpu, Nanos(1_331_000 - 4_803));
        // It waited for the rest of the second after its delays were read.
        bytes[144..152].copy_from_slice(&1_000_000_u64.to_ne_bytes());
        assert_eq!(parse_task(&bytes).unwrap().cpu, Nanos(304_297 + 10_000_000));
    }

    #[test]
    fn without_delays_there_is_no_delay() {
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
