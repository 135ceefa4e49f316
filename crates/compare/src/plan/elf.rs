//! Reads the ELF header and the program headers of executables and libraries (elf(5)).

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

const MAGIC: &[u8] = b"\x7fELF";
/// The type of shared objects and position-independent executables.
const ET_DYN: u64 = 3;
/// The segment that names the dynamic linker.
const PT_INTERP: u64 = 3;
/// The number of bytes to read. Linkers put program headers right after the ELF header, far below this limit.
const HEAD_BYTES: u64 = 64 * 1024;

/// Properties of an ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Elf {
    /// Class (32 or 64 bits), byte order and architecture.
    pub(super) machine: (u8, u8, u64),
    /// Whether it can be loaded into a process.
    pub(super) shared: bool,
    /// Whether it names a dynamic linker. Statically linked programs do not.
    pub(super) has_interpreter: bool,
}

impl Elf {
    /// Reads a file's headers. An error says why it is not a valid ELF file.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let mut head = Vec::new();
        File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).map_err(|error| match error
            .kind()
        {
            ErrorKind::IsADirectory => "it is a directory".to_owned(),
            _ => error.to_string(),
        })?;
        if !head.starts_with(MAGIC) {
            return Err("it is not an ELF file".to_owned());
        }
        parse(&head).ok_or_else(|| "its ELF header is incomplete".to_owned())
    }
}

fn parse(head: &[u8]) -> Option<Elf> {
    let (class, order) = (*head.get(4)?, *head.get(5)?);
    let field = |offset: usize, length: usize| {
        let bytes = head.get(offset..offset.checked_add(length)?)?;
        let append = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if order == 2 { bytes.iter().fold(0, append) } else { bytes.iter().rev().fold(0, append) })
    };
    // Of the program header table: offset and width of its address, offset of its entry size, and of its entry count.
    let (table, size, number) = if class == 1 { ((28, 4), 42, 44) } else { ((32, 8), 54, 56) };
    let table = usize::try_from(field(table.0, table.1)?).ok()?;
    let (size, number) = (field(size, 2)? as usize, field(number, 2)? as usize);
    let kind = |entry: usize| field(table.checked_add(entry * size)?, 4);
    Some(Elf {
        machine: (class, order, field(18, 2)?),
        shared: field(16, 2)? == ET_DYN,
        has_interpreter: (0..number).any(|entry| kind(entry) == Some(PT_INTERP)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_this_program_are_read() {
        let own = Elf::read(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(own.machine.0, if cfg!(target_pointer_width = "64") { 2 } else { 1 });
        assert!(own.has_interpreter || cfg!(target_feature = "crt-static"));
    }

    #[test]
    fn files_that_are_not_elf_are_refused() {
        assert_eq!(Elf::read(Path::new("/etc/passwd")).unwrap_err(), "it is not an ELF file");
        assert!(Elf::read(Path::new("/")).unwrap_err().contains("directory"));
        assert!(parse(b"\x7fELF\x02\x01").is_none());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_cause_no_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = parse(&[MAGIC, &bytes].concat());
        }
    }
}
