//! Call sites: each is recorded when it is first seen, with the file that is mapped there.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::area::{MAX_PROBES, MODULE_PATH_BYTES, MODULES, ProcessPlace, SITES, site_start};
use super::calls::Descriptor;

/// Returns the number of the call site at this address plus one; 0 if the table is full.
pub(crate) fn number(place: &'static ProcessPlace, address: u64) -> u32 {
    for step in 0..MAX_PROBES {
        let number = (site_start(address) + step) % SITES;
        let site = &place.sites[number];
        let found = site.address.load(Acquire);
        if found == address {
            return number as u32 + 1;
        }
        if found == 0 {
            match site.address.compare_exchange(0, address, AcqRel, Acquire) {
                Ok(_) => {
                    if let Some((offset, module)) = file_at(address, |mapped| module(place, mapped)) {
                        site.offset.store(offset, Relaxed);
                        site.module.store(module, Release);
                    }
                    return number as u32 + 1;
                }
                Err(other) if other == address => return number as u32 + 1,
                Err(_) => (),
            }
        }
    }
    place.process.sites_lost.fetch_add(1, Relaxed);
    0
}

/// Returns the number of a file plus one; 0 if the table is full. Two threads that see a file for the first time may
/// create two entries for it.
fn module(place: &ProcessPlace, mapped: &Mapped<'_>) -> u32 {
    let matches = |module: &super::area::Module| {
        module.length.load(Acquire) != 0
            && module.inode.load(Relaxed) == mapped.inode
            && module.device.load(Relaxed) == mapped.device
            && (mapped.inode != 0 || module.length.load(Relaxed) == mapped.path.len() as u64)
    };
    let used = (place.process.modules.load(Relaxed) as usize).min(MODULES);
    if let Some(number) = place.modules.iter().take(used).position(matches) {
        return number as u32 + 1;
    }
    let number = place.process.modules.fetch_add(1, Relaxed);
    let Some(module) = place.modules.get(number as usize) else { return 0 };
    module.inode.store(mapped.inode, Relaxed);
    module.device.store(mapped.device, Relaxed);
    for (byte, target) in mapped.path.iter().zip(&module.path) {
        target.store(*byte, Relaxed);
    }
    module.length.store(mapped.path.len() as u64, Release);
    number + 1
}

/// A mapped file, as a line of /proc/self/maps describes it.
struct Mapped<'a> {
    device: u64,
    inode: u64,
    /// Its path, not empty; truncated to [`MODULE_PATH_BYTES`].
    path: &'a [u8],
}

/// Finds the file that is mapped at `address`, from /proc/self/maps. Returns the offset of the address in it, and what
/// `visit` returns for the file.
///
/// dladdr(3) cannot be used: it acquires a lock of the loader, and the thread that holds that lock may be waiting for
/// the lock that is being acquired here.
#[inline(never)]
fn file_at(address: u64, visit: impl FnOnce(&Mapped<'_>) -> u32) -> Option<(u64, u32)> {
    // SAFETY: the path is NUL-terminated.
    let file = unsafe { Descriptor::open(c"/proc/self/maps".as_ptr().cast(), false) }?;
    let mut reader = Reader { file, bytes: [0; 512], next: 0, length: 0 };
    loop {
        let start = reader.number(16, b'-')?;
        let end = reader.number(16, b' ')?;
        if !(start..end).contains(&address) {
            while reader.byte()? != b'\n' {}
            continue;
        }
        while reader.byte()? != b' ' {}
        let offset = reader.number(16, b' ')?;
        let major = reader.number(16, b':')?;
        let minor = reader.number(16, b' ')?;
        let inode = reader.number(10, b' ')?;
        let mut path = [0; MODULE_PATH_BYTES];
        let path = reader.line(&mut path);
        let mapped = Mapped { device: major << 32 | minor, inode, path };
        return (!path.is_empty()).then(|| (address - start + offset, visit(&mapped)));
    }
}

/// Reads a file byte by byte. The buffer is small because it is on the stack of a thread of the program.
struct Reader {
    file: Descriptor,
    bytes: [u8; 512],
    next: usize,
    length: usize,
}

impl Reader {
    #[inline(never)]
    fn byte(&mut self) -> Option<u8> {
        if self.next >= self.length {
            self.length = self.file.read(&mut self.bytes)?;
            self.next = 0;
        }
        let byte = self.bytes.get(self.next).filter(|_| self.next < self.length)?;
        self.next += 1;
        Some(*byte)
    }

    /// Reads a number and the byte `terminator` after it.
    fn number(&mut self, base: u32, terminator: u8) -> Option<u64> {
        let mut number: u64 = 0;
        loop {
            let byte = self.byte()?;
            if byte == terminator {
                return Some(number);
            }
            let digit = char::from(byte).to_digit(base)?;
            number = number.wrapping_mul(base.into()).wrapping_add(digit.into());
        }
    }

    /// Reads the rest of the line without leading spaces, truncated to `into`.
    fn line<'a>(&mut self, into: &'a mut [u8]) -> &'a [u8] {
        let mut length = 0;
        while let Some(byte) = self.byte().filter(|&byte| byte != b'\n') {
            if byte == b' ' && length == 0 {
                continue;
            }
            let Some(target) = into.get_mut(length) else { break };
            *target = byte;
            length += 1;
        }
        into.get(..length).unwrap_or(&[])
    }
}
