//! Patches the words that differ from launch to launch.

use crate::calls;
use crate::launch::{Launch, last_part};
use crate::table::{MOST_DRAWN, Patch, Table, kind};

/// The C library rotates mangled pointers left by this many bits.
const ROTATION: u32 = 17;

/// Writes all patches. Returns whether it could; on failure, some may have been written.
///
/// # Safety
/// Each patch must be 4 or 8 bytes of writable memory outside the stub.
pub(crate) unsafe fn apply(patches: &[Patch], launch: &Launch, table: &Table) -> bool {
    let mut heap_end = 0;
    let mut drawn = [0; MOST_DRAWN];
    let wanted = table.drawn as usize;
    if wanted > MOST_DRAWN || launch.random.is_null() || (wanted > 0 && !calls::draw(&mut drawn[..wanted])) {
        return false;
    }
    // SAFETY: AT_RANDOM is the address of 16 bytes, which need not be aligned.
    let (canary, guard) =
        unsafe { (launch.random.read_unaligned() & !0xff, launch.random.wrapping_add(1).read_unaligned()) };
    for patch in patches {
        let base = match patch.kind {
            kind::STACK => launch.stack as u64,
            kind::ARGC => launch.count,
            kind::ARGV => launch.arguments as u64,
            kind::ENVIRONMENT => launch.environment as u64,
            kind::AUXILIARY => launch.auxiliary as u64,
            kind::RANDOM => launch.random as u64,
            kind::PLATFORM if launch.platform != 0 => launch.platform,
            kind::EXECFN => launch.executed,
            // SAFETY: argv ends with a null pointer.
            kind::ARGV0 => unsafe { launch.arguments.read() },
            // SAFETY: as above.
            kind::ARGV0_NAME => unsafe { last_part(launch.arguments.read()) },
            kind::VDSO if launch.vdso != 0 => launch.vdso,
            kind::CANARY => canary,
            kind::POINTER_GUARD => guard,
            kind::MANGLED => (patch.addend ^ guard).rotate_left(ROTATION).wrapping_sub(patch.addend),
            kind::TID => launch.thread,
            kind::BREAK => {
                if heap_end == 0 {
                    heap_end = calls::heap_end();
                }
                heap_end
            }
            kind::STACK_LIMIT => match calls::stack_limit() {
                // With an unknown limit or none, the C library would have used another value.
                0 | u64::MAX => return false,
                limit => limit,
            },
            kind::DRAWN if patch.addend < table.drawn => {
                drawn[patch.addend as usize & (MOST_DRAWN - 1)].wrapping_sub(patch.addend)
            }
            _ => return false,
        };
        let value = base.wrapping_add(patch.addend);
        // SAFETY: guaranteed by the caller.
        unsafe {
            match patch.bytes {
                8 => (patch.address as *mut u64).write(value),
                _ => (patch.address as *mut u32).write(value as u32),
            }
        }
    }
    true
}
