//! The files that a program asks for on its way to its entry.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use steady_linux::debuggee::Debuggee;

use super::super::taken::{AskedFile, NotTaken, Request};
use super::stack::Initial;
use super::{failed, refused};

/// `AT_FDCWD`, as a register's lower half holds it.
pub(super) const HERE: i32 = -100;
/// `O_ACCMODE`, `O_CREAT`, `O_TRUNC`, `O_APPEND` and `O_TMPFILE` of open(2): whatever is more than reading.
const WRITING: u64 = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20_000_000;
/// ENOENT and ENOTDIR.
const ABSENT: [i64; 2] = [-2, -20];
/// What is no file of a disk, and is another for each process or moment.
const KERNELS: [&str; 3] = ["/proc", "/sys", "/dev"];
/// What of that says the same to all processes until the next boot. In `/proc/sys/kernel` there are counts and random numbers
/// besides.
const SETTLED: [&str; 11] = [
    "/proc/filesystems",
    "/proc/cpuinfo",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/ostype",
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/version",
    "/sys/fs/selinux",
    "/sys/devices/system/cpu/possible",
    "/dev/null",
];
/// What is not there has nothing to do with the process below these folders.
const OF_ALL_PROCESSES: [&str; 2] = ["/proc/sys", "/sys"];
/// `PT_INTERP`.
const INTERPRETER: u32 = 3;

/// A path that a system call is about.
#[derive(Debug)]
pub(super) struct Asked {
    path: PathBuf,
    /// The call is about the whole file system, of which it says how full it is.
    file_system: bool,
}

impl Asked {
    /// The path that this system call is about; `None` where it is about none.
    pub(super) fn by(debuggee: &Debuggee, name: &str, arguments: [u64; 6]) -> Result<Option<Self>, NotTaken> {
        let [a, b, c, ..] = arguments;
        let here = HERE as u64;
        let (folder, path, flags) = match name {
            "open" => (here, a, b),
            "openat" => (a, b, c),
            "access" | "stat" | "lstat" | "readlink" | "statfs" => (here, a, 0),
            "faccessat" | "faccessat2" | "newfstatat" | "statx" | "readlinkat" => (a, b, 0),
            _ => return Ok(None),
        };
        if path == 0 {
            return Ok(None);
        }
        let path = PathBuf::from(OsString::from_vec(debuggee.string(path).map_err(failed)?));
        if path.as_os_str().is_empty() {
            return Ok(None);
        }
        if flags & WRITING != 0 && path != Path::new("/dev/null") {
            return Err(refused(format!("it opens {} to write before its entry", path.display())));
        }
        if path == Path::new("/proc/self/exe") {
            return if name.starts_with("readlink") {
                own_path(debuggee)
            } else {
                Err(refused("it opens itself before its entry"))
            };
        }
        let file_system = name == "statfs";
        if path.is_absolute() {
            return Ok(Some(Asked { path, file_system }));
        }
        if folder as i32 == HERE {
            return Err(refused(format!("it asks for {}, wherever it is started, before its entry", path.display())));
        }
        let folder = std::fs::read_link(debuggee.file(&format!("fd/{}", folder as i32))).map_err(failed)?;
        Ok(Some(Asked { path: folder.join(path), file_system }))
    }
}

/// It asks for its own path, as ld.so does where libraries lie beside the program (`$ORIGIN`): the same for all who start
/// it, if it has one name.
fn own_path(debuggee: &Debuggee) -> Result<Option<Asked>, NotTaken> {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(debuggee.file("exe")).map_err(failed)?.nlink() {
        1 => Ok(None),
        names => Err(refused(format!("it asks for its own path before its entry, and has {names} of them"))),
    }
}

/// The files so far.
pub(super) struct Files {
    found: Vec<AskedFile>,
    known: HashSet<PathBuf>,
    /// The library that is preloaded is not the program's own.
    preloaded: Option<PathBuf>,
}

impl Files {
    /// The program itself and its interpreter.
    pub(super) fn of(debuggee: &Debuggee, request: &Request, initial: &Initial) -> Result<Self, NotTaken> {
        let mut files = Files { found: vec![], known: HashSet::new(), preloaded: request.preloaded.clone() };
        files.note(request.program.clone(), true);
        files.note(interpreter(debuggee, initial)?, true);
        Ok(files)
    }

    fn note(&mut self, path: PathBuf, found: bool) {
        if self.preloaded.as_ref() != Some(&path) && self.known.insert(path.clone()) {
            self.found.push(AskedFile { path, found });
        }
    }

    /// A call about a path has returned this.
    pub(super) fn answered(&mut self, asked: Asked, result: i64) -> Result<(), NotTaken> {
        let Asked { path, file_system } = asked;
        match result {
            0.. if is_settled(&path) => Ok(()),
            0.. if file_system || is_of_the_kernel(&path) => Err(unsettled(&path)),
            0.. => {
                self.note(path, true);
                Ok(())
            }
            error if ABSENT.contains(&error) => {
                // What is absent for one process may be there for another: /proc/self/fd/7.
                if path.starts_with("/proc") && !OF_ALL_PROCESSES.iter().any(|folder| path.starts_with(folder)) {
                    return Err(unsettled(&path));
                }
                self.note(path, false);
                Ok(())
            }
            error => {
                let why = std::io::Error::from_raw_os_error(i32::try_from(-error).unwrap_or(0));
                Err(refused(format!("it asks for {} before its entry: {why}", path.display())))
            }
        }
    }

    pub(super) fn all(&self) -> Vec<AskedFile> {
        self.found.clone()
    }
}

fn unsettled(path: &Path) -> NotTaken {
    refused(format!("it asks for {} before its entry", path.display()))
}

/// Whether it lies in a folder of the kernel's, or leads there.
fn is_of_the_kernel(path: &Path) -> bool {
    let within = |path: &Path| KERNELS.iter().any(|top| path.starts_with(top));
    within(path) || path.canonicalize().is_ok_and(|path| within(&path))
}

fn is_settled(path: &Path) -> bool {
    SETTLED.iter().any(|settled| path == Path::new(settled))
}

/// The interpreter that the program names.
fn interpreter(debuggee: &Debuggee, initial: &Initial) -> Result<PathBuf, NotTaken> {
    const SIZE: usize = 56;
    let none = || refused("it names no interpreter");
    let (place, count) = initial.program_headers().ok_or_else(none)?;
    let headers = debuggee.bytes(place, SIZE * count as usize).map_err(failed)?;
    let number = |header: &[u8], place: usize| u64::from_ne_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| header[place + i]));
    let kind = |header: &[u8]| number(header, 0) as u32;
    // That of the headers themselves tells where the file lies.
    let own = headers.chunks_exact(SIZE).find(|header| kind(header) == 6).ok_or_else(none)?;
    let bias = place.wrapping_sub(number(own, 16));
    let named = headers.chunks_exact(SIZE).find(|header| kind(header) == INTERPRETER).ok_or_else(none)?;
    let path = debuggee.string(bias.wrapping_add(number(named, 16))).map_err(failed)?;
    Ok(OsString::from_vec(path).into())
}
