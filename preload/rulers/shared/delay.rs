//! The run delay of the calling thread: how long it has waited for a CPU.

use core::ffi::CStr;

use super::kernel::{O_CLOEXEC, O_RDONLY, close, open, read};

const PATH: &CStr = c"/proc/thread-self/schedstat";
/// Enough for three numbers of at most 20 digits.
const LONGEST: usize = 64;

/// Run delay of the calling thread so far, in nanoseconds; none if the kernel does not report it (it is built without
/// `CONFIG_SCHED_INFO`).
#[must_use]
pub fn run_delay() -> Option<u64> {
    let mut text = [0_u8; LONGEST];
    // SAFETY: the path is NUL-terminated.
    let file = unsafe { open(PATH.as_ptr(), O_RDONLY | O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: `text` is valid for writes of its length.
    let got = unsafe { read(file, text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: the descriptor was opened here and is not used any more.
    unsafe { close(file) };
    second_number(text.get(..usize::try_from(got).ok()?)?)
}

/// Reads the second of three numbers: time on a CPU, time waiting for one, number of time slices
/// (proc_pid_schedstat(5)).
fn second_number(text: &[u8]) -> Option<u64> {
    let digits = text.split(|byte| *byte == b' ').nth(1).filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
