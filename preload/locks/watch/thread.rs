//! Threads: which one runs, when each began and ended.
//!
//! A thread knows its entry by a word of its own, in the memory that every thread is given with its stack: the first of a program's
//! libraries have theirs where it costs one addition to find and nothing to make. The thread pointer would not do: it is the next
//! thread's when this one has ended. Of its end a thread tells by the value of a key (pthread_key_create(3)), which works however
//! it ends and, unlike a C++ destructor, needs no memory; until the last of the rounds in which such values are destroyed it may take locks.

use core::arch::{asm, global_asm, naked_asm};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

use super::area::{NO_ENTRY, Place, THREADS, Thread};
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

/// A word that each thread has of its own, which nothing but this module leads to.
macro_rules! own_word {
    ($word:literal, $read:ident, $write:ident, $what:literal) => {
        #[doc = $what]
        #[inline(always)]
        pub(crate) fn $read() -> u64 {
            let number: u64;
            // SAFETY: reads the word.
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

        #[doc = "Writes it."]
        #[inline(always)]
        pub(crate) fn $write(number: u64) {
            // SAFETY: writes the word.
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

own_word!(
    "steady_watcher_thread",
    known,
    set_known,
    "The number of this thread's entry plus one; 0 where it is not known yet, [`NO_ENTRY`] where it has none."
);
own_word!(
    "steady_watcher_held",
    held,
    set_held,
    "The address of the lock that this thread has and had waited for, where that is still to be written down; 0 where there is none."
);

own_word!(
    "steady_watcher_ticks",
    anchor_ticks,
    set_anchor_ticks,
    "What the time stamp counter was when this thread read the real clock; 0 where it has not."
);
own_word!("steady_watcher_time", anchor_time, set_anchor_time, "What it read then.");

/// The thread pointer.
fn pointer() -> u64 {
    let pointer: u64;
    // SAFETY: what lies there is its own address.
    unsafe { asm!("mov {0}, qword ptr fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    pointer
}

/// As [`known`], with the thread entered if it was not.
pub(crate) fn number(place: &'static Place) -> u64 {
    let number = known();
    if number == 0 { enter(place, 0, false) } else { number }
}

/// The entry with that number plus one.
pub(crate) fn entry(place: &'static Place, number: u64) -> Option<&'static Thread> {
    place.threads.get((number as usize).wrapping_sub(1))
}

/// The key, plus one.
static KEY: AtomicUsize = AtomicUsize::new(0);

/// So many keys have a place in every thread; values of others are allocated.
const WITHOUT_MEMORY: usize = 32;

/// Has threads tell of their end.
pub(crate) fn ask_to_be_told() {
    let mut key = 0;
    // SAFETY: the watcher is never unloaded.
    if unsafe { pthread_key_create(&raw mut key, ends) } == 0 {
        KEY.store(key as usize + 1, Relaxed);
    }
}

/// Gives the running thread an entry. `at_rest` says whether it may allocate: not when it is in the middle of something, which might be
/// an allocation.
#[cold]
#[inline(never)]
pub(crate) fn enter(place: &'static Place, start: usize, at_rest: bool) -> u64 {
    let tid = calls::gettid();
    let taken = place.process.threads.fetch_add(1, Relaxed);
    let Some(thread) = place.threads.get(taken as usize).filter(|_| (taken as usize) < THREADS && tid != 0) else {
        set_known(NO_ENTRY.into());
        return NO_ENTRY.into();
    };
    let number = u64::from(taken) + 1;
    set_known(number);
    thread.pointer.store(pointer(), Relaxed);
    thread.began.store(clock::now(), Relaxed);
    if start != 0 {
        thread.start.store(start as u64, Relaxed);
        thread.start_site.store(sites::number(place, start as u64 + 1), Relaxed);
    }
    thread.tid.store(tid, Release);
    let key = KEY.load(Relaxed);
    if key != 0 && (at_rest || key <= WITHOUT_MEMORY) {
        round(key, 1);
    }
    number
}

/// Has the end of the thread told, for the round of so many.
fn round(key: usize, number: usize) {
    let value: *const c_void = core::ptr::without_provenance(number);
    // SAFETY: the key is ours, and the value leads nowhere.
    let _ = unsafe { pthread_setspecific(key as u32 - 1, value) };
}

/// Called in each of the rounds in which the values of a thread that ends are destroyed.
extern "C" fn ends(value: *mut c_void) {
    const ROUNDS: usize = 4;
    let Some(place) = super::start::place() else { return };
    if let Some(thread) = entry(place, known()) {
        if thread.waits_since.load(Relaxed) != 0 {
            wait::close(place, thread, known(), None);
        }
        thread.cpu.store(clock::of_thread(), Relaxed);
        thread.ended.store(clock::now(), Release);
    }
    let (key, so_far) = (KEY.load(Relaxed), value.addr());
    if so_far < ROUNDS {
        round(key, so_far + 1);
    }
}

/// In the child of fork(2): the thread is the first of another process.
pub(crate) fn forget() {
    set_known(0);
    set_held(0);
}

/// What a thread began with, from its creation until it runs.
struct Start {
    /// 0 where nobody uses it, 1 where somebody does.
    used: AtomicU32,
    routine: AtomicUsize,
    argument: AtomicUsize,
}

/// As many threads as these can be on their way at once; of others the beginning is not seen.
static STARTS: [Start; 1024] =
    [const { Start { used: AtomicU32::new(0), routine: AtomicUsize::new(0), argument: AtomicUsize::new(0) } }; 1024];
static NEXT_START: AtomicUsize = AtomicUsize::new(0);

/// Keeps what a thread is to begin with: what it is to be given instead, for [`begins`].
pub(crate) fn keep(routine: usize, argument: *mut c_void) -> Option<*mut c_void> {
    let first = NEXT_START.fetch_add(1, Relaxed);
    let all = STARTS.len();
    let free = (0..all).filter_map(|step| STARTS.get((first + step) % all));
    let start = { free }.find(|start| start.used.compare_exchange(0, 1, Acquire, Relaxed).is_ok())?;
    start.routine.store(routine, Relaxed);
    start.argument.store(argument.expose_provenance(), Relaxed);
    Some((&raw const *start).cast_mut().cast())
}

/// Gives up what was kept for a thread that is not created.
pub(crate) fn give_up(kept: *mut c_void) {
    // SAFETY: it came from `keep`.
    unsafe { &*kept.cast::<Start>() }.used.store(0, Release);
}

/// What a thread begins with instead: what the program gave is called from nowhere but the C library, as it would be.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn begins(kept: *mut c_void) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 24",
        ".cfi_def_cfa_offset 32",
        "mov rsi, rsp",
        "call {begun}",
        "mov rdi, qword ptr [rsp]",
        "add rsp, 24",
        ".cfi_def_cfa_offset 8",
        "jmp rax",
        ".cfi_endproc",
        begun = sym begun,
    )
}

/// Notes that a thread has begun: says what the program gave, and its argument.
extern "C" fn begun(kept: &Start, argument: &mut usize) -> usize {
    let routine = kept.routine.load(Relaxed);
    *argument = kept.argument.load(Relaxed);
    kept.used.store(0, Release);
    if let Some(place) = super::start::place()
        && known() == 0
    {
        enter(place, routine, true);
    }
    routine
}
