//! execl(3) and its like, which take as many arguments as they are given.
//!
//! The arguments in registers are pushed below those on the stack, so that all of them are a vector as execv(3) takes it. If no
//! snapshot is executed, each function goes on as the real one with everything in its place.

use core::arch::naked_asm;
use core::ffi::{c_char, c_void};

use super::exec::{attempt_name, attempt_path};
use crate::pointers::is_vector;
use crate::real;
use crate::start::Texts;

/// What is pushed: registers, the address that the function returns to, and the vector of arguments.
#[repr(C)]
struct Pushed {
    vectors: usize,
    path: *const c_char,
    back: usize,
    arguments: [*const c_char; 0],
}

macro_rules! variadic {
    ($($name:ident: $look:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "pop r11",
                "push r9", "push r8", "push rcx", "push rdx", "push rsi",
                "push r11", "push rdi", "push rax",
                "mov rdi, rsp",
                "call {look}",
                "mov r10, rax",
                "pop rax", "pop rdi", "pop r11",
                "pop rsi", "pop rdx", "pop rcx", "pop r8", "pop r9",
                "push r11",
                "jmp r10",
                look = sym $look,
            )
        }
    )*};
}

variadic! {
    execl: look_execl;
    execle: look_execle;
    execlp: look_execlp;
}

unsafe extern "C" fn look_execl(pushed: &Pushed) -> *mut c_void {
    attempt_path(pushed.path, pushed.arguments.as_ptr(), real::environ());
    real::execl()
}

unsafe extern "C" fn look_execlp(pushed: &Pushed) -> *mut c_void {
    attempt_name(pushed.path, pushed.arguments.as_ptr(), real::environ());
    real::execlp()
}

unsafe extern "C" fn look_execle(pushed: &Pushed) -> *mut c_void {
    let arguments = pushed.arguments.as_ptr();
    if is_vector(arguments) {
        let mut last = arguments;
        // SAFETY: the vector can be read up to its null pointer, and the caller gave the environment behind that.
        let environment: Texts = unsafe {
            while !(*last).is_null() {
                last = last.add(1);
            }
            (*last.add(1)).cast()
        };
        attempt_path(pushed.path, arguments, environment);
    }
    real::execle()
}
