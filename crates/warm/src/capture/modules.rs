//! Reads the symbol tables of programs and libraries in the memory of a process.

use std::ops::Range;

use steady_linux::debuggee::Debuggee;

use super::super::captured::NotCaptured;
use super::{failed, refused};

/// The size of a symbol, in bytes.
const SYMBOL: u64 = 24;
/// Types of entries of the dynamic section, and of program headers.
const HASH: u64 = 4;
const STRINGS: u64 = 5;
const SYMBOLS: u64 = 6;
const STRINGS_BYTES: u64 = 10;
const GNU_HASH: u64 = 0x6fff_fef5;
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;

/// A loaded program or library. Addresses of tables that it does not have are 0.
pub(super) struct Module {
    /// The load bias: the difference between its addresses in memory and in the file.
    bias: u64,
    /// The start and the end in memory.
    range: (u64, u64),
    symbols: u64,
    strings: u64,
    strings_bytes: u64,
    gnu_hash: u64,
    hash: u64,
}

/// Returns all loaded modules except the vDSO.
pub(super) fn all(debuggee: &Debuggee) -> Result<Vec<Module>, NotCaptured> {
    let mut modules = vec![];
    for mapping in debuggee.maps().map_err(failed)? {
        let first = mapping.file().is_some() && mapping.offset == 0 && mapping.protection[0];
        if first && debuggee.bytes(mapping.start, 4).is_ok_and(|magic| magic == b"\x7fELF") {
            modules.push(Module::at(debuggee, mapping.start)?);
        }
    }
    Ok(modules)
}

impl Module {
    /// Reads the module whose file is mapped at `address`.
    pub(super) fn at(debuggee: &Debuggee, address: u64) -> Result<Self, NotCaptured> {
        let header = debuggee.bytes(address, 64).map_err(failed)?;
        let (place, size, count) = (long(&header, 32), short(&header, 54), short(&header, 56));
        let mut headers = vec![0; usize::from(size) * usize::from(count)];
        debuggee.read(address.wrapping_add(place), &mut headers).map_err(failed)?;
        let headers = || headers.chunks_exact(usize::from(size.max(56)));
        let start = headers().find(|header| word(header, 0) == LOAD && long(header, 8) == 0);
        let start = start.ok_or_else(|| refused("one of its libraries has an unusual layout"))?;
        let bias = address.wrapping_sub(long(start, 16) & !0xfff);
        let ends = headers().filter(|header| word(header, 0) == LOAD);
        let end = ends.map(|header| bias.wrapping_add(long(header, 16)).wrapping_add(long(header, 40))).max();
        let range = (address, end.unwrap_or(address));
        let mut module = Module { bias, range, symbols: 0, strings: 0, strings_bytes: 0, gnu_hash: 0, hash: 0 };
        if let Some(dynamic) = headers().find(|header| word(header, 0) == DYNAMIC) {
            let place = bias.wrapping_add(long(dynamic, 16));
            let entries = debuggee.bytes(place, long(dynamic, 40) as usize).map_err(failed)?;
            module.read_dynamic(&entries);
        }
        Ok(module)
    }

    fn read_dynamic(&mut self, entries: &[u8]) {
        for entry in entries.chunks_exact(16) {
            let (kind, value) = (long(entry, 0), long(entry, 8));
            // ld.so replaces the values from the file by addresses, except in sections it cannot write.
            let address = if value < self.bias { value.wrapping_add(self.bias) } else { value };
            match kind {
                0 => break,
                HASH => self.hash = address,
                STRINGS => self.strings = address,
                SYMBOLS => self.symbols = address,
                STRINGS_BYTES => self.strings_bytes = value,
                GNU_HASH => self.gnu_hash = address,
                _ => {}
            }
        }
    }

    /// Returns whether `address` is in the module.
    pub(super) fn holds(&self, address: u64) -> bool {
        (self.range.0..self.range.1).contains(&address)
    }

    /// Returns the address ranges of these functions, as far as the module defines them.
    pub(super) fn functions(&self, debuggee: &Debuggee, names: &[&str]) -> Result<Vec<Range<u64>>, NotCaptured> {
        let mut found = vec![];
        for name in names {
            found.extend(self.symbol(debuggee, name)?);
        }
        Ok(found)
    }

    /// Returns the address of a function if the module defines it.
    pub(super) fn function(&self, debuggee: &Debuggee, name: &str) -> Result<Option<u64>, NotCaptured> {
        Ok(self.symbol(debuggee, name)?.map(|extent| extent.start))
    }

