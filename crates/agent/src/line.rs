//! Parses the datagrams that services send (docs/protocol.md), without copies. Any bytes give lines or faults.

use std::borrow::Cow;
use std::str;

use steady_model::{Assignment, RequestProcess, RequestRuler, TimeSlot};

use crate::record::LineFault;

/// The longest datagram, in bytes.
pub const LONGEST: usize = 65_000;
/// The longest text as written, in bytes.
const LONGEST_TEXT: usize = 500;
/// The longest time of a request that is accepted: a day, in nanoseconds.
const LONGEST_REQUEST: u64 = 86_400 * 1_000_000_000;
/// The longest slot that is accepted: a day, in seconds.
const LONGEST_SLOT: u32 = 86_400;

/// A text in its escaped form. Equal texts have the same escaped form, so it serves as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, LineFault> {
        if bytes.len() > LONGEST_TEXT {
            return Err(LineFault::Text);
        }
        let text = str::from_utf8(bytes).map_err(|_| LineFault::Text)?;
        // An unescaped carriage return may come from a line that ends with CR LF.
        if text.contains('\r') || text.contains('\\') && !is_escaped(text) {
            return Err(LineFault::Text);
        }
        Ok(Text(text))
    }

    /// Parses the name of a service or version, which must not be empty: reports name it.
    fn name_of(bytes: &'a [u8]) -> Result<Self, LineFault> {
        if bytes.is_empty() { Err(LineFault::Text) } else { Text::of(bytes) }
    }

    /// Returns the text in its escaped form.
    pub fn written(self) -> &'a str {
        self.0
    }

    /// Returns the text without escapes.
    pub fn plain(self) -> Cow<'a, str> {
        let mut pieces = self.0.split('\\');
        let first = pieces.next().unwrap_or("");
        if first.len() == self.0.len() {
            return Cow::Borrowed(first);
        }
        let mut plain = first.to_owned();
        // There is an empty piece between two backslashes in a row; the piece after them has no escape at its
        // beginning.
        while let Some(piece) = pieces.next() {
            let mut letters = piece.chars();
            match letters.next() {
                Some('t') => plain.push('\t'),
                Some('n') => plain.push('\n'),
                Some('r') => plain.push('\r'),
                _ => {
                    plain.push('\\');
                    letters = pieces.next().unwrap_or("").chars();
                }
            }
            plain.push_str(letters.as_str());
        }
        Cow::Owned(plain)
    }
}

/// Returns whether every backslash begins one of the four escapes.
fn is_escaped(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && !matches!(bytes.next(), Some(b'\\' | b't' | b'n' | b'r')) {
            return false;
        }
    }
    true
}

/// A line about a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestLine<'a> {
    /// The time when the request had been answered, in nanoseconds of the monotonic clock.
    pub end: u64,
    /// The number of the request in its process, from 1.
    pub number: u64,
    /// The version that answered the request.
    pub version: Text<'a>,
    /// The template of the route.
    pub route: Text<'a>,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// CPU time in nanoseconds.
    pub cpu: u64,
    /// Wall time in nanoseconds.
    pub wall: u64,
    /// How the version was decided.
    pub assignment: Assignment,
    /// The slot in which the request began; always present if `assignment` is [`Assignment::Slot`], otherwise never.
    pub slot: Option<TimeSlot>,
    /// The time that the thread waited for a CPU during the request, in nanoseconds.
    pub delay: Option<u64>,
    /// The ruler that ran before the request, and its CPU time in nanoseconds.
    pub ruler: Option<(RequestRuler, u64)>,
    /// The class of the request, which the application knew before it ran; never the empty text.
    pub class: Option<Text<'a>>,
    /// The number of fields with an unknown name.
    pub unknown: u32,
}

/// Cumulative CPU time of a process and of its requests, both in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessLine<'a> {
    /// The time when both were read, in nanoseconds of the monotonic clock.
    pub time: u64,
    /// CPU time of all threads of the process since it started.
    pub cpu: u64,
    /// CPU time of the requests that the process has answered since it began to count them.
    pub requests_cpu: u64,
    /// The slot in which all requests since the previous reading began.
    pub slot: Option<TimeSlot>,
    /// The version that answered all requests since the previous reading.
    pub version: Option<Text<'a>>,
    /// The number of fields with an unknown name.
    pub unknown: u32,
}

