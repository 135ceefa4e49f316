//! Inspects a program's file before it is captured: whether it can have snapshots, and how to capture it.

mod elf;

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use memchr::memmem::Finder;
use rustix::fs::{Access, StatVfsMountFlags, access, fgetxattr, fstatvfs};
use rustix::io::Errno;

pub use elf::{Imports, imports};
pub use steady_linux::script::Script;
use steady_linux::script::{self, NoScript};

use super::captured::Refusal;

/// The kind of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inspected {
    /// A program that can be captured.
    Program(Needs),
    /// A script; its interpreter can be captured.
    Script(Script),
}

/// How a program must be captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// With the hook, because it starts other programs, reads links, or names `/proc/PID/exe` of its own or another
    /// process.
    pub hook: bool,
    /// It reads its own `/proc/self/exe`.
    pub own_path: bool,
    /// With the data of the locale loaded.
    pub locale: bool,
}

/// The maximum size of a program, in bytes. Its two snapshots contain the whole program.
const LONGEST: u64 = 96 << 20;
/// The path by which a program finds its own file. In a process from a snapshot it leads to the snapshot.
const OWN_PATH: &[u8] = b"/proc/self/exe";
/// Ends of paths by which a program finds the file of another process. They may be relative to the process's directory.
const ANY_PATHS: [&[u8]; 2] = [b"/exe\0", b"\0exe\0"];

/// Inspects a file.
///
/// # Errors
/// Why the program is refused.
pub fn inspect(path: &Path) -> Result<Inspected, Refusal> {
    let said = |error: io::Error| Refusal(format!("it cannot be read: {error}"));
    let mut file = File::open(path).map_err(said)?;
    let metadata = file.metadata().map_err(said)?;
    permitted(path, &file, &metadata)?;
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(script::LINE as u64).read_to_end(&mut start).map_err(said)?;
    match script::parse(&start) {
        Ok(script) if script.interpreter.is_absolute() => return Ok(Inspected::Script(script)),
        Ok(_) => return Err(refusal("its first line names its interpreter by a relative path")),
        Err(NoScript::TooLong) => return Err(refusal("its first line does not end within 256 bytes")),
        Err(NoScript::NoInterpreter) => return Err(refusal("its first line names no interpreter")),
        Err(NoScript::NoMark) => {}
    }
    if !start.starts_with(b"\x7fELF") {
        return Err(refusal("it is neither an ELF program nor a script"));
    }
    if metadata.len() > LONGEST {
        return Err(Refusal(format!("it is longer than {} MB", LONGEST >> 20)));
    }
    let imports = elf::program(&file)?;
    let own_path = holds(&mut file, OWN_PATH).map_err(said)?;
    // Programs such as readlink(1) get the path of a link `/proc/PID/exe` from their user.
    let mut hook = imports.starts_programs || imports.reads_links || own_path;
    for path in ANY_PATHS {
        hook = hook || holds(&mut file, path).map_err(said)?;
    }
    Ok(Inspected::Program(Needs { hook, own_path, locale: imports.sets_locale }))
}

/// Checks that the file is executable and has the rights of an ordinary program, without setuid, setgid or
/// capabilities.
fn permitted(path: &Path, file: &File, metadata: &Metadata) -> Result<(), Refusal> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let mode = metadata.permissions().mode();
    if !metadata.is_file() {
        return Err(refusal("it is not a regular file"));
    }
    if mode & SET_USER != 0 {
        return Err(refusal("it runs with its owner's rights (setuid)"));
    }
    if mode & SET_GROUP != 0 {
        return Err(refusal("it runs with its group's rights (setgid)"));
    }
    match fgetxattr(file, c"security.capability", &mut [0_u8; 64][..]) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
        _ => return Err(refusal("it has file capabilities")),
    }
    if access(path, Access::EXEC_OK).is_err() {
        return Err(refusal("it may not be executed"));
    }
    match fstatvfs(file) {
        Ok(system) if !system.f_flag.contains(StatVfsMountFlags::NOEXEC) => {}
        Ok(_) => return Err(refusal("its file system is mounted with noexec")),
        Err(error) => return Err(Refusal(format!("its file system cannot be examined: {error}"))),
    }
    match metadata.nlink() {
        0 => Err(refusal("it has been deleted")),
        _ => Ok(()),
    }
}

