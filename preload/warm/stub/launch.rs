//! What the kernel has laid on the fresh stack.

use crate::calls;
use crate::table::Table;

const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;
const AT_PLATFORM: u64 = 15;
const AT_SECURE: u64 = 23;
const AT_RANDOM: u64 = 25;
const AT_EXECFN: u64 = 31;
const AT_SYSINFO_EHDR: u64 = 33;

/// This launch: addresses are 0 where the kernel tells none.
pub(crate) struct Launch {
    /// The address of the number of arguments.
    pub(crate) stack: *mut u64,
    /// That number.
    pub(crate) count: u64,
    /// The address of the arguments' pointers.
    pub(crate) arguments: *const u64,
    /// Of the environment's.
    pub(crate) environment: *const u64,
    /// Of the auxiliary vector.
    pub(crate) auxiliary: *mut [u64; 2],
    /// Of 16 random bytes.
    pub(crate) random: *const u64,
    /// Of the platform's name.
    pub(crate) platform: u64,
    /// Of the kernel's shared object.
    pub(crate) vdso: u64,
    /// Whether the program is not to trust its environment.
    pub(crate) secure: bool,
    /// The number of the thread, once it is known.
    pub(crate) thread: u64,
}

impl Launch {
    /// # Safety
    /// `stack` is as the kernel hands it over to a program that it starts.
    pub(crate) unsafe fn read(stack: *mut u64) -> Launch {
        // SAFETY: the number, so many pointers, a zero, pointers up to a zero, pairs up to one of kind 0.
        unsafe {
            let count = stack.read();
            let arguments = stack.add(1);
            let environment = arguments.add(count as usize + 1);
            let mut end = environment;
            while end.read() != 0 {
                end = end.add(1);
            }
            let auxiliary = end.add(1).cast::<[u64; 2]>();
            let mut launch = Launch {
                stack,
                count,
                arguments,
                environment,
                auxiliary,
                random: core::ptr::null(),
                platform: 0,
                vdso: 0,
                secure: false,
                thread: 0,
            };
            launch.note_auxiliary();
            launch
        }
    }

    /// # Safety
    /// The auxiliary vector is the kernel's.
    unsafe fn note_auxiliary(&mut self) {
        let mut pair = self.auxiliary;
        loop {
            // SAFETY: it ends with a pair of kind 0.
            let [kind, value] = unsafe { pair.read() };
            match kind {
                0 => return,
                AT_PLATFORM => self.platform = value,
                AT_SECURE => self.secure = value != 0,
                AT_RANDOM => self.random = value as *const u64,
                AT_SYSINFO_EHDR => self.vdso = value,
                _ => {}
            }
            pair = pair.wrapping_add(1);
        }
    }

    /// Has the auxiliary vector say of the program what it says of the snapshot.
    ///
    /// # Safety
    /// The auxiliary vector is the kernel's.
    pub(crate) unsafe fn tell_of_the_program(&mut self, table: &Table) {
        let mut pair = self.auxiliary;
        loop {
            // SAFETY: it ends with a pair of kind 0, and is the program's own memory.
            unsafe {
                let value = &mut (*pair)[1];
                match (*pair)[0] {
                    0 => return,
                    AT_PHDR => *value = table.program_headers,
                    AT_PHNUM => *value = table.program_header_count,
                    AT_BASE => *value = table.interpreter,
                    AT_ENTRY => *value = table.program_entry,
                    AT_EXECFN => *value = table.program_path,
                    _ => {}
                }
            }
            pair = pair.wrapping_add(1);
        }
    }

    /// Has the kernel show of the process what it would show of the program: in `/proc/PID/auxv` and core dumps, by which
    /// debuggers find the program and its libraries.
    ///
    /// # Safety
    /// The arguments, the environment and the auxiliary vector are the kernel's.
    pub(crate) unsafe fn show(&self, table: &Table) {
        // SAFETY: all three vectors end with a null pointer, or a pair of kind 0; their texts lie one behind the other, and end with
        // zeros.
        unsafe {
            let mut pairs = 1;
            while (*self.auxiliary.wrapping_add(pairs - 1))[0] != 0 {
                pairs += 1;
            }
            let first = if self.count == 0 { 0 } else { self.arguments.read() };
            let arguments_end = match self.environment.read() {
                0 if self.count == 0 => return,
                0 => end_of(self.arguments.wrapping_add(self.count as usize - 1).read()),
                variable => variable,
            };
            let variables = self.auxiliary.cast::<u64>().addr().wrapping_sub(self.environment.addr()) / 8 - 1;
            let environment_end = match variables {
                0 => arguments_end,
                _ => end_of(self.environment.wrapping_add(variables - 1).read()),
            };
            let heap = calls::heap_end();
            calls::show(&calls::Shown {
                code: table.code,
                data: table.data,
                heap: [heap, heap],
                stack: self.stack.addr() as u64,
                arguments: [if first == 0 { arguments_end } else { first }, arguments_end],
                environment: [arguments_end, environment_end],
                auxiliary: self.auxiliary.addr() as u64,
                auxiliary_bytes: (pairs * size_of::<[u64; 2]>()) as u32,
                executable: u32::MAX,
            });
        }
    }
}

/// The address behind the zero at the end of a text.
///
/// # Safety
/// It is a text.
unsafe fn end_of(text: u64) -> u64 {
    let mut at = text;
    // SAFETY: as the caller says.
    while unsafe { (at as *const u8).read() } != 0 {
        at += 1;
    }
    at + 1
}
