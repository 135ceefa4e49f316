//! The first code of a snapshot: makes of the memory that the kernel has just mapped the program as it would stand at its
//! entry, and enters it.
//!
//! It runs without a C library, before the thread has a pointer, and calls nothing that could need either. Where it cannot
//! do what it is told it executes the program itself, in the usual way, as if there were no snapshot.
#![no_std]
#![no_main]

#[path = "../shared/table.rs"]
#[allow(dead_code)]
mod table;

mod calls;
mod launch;
mod patch;

use core::arch::naked_asm;

use launch::Launch;
use table::{Ahead, MAGIC, Patch, Protection, Table};

/// Called by the kernel: rsp is the address of the number of arguments. The table begins where the stub ends.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn _start() -> ! {
    naked_asm!(
        "mov rdi, rsp",
        "lea rsi, [rip + _end + {below}]",
        "and rsi, -{alignment}",
        "and rsp, -16",
        "push rdi",
        "push rsi",
        "call {prepare}",
        "pop rsi",
        "pop rsp",
        "fldenv [rsi + {x87}]",
        "ldmxcsr [rsi + {mxcsr}]",
        "mov rdx, [rsi + {at_exit}]",
        "mov rax, [rsi + {entry}]",
        "xor ecx, ecx",
        "xor esi, esi",
        "xor edi, edi",
        "xor ebp, ebp",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "jmp rax",
        below = const table::ALIGNMENT - 1,
        alignment = const table::ALIGNMENT,
        prepare = sym prepare,
        x87 = const core::mem::offset_of!(Table, x87),
        mxcsr = const core::mem::offset_of!(Table, mxcsr),
        at_exit = const core::mem::offset_of!(Table, at_exit),
        entry = const core::mem::offset_of!(Table, entry),
    )
}

/// Does all that the table says.
///
/// # Safety
/// To be called once, with the fresh stack and the table of the snapshot that this is the stub of.
unsafe extern "C" fn prepare(stack: *mut u64, table: *const Table) {
    // SAFETY: the kernel made the stack, and the image put the table there.
    let (mut launch, table) = unsafe { (Launch::read(stack), &*table) };
    if table.magic != MAGIC {
        calls::exit(127);
    }
    // SAFETY: the table tells what is mapped, as the caller says.
    let done = !launch.secure && unsafe { do_all(&mut launch, table) };
    if !done {
        // SAFETY: the path lies in the snapshot, and arguments and environment are the kernel's. Only the auxiliary
        // vector may have been changed, which no exec looks at.
        unsafe { calls::execve(table.program_path, launch.arguments, launch.environment) };
        calls::exit(127);
    }
}

/// Whether all could be done.
///
/// # Safety
/// As for [`prepare`].
unsafe fn do_all(launch: &mut Launch, table: &Table) -> bool {
    let after = (&raw const *table).wrapping_add(1);
    // SAFETY: all three lie behind the table, as many as it says.
    let (patches, protections, ahead) = unsafe {
        let patches = core::slice::from_raw_parts(after.cast::<Patch>(), table.patches as usize);
        let behind = patches.as_ptr_range().end.cast::<Protection>();
        let protections = core::slice::from_raw_parts(behind, table.protections as usize);
        let behind = protections.as_ptr_range().end.cast::<Ahead>();
        (patches, protections, core::slice::from_raw_parts(behind, table.ahead as usize))
    };
    // SAFETY: all of it is mapped.
    ahead.iter().for_each(|it| unsafe { calls::get_ready(it.address, it.bytes) });
    // SAFETY: the thread's memory is mapped, for it is the program's.
    unsafe {
        calls::set_thread_pointer(table.thread);
        launch.thread = calls::set_tid_address(table.tid_address);
        if table.robust_list != 0 {
            calls::set_robust_list(table.robust_list, table.robust_list_bytes);
        }
    }
    // SAFETY: all that is patched is mapped and can be written until it is protected below.
    if !unsafe { patch::all(patches, launch, table) } {
        return false;
    }
    if table.rseq != 0 {
        // SAFETY: the area is the thread's own.
        unsafe { calls::register_rseq(table.rseq, table.rseq_bytes, table.rseq_signature) };
    }
    // SAFETY: nothing that this stub has borrowed lies there.
    let protected = protections.iter().all(|it| unsafe { calls::mprotect(it.address, it.bytes, it.protection) });
    if protected {
        // SAFETY: the vector is the kernel's, on this stack; the headers are mapped, and nothing has been changed in them.
        unsafe {
            launch.tell_of_the_program(table);
            launch.show(table);
            let [address, bytes, offset] = table.headers;
            if bytes != 0 {
                calls::map_file(table.program_path, &table.file, address, bytes, offset);
            }
        }
    }
    protected
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    calls::exit(127)
}