/// A line of a datagram, after the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    /// A request that was answered (`r`).
    Request(RequestLine<'a>),
    /// A reading of the CPU time of the process (`c`).
    Process(ProcessLine<'a>),
    /// The number of lines that the process dropped (`l`).
    Lost(u64),
}

/// A datagram whose first line is valid.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The name of the service.
    pub service: Text<'a>,
    /// The process that sent the datagram.
    pub process: RequestProcess,
    rest: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Parses the first line of a datagram.
    ///
    /// # Errors
    /// [`LineFault::TooLong`], [`LineFault::Protocol`] or [`LineFault::Head`]; the whole datagram must then be ignored.
    pub fn of(bytes: &'a [u8]) -> Result<Self, LineFault> {
        if bytes.len() > LONGEST {
            return Err(LineFault::TooLong);
        }
        let (head, rest) = cut(bytes, b'\n');
        let (protocol, head) = cut(head, b'\t');
        if protocol != b"steady/1" {
            let version = protocol.strip_prefix(b"steady/").filter(|version| number(version).is_ok());
            return Err(if version.is_some() { LineFault::Protocol } else { LineFault::Head });
        }
        let mut fields = Fields(Some(head));
        let mut read = || {
            let service = Text::name_of(fields.next()?)?;
            let process = RequestProcess { pid: small(fields.next()?)?, began: number(fields.next()?)? };
            fields.end()?;
            Ok(Datagram { service, process, rest })
        };
        read().map_err(|_: LineFault| LineFault::Head)
    }

    /// Parses the lines after the first, one at a time.
    pub fn lines(self) -> impl Iterator<Item = Result<Line<'a>, LineFault>> {
        let mut rest = self.rest;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (line, after) = cut(rest, b'\n');
            rest = after;
            Some(read_line(line))
        })
    }
}

/// Returns the bytes before the first occurrence of a byte, and those after it.
fn cut(bytes: &[u8], mark: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(mark, bytes) {
        Some(place) => (&bytes[..place], &bytes[place + 1..]),
        None => (bytes, &[]),
    }
}

/// The fields of a line that have not been read yet; `None` after the last one.
struct Fields<'a>(Option<&'a [u8]>);

/// A field of the form `NAME=VALUE`.
struct Named<'a> {
    name: &'a [u8],
    value: &'a [u8],
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<&'a [u8], LineFault> {
        self.more().ok_or(LineFault::Fields)
    }

    fn more(&mut self) -> Option<&'a [u8]> {
        let rest = self.0?;
        let place = memchr::memchr(b'\t', rest);
        self.0 = place.map(|place| &rest[place + 1..]);
        Some(&rest[..place.unwrap_or(rest.len())])
    }

    fn named(&mut self) -> Result<Option<Named<'a>>, LineFault> {
        let Some(field) = self.more() else { return Ok(None) };
        let place = memchr::memchr(b'=', field).ok_or(LineFault::Fields)?;
        Ok(Some(Named { name: &field[..place], value: &field[place + 1..] }))
    }

    fn end(&self) -> Result<(), LineFault> {
        if self.0.is_none() { Ok(()) } else { Err(LineFault::Fields) }
    }
}

fn number(digits: &[u8]) -> Result<u64, LineFault> {
    if digits.is_empty() || digits.len() > 20 {
        return Err(LineFault::Number);
    }
    let mut value = 0_u64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return Err(LineFault::Number);
        }
        value = value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit))).ok_or(LineFault::Number)?;
    }
    Ok(value)
}

fn small<T: TryFrom<u64>>(digits: &[u8]) -> Result<T, LineFault> {
    T::try_from(number(digits)?).map_err(|_| LineFault::Number)
}

/// Parses the time of a request in nanoseconds; at most a day.
fn time(digits: &[u8]) -> Result<u64, LineFault> {
    let time = number(digits)?;
    if time > LONGEST_REQUEST { Err(LineFault::Number) } else { Ok(time) }
}