    fn symbol(&self, debuggee: &Debuggee, name: &str) -> Result<Option<Range<u64>>, NotCaptured> {
        if self.symbols == 0 || self.strings == 0 {
            return Ok(None);
        }
        let candidates = match (self.gnu_hash, self.hash) {
            (0, 0) => vec![],
            (0, table) => by_hash(debuggee, table, name)?,
            (table, _) => by_gnu_hash(debuggee, table, name)?,
        };
        for index in candidates {
            let symbol = debuggee.bytes(self.symbols + u64::from(index) * SYMBOL, SYMBOL as usize).map_err(failed)?;
            let (section, value) = (short(&symbol, 6), long(&symbol, 8));
            if section != 0 && self.is_called(debuggee, word(&symbol, 0), name) {
                let start = self.bias.wrapping_add(value);
                return Ok(Some(start..start.saturating_add(long(&symbol, 16))));
            }
        }
        Ok(None)
    }

    fn is_called(&self, debuggee: &Debuggee, place: u32, name: &str) -> bool {
        // A shorter name may be at the very end of the mapping, so the read can fail.
        let found = debuggee.bytes(self.strings.wrapping_add(u64::from(place)), name.len() + 1);
        found.is_ok_and(|found| found.strip_suffix(&[0]) == Some(name.as_bytes()))
    }

    /// Returns whether the module imports a function.
    pub(super) fn wants(&self, debuggee: &Debuggee, name: &str) -> Result<bool, NotCaptured> {
        if self.symbols == 0 || self.strings == 0 {
            return Ok(false);
        }
        // With the GNU table, imported symbols come before the first hashed symbol. The older table has the number of
        // all.
        let count = match (self.gnu_hash, self.hash) {
            (0, 0) => 0,
            (0, table) => word(&debuggee.bytes(table, 8).map_err(failed)?, 4),
            (table, _) => word(&debuggee.bytes(table, 8).map_err(failed)?, 4),
        };
        let symbols = debuggee.bytes(self.symbols, count as usize * SYMBOL as usize).map_err(failed)?;
        let strings = debuggee.bytes(self.strings, self.strings_bytes as usize).map_err(failed)?;
        Ok(symbols.chunks_exact(SYMBOL as usize).any(|symbol| {
            let found = strings.get(word(symbol, 0) as usize..).and_then(|rest| rest.get(..=name.len()));
            short(symbol, 6) == 0 && found.and_then(|found| found.strip_suffix(&[0])) == Some(name.as_bytes())
        }))
    }
}

fn short(bytes: &[u8], place: usize) -> u16 {
    u16::from_ne_bytes([bytes[place], bytes[place + 1]])
}

pub(super) fn word(bytes: &[u8], place: usize) -> u32 {
    u32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[place + byte]))
}

fn long(bytes: &[u8], place: usize) -> u64 {
    u64::from_ne_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| bytes[place + byte]))
}

/// Returns the indices of symbols that may have the name, from the hash table that newer linkers write (`DT_GNU_HASH`).
fn by_gnu_hash(debuggee: &Debuggee, table: u64, name: &str) -> Result<Vec<u32>, NotCaptured> {
    const LONGEST: u32 = 1 << 16;
    let hash = name.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
    let header = debuggee.bytes(table, 16).map_err(failed)?;
    let [buckets, first, bloom] = [0, 4, 8].map(|place| word(&header, place));
    if buckets == 0 {
        return Ok(vec![]);
    }
    let bucket = table + 16 + u64::from(bloom) * 8;
    let chain = bucket + u64::from(buckets) * 4;
    let start = word(&debuggee.bytes(bucket + u64::from(hash % buckets) * 4, 4).map_err(failed)?, 0);
    let mut found = vec![];
    if start >= first {
        for index in start..start.saturating_add(LONGEST) {
            let entry = word(&debuggee.bytes(chain + u64::from(index - first) * 4, 4).map_err(failed)?, 0);
            if entry | 1 == hash | 1 {
                found.push(index);
            }
            if entry & 1 == 1 {
                break;
            }
        }
    }
    Ok(found)
}

/// Returns the indices of symbols that may have the name, from the older hash table (`DT_HASH`).
fn by_hash(debuggee: &Debuggee, table: u64, name: &str) -> Result<Vec<u32>, NotCaptured> {
    let hash = name.bytes().fold(0_u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    });
    let header = debuggee.bytes(table, 8).map_err(failed)?;
    let [buckets, symbols] = [0, 4].map(|place| word(&header, place));
    if buckets == 0 {
        return Ok(vec![]);
    }
    let entry =
        |place: u64| Ok::<u32, NotCaptured>(word(&debuggee.bytes(table + 8 + place * 4, 4).map_err(failed)?, 0));
    let mut index = entry(u64::from(hash % buckets))?;
    let mut found = vec![];
    while index != 0 && index < symbols && found.len() < symbols as usize {
        found.push(index);
        index = entry(u64::from(buckets) + u64::from(index))?;
    }
    Ok(found)
}
