//! Checks the system calls that a program makes before its entry point, and records their effects.
//!
//! A call is allowed only if it leaves no state in the kernel that a snapshot cannot restore. Also, its result must be
//! one of these: the same at every launch; recorded as a condition of the snapshot; or different in the two captures,
//! so that memory that depends on it differs. After any other call the program is refused. `docs/warm.md` has a table
//! of what this means for each part of a process.

use steady_linux::debuggee::{Call, Registers};

use super::super::captured::NotCaptured;
use super::files::{AT_FDCWD, UsedPath};
use super::{Capture, failed, refused};

/// `ARCH_SET_FS` of arch_prctl(2), and codes that only read state. `ARCH_GET_FS` and `ARCH_GET_GS` return the bases,
/// which are restored at a launch. The other two return the state of the shadow stack (before and since Linux 6.6),
/// which the kernel sets at exec.
const SET_FS: u64 = 0x1002;
const READ_CODES: [u64; 4] = [0x1003, 0x1004, 0x3001, 0x5005];
/// The resource `RLIMIT_STACK` of getrlimit(2).
const STACK: u64 = 3;
/// Commands of fcntl(2): `F_GETFD`, `F_SETFD`, `F_GETFL`.
const FLAGS: std::ops::RangeInclusive<u64> = 1..=3;
/// Operations of prctl(2). `PR_CAPBSET_READ` and `PR_CAP_AMBIENT_IS_SET` read a capability; libcap calls them to find
/// out how many capabilities there are. `PR_SET_VMA` names a mapping.
const CAPABILITY: u64 = 23;
const AMBIENT: (u64, u64) = (47, 1);
const MEMORY_NAME: u64 = 0x5356_4d41;
/// Flags of mmap(2): `MAP_ANONYMOUS`; and those without a trace in `/proc/PID/maps`: `MAP_GROWSDOWN`, `MAP_LOCKED`,
/// `MAP_HUGETLB`.
const ANONYMOUS: u64 = 0x20;
const UNUSUAL_MAPPING: u64 = 0x100 | 0x2000 | 0x4_0000;
/// Advice of madvise(2) with an immediate effect: `MADV_NORMAL`, `MADV_WILLNEED`, `MADV_DONTNEED`, `MADV_FREE`,
/// `MADV_POPULATE_READ`, `MADV_POPULATE_WRITE`. Other advice stays with the memory, and a snapshot would lose it.
const PASSING_ADVICE: [u64; 6] = [0, 3, 4, 8, 22, 23];
/// The flag `GRND_NONBLOCK` of getrandom(2).
const NONBLOCK: u64 = 1;
/// A flag that rseq(2) does not know.
const NO_SUCH_FLAGS: u64 = 0x8000_0000;
/// `cpu_id_start` and `cpu_id` of linux/rseq.h in an area that is not registered.
const UNREGISTERED: u64 = 0xffff_ffff_0000_0000;

/// The maximum number of pieces of a writev(2) that a message is made of.
const MOST_PIECES: u64 = 64;
/// `ERESTARTSYS` to `ERESTART_RESTARTBLOCK`, kernel-internal results that programs never see.
const RESTARTED: std::ops::RangeInclusive<i64> = -516..=-512;
const EBADF: i64 = -9;
const EINVAL: i64 = -22;

/// The process number in the alternative capture: that of the first process of a PID namespace, which constructors may
/// compare with.
const FIRST_PROCESS: i32 = 1;
/// The result of getrandom(2) for a single byte, in the usual capture and in the alternative one.
const SINGLE_BYTES: [u8; 2] = [0x55, 0xaa];

/// What to do when the current system call returns.
#[derive(Debug)]
pub(super) enum OnReturn {
    Nothing,
    /// The call uses a descriptor, which the program must have opened itself.
    Descriptor(u32),
    Feature(u64),
    /// The call returns the process number.
    ProcessNumber,
    Tid(u64),
    RobustList(u64, u64),
    Rseq(u64, u32, u32),
    Break,
    /// The call writes 8 random bytes to this address.
    Drawn(u64),
    /// The call writes one random byte to this address.
    SingleByte(u64),
    /// The call returns whether the process has a capability.
    Capability,
    /// The call writes the stack limits to this address.
    StackLimits(u64),
    Path(UsedPath),
}

