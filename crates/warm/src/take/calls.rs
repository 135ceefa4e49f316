//! What a program may ask of the kernel before its entry, and what is noted of it.
//!
//! A system call is let pass only if it leaves nothing in the kernel that a snapshot cannot restore, and if its answer is the
//! same at every launch, is recorded as a condition of the snapshot, or is given differently to the two takes, so that
//! memory that depends on it differs. Everything else is a refusal. `docs/warm.md` has the table of what this means for
//! each part of a process.

use steady_linux::debuggee::{Call, Registers};

use super::super::taken::NotTaken;
use super::files::{Asked, HERE};
use super::{Taking, failed, refused};

/// `ARCH_SET_FS` of arch_prctl(2), and its questions: for the bases of FS and GS, which a launch has as the take had them, and
/// for the shadow stack (before and since Linux 6.6), which a program has if the kernel turned it on at its exec.
const SET_FS: u64 = 0x1002;
const ASKS: [u64; 4] = [0x1003, 0x1004, 0x3001, 0x5005];
/// `RLIMIT_STACK`.
const STACK: u64 = 3;
/// Of fcntl(2): `F_GETFD`, `F_SETFD`, `F_GETFL`.
const FLAGS: std::ops::RangeInclusive<u64> = 1..=3;
/// Of prctl(2): whether a capability may be had at all (`PR_CAPBSET_READ`), and whether it is passed on
/// (`PR_CAP_AMBIENT_IS_SET`), by which its library finds how many there are; a name for memory.
const CAPABILITY: u64 = 23;
const PASSED_ON: (u64, u64) = (47, 1);
const MEMORY_NAME: u64 = 0x5356_4d41;
/// Of mmap(2): `MAP_ANONYMOUS`; and what does not show in `/proc/PID/maps`: `MAP_GROWSDOWN`, `MAP_LOCKED`, `MAP_HUGETLB`.
const ANONYMOUS: u64 = 0x20;
const UNUSUAL_MAPPING: u64 = 0x100 | 0x2000 | 0x4_0000;
/// Of madvise(2), what has its effect at once: `MADV_NORMAL`, `MADV_WILLNEED`, `MADV_DONTNEED`, `MADV_FREE`,
/// `MADV_POPULATE_READ`, `MADV_POPULATE_WRITE`. Other advice stays with the memory and would be lost.
const PASSING_ADVICE: [u64; 6] = [0, 3, 4, 8, 22, 23];
/// `GRND_NONBLOCK`.
const NONBLOCK: u64 = 1;
/// Flags that rseq(2) does not have.
const NO_SUCH_FLAGS: u64 = 0x8000_0000;
/// `cpu_id_start` and `cpu_id` of linux/rseq.h before the area is registered.
const UNREGISTERED: u64 = 0xffff_ffff_0000_0000;

/// No more pieces than these are looked at of what is written at once.
const MOST_PIECES: u64 = 64;
/// `ERESTARTSYS` to `ERESTART_RESTARTBLOCK`, which programs never see.
const RESTARTED: std::ops::RangeInclusive<i64> = -516..=-512;
const EBADF: i64 = -9;
const EINVAL: i64 = -22;

/// The number of the process that the alternative take is given: that of the first process of a PID namespace, which
/// constructors may ask for.
const FIRST_PROCESS: i32 = 1;
/// What getrandom(2) fills a single byte with, in the usual take and in the alternative one.
const SINGLE_BYTES: [u8; 2] = [0x55, 0xaa];

/// What must be done when the call that is under way returns.
#[derive(Debug)]
pub(super) enum Noted {
    Nothing,
    /// The call is about a descriptor, which the program must have opened itself.
    Descriptor(u32),
    Feature(u64),
    /// The number of the process.
    ProcessNumber,
    Tid(u64),
    RobustList(u64, u64),
    Rseq(u64, u32, u32),
    Break,
    /// A number was drawn into this address.
    Drawn(u64),
    /// One random byte was drawn into this address.
    SingleByte(u64),
    /// Whether the process has a capability.
    Capability,
    /// The limits on the stack were written to this address.
    StackLimits(u64),
    Path(Asked),
}