fn read_line(line: &[u8]) -> Result<Line<'_>, LineFault> {
    let mut fields = Fields(Some(line));
    match fields.next()? {
        b"r" => request(&mut fields).map(Line::Request),
        b"c" => process(&mut fields).map(Line::Process),
        b"l" => {
            let lost = number(fields.next()?)?;
            fields.end()?;
            Ok(Line::Lost(lost))
        }
        _ => Err(LineFault::Letter),
    }
}

fn request<'a>(fields: &mut Fields<'a>) -> Result<RequestLine<'a>, LineFault> {
    let mut line = RequestLine {
        end: number(fields.next()?)?,
        number: number(fields.next()?)?,
        version: Text::name_of(fields.next()?)?,
        route: Text::of(fields.next()?)?,
        status: small(fields.next()?)?,
        cpu: time(fields.next()?)?,
        wall: time(fields.next()?)?,
        assignment: assignment(fields.next()?)?,
        slot: None,
        delay: None,
        ruler: None,
        class: None,
        unknown: 0,
    };
    if line.number == 0 {
        return Err(LineFault::Number);
    }
    while let Some(field) = fields.named()? {
        named(&mut line, &field)?;
    }
    match line.assignment {
        Assignment::Slot if line.slot.is_none() => Err(LineFault::Slot),
        Assignment::Slot => Ok(line),
        // A slot has no meaning unless slots decide the version.
        _ => Ok(RequestLine { slot: None, ..line }),
    }
}

fn process<'a>(fields: &mut Fields<'a>) -> Result<ProcessLine<'a>, LineFault> {
    let mut line = ProcessLine {
        time: number(fields.next()?)?,
        cpu: number(fields.next()?)?,
        requests_cpu: number(fields.next()?)?,
        slot: None,
        version: None,
        unknown: 0,
    };
    while let Some(Named { name, value }) = fields.named()? {
        match name {
            b"slot" => line.slot = Some(slot(value)?),
            b"version" => line.version = Some(Text::name_of(value)?),
            _ => line.unknown += 1,
        }
    }
    Ok(line)
}

/// Stores the value of a `NAME=VALUE` field in a request's line.
fn named<'a>(line: &mut RequestLine<'a>, &Named { name, value }: &Named<'a>) -> Result<(), LineFault> {
    match name {
        b"class" => line.class = Some(Text::of(value)?).filter(|class| !class.written().is_empty()),
        b"slot" => line.slot = Some(slot(value)?),
        b"delay" => line.delay = Some(time(value)?),
        b"ruler" => {
            let (kind, took) = cut(value, b':');
            let took = time(took)?;
            match RequestRuler::ALL.into_iter().find(|ruler| ruler.name().as_bytes() == kind) {
                Some(ruler) => line.ruler = Some((ruler, took)),
                None => line.unknown += 1,
            }
        }
        _ => line.unknown += 1,
    }
    Ok(())
}

fn assignment(name: &[u8]) -> Result<Assignment, LineFault> {
    let found = Assignment::ALL.into_iter().find(|way| way.name().as_bytes() == name);
    found.ok_or(LineFault::Assignment)
}