impl Capture {
    /// Checks a system call before it is made. Returns what to do when it returns.
    pub(super) fn call_entered(&mut self, call: &Call) -> Result<OnReturn, NotCaptured> {
        let name = call.name();
        let [a, b, c, d, e, _] = call.arguments;
        if let Some(used) = UsedPath::by(&self.debuggee, &name, call.arguments)? {
            return Ok(OnReturn::Path(used));
        }
        let stream = |descriptor: u64| descriptor as u32 <= 2;
        Ok(match name.as_str() {
            // The streams are other files at each launch. Other descriptors are checked when the call returns.
            "read" | "pread64" | "lseek" | "fstat" | "newfstatat" | "statx" | "getdents64" if stream(a) => {
                return Err(refused("it uses its standard streams before its entry point"));
            }
            "newfstatat" | "statx" if a as i32 == AT_FDCWD => {
                return Err(refused("it uses its working directory before its entry point"));
            }
            "read" | "pread64" | "lseek" | "fstat" | "newfstatat" | "statx" | "getdents64" | "fadvise64"
            | "readahead"
                if !stream(a) =>
            {
                OnReturn::Descriptor(a as u32)
            }
            "fcntl" if FLAGS.contains(&b) && !stream(a) => OnReturn::Descriptor(a as u32),
            // Closing a negative descriptor has no effect.
            "close" if (a as i32) < 0 => OnReturn::Nothing,
            "close" if !stream(a) => OnReturn::Descriptor(a as u32),
            // Only for its own path: `UsedPath::by` has handled all other paths.
            "readlink" => OnReturn::Nothing,
            // The path of a descriptor: of a file that it has opened by its path, or of a kernel file, which is
            // refused.
            "readlinkat" => OnReturn::Descriptor(a as u32),
            "mmap" if d & UNUSUAL_MAPPING == 0 && d & ANONYMOUS != 0 => OnReturn::Nothing,
            "mmap" if d & UNUSUAL_MAPPING == 0 && !stream(e) => OnReturn::Descriptor(e as u32),
            "madvise" if PASSING_ADVICE.contains(&c) => OnReturn::Nothing,
            // The captured memory shows the result of these calls. No other process waits on its futexes.
            "munmap" | "mprotect" | "mremap" | "futex" | "sched_yield" => OnReturn::Nothing,
            "getpid" | "gettid" => OnReturn::ProcessNumber,
            "prctl" if a == MEMORY_NAME => OnReturn::Nothing,
            "prctl" if a == CAPABILITY || (a, b) == AMBIENT => OnReturn::Capability,
            "prctl" => return Err(refused(format!("it calls prctl(2) with {a} before its entry point"))),
            "brk" => OnReturn::Break,
            // The thread pointer is read at the entry point.
            "arch_prctl" if a == SET_FS => OnReturn::Nothing,
            "arch_prctl" => OnReturn::Feature(a),
            "set_tid_address" => OnReturn::Tid(a),
            "set_robust_list" => OnReturn::RobustList(a, b),
            "rseq" if c == 0 && self.thread.rseq.is_none() => {
                // In a registered area the kernel writes the current CPU. With an invalid flag it registers none, and
                // only checks whether it supports the call.
                self.set_registers(|registers| registers.with_third_argument(NO_SUCH_FLAGS))?;
                OnReturn::Rseq(a, b as u32, d as u32)
            }
            // The soft limit is a condition of the snapshot.
            "prlimit64" if a == 0 && b == STACK && c == 0 => OnReturn::StackLimits(d),
            "getrlimit" if a == STACK => OnReturn::StackLimits(b),
            // A library tests whether the call is supported.
            "getrandom" if b == 1 => OnReturn::SingleByte(a),
            "getrandom" if b == 8 && c == NONBLOCK => OnReturn::Drawn(a),
            "write" if a as u32 == 2 => return Err(self.complains(&[(b, c)])?),
            "writev" if a as u32 == 2 => {
                let pieces = self.debuggee.bytes(b, c.min(MOST_PIECES) as usize * 16).map_err(failed)?;
                let (words, _) = pieces.as_chunks::<8>();
                let word = |word: [u8; 8]| u64::from_ne_bytes(word);
                let pieces: Vec<_> = words.chunks_exact(2).map(|pair| (word(pair[0]), word(pair[1]))).collect();
                return Err(self.complains(&pieces)?);
            }
            "exit" | "exit_group" => {
                return Err(refused(format!("it ends with status {} before its entry point", a as u8)));
            }
            // Dispositions and the signal mask are inherited from the process that starts it. The invalid call below is
            // the hook's test whether a page is readable.
            "rt_sigprocmask" if a == u64::MAX && c == 0 => OnReturn::Nothing,
            "rt_sigaction" if b == 0 => {
                return Err(refused(format!("it reads the disposition of signal {a} before its entry point")));
            }
            "rt_sigaction" => {
                return Err(refused(format!("it sets the disposition of signal {a} before its entry point")));
            }
            "rt_sigprocmask" if b == 0 => return Err(refused("it reads the signal mask before its entry point")),
            "rt_sigprocmask" => return Err(refused("a constructor blocks signals before its entry point")),
            "getrandom" => return Err(refused("a constructor draws a random number before its entry point")),
            "prlimit64" | "getrlimit" => {
                return Err(refused("a constructor reads resource limits before its entry point"));
            }
            _ => return Err(refused(format!("it calls {name}(2) before its entry point"))),
        })
    }

