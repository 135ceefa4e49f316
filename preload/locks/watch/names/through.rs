//! Functions in which a thread may be cancelled: it then never comes back from the real one, and what called that is unwound.
//!
//! The language has no such calls in a library that aborts on a panic. So they are made between two functions that are over by then:
//! one that says what to call, and one that is told how it ended. What is unwound is the few instructions in between, which the tables
//! beside them describe, and which have nothing to clean up.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;

use crate::real;
use crate::wait::Wait;

/// A call on its way; the assembly below knows where its first six words are.
#[repr(C, align(16))]
pub(crate) struct Call {
    /// What was given; as many as there are, the rest is what happened to be there.
    pub(crate) arguments: [u64; 5],
    /// Where it returns to.
    pub(crate) site: u64,
    /// The wait that has begun, if one has.
    waits: u64,
    wait: MaybeUninit<Wait>,
}

pub(crate) const CALL_BYTES: usize = size_of::<Call>();

impl Call {
    /// What an argument leads to.
    pub(crate) fn pointer<T>(&self, number: usize) -> *const T {
        core::ptr::with_exposed_provenance(self.address(number) as usize)
    }

    /// An argument as it is.
    pub(crate) fn address(&self, number: usize) -> u64 {
        self.arguments.get(number).map_or(0, |argument| *argument)
    }

    /// Notes the wait; what was in the memory before is nothing.
    pub(crate) fn set_wait(&mut self, wait: Option<Wait>) {
        self.waits = wait.is_some().into();
        if let Some(wait) = wait {
            self.wait.write(wait);
        }
    }

    /// The wait, where one had begun.
    pub(crate) fn wait(&self) -> Option<Wait> {
        // SAFETY: then it was written.
        (self.waits != 0).then(|| unsafe { self.wait.assume_init() })
    }
}

/// What is to be called: the real function, or where there is none one that says so.
pub(crate) fn real_or_missing(function: *mut c_void) -> *const c_void {
    if function.is_null() { missing as *const c_void } else { function.cast_const() }
}

extern "C" fn missing() -> c_int {
    real::ENOSYS
}

/// Where such a function is entered: `before` is told the call, and says what to call; `after` is told its result, and says what to
/// return. The function in front of `before`, if any, is the C library's and may not return either; `wants` says whether it is called.
macro_rules! passages {
    ($($name:ident -> $before:ident, $after:ident;)*) => {
        $($crate::names::through::passages!(@ $name, $before, $after, "",);)*
    };
    ($($name:ident -> $wants:ident ? $first:ident, $before:ident, $after:ident;)*) => {
        $($crate::names::through::passages!(
            @ $name, $before, $after,
            "mov rdi, rsp
             call {wants}
             test eax, eax
             je 2f
             call qword ptr [rip + {first}@GOTPCREL]
             2:",
            wants = sym $wants, first = sym $first,
        );)*
    };
    (@ $name:ident, $before:ident, $after:ident, $first:expr, $($more:tt)*) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, {bytes}",
                "mov qword ptr [rsp], rdi",
                "mov qword ptr [rsp + 8], rsi",
                "mov qword ptr [rsp + 16], rdx",
                "mov qword ptr [rsp + 24], rcx",
                "mov qword ptr [rsp + 32], r8",
                "mov rax, qword ptr [rbp + 8]",
                "mov qword ptr [rsp + 40], rax",
                $first,
                "mov rdi, rsp",
                "call {before}",
                "mov rdi, qword ptr [rsp]",
                "mov rsi, qword ptr [rsp + 8]",
                "mov rdx, qword ptr [rsp + 16]",
                "mov rcx, qword ptr [rsp + 24]",
                "mov r8, qword ptr [rsp + 32]",
                "call rax",
                "mov rdi, rsp",
                "mov esi, eax",
                "call {after}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                bytes = const $crate::names::through::CALL_BYTES,
                before = sym $before,
                after = sym $after,
                $($more)*
            )
        }
    };
}
pub(crate) use passages;
