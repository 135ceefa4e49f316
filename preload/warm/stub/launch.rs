//! The initial process stack, as the kernel prepares it for an executed program.

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

/// The contents of the initial stack. Addresses that the kernel does not provide are 0.
pub(crate) struct Launch {
    /// The address of argc.
    pub(crate) stack: *mut u64,
    /// The number of arguments.
    pub(crate) count: u64,
    /// The address of argv, a null-terminated vector.
    pub(crate) arguments: *const u64,
    /// The address of envp, a null-terminated vector.
    pub(crate) environment: *const u64,
    /// The address of the auxiliary vector, pairs of kind and value.
    pub(crate) auxiliary: *mut [u64; 2],
    /// AT_RANDOM: 16 random bytes.
    pub(crate) random: *const u64,
    /// AT_PLATFORM: the platform's name.
    pub(crate) platform: u64,
    /// AT_SYSINFO_EHDR: the address of the vDSO.
    pub(crate) vdso: u64,
    /// AT_EXECFN: the path by which the process was executed.
    pub(crate) executed: u64,
    /// AT_SECURE: whether the program must not trust its environment.
    pub(crate) secure: bool,
    /// The thread id, once it is known.
    pub(crate) thread: u64,
}

impl Launch {
    /// Parses the stack.
    ///
    /// # Safety
    /// `stack` must be the initial stack pointer of the process.
    pub(crate) unsafe fn read(stack: *mut u64) -> Launch {
        // SAFETY: the stack contains argc, that many pointers, a null pointer, environment pointers up to a null
        // pointer, and pairs up to one of kind AT_NULL.
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
                executed: 0,
                secure: false,
                thread: 0,
            };
            launch.read_auxiliary();
            launch
        }
    }

    /// # Safety
    /// `self.auxiliary` must be the kernel's vector.
    unsafe fn read_auxiliary(&mut self) {
        let mut pair = self.auxiliary;
        loop {
            // SAFETY: the vector ends with a pair of kind AT_NULL.
            let [kind, value] = unsafe { pair.read() };
            match kind {
                0 => return,
                AT_PLATFORM => self.platform = value,
                AT_EXECFN => self.executed = value,
                AT_SECURE => self.secure = value != 0,
                AT_RANDOM => self.random = value as *const u64,
                AT_SYSINFO_EHDR => self.vdso = value,
                _ => {}
            }
            pair = pair.wrapping_add(1);
        }
    }

    /// Replaces the path by which the process was executed, which is that of the snapshot, by one in the program's
    /// directory with the name by which the program was started. Programs with several names may depend on it. For a
    /// script that is the name of its interpreter, argument 0. Two slashes before the snapshot's name mark a script.
    ///
    /// # Safety
    /// The path and the arguments must be the kernel's, and the table that of this snapshot.
    pub(crate) unsafe fn set_executed_path(&mut self, table: &Table) {
        let [path, program] = [self.executed, table.program_path];
        self.executed = program;
        if path == 0 {
            return;
        }
        // SAFETY: the addresses are those of NUL-terminated strings. The new path is written only if it is not longer
        // than the old one, so the name, at the end of the old one, is not overwritten before it is read.
        unsafe {
            let mut name = last_part(path);
            let is_script = name >= path + 2 && ((name - 2) as *const u8).read() == b'/';
            if is_script && self.count > 0 {
                name = last_part(self.arguments.read());
            }
            let own_name = last_part(program);
            let [directory, length] = [own_name - program, end_of_string(name) - name];
            if is_equal(name, own_name) || directory + length > end_of_string(path) - path {
                return;
            }
            copy(program, path, directory);
            copy(name, path + directory, length);
        }
        self.executed = path;
    }

    /// Replaces the values that describe the snapshot's file by those of the program.
    ///
    /// # Safety
    /// `self.auxiliary` must be the kernel's vector.
    pub(crate) unsafe fn restore_auxiliary(&mut self, table: &Table) {
        let mut pair = self.auxiliary;
        loop {
            // SAFETY: the vector ends with a pair of kind AT_NULL and is writable memory of the process.
            unsafe {
                let value = &mut (*pair)[1];
                match (*pair)[0] {
                    0 => return,
                    AT_PHDR => *value = table.program_headers,
                    AT_PHNUM => *value = table.program_header_count,
                    AT_BASE => *value = table.interpreter,
                    AT_ENTRY => *value = table.program_entry,
                    AT_EXECFN => *value = self.executed,
                    _ => {}
                }
            }
            pair = pair.wrapping_add(1);
        }
    }

    /// Sets the memory layout that the kernel reports to that of the program: in `/proc/PID/auxv` and core dumps, by
    /// which debuggers find the program and its libraries.
    ///
    /// # Safety
    /// The arguments, the environment and the auxiliary vector must be the kernel's.
    pub(crate) unsafe fn set_memory_map(&self, table: &Table) {
        // SAFETY: the vectors end with a null pointer or a pair of kind AT_NULL. Their strings are contiguous and
        // NUL-terminated.
        unsafe {
            let mut pairs = 1;
            while (*self.auxiliary.wrapping_add(pairs - 1))[0] != 0 {
                pairs += 1;
            }
            let first = if self.count == 0 { 0 } else { self.arguments.read() };
            let arguments_end = match self.environment.read() {
                0 if self.count == 0 => return,
                0 => end_of_string(self.arguments.wrapping_add(self.count as usize - 1).read()),
                variable => variable,
            };
            let variables = self.auxiliary.cast::<u64>().addr().wrapping_sub(self.environment.addr()) / 8 - 1;
            let environment_end = match variables {
                0 => arguments_end,
                _ => end_of_string(self.environment.wrapping_add(variables - 1).read()),
            };
            let heap = calls::heap_end();
            calls::set_memory_map(&calls::MemoryMap {
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

/// Returns the address after the last slash of a string; 0 for 0.
///
/// # Safety
/// `text` must be 0 or the address of a NUL-terminated string.
pub(crate) unsafe fn last_part(text: u64) -> u64 {
    let mut part = text;
    let mut at = text;
    if text != 0 {
        // SAFETY: guaranteed by the caller.
        while let letter @ 1.. = unsafe { (at as *const u8).read() } {
            at += 1;
            if letter == b'/' {
                part = at;
            }
        }
    }
    part
}

/// Returns whether two strings are equal.
///
/// # Safety
/// Both must be addresses of NUL-terminated strings.
unsafe fn is_equal(one: u64, other: u64) -> bool {
    let mut at = 0;
    loop {
        // SAFETY: guaranteed by the caller; no byte before this one is the end of a string.
        let [one, other] = unsafe { [((one + at) as *const u8).read(), ((other + at) as *const u8).read()] };
        if one != other || one == 0 {
            return one == other;
        }
        at += 1;
    }
}

/// Copies bytes in ascending order.
///
/// # Safety
/// Both ranges must be mapped, and the second must be writable.
unsafe fn copy(from: u64, to: u64, bytes: u64) {
    for at in 0..bytes {
        // A volatile write, because there is no memcpy that the compiler could call instead.
        // SAFETY: guaranteed by the caller.
        unsafe { ((to + at) as *mut u8).write_volatile(((from + at) as *const u8).read()) };
    }
}

/// Returns the address after the terminating NUL of a string.
///
/// # Safety
/// `text` must be the address of a NUL-terminated string.
unsafe fn end_of_string(text: u64) -> u64 {
    let mut at = text;
    // SAFETY: guaranteed by the caller.
    while unsafe { (at as *const u8).read() } != 0 {
        at += 1;
    }
    at + 1
}
