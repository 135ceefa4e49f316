//! Functions that are cancellation points. A cancelled thread never returns from the real one, and its callers are
//! unwound.
//!
//! Rust code of a library that aborts on panic cannot be unwound. An assembly function therefore calls, one after the
//! other, `before`, which returns the function to call, that function, and `after`, which gets its result. Only the
//! assembly is unwound; it has CFI and nothing to clean up.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;

use crate::real;
use crate::wait::Wait;

/// A call in progress. The assembly below depends on the layout of the first six words.
#[repr(C, align(16))]
pub(crate) struct Call {
    /// The argument registers. Those beyond the function's own arguments have arbitrary values.
    pub(crate) arguments: [u64; 5],
    /// The return address of the call.
    pub(crate) site: u64,
    /// Whether `wait` is initialised: 0 or 1. The assembly leaves both uninitialised.
    has_wait: u64,
    wait: MaybeUninit<Wait>,
}

pub(crate) const CALL_BYTES: usize = size_of::<Call>();

impl Call {
    /// Returns an argument as a pointer.
    pub(crate) fn pointer<T>(&self, number: usize) -> *const T {
        core::ptr::with_exposed_provenance(self.address(number) as usize)
    }

    /// Returns an argument as a number.
    pub(crate) fn address(&self, number: usize) -> u64 {
        self.arguments.get(number).map_or(0, |argument| *argument)
    }

    /// Sets the wait. Must be called before [`wait`](Call::wait), because the memory is uninitialised.
    pub(crate) fn set_wait(&mut self, wait: Option<Wait>) {
        self.has_wait = wait.is_some().into();
        if let Some(wait) = wait {
            self.wait.write(wait);
        }
    }

    /// Returns the wait that began with this call, if any.
    pub(crate) fn wait(&self) -> Option<Wait> {
        // SAFETY: `set_wait` initialised it.
        (self.has_wait != 0).then(|| unsafe { self.wait.assume_init() })
    }
}

/// Returns the real function to call, or [`missing`] if it does not exist.
pub(crate) fn real_or_missing(function: *mut c_void) -> *const c_void {
    if function.is_null() { missing as *const c_void } else { function.cast_const() }
}

extern "C" fn missing() -> c_int {
    real::ENOSYS
}

/// Defines cancellation points: `before` gets the call and returns the function to call, `after` gets that function's
/// result and returns the final one. In the second form, `first` is a function of the C library that may be unwound
/// too. It is called before `before` if `condition` returns non-zero.
macro_rules! cancellable {
    ($($name:ident -> $before:ident, $after:ident;)*) => {
        $($crate::names::cancellation::cancellable!(@ $name, $before, $after, "",);)*
    };
    ($($name:ident -> $condition:ident ? $first:ident, $before:ident, $after:ident;)*) => {
        $($crate::names::cancellation::cancellable!(
            @ $name, $before, $after,
            "mov rdi, rsp
             call {condition}
             test eax, eax
             je 2f
             call qword ptr [rip + {first}@GOTPCREL]
             2:",
            condition = sym $condition, first = sym $first,
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
                bytes = const $crate::names::cancellation::CALL_BYTES,
                before = sym $before,
                after = sym $after,
                $($more)*
            )
        }
    };
}
pub(crate) use cancellable;
