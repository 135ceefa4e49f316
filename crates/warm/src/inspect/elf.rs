//! Programs and libraries as ELF files: whether one can be taken, and what it imports.

use std::fs::File;

use object::elf::{
    DT_FLAGS_1, EM_X86_64, ET_DYN, ET_EXEC, FileHeader64, PF_X, PT_DYNAMIC, PT_GNU_STACK, PT_INTERP, SHN_UNDEF,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, ReadCache, ReadRef};

use super::{Refusal, refusal};

/// What a program or library asks of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imports {
    /// A function that starts a program and that the hook can stand before.
    pub starts_programs: bool,
    /// setlocale(3).
    pub sets_locale: bool,
}

/// The functions that the hook stands before.
const STARTING: [&[u8]; 11] = [
    b"execve",
    b"execv",
    b"execvp",
    b"execvpe",
    b"execl",
    b"execlp",
    b"execle",
    b"execveat",
    b"fexecve",
    b"posix_spawn",
    b"posix_spawnp",
];

/// What the GNU C library's loader tells its libraries by: nobody else's has it.
const OF_GNU_LOADER: &[u8] = b"_rtld_global_ro";
/// `DF_1_NODEFLIB`, `DF_1_NOOPEN` and the like change nothing here; a program that wants to be audited does.
const AUDITED: u64 = object::elf::DF_1_GLOBAUDIT as u64;

type Header = FileHeader64<Endianness>;

/// What a library imports; nothing where it makes no sense.
#[must_use]
pub fn imports(file: &File) -> Imports {
    let cache = ReadCache::new(file);
    let Ok((header, endian)) = header(&cache) else { return Imports::default() };
    imported(&cache, header, endian).unwrap_or_default()
}

/// What a program imports, if it is one that can be taken.
pub(super) fn program(file: &File) -> Result<Imports, Refusal> {
    let cache = ReadCache::new(file);
    let (header, endian) = header(&cache)?;
    let headers = header.program_headers(endian, &cache).map_err(broken)?;
    let Some(interpreter) = headers.iter().find(|part| part.p_type(endian) == PT_INTERP) else {
        return Err(refusal("it is static: it is not started by a loader"));
    };
    let path = interpreter.data(endian, &cache).map_err(|()| refusal("its ELF file makes no sense"))?;
    let path = String::from_utf8_lossy(path.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
    if !is_gnu_loader(&path) {
        return Err(Refusal(format!("its loader '{path}' is not the GNU C library's")));
    }
    let executable = |part: &&object::elf::ProgramHeader64<Endianness>| {
        part.p_type(endian) == PT_GNU_STACK && part.p_flags(endian) & PF_X == 0
    };
    if headers.iter().find(executable).is_none() {
        return Err(refusal("it wants a stack that can be executed"));
    }
    for part in headers.iter().filter(|part| part.p_type(endian) == PT_DYNAMIC) {
        let entries = part.dynamic(endian, &cache).map_err(broken)?.unwrap_or_default();
        let flags = entries.iter().find(|entry| entry.d_tag(endian) == u64::from(DT_FLAGS_1));
        if flags.is_some_and(|flags| flags.d_val(endian) & AUDITED != 0) {
            return Err(refusal("it asks for audit libraries"));
        }
    }
    imported(&cache, header, endian)
}

/// The header of a 64-bit ELF file for this kind of machine.
fn header<'data>(data: impl ReadRef<'data>) -> Result<(&'data Header, Endianness), Refusal> {
    let header = Header::parse(data).map_err(|_| refusal("it is not a 64-bit ELF file"))?;
    let endian = header.endian().map_err(broken)?;
    if header.e_machine(endian) != EM_X86_64 || !header.is_little_endian() {
        return Err(refusal("it is for another kind of machine"));
    }
    match header.e_type(endian) {
        ET_EXEC | ET_DYN => Ok((header, endian)),
        _ => Err(refusal("its ELF file is no program")),
    }
}

/// Whether the file at `path` is the GNU C library's loader.
fn is_gnu_loader(path: &str) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(&file);
    let Ok((header, endian)) = header(&cache) else { return false };
    names(&cache, header, endian, true, |name| name == OF_GNU_LOADER).unwrap_or(false)
}

fn imported<'data>(data: impl ReadRef<'data>, header: &Header, endian: Endianness) -> Result<Imports, Refusal> {
    let mut found = Imports::default();
    names(data, header, endian, false, |name| {
        found.starts_programs |= STARTING.contains(&name);
        found.sets_locale |= name == b"setlocale";
        false
    })?;
    Ok(found)
}

/// Whether `wanted` says so of one of the names that the loader sees, of those that are `defined` here or of the others. A
/// library may define thousands, each of which would have to be read by itself.
fn names<'data>(
    data: impl ReadRef<'data>,
    header: &Header,
    endian: Endianness,
    defined: bool,
    mut wanted: impl FnMut(&[u8]) -> bool,
) -> Result<bool, Refusal> {
    let sections = header.sections(endian, data).map_err(broken)?;
    let symbols = sections.symbols(endian, data, object::elf::SHT_DYNSYM).map_err(broken)?;
    if symbols.is_empty() {
        return Err(refusal("its ELF file has no table of symbols to be linked by"));
    }
    for symbol in symbols.iter().filter(|symbol| (symbol.st_shndx(endian) != SHN_UNDEF) == defined) {
        if wanted(symbol.name(endian, symbols.strings()).map_err(broken)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn broken(error: object::Error) -> Refusal {
    Refusal(format!("its ELF file makes no sense: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_read_from_programs_and_libraries() {
        let of = |path: &str| imports(&File::open(path).unwrap());
        assert!(!of("/bin/true").starts_programs);
        assert!(of("/usr/bin/env").starts_programs);
        assert_eq!(imports(&File::open("/etc/passwd").unwrap()), Imports::default());
    }

    #[test]
    fn the_loader_is_told_by_what_it_has() {
        assert!(is_gnu_loader("/lib64/ld-linux-x86-64.so.2"));
        assert!(!is_gnu_loader("/bin/true") && !is_gnu_loader("/nonexistent"));
    }
}