    /// Returns the refusal for a write of these pieces of memory to standard error. ld.so writes there if it cannot
    /// load the program.
    fn complains(&self, pieces: &[(u64, u64)]) -> Result<NotCaptured, NotCaptured> {
        const LONGEST: u64 = 300;
        let mut text = vec![];
        for &(address, length) in pieces {
            text.extend(self.debuggee.bytes(address, length.min(LONGEST) as usize).map_err(failed)?);
        }
        Ok(refused(format!("it writes before its entry point: {}", String::from_utf8_lossy(&text).trim_end())))
    }

    /// Handles the return of the current system call.
    pub(super) fn call_returned(&mut self, result: i64) -> Result<(), NotCaptured> {
        // A signal interrupted the call; it is the next stop.
        if RESTARTED.contains(&result) {
            return Ok(());
        }
        let succeeded = result >= 0;
        match std::mem::replace(&mut self.on_return, OnReturn::Nothing) {
            OnReturn::Nothing => {}
            OnReturn::Descriptor(descriptor) if result == EBADF => {
                return Err(refused(format!("it uses descriptor {descriptor}, which it has not opened itself")));
            }
            OnReturn::Descriptor(_) => {}
            OnReturn::Feature(code) if succeeded && !READ_CODES.contains(&code) => {
                return Err(refused(format!("it calls arch_prctl(2) with {code:#x} before its entry point")));
            }
            OnReturn::Feature(_) => {}
            OnReturn::ProcessNumber => drop(self.answer_process_number(result)?),
            OnReturn::Tid(address) => {
                self.thread.tid_address = address;
                self.thread.tid = self.answer_process_number(result)?;
            }
            OnReturn::RobustList(address, length) if succeeded => self.thread.robust_list = Some((address, length)),
            OnReturn::RobustList(..) => {}
            OnReturn::Rseq(address, length, signature) if result == EINVAL => {
                self.debuggee.write_word(address, UNREGISTERED).map_err(failed)?;
                self.set_registers(|registers| registers.with_result(0))?;
                self.thread.rseq = Some((address, length, signature));
            }
            OnReturn::Rseq(..) => {}
            OnReturn::Break => self.heap_end = result as u64,
            OnReturn::Drawn(address) => self.record_drawn(address)?,
            OnReturn::SingleByte(address) if result == 1 => {
                let word = self.debuggee.word(address).map_err(failed)?;
                let byte = SINGLE_BYTES[usize::from(self.alternative)];
                self.debuggee.write_word(address, word & !0xff | u64::from(byte)).map_err(failed)?;
            }
            OnReturn::SingleByte(_) => {}
            // Negate whether it has the capability. An error, which means that there is no such capability, stays.
            OnReturn::Capability if self.alternative && succeeded => {
                self.set_registers(|registers| registers.with_result(i64::from(result == 0)))?;
            }
            OnReturn::Capability => {}
            OnReturn::StackLimits(address) if self.alternative && succeeded && address != 0 => {
                self.alter_hard_limit(address + 8)?;
            }
            OnReturn::StackLimits(_) => {}
            OnReturn::Path(used) => self.files.record(used, result)?,
        }
        Ok(())
    }

    fn set_registers(&mut self, change: impl FnOnce(Registers) -> Registers) -> Result<(), NotCaptured> {
        let registers = change(self.debuggee.registers().map_err(failed)?);
        self.debuggee.set_registers(&registers).map_err(failed)
    }

    /// Returns the process number that the program gets. In the alternative capture, replaces the result of the call.
    fn answer_process_number(&mut self, real: i64) -> Result<i32, NotCaptured> {
        if self.alternative {
            self.set_registers(|registers| registers.with_result(FIRST_PROCESS.into()))?;
            return Ok(FIRST_PROCESS);
        }
        Ok(i32::try_from(real).unwrap_or(0))
    }

    /// Replaces the hard limit on the stack at this address by another value.
    fn alter_hard_limit(&mut self, address: u64) -> Result<(), NotCaptured> {
        const OTHER: u64 = 1 << 46;
        let real = self.debuggee.word(address).map_err(failed)?;
        let other = if real == u64::MAX { OTHER } else { u64::MAX };
        self.debuggee.write_word(address, other).map_err(failed)
    }

    /// Records a random number that malloc(3) has drawn to recognise its own free memory; each launch draws another. A
    /// program in which other code draws a number is refused, because any memory could depend on it.
    fn record_drawn(&mut self, address: u64) -> Result<(), NotCaptured> {
        if !self.is_of_the_c_library(address)? {
            return Err(refused("a constructor draws a random number before its entry point"));
        }
        self.drawn.push(self.debuggee.word(address).map_err(failed)?);
        Ok(())
    }
}
