//! What is settled before a program's first instruction, so that two takes differ in nothing but what a launch makes: on which
//! CPU it begins, what its loader's clock says, and where things lie relative to one another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::debuggee::{Debuggee, OneCpu};

use super::super::taken::NotTaken;
use super::stack::{self, Initial};
use super::{Taking, failed, refused};

/// SIGSEGV: what an instruction gets that must not be executed.
pub(super) const FAULT: i32 = 11;
/// Numbers of system calls.
const MMAP: u64 = 9;
const MUNMAP: u64 = 11;
const MREMAP: u64 = 25;
const PRCTL: u64 = 157;
/// `PR_SET_TSC` and `PR_TSC_SIGSEGV`.
const SET_TIME_STAMP: u64 = 26;
const FAULTS: u64 = 2;
/// `MREMAP_MAYMOVE | MREMAP_FIXED`.
const MOVE: u64 = 1 | 2;
/// `MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE`.
const RESERVE: u64 = 0x2 | 0x20 | 0x4000 | 0x10_0000;
/// `MAP_PRIVATE | MAP_ANONYMOUS`.
const PRIVATE: u64 = 0x2 | 0x20;
/// How the kernel aligns large mappings of files.
const HUGE: u64 = 2 << 20;
const PAGE: u64 = 4096;
/// The kernel's object is moved so far up at least, and at most: with the stack's limit raised, or memory laid out upwards,
/// there is room.
const UP: (u64, u64) = (1 << 40, 3 << 40);

/// Keeps this thread and what it starts to the CPU that the first take of a program was made on: ld.so keeps what CPUID says of the
/// one that it begins on. Where a sandbox forbids this, takes may differ by it.
pub(super) fn keep_to_one_cpu(program: &Path) -> Option<OneCpu> {
    static CPUS: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());
    let mut cpus = CPUS.lock().unwrap_or_else(PoisonError::into_inner);
    let current = OneCpu::current();
    let cpu = cpus.entry(program.to_owned()).or_insert(current);
    OneCpu::keep(*cpu).ok().or_else(|| {
        *cpu = current;
        OneCpu::keep(current).ok()
    })
}

/// Settles what is left of it, and returns where memory begins that only fills a gap; 0 if there is none.
pub(super) fn settle(debuggee: &mut Debuggee, initial: &Initial) -> Result<u64, NotTaken> {
    if debuggee.make_call(PRCTL, [SET_TIME_STAMP, FAULTS, 0, 0, 0, 0]).map_err(failed)? != 0 {
        return Err(NotTaken::Failed("the CPU's time stamp cannot be held back from it".into()));
    }
    move_kernels_object(debuggee, initial)?;
    fill(debuggee, initial.value(stack::BASE).unwrap_or(0))
}

/// Moves the kernel's object above all else, as it lies when a snapshot is launched: ld.so keeps a list of what it has
/// loaded in the order of addresses. Its end is nothing else's start then.
fn move_kernels_object(debuggee: &mut Debuggee, initial: &Initial) -> Result<(), NotTaken> {
    let maps = debuggee.maps().map_err(failed)?;
    let names = ["[vvar]", "[vvar_vclock]", "[vdso]"];
    let own: Vec<_> = maps.iter().filter(|mapping| names.iter().any(|name| mapping.is_named(name))).collect();
    // Older kernels put it beside the stack.
    let above = initial.value(stack::BASE).unwrap_or(0).saturating_add(UP.0);
    let place = initial.place(stack::VDSO).filter(|(_, object)| *object < above);
    let (Some((place, object)), Some(first), Some(last)) = (place, own.first(), own.last()) else { return Ok(()) };
    let up = UP.0 + random()? % (UP.1 - UP.0) / PAGE * PAGE;
    let there = first.start + up..last.end + up;
    if maps.iter().any(|mapping| mapping.start < there.end && there.start < mapping.end) {
        return Ok(());
    }
    for mapping in &own {
        let arguments = [mapping.start, mapping.length(), mapping.length(), MOVE, mapping.start + up, 0];
        let moved = debuggee.make_call(MREMAP, arguments).map_err(failed)?;
        if moved != (mapping.start + up).cast_signed() {
            return Err(NotTaken::Failed(format!("the kernel's object cannot be moved: error {}", -moved)));
        }
    }
    debuggee.write_word(place, object + up).map_err(failed)
}

/// Fills the gap between the loader and an address that is in all takes as far from a multiple of [`HUGE`]: else libraries of
/// that size or more, which are aligned to it, would lie in another order in each.
fn fill(debuggee: &mut Debuggee, loader: u64) -> Result<u64, NotTaken> {
    static REMAINDER: OnceLock<u64> = OnceLock::new();
    let drawn = random()? % HUGE / PAGE * PAGE;
    let remainder = *REMAINDER.get_or_init(|| drawn);
    let (start, gap) = match end_where_upwards(debuggee, loader)? {
        Some(end) => (end, remainder.wrapping_sub(end) % HUGE),
        None => {
            let gap = loader.wrapping_sub(remainder) % HUGE;
            (loader.wrapping_sub(gap), gap)
        }
    };
    if gap == 0 {
        return Ok(0);
    }
    let filled = debuggee.make_call(MMAP, [start, gap, 0, RESERVE, u64::MAX, 0]).map_err(failed)?;
    if filled == start.cast_signed() { Ok(start) } else { Ok(0) }
}

/// The end of the loader, where what is mapped next lies behind it and not before: in programs whose memory is laid out upwards.
fn end_where_upwards(debuggee: &mut Debuggee, loader: u64) -> Result<Option<u64>, NotTaken> {
    let next = debuggee.make_call(MMAP, [0, PAGE, 0, PRIVATE, u64::MAX, 0]).map_err(failed)?.cast_unsigned();
    debuggee.make_call(MUNMAP, [next, PAGE, 0, 0, 0, 0]).map_err(failed)?;
    let maps = debuggee.maps().map_err(failed)?;
    let mut end = loader;
    for mapping in maps.iter().filter(|mapping| mapping.start >= loader) {
        if mapping.start != end {
            break;
        }
        end = mapping.end;
    }
    Ok((next > loader).then_some(end))
}

impl Taking {
    /// Whether it was about to read the CPU's time stamp, and has read 0 instead: the loader, which keeps for whoever asks
    /// for statistics how long it took.
    pub(super) fn reads_time_stamp(&mut self) -> Result<bool, NotTaken> {
        let address = self.debuggee.registers().map_err(failed)?.instruction();
        let loaders = self.loader.holds(address);
        let given = self.debuggee.give_time_stamp(0).map_err(failed)?;
        if given && !loaders {
            return Err(refused("a constructor asks for the time before its entry"));
        }
        Ok(given)
    }
}

fn random() -> Result<u64, NotTaken> {
    OsRng.try_next_u64().map_err(|error| NotTaken::Failed(format!("no random number could be drawn: {error}")))
}
