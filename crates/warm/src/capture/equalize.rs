//! Removes chance differences between two captures before the first instruction: the CPU that the program starts on,
//! its loader's clock, and the relative positions of mappings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::debuggee::{Debuggee, OneCpu};

use super::super::captured::NotCaptured;
use super::stack::{self, InitialStack};
use super::{Capture, failed, refused};

/// SIGSEGV, the signal for an instruction that is not allowed.
pub(super) const FAULT: i32 = 11;
/// Numbers of system calls on x86-64.
const MMAP: u64 = 9;
const MUNMAP: u64 = 11;
const MREMAP: u64 = 25;
const PRCTL: u64 = 157;
/// `PR_SET_TSC` and `PR_TSC_SIGSEGV` of prctl(2): reading the time stamp counter raises SIGSEGV.
const SET_TIME_STAMP: u64 = 26;
const FAULTS: u64 = 2;
/// Flags of mremap(2): `MREMAP_MAYMOVE | MREMAP_FIXED`.
const MOVE: u64 = 1 | 2;
/// Flags of mmap(2): `MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE`.
const RESERVE: u64 = 0x2 | 0x20 | 0x4000 | 0x10_0000;
/// Flags of mmap(2): `MAP_PRIVATE | MAP_ANONYMOUS`.
const PRIVATE: u64 = 0x2 | 0x20;
/// The alignment that the kernel gives large mappings of files.
const HUGE: u64 = 2 << 20;
const PAGE: u64 = 4096;
/// The range of distances that the vDSO is moved up. There is room, because the stack limit is raised or memory is laid
/// out upwards.
const UP: (u64, u64) = (1 << 40, 3 << 40);

/// Binds this thread, and the programs it starts, to the CPU of the first capture of the program. ld.so stores what
/// CPUID returns on the CPU that it starts on. In a sandbox that forbids this, captures may differ in these words.
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

/// Disables the time stamp counter, moves the vDSO and fills the gap next to the loader. Returns the address of the
/// filling, or 0 if there is none.
pub(super) fn equalize(debuggee: &mut Debuggee, initial: &InitialStack) -> Result<u64, NotCaptured> {
    if debuggee.make_call(PRCTL, [SET_TIME_STAMP, FAULTS, 0, 0, 0, 0]).map_err(failed)? != 0 {
        return Err(NotCaptured::Failed("the time stamp counter cannot be disabled for it".into()));
    }
    move_vdso(debuggee, initial)?;
    fill(debuggee, initial.value(stack::BASE).unwrap_or(0))
}

/// Moves the vDSO above everything else, where it also is when a snapshot is launched. ld.so keeps its list of loaded
/// objects in the order of addresses. Also, the end of the vDSO is then not the start of another object.
fn move_vdso(debuggee: &mut Debuggee, initial: &InitialStack) -> Result<(), NotCaptured> {
    let maps = debuggee.maps().map_err(failed)?;
    let names = ["[vvar]", "[vvar_vclock]", "[vdso]"];
    let own: Vec<_> = maps.iter().filter(|mapping| names.iter().any(|name| mapping.is_named(name))).collect();
    // Older kernels place it next to the stack, which is high enough.
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
            return Err(NotCaptured::Failed(format!("the vDSO cannot be moved: error {}", -moved)));
        }
    }
    debuggee.write_word(place, object + up).map_err(failed)
}

/// Fills the gap between the loader and an address whose remainder modulo [`HUGE`] is the same in all captures. Without
/// this, libraries of at least that size, which the kernel aligns, could be in another order in each capture.
fn fill(debuggee: &mut Debuggee, loader: u64) -> Result<u64, NotCaptured> {
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

/// Returns the end of the loader if memory is laid out upwards, so that the next mapping is placed behind the loader.
fn end_where_upwards(debuggee: &mut Debuggee, loader: u64) -> Result<Option<u64>, NotCaptured> {
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

impl Capture {
    /// Returns whether the current instruction was about to read the time stamp counter, and lets it read 0. Only the
    /// loader may do this: it stores its run time for `LD_DEBUG=statistics`.
    pub(super) fn reads_time_stamp(&mut self) -> Result<bool, NotCaptured> {
        let address = self.debuggee.registers().map_err(failed)?.instruction();
        let loaders = self.loader.holds(address);
        let given = self.debuggee.give_time_stamp(0).map_err(failed)?;
        if given && !loaders {
            return Err(refused("a constructor reads the time stamp counter before its entry point"));
        }
        Ok(given)
    }
}

fn random() -> Result<u64, NotCaptured> {
    OsRng.try_next_u64().map_err(|error| NotCaptured::Failed(format!("no random number could be drawn: {error}")))
}
