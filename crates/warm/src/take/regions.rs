//! The memory of a program that stands at its entry.

use std::path::Path;

use steady_linux::debuggee::{Debuggee, Mapping};

use super::super::taken::{NotTaken, Protection, Region, Stack};
use super::refused;

/// No more memory than this is taken.
const MOST: u64 = 256 << 20;
/// What the kernel provides by itself, each time in another place or always in the same.
const KERNELS: [&str; 5] = ["[stack]", "[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]"];
/// A file that the C library maps as shared memory.
const NEVER_WRITTEN: &str = "gconv-modules.cache";
/// The last address of a process, and how far below it the kernel may begin a stack: `STACK_TOP` and
/// `stack_maxrandom_size` of arch/x86.
const LAST: u64 = 1 << 47;
const RANDOM: u64 = 16 << 30;
/// Room for the largest stack that is not unlimited, and for the gap below it.
const ROOM: u64 = 1 << 30;

/// All of it but the stack and what the kernel provides.
pub(super) fn all(debuggee: &Debuggee, maps: &[Mapping], stack: &Stack) -> Result<Vec<Region>, NotTaken> {
    if maps.iter().any(|mapping| mapping.is_named("[stack]") && mapping.protection[2]) {
        return Err(refused("its stack may be executed"));
    }
    if maps.iter().filter(|mapping| mapping.is_named("[stack]")).count() > 1 {
        return Err(refused("a constructor protects a part of its stack"));
    }
    let own: Vec<&Mapping> = maps.iter().filter(|mapping| !KERNELS.iter().any(|name| mapping.is_named(name))).collect();
    let whole: u64 = own.iter().map(|mapping| mapping.length()).sum();
    if whole > MOST {
        return Err(refused(format!("it has {} MiB of memory at its entry", whole >> 20)));
    }
    own.into_iter().map(|mapping| region(debuggee, mapping, stack)).collect()
}

fn region(debuggee: &Debuggee, mapping: &Mapping, stack: &Stack) -> Result<Region, NotTaken> {
    let [read, write, execute] = mapping.protection;
    let file = mapping.file();
    if let Some(file) = file {
        can_be_taken(file, mapping)?;
    }
    if mapping.end > LAST - RANDOM - ROOM || (mapping.start < stack.range.1 && stack.range.0 < mapping.end) {
        return Err(refused("its memory lies where the stack of a later launch may be"));
    }
    Ok(Region {
        address: mapping.start,
        bytes: held(debuggee, mapping)?.into(),
        protection: Protection { read, write, execute },
        file: file.map(|file| (file.to_owned(), mapping.offset)),
        heap: mapping.is_named("[heap]"),
    })
}

/// What a mapping holds. Files are mapped with nothing allowed only to keep places between a library's parts free, beyond
/// the end of the file even, where nothing can be read: zeros stand for that.
fn held(debuggee: &Debuggee, mapping: &Mapping) -> Result<Vec<u8>, NotTaken> {
    let length = mapping.length() as usize;
    if mapping.file().is_some() && mapping.protection == [false; 3] {
        return Ok(vec![0; length]);
    }
    debuggee.bytes(mapping.start, length).map_err(|error| {
        let (start, name) = (mapping.start, mapping.name.display());
        NotTaken::Failed(format!("the memory at {start:#x} ({name}) could not be read: {error}"))
    })
}

fn can_be_taken(file: &Path, mapping: &Mapping) -> Result<(), NotTaken> {
    let name = file.display();
    // What others write to it later would be missed. The C library's list of character sets is replaced, never written to.
    if mapping.shared && (mapping.protection[1] || !file.ends_with(NEVER_WRITTEN)) {
        return Err(refused(format!("it shares memory at its entry: {name}")));
    }
    if file.starts_with("/dev") || file.to_string_lossy().ends_with(" (deleted)") {
        return Err(refused(format!("it maps {name} at its entry")));
    }
    Ok(())
}