impl Taking {
    /// A system call is about to be made: what to do when it returns.
    pub(super) fn begins(&mut self, call: &Call) -> Result<Noted, NotTaken> {
        let name = call.name();
        let [a, b, c, d, e, _] = call.arguments;
        if let Some(asked) = Asked::by(&self.debuggee, &name, call.arguments)? {
            return Ok(Noted::Path(asked));
        }
        let stream = |descriptor: u64| descriptor as u32 <= 2;
        Ok(match name.as_str() {
            // The streams are other files at each launch. Other descriptors are looked at when the call returns.
            "read" | "pread64" | "lseek" | "fstat" | "newfstatat" | "statx" | "getdents64" if stream(a) => {
                return Err(refused("it looks at its standard streams before its entry"));
            }
            "newfstatat" | "statx" if a as i32 == HERE => {
                return Err(refused("it looks at its working directory before its entry"));
            }
            "read" | "pread64" | "lseek" | "fstat" | "newfstatat" | "statx" | "getdents64" | "fadvise64"
            | "readahead"
                if !stream(a) =>
            {
                Noted::Descriptor(a as u32)
            }
            "fcntl" if FLAGS.contains(&b) && !stream(a) => Noted::Descriptor(a as u32),
            // To close a descriptor that cannot be open changes nothing.
            "close" if (a as i32) < 0 => Noted::Nothing,
            "close" if !stream(a) => Noted::Descriptor(a as u32),
            // Its own path: what other paths lead to is looked at above.
            "readlink" => Noted::Nothing,
            // What a descriptor leads to: a file that it has opened by its path, or one of the kernel's, which is refused.
            "readlinkat" => Noted::Descriptor(a as u32),
            "mmap" if d & UNUSUAL_MAPPING == 0 && d & ANONYMOUS != 0 => Noted::Nothing,
            "mmap" if d & UNUSUAL_MAPPING == 0 && !stream(e) => Noted::Descriptor(e as u32),
            "madvise" if PASSING_ADVICE.contains(&c) => Noted::Nothing,
            // Memory is compared and kept as it is in the end; nobody else waits on its futexes.
            "munmap" | "mprotect" | "mremap" | "futex" | "sched_yield" => Noted::Nothing,
            "getpid" | "gettid" => Noted::ProcessNumber,
            "prctl" if a == MEMORY_NAME => Noted::Nothing,
            "prctl" if a == CAPABILITY || (a, b) == PASSED_ON => Noted::Capability,
            "prctl" => return Err(refused(format!("it calls prctl(2) with {a} before its entry"))),
            "brk" => Noted::Break,
            // The thread's pointer is read at the entry.
            "arch_prctl" if a == SET_FS => Noted::Nothing,
            "arch_prctl" => Noted::Feature(a),
            "set_tid_address" => Noted::Tid(a),
            "set_robust_list" => Noted::RobustList(a, b),
            "rseq" if c == 0 && self.thread.rseq.is_none() => {
                // An area that is registered tells on which CPU the program is. The kernel is only asked whether it would
                // register one.
                self.set_registers(|registers| registers.with_third_argument(NO_SUCH_FLAGS))?;
                Noted::Rseq(a, b as u32, d as u32)
            }
            // The soft limit is one of the conditions under which a snapshot is used.
            "prlimit64" if a == 0 && b == STACK && c == 0 => Noted::StackLimits(d),
            "getrlimit" if a == STACK => Noted::StackLimits(b),
            // A library that finds out whether this call is there.
            "getrandom" if b == 1 => Noted::SingleByte(a),
            "getrandom" if b == 8 && c == NONBLOCK => Noted::Drawn(a),
            "write" if a as u32 == 2 => return Err(self.complains(&[(b, c)])?),
            "writev" if a as u32 == 2 => {
                let pieces = self.debuggee.bytes(b, c.min(MOST_PIECES) as usize * 16).map_err(failed)?;
                let (words, _) = pieces.as_chunks::<8>();
                let word = |word: [u8; 8]| u64::from_ne_bytes(word);
                let pieces: Vec<_> = words.chunks_exact(2).map(|pair| (word(pair[0]), word(pair[1]))).collect();
                return Err(self.complains(&pieces)?);
            }
            "exit" | "exit_group" => {
                return Err(refused(format!("it ends with status {} before its entry", a as u8)));
            }
            // Which signals are ignored or held back is inherited from who starts it. The hook asks for an invalid change, to find out
            // whether a page can be read.
            "rt_sigprocmask" if a == u64::MAX && c == 0 => Noted::Nothing,
            "rt_sigaction" if b == 0 => return Err(refused(format!("it asks how signal {a} is handled"))),
            "rt_sigaction" => return Err(refused(format!("it sets how signal {a} is handled before its entry"))),
            "rt_sigprocmask" if b == 0 => return Err(refused("it asks which signals are held back")),
            "rt_sigprocmask" => return Err(refused("a constructor holds signals back before its entry")),
            "getrandom" => return Err(refused("a constructor draws a random number before its entry")),
            "prlimit64" | "getrlimit" => return Err(refused("a constructor asks for its limits before its entry")),
            _ => return Err(refused(format!("it calls {name}(2) before its entry"))),
        })
    }