fn slot(value: &[u8]) -> Result<TimeSlot, LineFault> {
    let (seconds, begin) = cut(value, b':');
    let slot: Result<TimeSlot, LineFault> =
        small(seconds).and_then(|seconds| Ok(TimeSlot { seconds, begin: number(begin)? }));
    let is_possible = |slot: &TimeSlot| {
        (1..=LONGEST_SLOT).contains(&slot.seconds) && slot.begin.is_multiple_of(u64::from(slot.seconds))
    };
    slot.ok().filter(is_possible).ok_or(LineFault::Slot)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses lines in a datagram of the service `shop`.
    fn lines(text: &str) -> Vec<Result<String, LineFault>> {
        let datagram = format!("steady/1\tshop\t77\t123\n{text}");
        let read = Datagram::of(datagram.as_bytes()).unwrap();
        assert_eq!((read.service.written(), read.process), ("shop", RequestProcess { pid: 77, began: 123 }));
        read.lines().map(|line| line.map(|line| format!("{line:?}"))).collect()
    }

    fn one(line: &str) -> Result<RequestLine<'_>, LineFault> {
        read_line(line.as_bytes()).map(|line| match line {
            Line::Request(line) => line,
            Line::Process(_) | Line::Lost(_) => panic!("the line is not a request"),
        })
    }

    #[test]
    fn requests_are_read() {
        let line =
            one("r\t5\t151\tv2\t/item/<id>\t200\t1500\t2500\tslot\tslot=10:120\tdelay=7\truler=syscall:31000\tx=y");
        let line = line.unwrap();
        assert_eq!((line.end, line.number, line.status, line.cpu, line.wall), (5, 151, 200, 1_500, 2_500));
        assert_eq!((line.version.written(), line.route.written()), ("v2", "/item/<id>"));
        assert_eq!(line.slot, Some(TimeSlot { begin: 120, seconds: 10 }));
        assert_eq!((line.delay, line.ruler), (Some(7), Some((RequestRuler::Syscall, 31_000))));
        assert_eq!(line.unknown, 1);
        let plain = one("r\t5\t1\tv\t\t0\t0\t0\tnone").unwrap();
        assert_eq!((plain.slot, plain.delay, plain.ruler, plain.route.written()), (None, None, None, ""));
        assert_eq!(one("r\t5\t1\tv\t/\t0\t0\t0\tnone\truler=moon:5").unwrap().unknown, 1);
        assert_eq!(read_line(b"l\t12"), Ok(Line::Lost(12)));
    }

    #[test]
    fn classes_are_read_and_an_empty_one_is_none() {
        let class = |field: &str| {
            let line = format!("r\t5\t1\tv\t/\t200\t1\t1\tnone{field}");
            one(&line).map(|line| (line.class.map(|class| class.plain().into_owned()), line.unknown))
        };
        assert_eq!(class("\tclass=cache\\thit"), Ok((Some("cache\thit".to_owned()), 0)));
        assert_eq!(class("\tclass=a=b"), Ok((Some("a=b".to_owned()), 0)));
        assert_eq!((class("\tclass="), class("")), (Ok((None, 0)), Ok((None, 0))));
        assert_eq!(class("\tclass=a\\x"), Err(LineFault::Text));
        assert_eq!(class(&format!("\tclass={}", "c".repeat(501))), Err(LineFault::Text));
    }

    #[test]
    fn cpu_time_of_a_process_is_read() {
        let read = |line: &str| match read_line(line.as_bytes()) {
            Ok(Line::Process(line)) => Ok((
                line.time,
                line.cpu,
                line.requests_cpu,
                line.slot,
                line.version.map(Text::written).map(str::to_owned),
                line.unknown,
            )),
            Ok(line) => panic!("{line:?}"),
            Err(fault) => Err(fault),
        };
        assert_eq!(read("c\t5\t70\t60"), Ok((5, 70, 60, None, None, 0)));
        let slot = Some(TimeSlot { begin: 120, seconds: 10 });
        assert_eq!(read("c\t5\t70\t60\tslot=10:120\tversion=v2\tx=y"), Ok((5, 70, 60, slot, Some("v2".to_owned()), 1)));
        assert_eq!(read(&format!("c\t5\t{}\t0", u64::MAX)), Ok((5, u64::MAX, 0, None, None, 0)));
        assert_eq!(read("c\t5\t70"), Err(LineFault::Fields));
        assert_eq!(read("c\t5\t70\t60\tversion"), Err(LineFault::Fields));
        assert_eq!(read("c\t5\t-70\t60"), Err(LineFault::Number));
        assert_eq!(read("c\t5\t70\t60\tslot=10:5"), Err(LineFault::Slot));
        assert_eq!(read("c\t5\t70\t60\tversion=\\x"), Err(LineFault::Text));
    }

    #[test]
    fn each_fault_has_its_kind_and_further_lines_are_read() {
        use LineFault::{Assignment as Way, Fields, Letter, Number, Slot, Text as Written};
        let cases = [
            ("r\t5\t1\tv\t/\t200\t1\t1", Fields),
            ("r\t5\t1\tv\t/\t200\t1\t1\tnone\t", Fields),
            ("r\t5\t1\tv\t/\t200\t1\t1\tnone\tdelay", Fields),
            ("r\t-5\t1\tv\t/\t200\t1\t1\tnone", Number),
            ("r\t5\t0\tv\t/\t200\t1\t1\tnone", Number),
            ("r\t5\t1\tv\t/\t70000\t1\t1\tnone", Number),
            ("r\t5\t1\tv\t/\t200\t86400000000001\t1\tnone", Number),
            ("r\t99999999999999999999\t1\tv\t/\t200\t1\t1\tnone", Number),
            ("r\t5\t1\tv\\x\t/\t200\t1\t1\tnone", Written),
            ("r\t5\t1\tv\\\t/\t200\t1\t1\tnone", Written),
            ("r\t5\t1\tv\r\t/\t200\t1\t1\tnone", Written),
            ("r\t5\t1\t\t/\t200\t1\t1\tnone", Written),
            ("c\t5\t70\t60\tversion=", Written),
            ("r\t5\t1\tv\t/\t200\t1\t1\tcoin", Way),
            ("r\t5\t1\tv\t/\t200\t1\t1\tslot", Slot),
            ("r\t5\t1\tv\t/\t200\t1\t1\tslot\tslot=10:5", Slot),
            ("r\t5\t1\tv\t/\t200\t1\t1\tslot\tslot=0:0", Slot),
            ("q\t1", Letter),
            ("", Letter),
            ("l\tx", Number),
            ("l\t1\t2", Fields),
        ];
        for (line, fault) in cases {
            let read = lines(&format!("{line}\nl\t3\n"));
            assert_eq!((&read[0], &read[1]), (&Err(fault), &Ok("Lost(3)".to_owned())), "{line:?}");
        }
        let long = format!("r\t5\t1\t{}\t/\t200\t1\t1\tnone", "v".repeat(501));
        assert_eq!(one(&long), Err(Written));
        assert_eq!(read_line(b"r\t5\t1\t\xff\t/\t200\t1\t1\tnone"), Err(Written));
    }

    #[test]
    fn datagrams_with_an_invalid_first_line_are_refused() {
        let fault = |bytes: &[u8]| Datagram::of(bytes).unwrap_err();
        assert_eq!(fault(b"steady/2\tshop\t1\t1\n"), LineFault::Protocol);
        for other in [
            "",
            "GET / HTTP/1.1\r\n",
            "steady/1",
            "steady/1\tshop\t1",
            "steady/1\tshop\t1\tx\n",
            "steady/1\ts\t1\t1\t1",
            "steady/1\t\t1\t1",
            "steady/1  s  1  1",
            "steady/",
        ] {
            assert_eq!(fault(other.as_bytes()), LineFault::Head, "{other}");
        }
        assert_eq!(fault(&[b'\n'; LONGEST + 1]), LineFault::TooLong);
    }

    /// Escapes a text as services do.
    fn written(text: &str) -> String {
        text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
    }

    proptest! {
        #[test]
        fn escaped_texts_are_restored(text in "(\\PC|[\\\\trn\t\n\r\"'\u{0}]){0,60}") {
            let written = written(&text);
            let read = Text::of(written.as_bytes()).unwrap();
            let plain = read.plain();
            prop_assert_eq!(plain.as_ref(), text.as_str());
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(datagram) = Datagram::of(&bytes) {
                datagram.lines().for_each(drop);
            }
        }

        #[test]
        fn no_line_makes_the_parser_panic(text in "((r|l|c|q)(\t(\\PC{0,4}|[0-9]{1,21}|slot|none|slot=[0-9]{1,3}:[0-9]{1,20}|ruler=(alu)?:[0-9]{0,5}|delay=[0-9]*|class=.?|version=.?)){0,12}\n?){0,9}") {
            for line in lines(&text) {
                drop(line);
            }
        }
    }
}
