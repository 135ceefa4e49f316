//! What a program has at its entry: its memory, and what the kernel holds of it, which must be nothing.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use steady_linux::debuggee::{Debuggee, Mapping};

use super::super::taken::{FloatingPoint, NotTaken, Protection, Region, Stack};
use super::{failed, refused};

/// Whether what is executed is the file that was asked for, and not the interpreter of a script.
pub(super) fn is_the_program(debuggee: &Debuggee, program: &Path) -> Result<(), NotTaken> {
    let (asked, found) = (std::fs::metadata(program), std::fs::metadata(debuggee.file("exe")));
    let (asked, found) = (asked.map_err(failed)?, found.map_err(failed)?);
    if (asked.dev(), asked.ino()) != (found.dev(), found.ino()) {
        return Err(refused("another program is executed in its place, as for a script"));
    }
    if label(debuggee.file("attr/current").as_ref()) != label(Path::new("/proc/thread-self/attr/current")) {
        return Err(refused("a security module gives it a label of its own"));
    }
    Ok(())
}

/// What a security module calls a process; the same for all where there is none.
fn label(file: &Path) -> Option<Vec<u8>> {
    std::fs::read(file).ok()
}

/// One thread.
pub(super) fn is_alone(debuggee: &Debuggee) -> Result<(), NotTaken> {
    match std::fs::read_dir(debuggee.file("task")).map_err(failed)?.count() {
        1 => Ok(()),
        threads => Err(refused(format!("it has {threads} threads at its entry"))),
    }
}

/// No descriptor but the three streams and the one that it was given, and all signals as the system has them.
pub(super) fn has_left_nothing(debuggee: &Debuggee, given: Option<i64>) -> Result<(), NotTaken> {
    let given = given.map(|given| given.to_string());
    for entry in std::fs::read_dir(debuggee.file("fd")).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let own = ["0", "1", "2"].into_iter().chain(given.as_deref());
        if own.into_iter().all(|own| entry.file_name() != own) {
            let what = std::fs::read_link(entry.path()).map_err(failed)?;
            return Err(refused(format!("it has {} open at its entry", what.display())));
        }
    }
    let status = std::fs::read_to_string(debuggee.file("status")).map_err(failed)?;
    for (field, what) in [("SigBlk", "holds back"), ("SigIgn", "ignores"), ("SigCgt", "handles")] {
        let signals =
            set(&status, field).ok_or_else(|| NotTaken::Failed(format!("/proc/PID/status has no {field}")))?;
        if signals != 0 {
            return Err(refused(format!("it {what} signal {} at its entry", signals.trailing_zeros() + 1)));
        }
    }
    Ok(())
}

/// What execve(2) sets and a constructor can set without a system call, but for the floating-point units: the flags, the segments,
/// the rights of protection keys. What other functions rely on being unset must be so; the stub sets the thread's pointer.
pub(super) fn has_usual_registers(debuggee: &Debuggee, protection_keys: Option<u32>) -> Result<(), NotTaken> {
    /// Direction, nested task, alignment check, and the flag that shows whether there is CPUID.
    const FLAGS: u64 = 1 << 10 | 1 << 14 | 1 << 18 | 1 << 21;
    let registers = debuggee.registers().map_err(failed)?;
    let what = if registers.flags() & FLAGS != 0 {
        format!("flags of the CPU ({:#x})", registers.flags() & FLAGS)
    } else if registers.gs_base() != 0 || registers.data_segments() != [0; 4] {
        "a segment of its own".to_owned()
    } else if debuggee.protection_keys().map_err(failed)? != protection_keys {
        "the rights of protection keys".to_owned()
    } else {
        return Ok(());
    };
    Err(refused(format!("a constructor sets {what} before its entry")))
}

/// What its floating-point units are set to: the stub sets them so again.
pub(super) fn floating_point(debuggee: &Debuggee) -> Result<FloatingPoint, NotTaken> {
    let found = debuggee.floating_point().map_err(failed)?;
    if found.x87_holds_values {
        return Err(refused("a constructor leaves values in the registers of the x87 at its entry"));
    }
    Ok(FloatingPoint { mxcsr: found.mxcsr, x87_control: found.x87_control, x87_status: found.x87_status })
}

/// A set of signals in `/proc/PID/status`.
fn set(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

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
pub(super) fn regions(debuggee: &Debuggee, maps: &[Mapping], stack: &Stack) -> Result<Vec<Region>, NotTaken> {
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
