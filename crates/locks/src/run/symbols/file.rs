//! A file of code: its parts that are mapped, its symbols, its debug information.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use steady_model::Reading;

use super::super::found::FoundModule;
use super::debug::Debug;
use super::{absent, demangled, read};

/// A file of code.
pub(super) struct CodeFile {
    segments: Vec<Segment>,
    /// Functions by address, ascending.
    symbols: Vec<Symbol>,
    debug: Reading<Debug>,
}

/// A part of a file that is mapped.
struct Segment {
    offset: u64,
    address: u64,
    size: u64,
}

struct Symbol {
    address: u64,
    size: u64,
    name: String,
}

impl CodeFile {
    /// The file that was mapped, if it is still that.
    pub(super) fn open(module: &FoundModule) -> Reading<Self> {
        if module.path.ends_with(" (deleted)") || !module.path.starts_with('/') {
            return absent("the file is gone");
        }
        let path = Path::new(&module.path);
        let bytes = read(path)?;
        if fs::metadata(path).map(|found| found.ino()).ok() != Some(module.inode) {
            return absent("another file is in its place by now");
        }
        let Ok(file) = object::File::parse(&*bytes) else { return absent("it is no file of code that can be read") };
        let segment = |segment: object::Segment<'_, '_>| Segment {
            offset: segment.file_range().0,
            address: segment.address(),
            size: segment.file_range().1,
        };
        let debug = Debug::of(path, &file);
        let mut symbols = functions(&file);
        if let Some(elsewhere) = debug.as_ref().ok().and_then(|debug| debug.elsewhere.as_deref())
            && let Ok(bytes) = read(elsewhere)
            && let Ok(file) = object::File::parse(&*bytes)
        {
            symbols.extend(functions(&file));
        }
        symbols.sort_by_key(|symbol| symbol.address);
        Ok(CodeFile { segments: file.segments().map(segment).collect(), symbols, debug })
    }

    /// The function and the line at so many bytes from the file's beginning.
    pub(super) fn name(&self, offset: u64) -> (Reading<String>, Reading<String>) {
        let within =
            |segment: &&Segment| offset.checked_sub(segment.offset).is_some_and(|inside| inside < segment.size);
        let Some(segment) = self.segments.iter().find(within) else {
            return (absent("the file has no code there"), absent("the file has no code there"));
        };
        let address = segment.address.saturating_add(offset - segment.offset);
        let told = self.debug.as_ref().map_err(Clone::clone).and_then(|debug| debug.at(address));
        let (function, line) = match told {
            Ok((function, line)) => (function, line),
            Err(why) => (None, Err(why)),
        };
        (function.map_or_else(|| self.nearest(address), Ok), line)
    }

    /// The function that holds an address, by the symbols. Those without a size reach to the next.
    fn nearest(&self, address: u64) -> Reading<String> {
        let next = self.symbols.partition_point(|symbol| symbol.address <= address);
        let holds = |symbol: &&Symbol| symbol.size == 0 || address - symbol.address < symbol.size;
        let found = self.symbols[..next].iter().rev().take(8).find(holds);
        found.map_or_else(|| absent("no symbol of the file is there"), |symbol| Ok(demangled(&symbol.name)))
    }
}

fn functions(file: &object::File<'_>) -> Vec<Symbol> {
    let all = file.symbols().chain(file.dynamic_symbols());
    let is_code = |symbol: &object::Symbol<'_, '_>| symbol.kind() == SymbolKind::Text && symbol.is_definition();
    all.filter(is_code)
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?.to_owned();
            Some(Symbol { address: symbol.address(), size: symbol.size(), name })
        })
        .collect()
}
