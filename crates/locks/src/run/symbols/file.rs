//! A file of code: its parts that are mapped, its symbols, its debug information.

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

type Bytes = EndianArcSlice<RunTimeEndian>;

/// Where distributions put it.
const FOLDER: &str = "/usr/lib/debug";
/// Code that is written in place into its callers' functions from here is not what a program's author wrote.
const OF_OTHERS: [&str; 4] = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"];

/// Debug information of a file.
pub(super) struct Debug {
    context: Context<Bytes>,
    /// The file that it stands in, where that is another.
    pub(super) elsewhere: Option<PathBuf>,
}

/// The function, where it is told, and the line of an address.
type Told = (Option<String>, Reading<String>);

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
            Err(error) => absent(format!("its debug information makes no sense ({error})")),
        }
    }

    /// What stands there of an address. Of functions that were written in place into each other the innermost of the program's own
    /// counts.
    pub(super) fn at(&self, address: u64) -> Reading<Told> {
        let no = || absent("the debug information has no line for it");
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else { return no() };
        let (mut first, mut own) = (None, None);
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| name.demangle().ok().map(Cow::into_owned));
            let file = frame.location.as_ref().and_then(|location| location.file);
            let is_own = file.is_some_and(|file| !OF_OTHERS.iter().any(|folder| file.starts_with(folder)));
            let line = match (file, frame.location.as_ref().and_then(|location| location.line)) {
                (Some(file), Some(line)) => Ok(format!("{file}:{line}")),
                _ => absent("the debug information has no line for it"),
            };
            let told = (name, line);
            if is_own && own.is_none() {
                own = Some(told.clone());
            }
            first = first.or(Some(told));
        }
        own.or(first).map_or_else(no, Ok)
    }
}

/// Where debug information of a file may be: by its build's identity, and by the name that it gives.
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
    // A link that leads to the file itself tells nothing more.
    found.retain(|candidate| candidate != path);
    found
}
