//! Minimal ELF files for the kernel's loader: elf(5), 64 bits, little-endian.

/// The machine type of ELF and the code of a program that only calls `exit_group(0)`.
#[cfg(target_arch = "x86_64")]
const EXIT: Option<(u16, &[u8])> = Some((
    62, // EM_X86_64
    &[
        0xb8, 0xe7, 0x00, 0x00, 0x00, // mov eax, 231
        0x31, 0xff, // xor edi, edi
        0x0f, 0x05, // syscall
    ],
));

/// The machine type of ELF and the code of a program that only calls `exit_group(0)`.
#[cfg(target_arch = "aarch64")]
const EXIT: Option<(u16, &[u8])> = Some((
    183, // EM_AARCH64
    &[
        0x00, 0x00, 0x80, 0xd2, // mov x0, 0
        0xc8, 0x0b, 0x80, 0xd2, // mov x8, 94
        0x01, 0x00, 0x00, 0xd4, // svc 0
    ],
));

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const EXIT: Option<(u16, &[u8])> = None;

const HEADER: u16 = 64;
const PROGRAM_HEADER: u16 = 56;
/// The load address of the program: a multiple of the largest page size of any kernel.
const ADDRESS: u64 = 0x40_0000;
const ALIGNMENT: u64 = 0x1_0000;
const MAGIC: [u8; 4] = *b"\x7fELF";
const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;

/// Returns a static program that exits immediately with status 0: headers and code in one segment. `None` on CPU
/// architectures for which there is no code.
pub(super) fn minimal_program() -> Option<Vec<u8>> {
    let (machine, code) = EXIT?;
    let start = u64::from(HEADER + PROGRAM_HEADER);
    let length = start + code.len() as u64;
    let mut image = Vec::new();
    image.extend(MAGIC);
    // 64 bits, little-endian, version 1, ABI System V.
    image.extend([2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // ET_EXEC.
    put16(&mut image, [2, machine]);
    put32(&mut image, [1]);
    // The entry point, the offset of the program headers, and no section headers.
    put64(&mut image, [ADDRESS + start, HEADER.into(), 0]);
    put32(&mut image, [0]);
    put16(&mut image, [HEADER, PROGRAM_HEADER, 1, 0, 0, 0]);
    // The whole file is loaded as readable and executable.
    put32(&mut image, [PT_LOAD, 5]);
    put64(&mut image, [0, ADDRESS, ADDRESS, length, length, ALIGNMENT]);
    image.extend(code);
    Some(image)
}

fn put16<const N: usize>(image: &mut Vec<u8>, values: [u16; N]) {
    values.iter().for_each(|value| image.extend(value.to_le_bytes()));
}

fn put32<const N: usize>(image: &mut Vec<u8>, values: [u32; N]) {
    values.iter().for_each(|value| image.extend(value.to_le_bytes()));
}

fn put64<const N: usize>(image: &mut Vec<u8>, values: [u64; N]) {
    values.iter().for_each(|value| image.extend(value.to_le_bytes()));
}

/// Returns whether the program with these first bytes names an interpreter (a dynamic loader): whether it is
/// dynamically linked.
pub(super) fn has_interpreter(head: &[u8]) -> bool {
    let sixteen = |at: usize| Some(u16::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let thirty_two = |at: usize| Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let sixty_four = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let found = || {
        let (start, size, count) = (sixty_four(32)?, sixteen(54)?, sixteen(56)?);
        let start = usize::try_from(start).ok()?;
        let mut kinds = (0..usize::from(count)).map(|entry| thirty_two(start.checked_add(entry * usize::from(size))?));
        Some(kinds.any(|kind| kind == Some(PT_INTERP)))
    };
    head.starts_with(&MAGIC) && found().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_of_a_program_is_detected() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let names_one =
            own.windows(16).any(|bytes| bytes.starts_with(b"/lib") && bytes.windows(3).any(|b| b == b"ld-"));
        assert_eq!(has_interpreter(&own[..4096]), names_one);
        let Some(tiny) = minimal_program() else { return };
        assert!(!has_interpreter(&tiny));
        let mut linked = tiny;
        linked[usize::from(HEADER)] = PT_INTERP as u8;
        assert!(has_interpreter(&linked));
    }

    #[test]
    fn files_that_are_not_programs_have_no_loader() {
        let tiny = minimal_program().unwrap_or_default();
        for head in [&b""[..], b"#!/bin/sh\n", b"\x7fELF", &tiny[..tiny.len() / 2]] {
            assert!(!has_interpreter(head));
        }
        let mut far = tiny;
        if !far.is_empty() {
            far[32..40].fill(0xff);
            assert!(!has_interpreter(&far));
        }
    }
}
