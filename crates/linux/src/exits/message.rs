//! Messages of generic netlink: those that are sent, and what comes back.

use super::record::{TaskExit, parse_task};

/// Numbers of linux/netlink.h and linux/genetlink.h.
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
const ATTRIBUTE_HEADER: usize = 4;
const ERROR: u16 = 2;
const REQUEST_WITH_ANSWER: u16 = 0x01 | 0x04;
/// The highest bits of an attribute's kind are flags.
const KIND: u16 = 0x3fff;
/// The family that tells of families: its number, its question and the attributes of both.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_NUMBER: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Numbers of linux/taskstats.h.
const GET: u8 = 1;
const REGISTER_CPUS: u16 = 3;
const OF_TASK: u16 = 4;
const OF_PROCESS: u16 = 5;
const STATISTICS: u16 = 3;
const PROCESS: u16 = 2;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A task has ended.
    Ended(TaskExit),
    /// The number of the family that was asked for.
    Family(u16),
    /// What was asked for is done, or was refused with this error's number.
    Answer(i32),
}

/// Asks for the number of the family `name`.
pub(super) fn ask_for_family(name: &str) -> Vec<u8> {
    request(CONTROL, GET_FAMILY, FAMILY_NAME, name)
}

/// Asks `family`, taskstats, for records of what ends on `cpus`, a list such as `0-3`.
pub(super) fn ask_for_exits(family: u16, cpus: &str) -> Vec<u8> {
    request(family, GET, REGISTER_CPUS, cpus)
}

fn request(family: u16, command: u8, attribute: u16, text: &str) -> Vec<u8> {
    const VERSION: u8 = 1;
    let length = ATTRIBUTE_HEADER + text.len() + 1;
    let whole = HEADER + GENERIC_HEADER + length.next_multiple_of(4);
    let mut message = Vec::with_capacity(whole);
    message.extend((whole as u32).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    // A number of the question, and the asker's: there is one question at a time, and the kernel knows who asks.
    message.extend([0; 8]);
    message.extend([command, VERSION, 0, 0]);
    message.extend((length as u16).to_ne_bytes());
    message.extend(attribute.to_ne_bytes());
    message.extend(text.as_bytes());
    message.resize(whole, 0);
    message
}

/// What a datagram holds, in its order; what is unknown or torn is left out.
pub(super) fn hear(datagram: &[u8]) -> Vec<Heard> {
    let mut heard = Vec::new();
    let mut rest = datagram;
    while let Some(length) = word(rest).map(|length| length as usize)
        && length >= HEADER
        && let Some(message) = rest.get(..length)
    {
        let kind = u16::from_ne_bytes([message[4], message[5]]);
        let body = &message[HEADER..];
        match kind {
            ERROR => heard.extend(word(body).map(|error| Heard::Answer((error as i32).saturating_neg()))),
            CONTROL => heard.extend(family_number(body).map(Heard::Family)),
            _ => heard.extend(ended(body).map(Heard::Ended)),
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    heard
}

fn family_number(body: &[u8]) -> Option<u16> {
    let (_, value) = attributes(body.get(GENERIC_HEADER..)?).find(|(kind, _)| *kind == FAMILY_NUMBER)?;
    Some(u16::from_ne_bytes(value.first_chunk().copied()?))
}

/// The record of a task; where that of its process stands beside it, the task was its last.
fn ended(body: &[u8]) -> Option<TaskExit> {
    let body = body.get(GENERIC_HEADER..)?;
    let part = |kind| attributes(body).find(|(of, _)| *of == kind).map(|(_, value)| value);
    let within = |value, kind| attributes(value).find(|(of, _)| *of == kind).map(|(_, value)| value);
    let mut task = parse_task(within(part(OF_TASK)?, STATISTICS)?)?;
    if let Some(process) = part(OF_PROCESS).and_then(|value| word(within(value, PROCESS)?)) {
        task.tgid = task.tgid.or(i32::try_from(process).ok());
        task.last_of_process = Some(true);
    }
    Some(task)
}

/// The attributes in `bytes`, up to the first that is torn: kind and value.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let header: [u8; ATTRIBUTE_HEADER] = rest.first_chunk().copied()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = rest.get(ATTRIBUTE_HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([header[2], header[3]]) & KIND, value))
    })
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::netlink;

    #[test]
    fn questions_are_as_the_kernel_wants_them() {
        let question = ask_for_family("TASKSTATS");
        assert_eq!(question.len(), 36);
        assert_eq!(word(&question), Some(36));
        assert_eq!(&question[20..], b"\x0e\0\x02\0TASKSTATS\0\0\0");
        assert_eq!(ask_for_exits(31, "0-1").len(), 28);
    }

    #[test]
    fn recorded_answers_are_heard() {
        assert_eq!(hear(&netlink("family")), [Heard::Family(31)]);
        assert_eq!(hear(&netlink("accepted")), [Heard::Answer(0)]);
        let mut refused = netlink("accepted");
        refused[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(hear(&refused), [Heard::Answer(1)]);
    }

    #[test]
    fn processes_and_threads_are_told_apart() {
        let task = |name| match hear(&netlink(name)).as_slice() {
            [Heard::Ended(task)] => task.clone(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!((task("process").pid, task("process").last_of_process), (29108, Some(true)));
        let thread = task("thread");
        assert_eq!((thread.pid, thread.tgid, thread.last_of_process), (29110, Some(29109), Some(false)));
        let last = task("last_thread");
        assert_eq!((last.pid, last.tgid, last.last_of_process), (29109, Some(29109), Some(true)));
    }

    #[test]
    fn several_messages_in_a_datagram_are_all_heard() {
        let both = [netlink("accepted"), netlink("thread"), netlink("process")].concat();
        assert_eq!(hear(&both).len(), 3);
        assert_eq!(hear(&both[..both.len() - 1]).len(), 2, "the last one is torn");
    }

    #[test]
    fn before_it_is_told_the_process_stands_beside_its_last_thread() {
        let mut old = netlink("last_thread");
        old[36..38].copy_from_slice(&11_u16.to_ne_bytes());
        match hear(&old).as_slice() {
            [Heard::Ended(task)] => assert_eq!((task.tgid, task.last_of_process), (Some(29109), Some(true))),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            hear(&bytes);
        }

        #[test]
        fn no_damage_makes_it_panic(place in 0_usize..1_172, byte: u8, length in 0_usize..1_172) {
            let mut bytes = netlink("last_thread");
            bytes[place] = byte;
            bytes.truncate(length);
            hear(&bytes);
        }
    }
}
