//! execl(3) and similar functions with variadic arguments.
//!
//! The arguments in registers are pushed below those on the stack, so that together they are a vector as for execv(3).
//! If no snapshot is executed, each function jumps to the real one with registers and stack restored.

use core::arch::naked_asm;
use core::ffi::{c_char, c_void};

use super::exec::{attempt_name, attempt_path};
use crate::pointers::is_vector;
use crate::real;
use crate::target::Strings;

/// The stack of a variadic function, from the stack pointer up: saved registers, the return address, and the vector of
/// arguments.
#[repr(C)]
struct Pushed {
    vector_registers: usize,
    path: *const c_char,
    return_address: usize,
    arguments: [*const c_char; 0],
}

macro_rules! variadic {
    ($($name:ident: $attempt:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "pop r11",
                "push r9", "push r8", "push rcx", "push rdx", "push rsi",
                "push r11", "push rdi", "push rax",
                "mov rdi, rsp",
                "call {attempt}",
                "mov r10, rax",
                "pop rax", "pop rdi", "pop r11",
                "pop rsi", "pop rdx", "pop rcx", "pop r8", "pop r9",
                "push r11",
                "jmp r10",
                attempt = sym $attempt,
            )
        }
    )*};
}

variadic! {
    execl: attempt_execl;
    execle: attempt_execle;
    execlp: attempt_execlp;
}

unsafe extern "C" fn attempt_execl(pushed: &Pushed) -> *mut c_void {
    attempt_path(pushed.path, pushed.arguments.as_ptr(), real::environ());
    real::execl()
}

unsafe extern "C" fn attempt_execlp(pushed: &Pushed) -> *mut c_void {
    attempt_name(pushed.path, pushed.arguments.as_ptr(), real::environ());
    real::execlp()
}

unsafe extern "C" fn attempt_execle(pushed: &Pushed) -> *mut c_void {
    let arguments = pushed.arguments.as_ptr();
    if is_vector(arguments) {
        let mut last = arguments;
        // SAFETY: the vector is readable up to its null pointer, and the caller passed the environment after that.
        let environment: Strings = unsafe {
            while !(*last).is_null() {
                last = last.add(1);
            }
            (*last.add(1)).cast()
        };
        attempt_path(pushed.path, arguments, environment);
    }
    real::execle()
}