    /// It writes these stretches of its memory to its standard error: what ld.so does where it cannot load a program.
    fn complains(&self, pieces: &[(u64, u64)]) -> Result<NotTaken, NotTaken> {
        const LONGEST: u64 = 300;
        let mut text = vec![];
        for &(address, length) in pieces {
            text.extend(self.debuggee.bytes(address, length.min(LONGEST) as usize).map_err(failed)?);
        }
        Ok(refused(format!("it writes before its entry: {}", String::from_utf8_lossy(&text).trim_end())))
    }

    /// The call that was begun last has returned.
    pub(super) fn returns(&mut self, result: i64) -> Result<(), NotTaken> {
        // A signal has come in between, and is told next.
        if RESTARTED.contains(&result) {
            return Ok(());
        }
        let succeeded = result >= 0;
        match std::mem::replace(&mut self.noted, Noted::Nothing) {
            Noted::Nothing => {}
            Noted::Descriptor(descriptor) if result == EBADF => {
                return Err(refused(format!("it asks for descriptor {descriptor}, which it has not opened itself")));
            }
            Noted::Descriptor(_) => {}
            Noted::Feature(code) if succeeded && !ASKS.contains(&code) => {
                return Err(refused(format!("it sets the machine's feature {code:#x} by arch_prctl(2)")));
            }
            Noted::Feature(_) => {}
            Noted::ProcessNumber => drop(self.answer_process_number(result)?),
            Noted::Tid(address) => {
                self.thread.tid_address = address;
                self.thread.tid = self.answer_process_number(result)?;
            }
            Noted::RobustList(address, length) if succeeded => self.thread.robust_list = Some((address, length)),
            Noted::RobustList(..) => {}
            Noted::Rseq(address, length, signature) if result == EINVAL => {
                self.debuggee.write_word(address, UNREGISTERED).map_err(failed)?;
                self.set_registers(|registers| registers.with_result(0))?;
                self.thread.rseq = Some((address, length, signature));
            }
            Noted::Rseq(..) => {}
            Noted::Break => self.heap_end = result as u64,
            Noted::Drawn(address) => self.note_drawn(address)?,
            Noted::SingleByte(address) if result == 1 => {
                let word = self.debuggee.word(address).map_err(failed)?;
                let byte = SINGLE_BYTES[usize::from(self.alternative)];
                self.debuggee.write_word(address, word & !0xff | u64::from(byte)).map_err(failed)?;
            }
            Noted::SingleByte(_) => {}
            // Whether it has one is answered the other way round; that there is no such capability is not.
            Noted::Capability if self.alternative && succeeded => {
                self.set_registers(|registers| registers.with_result(i64::from(result == 0)))?;
            }
            Noted::Capability => {}
            Noted::StackLimits(address) if self.alternative && succeeded && address != 0 => {
                self.alter_hard_limit(address + 8)?;
            }
            Noted::StackLimits(_) => {}
            Noted::Path(asked) => self.files.answered(asked, result)?,
        }
        Ok(())
    }

    /// Sets the registers as `change` makes them.
    fn set_registers(&mut self, change: impl FnOnce(Registers) -> Registers) -> Result<(), NotTaken> {
        let registers = change(self.debuggee.registers().map_err(failed)?);
        self.debuggee.set_registers(&registers).map_err(failed)
    }

    /// The number of its process that it is given, where the kernel has answered with the real one.
    fn answer_process_number(&mut self, real: i64) -> Result<i32, NotTaken> {
        if self.alternative {
            self.set_registers(|registers| registers.with_result(FIRST_PROCESS.into()))?;
            return Ok(FIRST_PROCESS);
        }
        Ok(i32::try_from(real).unwrap_or(0))
    }

    /// Replaces the hard limit on the stack at this address by one that is not the real one.
    fn alter_hard_limit(&mut self, address: u64) -> Result<(), NotTaken> {
        const OTHER: u64 = 1 << 46;
        let real = self.debuggee.word(address).map_err(failed)?;
        let other = if real == u64::MAX { OTHER } else { u64::MAX };
        self.debuggee.write_word(address, other).map_err(failed)
    }

    /// malloc(3) draws a number to know its own free memory by, and a launch draws another. Whoever else draws one may make
    /// anything of it.
    fn note_drawn(&mut self, address: u64) -> Result<(), NotTaken> {
        if !self.is_of_the_c_library(address)? {
            return Err(refused("a constructor draws a random number before its entry"));
        }
        self.drawn.push(self.debuggee.word(address).map_err(failed)?);
        Ok(())
    }
}
