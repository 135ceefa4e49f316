//! Looks up the function and the line of a place in a file: from debug information, in the file or in a separate one,
//! otherwise from the nearest symbol.

mod file;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use steady_model::{Absent, Reading};

use super::found::FoundModule;
use super::naming::Names;
use crate::record::CodePlace;
use file::CodeFile;

/// Cache of the files that were looked up.
#[derive(Default)]
pub(crate) struct Symbols {
    files: HashMap<FoundModule, Reading<CodeFile>>,
}

impl Names for Symbols {
    fn place(&mut self, module: &FoundModule, offset: u64) -> CodePlace {
        let name = Ok(module.path.clone());
        // The call instruction ends just before the return address.
        let call = offset.saturating_sub(1);
        let file = self.files.entry(module.clone()).or_insert_with(|| CodeFile::open(module));
        match file {
            Ok(file) => {
                let (function, line) = file.name(call);
                CodePlace { module: name, offset, function, line }
            }
            Err(why) => CodePlace { module: name, offset, function: Err(why.clone()), line: Err(why.clone()) },
        }
    }
}

/// Demangles the name of a symbol, if it is mangled. The demanglers also accept bare types, such as `w` for `wchar_t`.
fn demangled(name: &str) -> String {
    let is_mangled = ["_Z", "_R"].iter().any(|prefix| name.starts_with(prefix));
    if is_mangled { addr2line::demangle_auto(name.into(), None).into_owned() } else { name.to_owned() }
}

fn absent<T>(why: impl Into<String>) -> Reading<T> {
    Err(Absent::because(why.into()))
}

/// Maximum size of a file that is read, in bytes; no object file is that large.
const LONGEST: u64 = 4 << 30;

/// Reads a regular file into memory.
fn read(path: &Path) -> Reading<Vec<u8>> {
    let found = fs::metadata(path);
    if !found.as_ref().is_ok_and(|found| found.is_file() && found.len() < LONGEST) {
        return absent("the file cannot be read");
    }
    fs::read(path).or_else(|error| absent(format!("the file cannot be read ({error})")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use object::{Object, ObjectSegment, ObjectSymbol};

    use super::*;

    /// Returns the file of the running test and the offset of a function in it.
    fn offset_of(name: &str) -> (FoundModule, u64) {
        let path = std::env::current_exe().unwrap();
        let bytes = fs::read(&path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let symbol = file.symbols().find(|symbol| symbol.name().is_ok_and(|other| other.contains(name))).unwrap();
        let holds = |segment: &object::Segment<'_, '_>| {
            (segment.address()..segment.address() + segment.size()).contains(&symbol.address())
        };
        let segment = file.segments().find(holds).unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        let offset = symbol.address() - segment.address() + segment.file_range().0;
        (FoundModule { path: path.to_string_lossy().into_owned(), inode }, offset)
    }

    #[test]
    fn a_function_of_this_program_has_its_name_and_line() {
        let (module, offset) = offset_of("found_by_the_tests_of_symbols");
        let mut symbols = Symbols::default();
        let place = symbols.place(&module, offset + 4);
        assert!(place.function.clone().unwrap().contains("found_by_the_tests_of_symbols"), "{place:?}");
        assert!(place.line.unwrap().contains("symbols/mod.rs:"));
        let changed = FoundModule { inode: module.inode + 1, ..module };
        assert!(symbols.place(&changed, offset).function.unwrap_err().0.contains("another file"));
        found_by_the_tests_of_symbols();
    }

    #[inline(never)]
    fn found_by_the_tests_of_symbols() {
        std::hint::black_box(0);
    }

    #[test]
    fn files_without_code_give_a_reason() {
        let mut symbols = Symbols::default();
        let of = |path: &str| FoundModule {
            path: path.to_owned(),
            inode: fs::metadata(path).map_or(0, |found| found.ino()),
        };
        assert!(symbols.place(&of("/etc/passwd"), 7).function.is_err());
        assert!(symbols.place(&of("/nonexistent/lib.so"), 7).function.is_err());
        assert!(symbols.place(&of("/proc/self/exe"), u64::MAX).function.is_err());
    }

    #[test]
    fn symbols_are_demangled() {
        assert_eq!(demangled("_ZN5Queue4pushEi"), "Queue::push(int)");
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
        for name in ["pthread_create", "w", "i", "ZN3foo3barE", "RNvC6_123foo3bar"] {
            assert_eq!(demangled(name), name);
        }
    }
}
