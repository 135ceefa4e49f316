//! Parses the first line of a script as the kernel does (execve(2), "Interpreter scripts").

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::{Refusal, refusal};

/// The number of bytes of a file that the kernel reads.
pub(super) const LINE: usize = 256;

/// The interpreter of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The absolute path of the interpreter.
    pub interpreter: PathBuf,
    /// The optional argument before the script's path.
    pub argument: Option<OsString>,
}

/// Parses the first bytes of a script.
pub(super) fn parse(start: &[u8]) -> Result<Script, Refusal> {
    let line = &start[..start.len().min(LINE)];
    let end = line.iter().position(|byte| *byte == b'\n');
    let Some(line) = end.and_then(|end| line.get(2..end)).filter(|line| !line.contains(&0)) else {
        return Err(refusal("its first line does not end within 256 bytes, or has a NUL byte"));
    };
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let trimmed = match (line.iter().position(|byte| !blank(byte)), line.iter().rposition(|byte| !blank(byte))) {
        (Some(first), Some(last)) => &line[first..=last],
        _ => return Err(refusal("its first line names no interpreter")),
    };
    let (name, rest) = trimmed.split_at(trimmed.iter().position(blank).unwrap_or(trimmed.len()));
    let argument = rest.iter().position(|byte| !blank(byte)).map(|first| OsString::from_vec(rest[first..].to_vec()));
    if !name.starts_with(b"/") {
        return Err(refusal("its first line names its interpreter by a relative path"));
    }
    Ok(Script { interpreter: PathBuf::from(std::ffi::OsStr::from_bytes(name)), argument })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &[u8]) -> Option<(String, Option<String>)> {
        let script = parse(text).ok()?;
        let text = |text: OsString| text.into_string().unwrap();
        Some((text(script.interpreter.into()), script.argument.map(text)))
    }

    #[test]
    fn the_line_is_split_once() {
        let sh = |argument: Option<&str>| Some(("/bin/sh".to_owned(), argument.map(str::to_owned)));
        assert_eq!(parsed(b"#!/bin/sh\n"), sh(None));
        assert_eq!(parsed(b"#! \t/bin/sh \t\nrest\n"), sh(None));
        assert_eq!(parsed(b"#!/bin/sh -e  -u x \nrest"), sh(Some("-e  -u x")));
        assert_eq!(parsed(b"#!/bin/sh\r\n"), Some(("/bin/sh\r".to_owned(), None)), "the kernel keeps the CR");
    }

    #[test]
    fn lines_that_the_kernel_truncates_are_refused() {
        for broken in [&b"#!"[..], b"#!\n", b"#! \t \n", b"#!/bin/sh", b"#!sh\n", b"#!/bin/sh\0\n"] {
            assert_eq!(parsed(broken), None, "{broken:?}");
        }
        let long = |length: usize| [b"#!/", vec![b'a'; length].as_slice(), b"\n"].concat();
        assert!(parsed(&long(LINE - 4)).is_some());
        assert_eq!(parsed(&long(LINE - 3)), None);
    }
}
