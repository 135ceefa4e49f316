//! What the head of an executable or a library says (elf(5)).

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

const MAGIC: &[u8] = b"\x7fELF";
/// Shared objects, and programs that can be loaded anywhere.
const ET_DYN: u64 = 3;
/// The segment that names the dynamic linker.
const PT_INTERP: u64 = 3;
/// Program headers follow the file's head in all that linkers make; this is far beyond them.
const HEAD_BYTES: u64 = 64 * 1024;

/// What matters of an ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Elf {
    /// 32 or 64 bits, byte order and kind of machine.
    pub(super) machine: (u8, u8, u64),
    /// Whether it can be loaded into a process.
    pub(super) shared: bool,
    /// Whether it names a dynamic linker: what is linked statically does not.
    pub(super) asks_for_linker: bool,
}

impl Elf {
    /// Reads a file's head; why it is none that makes sense.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let mut head = Vec::new();
        File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).map_err(|error| match error
            .kind()
        {
            ErrorKind::IsADirectory => "it is a directory".to_owned(),
            _ => error.to_string(),
        })?;
        if !head.starts_with(MAGIC) {
            return Err("it is no ELF file".to_owned());
        }
        parse(&head).ok_or_else(|| "its ELF header is cut off".to_owned())
    }
}

fn parse(head: &[u8]) -> Option<Elf> {
    let (class, order) = (*head.get(4)?, *head.get(5)?);
    let field = |offset: usize, length: usize| {
        let bytes = head.get(offset..offset.checked_add(length)?)?;
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if order == 2 { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) })
    };
    // Offset and width of the table's address, and offsets of the size and the number of its entries.
    let (table, size, number) = if class == 1 { ((28, 4), 42, 44) } else { ((32, 8), 54, 56) };
    let table = usize::try_from(field(table.0, table.1)?).ok()?;
    let (size, number) = (field(size, 2)? as usize, field(number, 2)? as usize);
    let kind = |entry: usize| field(table.checked_add(entry * size)?, 4);
    Some(Elf {
        machine: (class, order, field(18, 2)?),
        shared: field(16, 2)? == ET_DYN,
        asks_for_linker: (0..number).any(|entry| kind(entry) == Some(PT_INTERP)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_a_program() {
        let own = Elf::read(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(own.machine.0, if cfg!(target_pointer_width = "64") { 2 } else { 1 });
        assert!(own.asks_for_linker || cfg!(target_feature = "crt-static"));
    }

    #[test]
    fn what_is_no_elf_says_so() {
        assert_eq!(Elf::read(Path::new("/etc/passwd")).unwrap_err(), "it is no ELF file");
        assert!(Elf::read(Path::new("/")).unwrap_err().contains("directory"));
        assert!(parse(b"\x7fELF\x02\x01").is_none());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = parse(&[MAGIC, &bytes].concat());
        }
    }
}
