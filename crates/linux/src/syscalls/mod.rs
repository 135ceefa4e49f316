//! Names of system calls, from the kernel's own tables.

mod aarch64;
mod x86_64;

/// Names of consecutive system call numbers.
struct Run {
    first: u64,
    names: &'static str,
}

/// `AUDIT_ARCH_...` values of linux/audit.h: they say which table a number belongs to.
const X86_64: u32 = 0xc000_003e;
const AARCH64: u32 = 0xc000_00b7;
/// Bit that is set for tables of 64-bit machines.
const WIDE: u32 = 0x8000_0000;
/// Bit that is set in the number of a call from an x32 program (x86-64 with 32-bit pointers).
const SHORT_POINTERS: u64 = 0x4000_0000;

/// Returns the name of the system call `number` in the table of `architecture` (an `AUDIT_ARCH` number). For a number
/// that the tables do not have, returns `number N`.
pub fn syscall_name(architecture: u32, number: u64) -> String {
    let table = match architecture {
        X86_64 => x86_64::NAMES,
        AARCH64 => aarch64::NAMES,
        _ => &[],
    };
    let found = table.iter().rev().find(|run| run.first <= number).and_then(|run| {
        let place = usize::try_from(number - run.first).ok()?;
        run.names.split_ascii_whitespace().nth(place)
    });
    match found {
        Some(name) => name.to_owned(),
        None if architecture & WIDE == 0 => format!("number {number} of 32-bit programs"),
        None if architecture == X86_64 && number & SHORT_POINTERS != 0 => {
            format!("number {} of x32 programs", number & !SHORT_POINTERS)
        }
        None => format!("number {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the machine that runs the test.
    const HERE: u32 = if cfg!(target_arch = "aarch64") { AARCH64 } else { X86_64 };

    #[test]
    fn names_match_the_c_library() {
        let own = |number: libc::c_long| syscall_name(HERE, number as u64);
        let known = [
            (libc::SYS_read, "read"),
            (libc::SYS_write, "write"),
            (libc::SYS_openat, "openat"),
            (libc::SYS_newfstatat, "newfstatat"),
            (libc::SYS_mmap, "mmap"),
            (libc::SYS_rt_sigreturn, "rt_sigreturn"),
            (libc::SYS_getpid, "getpid"),
            (libc::SYS_exit_group, "exit_group"),
            (libc::SYS_restart_syscall, "restart_syscall"),
            (libc::SYS_futex, "futex"),
            (libc::SYS_getrandom, "getrandom"),
            (libc::SYS_rseq, "rseq"),
            (libc::SYS_pidfd_send_signal, "pidfd_send_signal"),
            (libc::SYS_clone3, "clone3"),
            (libc::SYS_futex_waitv, "futex_waitv"),
            (libc::SYS_mseal, "mseal"),
        ];
        for (number, name) in known {
            assert_eq!(own(number), name);
        }
    }

    #[test]
    fn names_match_the_kernel_header() {
        let folder = format!("/usr/include/{}-linux-gnu/asm/unistd_64.h", std::env::consts::ARCH);
        let Ok(header) = std::fs::read_to_string(folder) else { return };
        let mut seen = 0;
        for line in header.lines() {
            let mut words = line.strip_prefix("#define __NR_").unwrap_or("").split_ascii_whitespace();
            let (Some(name), Some(Ok(number))) = (words.next(), words.next().map(str::parse)) else { continue };
            assert_eq!(syscall_name(HERE, number), name);
            seen += 1;
        }
        assert!(seen > 250, "{seen} names");
    }

    #[test]
    fn unknown_calls_have_a_number() {
        assert_eq!(syscall_name(X86_64, 400), "number 400");
        assert_eq!(syscall_name(X86_64, 336), "number 336");
        assert_eq!(syscall_name(AARCH64, u64::MAX), format!("number {}", u64::MAX));
        assert_eq!(syscall_name(0x4000_0003, 4), "number 4 of 32-bit programs");
        assert_eq!(syscall_name(X86_64, 0x4000_0201), "number 513 of x32 programs");
        assert_eq!(syscall_name(0xc000_00f3, 63), "number 63");
        let whole = |table: &[Run]| table.iter().map(|run| run.names.split_ascii_whitespace().count()).sum::<usize>();
        assert_eq!((whole(x86_64::NAMES), whole(aarch64::NAMES)), (382, 325));
    }
}
