//! execl(3) and its like, which take as many arguments as they are given.
//!
//! Each looks at its arguments where they are, in registers and on the stack, and, if no snapshot is executed, goes on as
//! the real function with all of them in place.

use core::arch::naked_asm;
use core::ffi::{c_char, c_void};
use core::ptr;

use super::exec::{attempt_name, attempt_path};
use crate::real;
use crate::start::{self, Texts};

/// So many arguments are looked at, with the null pointer at the end; with more, a program is started as usual.
const MOST: usize = 256;

/// The registers with arguments, as they are pushed, what the function returns to, and the arguments on the stack.
#[repr(C)]
struct Pushed {
    vectors: usize,
    path: *const c_char,
    registers: [*const c_char; 5],
    back: usize,
    stack: [*const c_char; 0],
}

macro_rules! variadic {
    ($($name:ident: $look:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "push r9", "push r8", "push rcx", "push rdx", "push rsi", "push rdi", "push rax",
                "mov rdi, rsp",
                "call {look}",
                "mov r11, rax",
                "pop rax", "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop r8", "pop r9",
                "jmp r11",
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
    let mut arguments = [ptr::null(); MOST];
    // SAFETY: the caller gave a path and arguments with a null pointer behind the last.
    unsafe {
        if pushed.arguments(&mut arguments).is_some() {
            attempt_path(pushed.path, arguments.as_ptr(), real::environ());
        }
    }
    real::execl()
}

unsafe extern "C" fn look_execlp(pushed: &Pushed) -> *mut c_void {
    let mut arguments = [ptr::null(); MOST];
    // SAFETY: as above.
    unsafe {
        if pushed.arguments(&mut arguments).is_some() {
            attempt_name(pushed.path, arguments.as_ptr(), real::environ());
        }
    }
    real::execlp()
}

unsafe extern "C" fn look_execle(pushed: &Pushed) -> *mut c_void {
    let mut arguments = [ptr::null(); MOST];
    // SAFETY: as above, and the environment behind that.
    unsafe {
        if let Some(last) = pushed.arguments(&mut arguments) {
            let environment: Texts = pushed.argument(last + 1).cast();
            attempt_path(pushed.path, arguments.as_ptr(), environment);
        }
    }
    real::execle()
}

impl Pushed {
    /// Copies the arguments with the null pointer at their end; where that stands, if there was room.
    unsafe fn arguments(&self, into: &mut [*const c_char; MOST]) -> Option<usize> {
        for (number, place) in into.iter_mut().enumerate() {
            // SAFETY: none before was the last.
            *place = unsafe { self.argument(number) };
            if place.is_null() {
                return Some(number);
            }
        }
        start::other_way();
        None
    }

    unsafe fn argument(&self, number: usize) -> *const c_char {
        match self.registers.get(number) {
            Some(&argument) => argument,
            // SAFETY: the caller knows that it was given so many.
            None => unsafe { *self.stack.as_ptr().add(number - self.registers.len()) },
        }
    }
}
