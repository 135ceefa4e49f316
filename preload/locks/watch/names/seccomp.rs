//! Detects that a program restricts its system calls (seccomp(2)) by prctl(3) or syscall(3). A program that makes the
//! system call by its own instruction is not detected.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_void};

use crate::{calls, real};

const PR_SET_SECCOMP: c_int = 22;
const SECCOMP: c_long = 317;

extern "C" fn before_prctl(operation: c_int) -> *mut c_void {
    if operation == PR_SET_SECCOMP {
        calls::forbid();
    }
    real::prctl()
}

extern "C" fn before_syscall(number: c_long) -> *mut c_void {
    if number == SECCOMP {
        calls::forbid();
    }
    real::syscall()
}

/// Defines entry points that jump to the function that `before` returns, with all argument registers restored.
macro_rules! tail_calls {
    ($($name:ident -> $before:ident;)*) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    ".cfi_startproc",
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "push rax",
                    ".cfi_adjust_cfa_offset 56",
                    "call {before}",
                    "mov r11, rax",
                    "pop rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    ".cfi_adjust_cfa_offset -56",
                    "jmp r11",
                    ".cfi_endproc",
                    before = sym $before,
                )
            }
        )*
    };
}

tail_calls! {
    prctl -> before_prctl;
    syscall -> before_syscall;
}
