//! Generic netlink messages: requests, and the messages that the kernel sends back.

use super::record::{TaskExit, parse_task};

/// Sizes and numbers of linux/netlink.h and linux/genetlink.h.
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
const ATTRIBUTE_HEADER: usize = 4;
const ERROR: u16 = 2;
const REQUEST_WITH_ANSWER: u16 = 0x01 | 0x04;
/// Mask for the kind of an attribute. The highest bits are flags.
const KIND: u16 = 0x3fff;
/// The control family, which returns the numbers of other families: its number, its request, and the attributes of
/// both.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_NUMBER: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Commands and attribute kinds of linux/taskstats.h.
const GET: u8 = 1;
const REGISTER_CPUS: u16 = 3;
const OF_TASK: u16 = 4;
const OF_PROCESS: u16 = 5;
const STATISTICS: u16 = 3;
const PROCESS: u16 = 2;

/// A message from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A task has ended.
    Ended(TaskExit),
    /// The number of the requested family.
    Family(u16),
    /// The result of a request: 0, or the number of an error.
    Answer(i32),
}

/// Makes a request for the number of the family `name`.
pub(super) fn family_request(name: &str) -> Vec<u8> {
    request(CONTROL, GET_FAMILY, FAMILY_NAME, name)
}

/// Makes a registration with `family`, taskstats, for the records of tasks that end on `cpus`, a list such as `0-3`.
pub(super) fn exits_request(family: u16, cpus: &str) -> Vec<u8> {
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
    // Sequence number and port of the sender. Both can be 0: there is one request at a time, and the kernel knows the
    // sender.
    message.extend([0; 8]);
    message.extend([command, VERSION, 0, 0]);
    message.extend((length as u16).to_ne_bytes());
    message.extend(attribute.to_ne_bytes());
    message.extend(text.as_bytes());
    message.resize(whole, 0);
    message
}

/// Parses the messages in a datagram, in their order. Skips unknown and truncated messages.
pub(super) fn parse_messages(datagram: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = datagram;
    while let Some(length) = word(rest).map(|length| length as usize)
        && length >= HEADER
        && let Some(message) = rest.get(..length)
    {
        let kind = u16::from_ne_bytes([message[4], message[5]]);
        let body = &message[HEADER..];
        match kind {
            ERROR => messages.extend(word(body).map(|error| Message::Answer((error as i32).saturating_neg()))),
            CONTROL => messages.extend(family_number(body).map(Message::Family)),
            _ => messages.extend(ended(body).map(Message::Ended)),
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    messages
}

fn family_number(body: &[u8]) -> Option<u16> {
    let (_, value) = attributes(body.get(GENERIC_HEADER..)?).find(|(kind, _)| *kind == FAMILY_NUMBER)?;
    Some(u16::from_ne_bytes(value.first_chunk().copied()?))
}

/// Parses the record of a task. If a record of its process follows, the task was the last one of the process.
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

/// Returns kind and value of the attributes in `bytes`, up to the first truncated one.
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
    fn requests_have_the_format_of_the_kernel() {
        let request = family_request("TASKSTATS");
        assert_eq!(request.len(), 36);
        assert_eq!(word(&request), Some(36));
        assert_eq!(&request[20..], b"\x0e\0\x02\0TASKSTATS\0\0\0");
        assert_eq!(exits_request(31, "0-1").len(), 28);
    }

    #[test]
    fn recorded_answers_are_parsed() {
        assert_eq!(parse_messages(&netlink("family")), [Message::Family(31)]);
        assert_eq!(parse_messages(&netlink("accepted")), [Message::Answer(0)]);
        let mut refused = netlink("accepted");
        refused[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(parse_messages(&refused), [Message::Answer(1)]);
    }

    #[test]
    fn processes_and_threads_are_distinguished() {
        let task = |name| match parse_messages(&netlink(name)).as_slice() {
            [Message::Ended(task)] => task.clone(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!((task("process").pid, task("process").last_of_process), (29108, Some(true)));
        let thread = task("thread");
        assert_eq!((thread.pid, thread.tgid, thread.last_of_process), (29110, Some(29109), Some(false)));
        let last = task("last_thread");
        assert_eq!((last.pid, last.tgid, last.last_of_process), (29109, Some(29109), Some(true)));
    }

    #[test]
    fn all_messages_in_a_datagram_are_parsed() {
        let both = [netlink("accepted"), netlink("thread"), netlink("process")].concat();
        assert_eq!(parse_messages(&both).len(), 3);
        assert_eq!(parse_messages(&both[..both.len() - 1]).len(), 2, "the last one is truncated");
    }

    #[test]
    fn old_records_have_the_process_next_to_its_last_thread() {
        let mut old = netlink("last_thread");
        old[36..38].copy_from_slice(&11_u16.to_ne_bytes());
        match parse_messages(&old).as_slice() {
            [Message::Ended(task)] => assert_eq!((task.tgid, task.last_of_process), (Some(29109), Some(true))),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            parse_messages(&bytes);
        }

        #[test]
        fn no_damage_makes_it_panic(place in 0_usize..1_172, byte: u8, length in 0_usize..1_172) {
            let mut bytes = netlink("last_thread");
            bytes[place] = byte;
            bytes.truncate(length);
            parse_messages(&bytes);
        }
    }
}
