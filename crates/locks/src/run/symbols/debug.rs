//! Debug information (DWARF): in the file itself, or where distributions put it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection};
use steady_model::Reading;

use super::{absent, read};

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
