//! Records the files that a program uses before its entry point.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use steady_linux::debuggee::Debuggee;

use super::super::captured::{NotCaptured, Request, UsedFile};
use super::rights::Rights;
use super::stack::InitialStack;
use super::{failed, refused};

/// `AT_FDCWD` of openat(2), as the lower half of a register.
pub(super) const AT_FDCWD: i32 = -100;
/// `O_ACCMODE`, `O_CREAT`, `O_TRUNC`, `O_APPEND` and `O_TMPFILE` of open(2): flags that do more than reading.
const WRITING: u64 = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20_000_000;
/// `ENOENT` and `ENOTDIR`, negated.
const ABSENT: [i64; 2] = [-2, -20];
/// Directories with files of the kernel. Their content can depend on the process or change at any time.
const KERNEL_DIRECTORIES: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Files of the kernel with the same content for all processes until the next boot. Other files in `/proc/sys/kernel`
/// have counts and random numbers.
const CONSTANT_FILES: [&str; 11] = [
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
/// Directories of the kernel where the existence of a file does not depend on the process.
const OF_ALL_PROCESSES: [&str; 2] = ["/proc/sys", "/sys"];
/// The type `PT_INTERP` of a program header (elf(5)).
const INTERPRETER: u32 = 3;

/// The path that a system call uses.
#[derive(Debug)]
pub(super) struct UsedPath {
    path: PathBuf,
    /// Whether the call is statfs(2), whose result includes the free space of the file system.
    file_system: bool,
    /// The rights to the file without which the call fails.
    rights: Rights,
}

impl UsedPath {
    /// Returns the path that a system call uses, or `None` if it uses none.
    pub(super) fn by(debuggee: &Debuggee, name: &str, arguments: [u64; 6]) -> Result<Option<Self>, NotCaptured> {
        let [a, b, c, ..] = arguments;
        let here = AT_FDCWD as u64;
        let (folder, path, flags, rights) = match name {
            "open" => (here, a, b, Rights::to_open(b)),
            "openat" => (a, b, c, Rights::to_open(c)),
            "access" => (here, a, 0, Rights::of_mode(b)),
            "faccessat" | "faccessat2" => (a, b, 0, Rights::of_mode(c)),
            "stat" | "lstat" | "readlink" | "statfs" => (here, a, 0, Rights::NONE),
            "newfstatat" | "statx" | "readlinkat" => (a, b, 0, Rights::NONE),
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
            return Err(refused(format!("it opens {} for writing before its entry point", path.display())));
        }
        if path == Path::new("/proc/self/exe") {
            return if name.starts_with("readlink") {
                own_path(debuggee)
            } else {
                Err(refused("it opens its own file before its entry point"))
            };
        }
        let file_system = name == "statfs";
        if path.is_absolute() {
            return Ok(Some(UsedPath { path, file_system, rights }));
        }
        if folder as i32 == AT_FDCWD {
            let why = format!("it uses the relative path {} before its entry point", path.display());
            return Err(refused(why));
        }
        let folder = std::fs::read_link(debuggee.file(&format!("fd/{}", folder as i32))).map_err(failed)?;
        Ok(Some(UsedPath { path: folder.join(path), file_system, rights }))
    }
}

/// Handles a readlink(2) of the program's own path, which ld.so makes to find libraries next to the program
/// (`$ORIGIN`). The result is the same for every launch if the file has one name.
fn own_path(debuggee: &Debuggee) -> Result<Option<UsedPath>, NotCaptured> {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(debuggee.file("exe")).map_err(failed)?.nlink() {
        1 => Ok(None),
        names => {
            let why = format!("it reads its own path before its entry point, and its file has {names} hard links");
            Err(refused(why))
        }
    }
}

/// The files that the program has used so far.
pub(super) struct Files {
    found: Vec<UsedFile>,
    known: HashSet<PathBuf>,
    /// The hook. It is not recorded, because it does not belong to the program.
    preloaded: Option<PathBuf>,
}

impl Files {
    /// Starts the list with the program itself and its interpreter.
    pub(super) fn of(debuggee: &Debuggee, request: &Request, initial: &InitialStack) -> Result<Self, NotCaptured> {
        let mut files = Files { found: vec![], known: HashSet::new(), preloaded: request.preloaded.clone() };
        files.add(request.program.clone(), true);
        files.add(interpreter(debuggee, initial)?, true);
        Ok(files)
    }

    fn add(&mut self, path: PathBuf, found: bool) {
        if self.preloaded.as_ref() != Some(&path) && self.known.insert(path.clone()) {
            self.found.push(UsedFile { path, found });
        }
    }

    /// Records the result of a system call that uses a path.
    pub(super) fn record(&mut self, used: UsedPath, result: i64) -> Result<(), NotCaptured> {
        let UsedPath { path, file_system, rights } = used;
        match result {
            0.. if is_constant(&path) => Ok(()),
            0.. if file_system || is_of_the_kernel(&path) => Err(refused_path(&path)),
            0.. => {
                let by_anyone = rights.belong_to_every_process(&path).map_err(failed)?;
                let why = format!(
                    "it uses {} before its entry point, and whether it may depends on its groups or capabilities",
                    path.display()
                );
                self.add(path, true);
                if by_anyone { Ok(()) } else { Err(refused(why)) }
            }
            error if ABSENT.contains(&error) => {
                // A file that does not exist for one process may exist for another, such as /proc/self/fd/7.
                if path.starts_with("/proc") && !OF_ALL_PROCESSES.iter().any(|folder| path.starts_with(folder)) {
                    return Err(refused_path(&path));
                }
                self.add(path, false);
                Ok(())
            }
            error => {
                let why = std::io::Error::from_raw_os_error(i32::try_from(-error).unwrap_or(0));
                Err(refused(format!("it cannot use {} before its entry point: {why}", path.display())))
            }
        }
    }

    pub(super) fn all(&self) -> Vec<UsedFile> {
        self.found.clone()
    }
}

fn refused_path(path: &Path) -> NotCaptured {
    refused(format!("it uses {} before its entry point", path.display()))
}

/// Returns whether a path is in a directory of the kernel, or leads there.
fn is_of_the_kernel(path: &Path) -> bool {
    let within = |path: &Path| KERNEL_DIRECTORIES.iter().any(|top| path.starts_with(top));
    within(path) || path.canonicalize().is_ok_and(|path| within(&path))
}

fn is_constant(path: &Path) -> bool {
    CONSTANT_FILES.iter().any(|constant| path == Path::new(constant))
}

/// Returns the interpreter that the program names (`PT_INTERP`).
fn interpreter(debuggee: &Debuggee, initial: &InitialStack) -> Result<PathBuf, NotCaptured> {
    const SIZE: usize = 56;
    let none = || refused("it names no interpreter");
    let (place, count) = initial.program_headers().ok_or_else(none)?;
    let headers = debuggee.bytes(place, SIZE * count as usize).map_err(failed)?;
    let number = |header: &[u8], place: usize| u64::from_ne_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| header[place + i]));
    let kind = |header: &[u8]| number(header, 0) as u32;
    // The difference between address and file address of the headers gives the load bias.
    let own = headers.chunks_exact(SIZE).find(|header| kind(header) == 6).ok_or_else(none)?;
    let bias = place.wrapping_sub(number(own, 16));
    let named = headers.chunks_exact(SIZE).find(|header| kind(header) == INTERPRETER).ok_or_else(none)?;
    let path = debuggee.string(bias.wrapping_add(number(named, 16))).map_err(failed)?;
    Ok(OsString::from_vec(path).into())
}
