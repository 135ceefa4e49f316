//! Reading and writing the files of knobs.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use rustix::fs::Access;
use rustix::io::Errno;
use steady_model::{Absent, Reading};

use crate::Root;
use crate::root::unreadable;

/// What is in a file, to the byte.
///
/// # Errors
/// Absent where it cannot be read, or is no text.
pub fn read(root: &Root, file: &str) -> Reading<String> {
    let bytes =
        fs::read(root.path(file)).map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            // cpufreq says so of a policy whose CPUs are all offline, intel_pstate while it is switched off.
            Some(Errno::BUSY | Errno::AGAIN | Errno::IO) => {
                Absent::because(format!("{file} has no value now ({error})"))
            }
            _ => unreadable(file, &error),
        })?;
    String::from_utf8(bytes).map_err(|_| Absent::because(format!("{file} holds no text")))
}

/// Whether this process may write a file. That the kernel takes a value is only known once it has.
pub(super) fn may_write(root: &Root, file: &str) -> Reading<()> {
    let path = root.path(file);
    let mode = fs::metadata(&path).map_err(|error| unreadable(file, &error))?.permissions().mode();
    // Root is let through by access(2) where a file of /sys has nobody's right to write, and refused by its driver.
    if mode & 0o222 == 0 {
        return Err(Absent::because("the kernel offers it for reading only"));
    }
    match rustix::fs::access(&path, Access::WRITE_OK) {
        Ok(()) => Ok(()),
        Err(Errno::ROFS) => {
            let top = file.split('/').nth(1).unwrap_or_default();
            Err(Absent::because(format!("/{top} is mounted read-only here, as containers have it")))
        }
        Err(Errno::ACCESS | Errno::PERM) if !rustix::process::geteuid().is_root() => {
            Err(Absent::because("only root may set it"))
        }
        Err(Errno::ACCESS | Errno::PERM) => Err(Absent::because("not even root may set it here")),
        Err(error) => Err(Absent::because(format!("it cannot be written ({error})"))),
    }
}

/// Writes a file, in one call, as files of the kernel's want it.
///
/// # Errors
/// What open(2) or write(2) says.
pub fn write(root: &Root, file: &str, text: &str) -> io::Result<()> {
    // Never made: what is not there is no knob.
    let mut opened = File::options().write(true).truncate(true).open(root.path(file))?;
    let written = opened.write(text.as_bytes())?;
    if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
