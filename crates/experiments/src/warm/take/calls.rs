//! What a program may ask of the kernel before its entry, and what is noted of it.
//!
//! All that is not known to leave nothing behind, and to depend on nothing but files, is a refusal.

use steady_linux::debuggee::Call;

use super::super::taken::NotTaken;
use super::files::Asked;
use super::{Taking, failed, refused};

/// `ARCH_SET_FS` of arch_prctl(2), and those that only ask.
const SET_FS: u64 = 0x1002;
const ASKS: [u64; 4] = [0x1003, 0x1004, 0x3001, 0x5005];
/// `RLIMIT_STACK`.
const STACK: u64 = 3;
/// Of fcntl(2): the flags of a descriptor and of what it is open on are asked for, or those of the former set.
const FLAGS: std::ops::RangeInclusive<u64> = 1..=3;
/// Of prctl(2): whether a capability may be had at all, and whether it is passed on (`PR_CAP_AMBIENT_IS_SET`), by which its
/// library finds how many there are; a name for memory.
const CAPABILITY: u64 = 23;
const PASSED_ON: (u64, u64) = (47, 1);
const MEMORY_NAME: u64 = 0x5356_4d41;
/// Of mmap(2), what does not show in `/proc/PID/maps`: `MAP_GROWSDOWN`, `MAP_LOCKED`, `MAP_HUGETLB`.
const UNUSUAL_MAPPING: u64 = 0x100 | 0x2000 | 0x4_0000;
/// Of madvise(2), what says how memory is passed on: `MADV_DONTFORK`, `MADV_WIPEONFORK`.
const UNUSUAL_ADVICE: [u64; 2] = [10, 18];
/// `GRND_NONBLOCK`.
const NONBLOCK: u64 = 1;

/// No more pieces than these are looked at of what is written at once.
const MOST_PIECES: u64 = 64;
/// `ERESTARTSYS` to `ERESTART_RESTARTBLOCK`, which programs never see.
const RESTARTED: std::ops::RangeInclusive<i64> = -516..=-512;

/// What is to be done when the call that is under way returns.
#[derive(Debug)]
pub(super) enum Noted {
    Nothing,
    Pointer(u64),
    Feature(u64),
    Tid(u64),
    RobustList(u64, u64),
    Rseq(u64, u32, u32),
    Break,
    /// A number was drawn into this address.
    Drawn(u64),
    Path(Asked),
}

impl Taking {
    /// A system call is about to be made: what to do when it returns.
    pub(super) fn begins(&mut self, call: &Call) -> Result<Noted, NotTaken> {
        let name = call.name();
        let [a, b, c, d, ..] = call.arguments;
        if let Some(asked) = Asked::by(&self.debuggee, &name, call.arguments)? {
            return Ok(Noted::Path(asked));
        }
        let stream = |descriptor: u64| descriptor as u32 <= 2;
        Ok(match name.as_str() {
            "read" | "pread64" | "fstat" | "fstatfs" | "newfstatat" | "statx" | "getdents64" if stream(a) => {
                return Err(refused("it looks at its standard streams before its entry"));
            }
            "read" | "pread64" | "fstat" | "fstatfs" | "newfstatat" | "statx" | "getdents64" | "lseek"
            | "fadvise64" | "readahead" => Noted::Nothing,
            "close" if !stream(a) => Noted::Nothing,
            // Of its own path, or of a descriptor's.
            "readlink" | "readlinkat" => Noted::Nothing,
            "mmap" if d & UNUSUAL_MAPPING == 0 => Noted::Nothing,
            "madvise" if !UNUSUAL_ADVICE.contains(&c) => Noted::Nothing,
            "munmap" | "mprotect" | "mremap" | "futex" | "getpid" | "gettid" | "sched_yield" => Noted::Nothing,
            // What they leave behind is looked at in the end.
            "rt_sigaction" => Noted::Nothing,
            "rt_sigprocmask" if b == 0 => Noted::Nothing,
            "fcntl" if FLAGS.contains(&b) && !stream(a) => Noted::Nothing,
            "prctl" if [CAPABILITY, MEMORY_NAME].contains(&a) || (a, b) == PASSED_ON => Noted::Nothing,
            "prctl" => return Err(refused(format!("it calls prctl(2) with {a} before its entry"))),
            "brk" => Noted::Break,
            "arch_prctl" if a == SET_FS => Noted::Pointer(b),
            "arch_prctl" => Noted::Feature(a),
            "set_tid_address" => Noted::Tid(a),
            "set_robust_list" => Noted::RobustList(a, b),
            "rseq" if c == 0 => Noted::Rseq(a, b as u32, d as u32),
            // It is one of the conditions under which a snapshot is used.
            "prlimit64" if a == 0 && b == STACK && c == 0 => Noted::Nothing,
            "getrlimit" if a == STACK => Noted::Nothing,
            // A library that finds out whether this call is there.
            "getrandom" if b == 1 => Noted::Nothing,
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
            Noted::Pointer(address) => self.thread.pointer = address,
            Noted::Feature(code) if succeeded && !ASKS.contains(&code) => {
                return Err(refused(format!("it sets the machine's feature {code:#x} by arch_prctl(2)")));
            }
            Noted::Feature(_) => {}
            Noted::Tid(address) => {
                self.thread.tid_address = address;
                self.thread.tid = i32::try_from(result).unwrap_or(0);
            }
            Noted::RobustList(address, length) => {
                self.thread.robust_list = succeeded.then_some((address, length));
            }
            Noted::Rseq(address, length, signature) => {
                self.thread.rseq = succeeded.then_some((address, length, signature));
            }
            Noted::Break => self.heap_end = result as u64,
            Noted::Drawn(address) => self.note_drawn(address)?,
            Noted::Path(asked) => self.files.answered(asked, result)?,
        }
        Ok(())
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
