//! What can be said of a program's file before it runs: whether it may be kept warm, and how it has to be taken.

mod elf;
mod script;

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use memchr::memmem::Finder;
use rustix::fs::{Access, StatVfsMountFlags, access, fgetxattr, fstatvfs};
use rustix::io::Errno;

pub use elf::{Imports, imports};
pub use script::Script;

use super::taken::Refusal;

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inspected {
    /// A program that may be taken.
    Program(Needs),
    /// A script: its interpreter is what may be warm.
    Script(Script),
}

/// How a program has to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// With the hook in it, for it starts other programs, or asks for its own path or that of other processes' programs.
    pub hook: bool,
    /// It asks for its own path.
    pub own_path: bool,
    /// With the locale's data loaded.
    pub locale: bool,
}

/// Longer programs are not taken: a snapshot holds all of a program, twice.
const LONGEST: u64 = 96 << 20;
/// How a program asks for its own path; what it finds in a snapshot's process is the snapshot.
const OWN_PATH: &[u8] = b"/proc/self/exe";
/// How the path ends by which a program asks for that of any process's program, which may be relative to the process's folder.
const ANY_PATHS: [&[u8]; 2] = [b"/exe\0", b"\0exe\0"];

/// Looks at a file.
///
/// # Errors
/// Why it is started as usual, always.
pub fn inspect(path: &Path) -> Result<Inspected, Refusal> {
    let said = |error: io::Error| Refusal(format!("it cannot be read: {error}"));
    let mut file = File::open(path).map_err(said)?;
    let metadata = file.metadata().map_err(said)?;
    permitted(path, &file, &metadata)?;
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(script::LINE as u64).read_to_end(&mut start).map_err(said)?;
    if start.starts_with(b"#!") {
        return script::parse(&start).map(Inspected::Script);
    }
    if !start.starts_with(b"\x7fELF") {
        return Err(refusal("it is neither an ELF program nor a script"));
    }
    if metadata.len() > LONGEST {
        return Err(Refusal(format!("it is longer than {} MB", LONGEST >> 20)));
    }
    let imports = elf::program(&file)?;
    let own_path = holds(&mut file, OWN_PATH).map_err(said)?;
    let mut hook = imports.starts_programs || own_path;
    for path in ANY_PATHS {
        hook = hook || holds(&mut file, path).map_err(said)?;
    }
    Ok(Inspected::Program(Needs { hook, own_path, locale: imports.sets_locale }))
}

/// Whether its rights are those of an ordinary program, so that it runs with those of whoever starts it.
fn permitted(path: &Path, file: &File, metadata: &Metadata) -> Result<(), Refusal> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let mode = metadata.permissions().mode();
    if !metadata.is_file() {
        return Err(refusal("it is not an ordinary file"));
    }
    if mode & SET_USER != 0 {
        return Err(refusal("it runs with its owner's rights (setuid)"));
    }
    if mode & SET_GROUP != 0 {
        return Err(refusal("it runs with its group's rights (setgid)"));
    }
    match fgetxattr(file, c"security.capability", &mut [0_u8; 64][..]) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
        _ => return Err(refusal("it has capabilities of its own")),
    }
    if access(path, Access::EXEC_OK).is_err() {
        return Err(refusal("it may not be executed"));
    }
    match fstatvfs(file) {
        Ok(system) if !system.f_flag.contains(StatVfsMountFlags::NOEXEC) => {}
        Ok(_) => return Err(refusal("nothing may be executed from its file system")),
        Err(error) => return Err(Refusal(format!("its file system cannot be told: {error}"))),
    }
    match metadata.nlink() {
        0 => Err(refusal("it has been deleted")),
        _ => Ok(()),
    }
}

/// Whether some bytes stand anywhere in a file.
fn holds(file: &mut File, sought: &[u8]) -> io::Result<bool> {
    /// Read at once.
    const PIECE: usize = 1 << 20;
    let finder = Finder::new(sought);
    let mut piece = Vec::with_capacity(PIECE + sought.len());
    file.seek(SeekFrom::Start(0))?;
    loop {
        // The end of the piece before it, for what is sought may lie across.
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
    fn programs_are_told_by_what_they_need() {
        let found = |path| inspect(Path::new(path)).unwrap();
        assert_eq!(found("/bin/cat"), Inspected::Program(Needs { locale: true, ..Needs::default() }));
        assert!(matches!(found("/bin/bash"), Inspected::Program(Needs { hook: true, locale: true, .. })));
    }

    #[test]
    fn what_is_no_ordinary_program_is_refused() {
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
