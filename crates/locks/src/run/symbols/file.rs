//! An object file: its segments, symbols and debug information.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use steady_model::Reading;

use super::super::found::FoundModule;
use super::{absent, demangled, read};

/// A parsed object file.
pub(super) struct CodeFile {
    segments: Vec<Segment>,
    /// Functions by address, ascending.
    symbols: Vec<Symbol>,
    debug: Reading<Debug>,
}

/// A segment of a file that is mapped into memory.
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
    /// Opens and parses the mapped file, unless another file has replaced it.
    pub(super) fn open(module: &FoundModule) -> Reading<Self> {
        if module.path.ends_with(" (deleted)") || !module.path.starts_with('/') {
            return absent("the file no longer exists");
        }
        let path = Path::new(&module.path);
        let bytes = read(path)?;
        if fs::metadata(path).map(|found| found.ino()).ok() != Some(module.inode) {
            return absent("another file has replaced it");
        }
        let Ok(file) = object::File::parse(&*bytes) else {
            return absent("the file cannot be parsed as an object file");
        };
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

    /// Returns the function and the line at an offset in the file, in bytes.
    pub(super) fn name(&self, offset: u64) -> (Reading<String>, Reading<String>) {
        let within =
            |segment: &&Segment| offset.checked_sub(segment.offset).is_some_and(|inside| inside < segment.size);
        let Some(segment) = self.segments.iter().find(within) else {
            return (
                absent("the offset is in no segment of the file"),
                absent("the offset is in no segment of the file"),
            );
        };
        let address = segment.address.saturating_add(offset - segment.offset);
        let found = self.debug.as_ref().map_err(Clone::clone).and_then(|debug| debug.at(address));
        let (function, line) = match found {
            Ok((function, line)) => (function, line),
            Err(why) => (None, Err(why)),
        };
        (function.map_or_else(|| self.nearest(address), Ok), line)
    }

    /// Returns the function that contains an address, from the symbols. A symbol without a size extends to the next
    /// one.
    fn nearest(&self, address: u64) -> Reading<String> {
        let next = self.symbols.partition_point(|symbol| symbol.address <= address);
        let holds = |symbol: &&Symbol| symbol.size == 0 || address - symbol.address < symbol.size;
        let found = self.symbols[..next].iter().rev().take(8).find(holds);
        found.map_or_else(|| absent("no symbol covers the address"), |symbol| Ok(demangled(&symbol.name)))
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

type Bytes = EndianArcSlice<RunTimeEndian>;

/// Directory in which distributions install separate debug information.
const FOLDER: &str = "/usr/lib/debug";
/// Inlined functions from these directories are not the program's own code.
const OF_OTHERS: [&str; 4] = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"];

/// Parsed debug information of a file.
pub(super) struct Debug {
    context: Context<Bytes>,
    /// The separate file that contains it, if any.
    pub(super) elsewhere: Option<PathBuf>,
}

/// The function (if known) and the line of an address.
type Location = (Option<String>, Reading<String>);

impl Debug {
    pub(super) fn of(path: &Path, file: &object::File<'_>) -> Reading<Self> {
        if file.section_by_name(".debug_info").is_some() {
            return Debug::load(file, None);
        }
        for candidate in candidates(path, file) {
            let Ok(bytes) = read(&candidate) else { continue };
            let Ok(other) = object::File::parse(&*bytes) else { continue };
            let same = file.build_id().ok().flatten() == other.build_id().ok().flatten();
            if same && other.section_by_name(".debug_info").is_some() {
                return Debug::load(&other, Some(candidate));
            }
        }
        absent("the file has no debug information")
    }

    fn load(file: &object::File<'_>, elsewhere: Option<PathBuf>) -> Reading<Self> {
        let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let section = |id: SectionId| {
            let data = file.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
            Ok::<_, gimli::Error>(EndianArcSlice::new(Arc::from(data.unwrap_or(Cow::Borrowed(&[]))), endian))
        };
        let context = Dwarf::load(section).and_then(Context::from_dwarf);
        match context {
            Ok(context) => Ok(Debug { context, elsewhere }),
            Err(error) => absent(format!("the debug information cannot be parsed ({error})")),
        }
    }

    /// Returns the location of an address. Of several inlined functions, this is the innermost one of the program's own
    /// code.
    pub(super) fn at(&self, address: u64) -> Reading<Location> {
        let no = || absent("the debug information has no line for the address");
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else { return no() };
        let (mut first, mut own) = (None, None);
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| Some(demangled(&name.raw_name().ok()?)));
            let file = frame.location.as_ref().and_then(|location| location.file);
            let is_own = file.is_some_and(|file| !OF_OTHERS.iter().any(|folder| file.starts_with(folder)));
            let line = match (file, frame.location.as_ref().and_then(|location| location.line)) {
                (Some(file), Some(line)) => Ok(format!("{file}:{line}")),
                _ => absent("the debug information has no line for the address"),
            };
            let location = (name, line);
            if is_own && own.is_none() {
                own = Some(location.clone());
            }
            first = first.or(Some(location));
        }
        own.or(first).map_or_else(no, Ok)
    }
}

/// Returns where separate debug information of a file may be: by its build ID, and by its debug link.
fn candidates(path: &Path, file: &object::File<'_>) -> Vec<PathBuf> {
    let mut found = vec![];
    if let Ok(Some(id)) = file.build_id()
        && let [first, rest @ ..] = id
    {
        let mut name = format!("{FOLDER}/.build-id/{first:02x}/");
        rest.iter().for_each(|byte| {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
        });
        found.push(PathBuf::from(name + ".debug"));
    }
    let link = file.gnu_debuglink().ok().flatten().and_then(|(name, _)| std::str::from_utf8(name).ok());
    if let (Some(link), Some(folder)) = (link.filter(|link| !link.contains('/')), path.parent()) {
        found.push(folder.join(link));
        found.push(folder.join(".debug").join(link));
        found.push(Path::new(FOLDER).join(folder.strip_prefix("/").unwrap_or(folder)).join(link));
    }
    // A debug link may name the file itself.
    found.retain(|candidate| candidate != path);
    found
}
