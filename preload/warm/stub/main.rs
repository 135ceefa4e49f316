//! The first code of a snapshot. The kernel has mapped the snapshot's memory; the stub adapts it to this launch and
//! jumps to the program.
//!
//! It runs without a C library, before the thread pointer is set, and calls nothing that could need either. If it
//! fails, it executes the program's own file, as if there were no snapshot.
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

/// The entry point. rsp is the address of argc; the table begins at the next aligned address after the stub.
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

/// Executes the table.
///
/// # Safety
/// Must be called once, with the initial stack and the table of this snapshot.
unsafe extern "C" fn prepare(stack: *mut u64, table: *const Table) {
    // SAFETY: the kernel prepared the stack, and the table is part of the snapshot.
    let (mut launch, table) = unsafe { (Launch::read(stack), &*table) };
    if table.magic != MAGIC {
        calls::exit(127);
    }
    // SAFETY: guaranteed by the caller.
    let done = !launch.secure && unsafe { execute(&mut launch, table) };
    if !done {
        // SAFETY: the path is in the snapshot, and arguments and environment are the kernel's. Only the auxiliary
        // vector may have been changed, which execve(2) does not read.
        unsafe { calls::execve(table.program_path, launch.arguments, launch.environment) };
        calls::exit(127);
    }
}

/// Returns whether every step succeeded.
///
/// # Safety
/// As for [`prepare`].
unsafe fn execute(launch: &mut Launch, table: &Table) -> bool {
    let after = (&raw const *table).wrapping_add(1);
    // SAFETY: the three lists follow the table, with the lengths in it.
    let (patches, protections, ahead) = unsafe {
        let patches = core::slice::from_raw_parts(after.cast::<Patch>(), table.patches as usize);
        let behind = patches.as_ptr_range().end.cast::<Protection>();
        let protections = core::slice::from_raw_parts(behind, table.protections as usize);
        let behind = protections.as_ptr_range().end.cast::<Ahead>();
        (patches, protections, core::slice::from_raw_parts(behind, table.ahead as usize))
    };
    // SAFETY: the snapshot maps these ranges.
    ahead.iter().for_each(|range| unsafe { calls::prefault(range.address, range.bytes) });
    // SAFETY: the addresses are in the program's memory, which the snapshot maps.
    unsafe {
        calls::set_thread_pointer(table.thread);
        launch.thread = calls::set_tid_address(table.tid_address);
        if table.robust_list != 0 {
            calls::set_robust_list(table.robust_list, table.robust_list_bytes);
        }
    }
    // SAFETY: the strings are the kernel's, and nothing has changed them.
    unsafe { launch.set_executed_path(table) };
    // SAFETY: the patched words are mapped, and writable until they are protected below.
    if !unsafe { patch::apply(patches, launch, table) } {
        return false;
    }
    if table.rseq != 0 {
        // SAFETY: the area belongs to the thread.
        unsafe { calls::register_rseq(table.rseq, table.rseq_bytes, table.rseq_signature) };
    }
    // SAFETY: the stub holds no references into these ranges.
    let protected =
        protections.iter().all(|range| unsafe { calls::mprotect(range.address, range.bytes, range.protection) });
    if protected {
        // SAFETY: the vector is the kernel's, on this stack. The headers are mapped and unchanged.
        unsafe {
            launch.restore_auxiliary(table);
            launch.set_memory_map(table);
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
