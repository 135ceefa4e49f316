//! The first line of a script, which names the program that runs it, as the kernel reads it (execve(2), "Interpreter
//! scripts"; `fs/binfmt_script.c`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The number of bytes of a file that the kernel reads.
pub const LINE: usize = 256;

/// What the first line of a script says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The path of the interpreter as written: a relative one starts at the working directory of the process.
    pub interpreter: PathBuf,
    /// The argument before the script's path: the rest of the line, with its spaces.
    pub argument: Option<OsString>,
}

/// Why the kernel does not start a file as a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoScript {
    /// The file does not start with `#!`.
    NoMark,
    /// The path of the interpreter does not end within [`LINE`] bytes.
    TooLong,
    /// The line names no interpreter.
    NoInterpreter,
}

/// Reads the first [`LINE`] bytes of a file.
///
/// # Errors
/// It is not a regular file (opening a FIFO would wait for a writer), or it cannot be read.
pub fn start(path: &Path) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut start = Vec::new();
    File::open(path)?.take(LINE as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Parses the first bytes of a script; those after [`LINE`] are ignored.
///
/// # Errors
/// See [`NoScript`]. execve(2) fails then, unless the file has another format.
pub fn parse(start: &[u8]) -> Result<Script, NoScript> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let is_end = |byte: &u8| matches!(byte, b' ' | b'\t' | 0);
    // The kernel's buffer has zeros after the end of the file.
    let mut buffer = [0; LINE];
    let length = start.len().min(LINE);
    buffer[..length].copy_from_slice(&start[..length]);
    let rest = buffer.strip_prefix(b"#!").ok_or(NoScript::NoMark)?;
    let line = match rest.iter().position(|byte| matches!(byte, b'\n' | 0)) {
        Some(end) if rest[end] == b'\n' => &rest[..end],
        // Without a line break, the last byte is not used, and only the argument may be cut.
        _ => {
            let name = rest.iter().position(|byte| !is_blank(byte)).ok_or(NoScript::NoInterpreter)?;
            let line = &rest[..rest.len() - 1];
            line[name.min(line.len())..].iter().position(is_end).ok_or(NoScript::TooLong)?;
            line
        }
    };
    let last = line.iter().rposition(|byte| !is_blank(byte)).ok_or(NoScript::NoInterpreter)?;
    let line = &line[..=last];
    let line = &line[line.iter().position(|byte| !is_blank(byte)).unwrap_or(last)..];
    let (name, rest) = line.split_at(line.iter().position(is_end).unwrap_or(line.len()));
    if name.is_empty() {
        return Err(NoScript::NoInterpreter);
    }
    // The kernel copies the argument as a C string. A NUL directly after the name ends the line.
    let argument = rest.first().filter(|byte| **byte != 0).and_then(|_| {
        let argument = &rest[rest.iter().position(|byte| !is_blank(byte))?..];
        argument.split(|byte| *byte == 0).next()
    });
    Ok(Script {
        interpreter: PathBuf::from(OsStr::from_bytes(name)),
        argument: argument.map(|argument| OsString::from_vec(argument.to_vec())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    fn parsed(text: &[u8]) -> Result<(String, Option<String>), NoScript> {
        let text_of = |text: OsString| text.into_string().unwrap();
        parse(text).map(|script| (text_of(script.interpreter.into()), script.argument.map(text_of)))
    }

    #[test]
    fn the_line_is_split_once() {
        let sh = |argument: Option<&str>| Ok(("/bin/sh".to_owned(), argument.map(str::to_owned)));
        for line in ["#!/bin/sh\n", "#! \t/bin/sh \t\nrest\n", "#!/bin/sh", "#!/bin/sh\0 -e\n"] {
            assert_eq!(parsed(line.as_bytes()), sh(None), "{line:?}");
        }
        assert_eq!(parsed(b"#!/bin/sh -e  -u x \nrest"), sh(Some("-e  -u x")));
        assert_eq!(parsed(b"#!/bin/sh -e\0-u\n"), sh(Some("-e")));
        assert_eq!(parsed(b"#!sh\r\n"), Ok(("sh\r".to_owned(), None)), "the kernel keeps the CR");
        for line in ["#!", "#!\n", "#! \t \n", "#!\0/bin/sh\n", "#!\n/bin/sh"] {
            assert_eq!(parsed(line.as_bytes()), Err(NoScript::NoInterpreter), "{line:?}");
        }
        for line in ["", "#", "# !/bin/sh\n", "\x7fELF"] {
            assert_eq!(parsed(line.as_bytes()), Err(NoScript::NoMark), "{line:?}");
        }
    }

    #[test]
    fn a_line_may_be_as_long_as_the_kernels_buffer() {
        let of = |length: usize, after: &str| [b"#!/", vec![b'a'; length].as_slice(), after.as_bytes()].concat();
        assert!(parse(&of(LINE - 4, "\n")).is_ok());
        assert_eq!(parse(&of(LINE - 3, "\n")), Err(NoScript::TooLong));
        assert_eq!(parse(&of(LINE, " x\n")), Err(NoScript::TooLong));
        let argument = parse(&[b"#!/bin/sh ", vec![b'a'; LINE].as_slice()].concat()).unwrap().argument.unwrap();
        assert_eq!(argument.len(), LINE - 1 - 10, "an argument is cut");
    }

    /// Scripts whose interpreter prints its arguments show how the kernel splits the line.
    #[test]
    fn the_kernel_splits_lines_in_the_same_way() {
        let path = std::env::temp_dir().join(format!("steady-script-{}", std::process::id()));
        let long = format!("#!/bin/echo {}", "a".repeat(2 * LINE));
        let name = format!("#!/{}bin/echo x\n", "./".repeat(LINE / 2));
        let lines = [
            "#!/bin/echo\n",
            "#!/bin/echo",
            "#!/bin/echo ",
            "#! \t/bin/echo  a  b\t \n",
            "#!/bin/echo a\0b\n",
            "#!/bin/echo \0b\n",
            "#!/bin/echo\0 b\n",
            "#!",
            "#!\n",
            "#! \t\n",
            &long,
            &name,
        ];
        for line in lines {
            std::fs::write(&path, line).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            let ran = Command::new(&path).output();
            match (parse(line.as_bytes()), ran) {
                (Ok(script), Ok(ran)) => {
                    let argument = script.argument.map(|argument| format!("{} ", argument.to_str().unwrap()));
                    let expected = format!("{}{}\n", argument.unwrap_or_default(), path.display());
                    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{line:?}");
                }
                // The kernel takes a line that ends with the file after `#!` as an empty path, which is no program.
                (Err(_), Err(error)) => {
                    let refused = [Errno::NOEXEC, Errno::ACCESS].map(|errno| Some(errno.raw_os_error()));
                    assert!(refused.contains(&error.raw_os_error()), "{line:?}: {error}");
                }
                (parsed, ran) => panic!("{line:?}: {parsed:?}, {ran:?}"),
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}