/// Returns whether a file contains these bytes.
fn holds(file: &mut File, sought: &[u8]) -> io::Result<bool> {
    /// The number of bytes that are read together.
    const PIECE: usize = 1 << 20;
    let finder = Finder::new(sought);
    let mut piece = Vec::with_capacity(PIECE + sought.len());
    file.seek(SeekFrom::Start(0))?;
    loop {
        // Keep the end of the previous piece, because the bytes may span two pieces.
        let kept = piece.len().min(sought.len() - 1);
        piece.drain(..piece.len() - kept);
        if Read::by_ref(file).take(PIECE as u64).read_to_end(&mut piece)? == 0 {
            return Ok(false);
        }
        if finder.find(&piece).is_some() {
            return Ok(true);
        }
    }
}

fn refusal(text: &str) -> Refusal {
    Refusal(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(name: &str, bytes: &[u8], mode: u32) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("steady-inspect-{}-{name}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn why(name: &str, bytes: &[u8], mode: u32) -> String {
        let path = file(name, bytes, mode);
        let found = inspect(&path);
        fs::remove_file(path).unwrap();
        found.map_or_else(|refusal| refusal.0, |found| format!("{found:?}"))
    }

    #[test]
    fn programs_have_the_expected_needs() {
        let found = |path| inspect(Path::new(path)).unwrap();
        assert_eq!(found("/bin/cat"), Inspected::Program(Needs { locale: true, ..Needs::default() }));
        assert!(matches!(found("/bin/bash"), Inspected::Program(Needs { hook: true, locale: true, .. })));
    }

    #[test]
    fn files_that_are_not_ordinary_programs_are_refused() {
        let program = fs::read("/bin/true").unwrap();
        assert!(why("setuid", &program, 0o4755).contains("setuid"));
        assert!(why("setgid", &program, 0o2755).contains("setgid"));
        assert!(why("text", b"hello", 0o755).contains("neither"));
        assert!(why("short", b"\x7fELF", 0o755).contains("ELF"));
        assert!(why("empty", b"", 0o755).contains("neither"));
        assert!(why("locked", &program, 0o600).contains("may not be executed"));
        assert!(inspect(Path::new("/nonexistent")).unwrap_err().0.contains("cannot be read"));
        assert!(inspect(Path::new("/tmp")).is_err());
    }

    #[test]
    fn a_script_names_its_interpreter() {
        assert!(why("script", b"#!/bin/sh -e\nexit\n", 0o755).contains("/bin/sh"));
        assert!(why("relative", b"#!sh\n", 0o755).contains("relative path"));
        assert!(why("unnamed", b"#!\n", 0o755).contains("names no interpreter"));
        assert!(why("long", &[b"#!/", [b'a'; script::LINE].as_slice()].concat(), 0o755).contains("256 bytes"));
    }

    #[test]
    fn bytes_are_found_across_pieces() {
        for at in [0, 5, (1 << 20) - 14, (1 << 20) - 7, (1 << 20) - 1, 1 << 20, (2 << 20) - 3] {
            let mut bytes = vec![b'x'; 3 << 20];
            bytes[at..at + OWN_PATH.len()].copy_from_slice(OWN_PATH);
            let path = file("holds", &bytes, 0o600);
            let mut opened = File::open(&path).unwrap();
            assert!(holds(&mut opened, OWN_PATH).unwrap(), "{at}");
            bytes[at] = b'x';
            fs::write(&path, &bytes).unwrap();
            assert!(!holds(&mut File::open(&path).unwrap(), OWN_PATH).unwrap(), "{at}");
            fs::remove_file(path).unwrap();
        }
    }
}
