//! Determines from the file of a program whether its locks can be watched, and why waits for futexes in it were not.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use object::elf::{EM_X86_64, ET_DYN, ET_EXEC, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadCache};
use steady_linux::files::gives_rights;
use steady_linux::script::{self, NoScript};
use thiserror::Error;

/// The interpreter of a script may itself be a script; the kernel follows at most this many (execve(2)).
const DEEPEST: u32 = 5;

type Header = FileHeader64<Endianness>;

/// Why a program cannot be watched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the locks of '{}' cannot be watched: {why}", program.display())]
pub(crate) struct Unwatchable {
    program: PathBuf,
    why: String,
}

/// Checks whether locks can be watched in the program or script in a file. Accepts files that cannot be executed,
/// because the kernel reports those with the right error.
///
/// # Errors
/// Returns why the locks cannot be watched.
pub(crate) fn watchable(program: &Path) -> Result<(), Unwatchable> {
    let refused = |program: &Path, why: &str| Unwatchable { program: program.to_owned(), why: why.to_owned() };
    if steady_preload::WATCHER.is_empty() {
        return Err(refused(program, "this needs x86-64 and the GNU C library"));
    }
    let mut path = program.to_owned();
    for _ in 0..DEEPEST {
        match interpreter(&path) {
            Some(next) => path = next,
            None => return refusal(&path).map_or(Ok(()), |why| Err(refused(&path, why))),
        }
    }
    Ok(())
}

/// Returns the interpreter of a script, or `None` for a file that is no script.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let start = script::start(path).ok()?;
    match script::parse(&start) {
        Ok(script) => Some(script.interpreter),
        // The shell runs a file that is neither an ELF file nor names its interpreter (execvp(3)).
        Err(NoScript::NoMark) if !start.is_empty() && !start.starts_with(b"\x7fELF") => Some(PathBuf::from("/bin/sh")),
        Err(_) => None,
    }
}

/// Returns why the dynamic linker cannot load the watcher into a program. Returns `None` if it can, or if the file
/// cannot be read.
fn refusal(path: &Path) -> Option<&'static str> {
    let file = File::open(path).ok()?;
    let found = file.metadata().ok()?;
    match kind(&file)? {
        Kind::Dynamic => gives_rights(path, &found).then_some(
            "it has elevated privileges (setuid, setgid or capabilities), so the dynamic linker ignores LD_PRELOAD",
        ),
        Kind::Static => Some("it is statically linked, so no library can be loaded into it"),
        Kind::OtherMachine => Some("it is a program for another architecture"),
        Kind::OtherLoader => Some("its dynamic linker is not the GNU C library's"),
    }
}

/// How a program is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Dynamic,
    Static,
    OtherMachine,
    OtherLoader,
}

/// Returns how a program is linked, or `None` if the file is no program.
fn kind(file: &File) -> Option<Kind> {
    let cache = ReadCache::new(file);
    let mut magic = [0; 4];
    (&*file).read_exact(&mut magic).ok()?;
    if magic != *b"\x7fELF" {
        return None;
    }
    let Ok(header) = Header::parse(&cache) else { return Some(Kind::OtherMachine) };
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != EM_X86_64 || !header.is_little_endian() {
        return Some(Kind::OtherMachine);
    }
    if !matches!(header.e_type(endian), ET_EXEC | ET_DYN) {
        return None;
    }
    let headers = header.program_headers(endian, &cache).ok()?;
    let Some(interpreter) = headers.iter().find(|part| part.p_type(endian) == PT_INTERP) else {
        return Some(Kind::Static);
    };
    let name = interpreter.data(endian, &cache).ok()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_gnu = name.windows(8).any(|part| part == b"ld-linux");
    Some(if is_gnu { Kind::Dynamic } else { Kind::OtherLoader })
}

