//! What file is mapped at an address, as /proc/self/maps tells it.
//!
//! The loader knows too, but takes a lock to tell, under which it may be that the program waits for the very lock that is being
//! taken here.

use super::area::MODULE_PATH_BYTES;
use super::calls::Descriptor;

/// A file that is mapped.
pub(crate) struct Mapped<'a> {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Of a longer one, the beginning; not empty.
    pub(crate) path: &'a [u8],
}

/// Where in which file the address is: what `tell` says of the file, if there is one.
#[inline(never)]
pub(crate) fn at(address: u64, tell: impl FnOnce(&Mapped<'_>) -> u32) -> Option<(u64, u32)> {
    // SAFETY: the path ends with a zero.
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
        return (!path.is_empty()).then(|| (address - start + offset, tell(&mapped)));
    }
}

/// A small part of the file at a time: it is read on the stacks of the program's threads.
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

    /// A number, and what comes behind it.
    fn number(&mut self, base: u32, behind: u8) -> Option<u64> {
        let mut number: u64 = 0;
        loop {
            let byte = self.byte()?;
            if byte == behind {
                return Some(number);
            }
            let digit = char::from(byte).to_digit(base)?;
            number = number.wrapping_mul(base.into()).wrapping_add(digit.into());
        }
    }

    /// What is left of the line, without the spaces before it; as much as there is room for.
    fn line<'a>(&mut self, into: &'a mut [u8]) -> &'a [u8] {
        let mut length = 0;
        while let Some(byte) = self.byte().filter(|&byte| byte != b'\n') {
            if byte == b' ' && length == 0 {
                continue;
            }
            let Some(place) = into.get_mut(length) else { break };
            *place = byte;
            length += 1;
        }
        into.get(..length).unwrap_or(&[])
    }
}
