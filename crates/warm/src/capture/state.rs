//! Reads the state of a program at its entry point: its memory, and what it has changed in the kernel, which must be
//! nothing.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use steady_linux::debuggee::Debuggee;
use steady_linux::procfs::Mapping;

use super::super::captured::{FloatingPoint, NotCaptured, Protection, Region, Stack};
use super::{failed, refused};

/// Checks that the kernel executes the requested file, and not the interpreter of a script.
pub(super) fn is_the_program(debuggee: &Debuggee, program: &Path) -> Result<(), NotCaptured> {
    let (requested, found) = (std::fs::metadata(program), std::fs::metadata(debuggee.file("exe")));
    let (requested, found) = (requested.map_err(failed)?, found.map_err(failed)?);
    if (requested.dev(), requested.ino()) != (found.dev(), found.ino()) {
        return Err(refused("the kernel executes another program in its place, as for a script"));
    }
    if label(debuggee.file("attr/current").as_ref()) != label(Path::new("/proc/thread-self/attr/current")) {
        return Err(refused("a security module gives it another label than its parent"));
    }
    Ok(())
}

/// Returns the label that a security module gives a process; `None` if there is no such module.
fn label(file: &Path) -> Option<Vec<u8>> {
    std::fs::read(file).ok()
}

/// Checks that the program has one thread.
pub(super) fn is_alone(debuggee: &Debuggee) -> Result<(), NotCaptured> {
    match std::fs::read_dir(debuggee.file("task")).map_err(failed)?.count() {
        1 => Ok(()),
        threads => Err(refused(format!("it has {threads} threads at its entry point"))),
    }
}

/// Checks that only the streams and the `given` descriptor are open, and that signals are in their default state.
pub(super) fn has_left_nothing(debuggee: &Debuggee, given: Option<i64>) -> Result<(), NotCaptured> {
    let given = given.map(|given| given.to_string());
    for entry in std::fs::read_dir(debuggee.file("fd")).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let own = ["0", "1", "2"].into_iter().chain(given.as_deref());
        if own.into_iter().all(|own| entry.file_name() != own) {
            let what = std::fs::read_link(entry.path()).map_err(failed)?;
            return Err(refused(format!("it has {} open at its entry point", what.display())));
        }
    }
    let status = std::fs::read_to_string(debuggee.file("status")).map_err(failed)?;
    for (field, what) in [("SigBlk", "blocks"), ("SigIgn", "ignores"), ("SigCgt", "handles")] {
        let signals =
            set(&status, field).ok_or_else(|| NotCaptured::Failed(format!("/proc/PID/status has no {field}")))?;
        if signals != 0 {
            return Err(refused(format!("it {what} signal {} at its entry point", signals.trailing_zeros() + 1)));
        }
    }
    Ok(())
}

/// Checks registers that execve(2) sets and that a constructor can change without a system call: flags, segments, and
/// the rights of protection keys. Floating-point units are not among them, because the stub restores them; nor is the
/// FS base, which the stub sets.
pub(super) fn has_usual_registers(debuggee: &Debuggee, protection_keys: Option<u32>) -> Result<(), NotCaptured> {
    /// Direction, nested task, alignment check, and the flag that tests for CPUID.
    const FLAGS: u64 = 1 << 10 | 1 << 14 | 1 << 18 | 1 << 21;
    let registers = debuggee.registers().map_err(failed)?;
    let what = if registers.flags() & FLAGS != 0 {
        format!("flags of the CPU ({:#x})", registers.flags() & FLAGS)
    } else if registers.gs_base() != 0 || registers.data_segments() != [0; 4] {
        "a segment register or the GS base".to_owned()
    } else if debuggee.protection_keys().map_err(failed)? != protection_keys {
        "the rights of protection keys".to_owned()
    } else {
        return Ok(());
    };
    Err(refused(format!("a constructor sets {what} before its entry point")))
}

/// Reads the state of the floating-point units, which the stub restores.
pub(super) fn floating_point(debuggee: &Debuggee) -> Result<FloatingPoint, NotCaptured> {
    let found = debuggee.floating_point().map_err(failed)?;
    if found.x87_holds_values {
        return Err(refused("a constructor leaves values in the x87 registers at its entry point"));
    }
    Ok(FloatingPoint { mxcsr: found.mxcsr, x87_control: found.x87_control, x87_status: found.x87_status })
}

/// Returns a signal set from `/proc/PID/status`.
fn set(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// The maximum size of a program's memory, in bytes.
const MOST: u64 = 256 << 20;
/// Mappings that the kernel creates at each exec.
const KERNEL_MAPPINGS: [&str; 5] = ["[stack]", "[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]"];
/// A file that the C library maps shared, and that is never written in place.
const NEVER_WRITTEN: &str = "gconv-modules.cache";
/// The end of the address space, and the maximum distance of a stack from it, in bytes: `STACK_TOP` and
/// `stack_maxrandom_size` of arch/x86.
const LAST: u64 = 1 << 47;
const RANDOM: u64 = 16 << 30;
/// Space for the largest limited stack and the gap below it, in bytes.
const ROOM: u64 = 1 << 30;

/// Reads all memory except the stack and the kernel's mappings.
pub(super) fn regions(debuggee: &Debuggee, maps: &[Mapping], stack: &Stack) -> Result<Vec<Region>, NotCaptured> {
    if maps.iter().any(|mapping| mapping.is_named("[stack]") && mapping.protection[2]) {
        return Err(refused("its stack is executable"));
    }
    if maps.iter().filter(|mapping| mapping.is_named("[stack]")).count() > 1 {
        return Err(refused("a constructor changes the protection of a part of its stack"));
    }
    let own: Vec<&Mapping> =
        maps.iter().filter(|mapping| !KERNEL_MAPPINGS.iter().any(|name| mapping.is_named(name))).collect();
    let whole: u64 = own.iter().map(|mapping| mapping.length()).sum();
    if whole > MOST {
        return Err(refused(format!("it has {} MiB of memory at its entry point", whole >> 20)));
    }
    own.into_iter().map(|mapping| region(debuggee, mapping, stack)).collect()
}

fn region(debuggee: &Debuggee, mapping: &Mapping, stack: &Stack) -> Result<Region, NotCaptured> {
    let [read, write, execute] = mapping.protection;
    let file = mapping.file();
    if let Some(file) = file {
        check_mapping(file, mapping)?;
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

/// Reads the content of a mapping. A file mapping without any access only reserves addresses between parts of a
/// library, possibly beyond the end of the file. It cannot be read, so zeros are returned.
fn held(debuggee: &Debuggee, mapping: &Mapping) -> Result<Vec<u8>, NotCaptured> {
    let length = mapping.length() as usize;
    if mapping.file().is_some() && mapping.protection == [false; 3] {
        return Ok(vec![0; length]);
    }
    debuggee.bytes(mapping.start, length).map_err(|error| {
        let (start, name) = (mapping.start, mapping.name.display());
        NotCaptured::Failed(format!("the memory at {start:#x} ({name}) could not be read: {error}"))
    })
}

fn check_mapping(file: &Path, mapping: &Mapping) -> Result<(), NotCaptured> {
    let name = file.display();
    // A snapshot would miss later writes of other processes. The C library's cache of character sets is only ever
    // replaced.
    if mapping.shared && (mapping.protection[1] || !file.ends_with(NEVER_WRITTEN)) {
        return Err(refused(format!("it shares memory at its entry point: {name}")));
    }
    if file.starts_with("/dev") || file.to_string_lossy().ends_with(" (deleted)") {
        return Err(refused(format!("it maps {name} at its entry point")));
    }
    Ok(())
}