/// Returns why waits for futexes in a program were not watched. `was_watched` says whether the watcher was loaded.
pub(super) fn why_unwatched(path: &Path, was_watched: bool) -> String {
    let file = File::open(path);
    let kind = file.as_ref().ok().and_then(kind);
    let language = file.ok().and_then(|file| language(&file));
    match (language, kind) {
        (Some(Language::Go), _) => "a Go program; the Go runtime implements its own locks".to_owned(),
        (_, Some(Kind::Static)) => "a statically linked program; no library can be loaded into it".to_owned(),
        (_, Some(Kind::OtherMachine)) => "a program for another architecture".to_owned(),
        (_, Some(Kind::OtherLoader)) => "its dynamic linker is not the GNU C library's".to_owned(),
        (Some(Language::Java), _) => "a Java virtual machine; it implements its own locks on futexes".to_owned(),
        (Some(Language::Rust), _) => {
            "a Rust program; locks of the standard library and of parking_lot use futexes directly".to_owned()
        }
        _ if was_watched => "locks inside the C library, or futexes that the program uses directly".to_owned(),
        _ => "the watcher was not loaded, because of elevated privileges or a cleared environment".to_owned(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Go,
    Java,
    Rust,
}

/// Detects languages that implement their own locks, by traces of their compilers in the program.
fn language(file: &File) -> Option<Language> {
    let cache = ReadCache::new(file);
    let header = Header::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, &cache).ok()?;
    if sections.section_by_name(endian, b".note.go.buildid").is_some() {
        return Some(Language::Go);
    }
    // Panic messages contain paths of the compiler's source files.
    let holds = |section: &[u8], word: &[u8]| {
        let found =
            sections.section_by_name(endian, section).and_then(|(_, section)| section.data(endian, &cache).ok());
        found.is_some_and(|data| memchr::memmem::find(data, word).is_some())
    };
    if holds(b".rodata", b"/rustc/") || holds(b".rodata", b"library/std/src/") || holds(b".comment", b"rustc version") {
        return Some(Language::Rust);
    }
    holds(b".dynstr", b"JLI_Launch").then_some(Language::Java)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_of_a_program_shows_its_linking_and_language() {
        assert_eq!(refusal(Path::new("/bin/true")), None);
        assert_eq!(refusal(Path::new("/etc/passwd")), None, "the kernel reports the error");
        assert_eq!(refusal(Path::new("/nonexistent")), None);
        let own = File::open("/proc/self/exe").unwrap();
        assert_eq!((kind(&own), language(&own)), (Some(Kind::Dynamic), Some(Language::Rust)));
        assert!(why_unwatched(Path::new("/proc/self/exe"), true).contains("Rust"));
        assert!(why_unwatched(Path::new("/bin/true"), true).contains("C library"));
    }

    #[test]
    fn the_interpreter_of_a_script_is_found() {
        let folder = std::env::temp_dir().join(format!("steady-programs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let script = folder.join("script");
        for (text, expected) in
            [("#! /bin/cat -n\nx", Some("/bin/cat")), ("echo\n", Some("/bin/sh")), ("", None), ("#!\n", None)]
        {
            fs::write(&script, text).unwrap();
            assert_eq!(interpreter(&script).as_deref(), expected.map(Path::new), "{text}");
        }
        assert_eq!(interpreter(Path::new("/bin/true")), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn other_architectures_and_broken_files_are_rejected() {
        let path = std::env::temp_dir().join(format!("steady-program-{}", std::process::id()));
        let program = fs::read("/bin/true").unwrap();
        for (place, byte, expected) in [(4, 1, "another architecture"), (18, 0xb7, "another architecture")] {
            let mut changed = program.clone();
            changed[place] = byte;
            fs::write(&path, changed).unwrap();
            assert!(refusal(&path).unwrap().contains(expected), "{place}");
        }
        fs::write(&path, &program[..100]).unwrap();
        let _ = refusal(&path);
        fs::remove_file(&path).unwrap();
    }
}
