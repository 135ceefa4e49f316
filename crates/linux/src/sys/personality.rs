//! What programs that are started from here on are laid out like.

use std::io;

/// What personality(2) takes to change nothing.
const ASK: libc::c_ulong = 0xffff_ffff;

/// Has the kernel draw no addresses for programs that this process and its children execute from now on
/// (`ADDR_NO_RANDOMIZE` of personality(2)).
///
/// # Errors
/// EPERM in a sandbox that does not allow that.
pub fn fix_addresses() -> io::Result<()> {
    // SAFETY: the call takes a number and touches no memory of this process.
    let now = unsafe { libc::personality(ASK) };
    if now < 0 {
        return Err(io::Error::last_os_error());
    }
    let wanted = now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: as above.
    if unsafe { libc::personality(wanted) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
