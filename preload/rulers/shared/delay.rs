//! How long the calling thread has waited for a CPU.

use core::ffi::CStr;

use super::kernel::{O_CLOEXEC, O_RDONLY, close, open, read};

const PATH: &CStr = c"/proc/thread-self/schedstat";
/// Three numbers of twenty digits at most.
const LONGEST: usize = 64;

/// It so far, in nanoseconds; nothing where the kernel does not tell (it is then built without `CONFIG_SCHED_INFO`).
#[must_use]
pub fn run_delay() -> Option<u64> {
    let mut text = [0_u8; LONGEST];
    // SAFETY: the path is a string that ends with a zero.
    let file = unsafe { open(PATH.as_ptr(), O_RDONLY | O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: so many bytes may be written there.
    let got = unsafe { read(file, text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: it was opened here, and is used no more.
    unsafe { close(file) };
    second_number(text.get(..usize::try_from(got).ok()?)?)
}

/// proc_pid_schedstat(5): time on the CPU, time waiting for one, and how often it got one.
fn second_number(text: &[u8]) -> Option<u64> {
    let digits = text.split(|byte| *byte == b' ').nth(1).filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
