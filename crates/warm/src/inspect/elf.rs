//! Inspects programs and libraries as ELF files: whether one can be captured, and what it imports.

use std::fs::File;

use object::elf::{
    DT_FLAGS_1, EM_X86_64, ET_DYN, ET_EXEC, FileHeader64, PF_X, PT_DYNAMIC, PT_GNU_STACK, PT_INTERP, SHN_UNDEF,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, ReadCache, ReadRef};

use super::{Refusal, refusal};

/// Imports of a program or library that matter for a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imports {
    /// Whether it imports a function that starts programs and that the hook replaces.
    pub starts_programs: bool,
    /// Whether it imports a function that reads links and that the hook replaces.
    pub reads_links: bool,
    /// Whether it imports setlocale(3).
    pub sets_locale: bool,
}

/// The functions that start programs and that the hook replaces.
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

/// The functions that read links and that the hook replaces.
const READING_LINKS: [&[u8]; 7] = [
    b"readlink",
    b"readlinkat",
    b"__readlink_chk",
    b"__readlinkat_chk",
    b"realpath",
    b"__realpath_chk",
    b"canonicalize_file_name",
];

/// A symbol that only the loader of the GNU C library defines.
const OF_GNU_LOADER: &[u8] = b"_rtld_global_ro";
/// The flag in `DT_FLAGS_1` of a program that requests audit libraries.
const AUDITED: u64 = object::elf::DF_1_GLOBAUDIT as u64;

type Header = FileHeader64<Endianness>;

/// Returns the imports of a library; none if its file is malformed.
#[must_use]
pub fn imports(file: &File) -> Imports {
    let cache = ReadCache::new(file);
    let Ok((header, endian)) = header(&cache) else { return Imports::default() };
    imported(&cache, header, endian).unwrap_or_default()
}

/// Returns the imports of a program if it can be captured.
pub(super) fn program(file: &File) -> Result<Imports, Refusal> {
    let cache = ReadCache::new(file);
    let (header, endian) = header(&cache)?;
    let headers = header.program_headers(endian, &cache).map_err(broken)?;
    let Some(interpreter) = headers.iter().find(|part| part.p_type(endian) == PT_INTERP) else {
        return Err(refusal("it is static: it is not started by a loader"));
    };
    let path = interpreter.data(endian, &cache).map_err(|()| refusal("its ELF file is malformed"))?;
    let path = String::from_utf8_lossy(path.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
    if !is_gnu_loader(&path) {
        return Err(Refusal(format!("its loader '{path}' does not belong to the GNU C library")));
    }
    let executable = |part: &&object::elf::ProgramHeader64<Endianness>| {
        part.p_type(endian) == PT_GNU_STACK && part.p_flags(endian) & PF_X == 0
    };
    if headers.iter().find(executable).is_none() {
        return Err(refusal("it requires an executable stack"));
    }
    for part in headers.iter().filter(|part| part.p_type(endian) == PT_DYNAMIC) {
        let entries = part.dynamic(endian, &cache).map_err(broken)?.unwrap_or_default();
        let flags = entries.iter().find(|entry| entry.d_tag(endian) == u64::from(DT_FLAGS_1));
        if flags.is_some_and(|flags| flags.d_val(endian) & AUDITED != 0) {
            return Err(refusal("it requests audit libraries"));
        }
    }
    imported(&cache, header, endian)
}

/// Returns the header of a 64-bit ELF file for x86-64.
fn header<'data>(data: impl ReadRef<'data>) -> Result<(&'data Header, Endianness), Refusal> {
    let header = Header::parse(data).map_err(|_| refusal("it is not a 64-bit ELF file"))?;
    let endian = header.endian().map_err(broken)?;
    if header.e_machine(endian) != EM_X86_64 || !header.is_little_endian() {
        return Err(refusal("it is for another CPU architecture"));
    }
    match header.e_type(endian) {
        ET_EXEC | ET_DYN => Ok((header, endian)),
        _ => Err(refusal("its ELF file is not a program")),
    }
}

/// Returns whether the file at `path` is the loader of the GNU C library.
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
        found.reads_links |= READING_LINKS.contains(&name);
        found.sets_locale |= name == b"setlocale";
        false
    })?;
    Ok(found)
}

/// Returns whether `wanted` accepts one of the dynamic symbols: the `defined` ones or the imported ones. Names of the
/// other kind are not read, because a library may define thousands.
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
        return Err(refusal("its ELF file has no dynamic symbol table"));
    }
    for symbol in symbols.iter().filter(|symbol| (symbol.st_shndx(endian) != SHN_UNDEF) == defined) {
        if wanted(symbol.name(endian, symbols.strings()).map_err(broken)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn broken(error: object::Error) -> Refusal {
    Refusal(format!("its ELF file is malformed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_read_from_programs_and_libraries() {
        let of = |path: &str| imports(&File::open(path).unwrap());
        assert!(!of("/bin/true").starts_programs);
        assert!(of("/usr/bin/env").starts_programs);
        assert!(!of("/bin/true").reads_links && of("/usr/bin/readlink").reads_links);
        assert_eq!(imports(&File::open("/etc/passwd").unwrap()), Imports::default());
    }

    #[test]
    fn the_loader_is_recognised_by_its_symbols() {
        assert!(is_gnu_loader("/lib64/ld-linux-x86-64.so.2"));
        assert!(!is_gnu_loader("/bin/true") && !is_gnu_loader("/nonexistent"));
    }
}
