//! Threads: which one is running, when each began and ended.
//!
//! A thread finds its entry by a thread-local word (initial-exec TLS), which costs one addition and no set-up. The
//! thread pointer cannot be used, because a later thread gets the same one. The end of a thread is seen by the
//! destructor of a key (pthread_key_create(3)), which runs however the thread ends and, unlike a C++ destructor, needs
//! no memory. A thread may take locks until the last of the rounds in which such destructors run.

use core::arch::{asm, global_asm, naked_asm};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

use super::area::{NO_ENTRY, ProcessPlace, THREADS, Thread};
use super::{calls, clock, sites, wait};

#[link(name = "c")]
unsafe extern "C" {
    fn pthread_key_create(key: *mut u32, destructor: extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".p2align 3",
    ".type steady_watcher_thread,@object",
    ".size steady_watcher_thread,8",
    "steady_watcher_thread:",
    ".zero 8",
    ".type steady_watcher_held,@object",
    ".size steady_watcher_held,8",
    "steady_watcher_held:",
    ".zero 8",
    ".type steady_watcher_ticks,@object",
    ".size steady_watcher_ticks,8",
    "steady_watcher_ticks:",
    ".zero 8",
    ".type steady_watcher_time,@object",
    ".size steady_watcher_time,8",
    "steady_watcher_time:",
    ".zero 8",
    ".popsection",
);

/// Defines access to a thread-local word.
macro_rules! thread_word {
    ($word:literal, $read:ident, $write:ident, $description:literal) => {
        #[doc = $description]
        #[inline(always)]
        pub(crate) fn $read() -> u64 {
            let number: u64;
            // SAFETY: reads the thread's own word.
            unsafe {
                asm!(
                    concat!("mov {0}, qword ptr [rip + ", $word, "@GOTTPOFF]"),
                    "mov {0}, qword ptr fs:[{0}]",
                    out(reg) number,
                    options(nostack, preserves_flags, readonly)
                );
            }
            number
        }

        #[doc = concat!("Sets the word that [`", stringify!($read), "`] returns.")]
        #[inline(always)]
        pub(crate) fn $write(number: u64) {
            // SAFETY: writes the thread's own word.
            unsafe {
                asm!(
                    concat!("mov {0}, qword ptr [rip + ", $word, "@GOTTPOFF]"),
                    "mov qword ptr fs:[{0}], {1}",
                    out(reg) _,
                    in(reg) number,
                    options(nostack, preserves_flags)
                );
            }
        }
    };
}

thread_word!(
    "steady_watcher_thread",
    current,
    set_current,
    "The number of this thread's entry plus one; 0 before it is registered, [`NO_ENTRY`] if the table was full."
);
thread_word!(
    "steady_watcher_held",
    unrecorded,
    set_unrecorded,
    "The address of the lock that this thread waited for and holds, until the wait is recorded; 0 for none."
);

thread_word!(
    "steady_watcher_ticks",
    anchor_ticks,
    set_anchor_ticks,
    "The time stamp counter when this thread last read the real clock; 0 if it has not."
);
thread_word!("steady_watcher_time", anchor_time, set_anchor_time, "The real clock at that moment, in nanoseconds.");

/// Returns the thread pointer (FS base).
fn pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the first word at the thread pointer is its own address (x86-64 ABI).
    unsafe { asm!("mov {0}, qword ptr fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    pointer
}

/// Like [`current`], but registers the thread if necessary.
pub(crate) fn current_or_register(place: &'static ProcessPlace) -> u64 {
    let number = current();
    if number == 0 { register(place, 0, false) } else { number }
}

/// Returns the entry with this number plus one.
pub(crate) fn entry(place: &'static ProcessPlace, number: u64) -> Option<&'static Thread> {
    place.threads.get((number as usize).wrapping_sub(1))
}

/// The key whose destructor sees threads end, plus one.
static KEY: AtomicUsize = AtomicUsize::new(0);

/// Values of the first 32 keys are in the thread's own structure; the C library allocates memory for others.
const KEYS_WITHOUT_ALLOCATION: usize = 32;

/// Creates the key whose destructor sees threads end.
pub(crate) fn create_exit_key() {
    let mut key = 0;
    // SAFETY: the destructor stays valid because the watcher is never unloaded.
    if unsafe { pthread_key_create(&raw mut key, on_exit) } == 0 {
        KEY.store(key as usize + 1, Relaxed);
    }
}

/// Gives the running thread an entry. `may_allocate` is false inside a lock function, which an allocator may have
/// called.
#[cold]
#[inline(never)]
pub(crate) fn register(place: &'static ProcessPlace, start: usize, may_allocate: bool) -> u64 {
    let tid = calls::gettid();
    let index = place.process.threads.fetch_add(1, Relaxed);
    let Some(thread) = place.threads.get(index as usize).filter(|_| (index as usize) < THREADS && tid != 0) else {
        set_current(NO_ENTRY.into());
        return NO_ENTRY.into();
    };
    let number = u64::from(index) + 1;
    set_current(number);
    thread.pointer.store(pointer(), Relaxed);
    thread.began.store(clock::now(), Relaxed);
    if start != 0 {
        thread.start.store(start as u64, Relaxed);
        thread.start_site.store(sites::number(place, start as u64 + 1), Relaxed);
    }
    thread.tid.store(tid, Release);
    let key = KEY.load(Relaxed);
    if key != 0 && (may_allocate || key <= KEYS_WITHOUT_ALLOCATION) {
        arm_exit_key(key, 1);
    }
    number
}

/// Sets the value of the key, which is the number of the round in which its destructor runs next.
fn arm_exit_key(key: usize, round: usize) {
    let value: *const c_void = core::ptr::without_provenance(round);
    // SAFETY: the key is ours, and its value is not used as a pointer.
    let _ = unsafe { pthread_setspecific(key as u32 - 1, value) };
}

/// The destructor of the key. Notes the end of the thread, again in every round of destructors.
extern "C" fn on_exit(value: *mut c_void) {
    const ROUNDS: usize = 4;
    let Some(place) = super::attach::place() else { return };
    if let Some(thread) = entry(place, current()) {
        if thread.waits_since.load(Relaxed) != 0 {
            wait::close_pending(place, thread, current(), None);
        }
        thread.cpu.store(clock::thread_cpu(), Relaxed);
        thread.ended.store(clock::now(), Release);
    }
    let (key, round) = (KEY.load(Relaxed), value.addr());
    if round < ROUNDS {
        arm_exit_key(key, round + 1);
    }
}

/// Resets the state of the running thread in the child of fork(2), where it gets another entry.
pub(crate) fn reset_after_fork() {
    set_current(0);
    set_unrecorded(0);
}

/// The arguments of pthread_create(3), until the thread runs.
struct Start {
    /// 1 while the entry is in use.
    used: AtomicU32,
    routine: AtomicUsize,
    argument: AtomicUsize,
}

/// One entry per thread that is being created. If all are in use, the start of a thread is not seen.
static STARTS: [Start; 1024] =
    [const { Start { used: AtomicU32::new(0), routine: AtomicUsize::new(0), argument: AtomicUsize::new(0) } }; 1024];
static NEXT_START: AtomicUsize = AtomicUsize::new(0);

/// Stores a thread's start routine and argument. Returns the argument for [`start_routine`]; none if no entry is free.
pub(crate) fn store_start(routine: usize, argument: *mut c_void) -> Option<*mut c_void> {
    let first = NEXT_START.fetch_add(1, Relaxed);
    let all = STARTS.len();
    let free = (0..all).filter_map(|step| STARTS.get((first + step) % all));
    let start = { free }.find(|start| start.used.compare_exchange(0, 1, Acquire, Relaxed).is_ok())?;
    start.routine.store(routine, Relaxed);
    start.argument.store(argument.expose_provenance(), Relaxed);
    Some((&raw const *start).cast_mut().cast())
}

/// Frees the entry of a thread that could not be created.
pub(crate) fn discard_start(stored: *mut c_void) {
    // SAFETY: `stored` was returned by `store_start`.
    unsafe { &*stored.cast::<Start>() }.used.store(0, Release);
}

/// The start routine of watched threads. It jumps to the program's start routine with its argument. No frame remains
/// between that routine and the C library.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn start_routine(stored: *mut c_void) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 24",
        ".cfi_def_cfa_offset 32",
        "mov rsi, rsp",
        "call {begin}",
        "mov rdi, qword ptr [rsp]",
        "add rsp, 24",
        ".cfi_def_cfa_offset 8",
        "jmp rax",
        ".cfi_endproc",
        begin = sym begin,
    )
}

/// Registers the thread. Returns the program's start routine and stores its argument in `argument`.
extern "C" fn begin(stored: &Start, argument: &mut usize) -> usize {
    let routine = stored.routine.load(Relaxed);
    *argument = stored.argument.load(Relaxed);
    stored.used.store(0, Release);
    if let Some(place) = super::attach::place()
        && current() == 0
    {
        register(place, routine, true);
    }
    routine
}
