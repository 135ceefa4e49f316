//! Loads the locale's data before the capture. Most of the cost of setlocale(3) is then paid once, because the C
//! library keeps the data.

use super::super::captured::NotCaptured;
use super::modules::{self, Module};
use super::{Capture, failed, refused};

/// `LC_ALL` of the GNU C library.
const ALL: u64 = 6;
/// Distance of the calls' stack from the program's stack pointer, in bytes. It exceeds the red zone.
const BELOW: u64 = 4096;
/// Locale archives larger than this are not loaded, in bytes, because every snapshot would contain them.
const LARGE: u64 = 8 << 20;
/// A function that only the GNU C library has.
const GLIBC_FUNCTION: &str = "gnu_get_libc_version";

impl Capture {
    /// Calls setlocale(3) twice in the program: with the locale of the environment, and then with "C", as at the start.
    /// Does nothing if no module imports setlocale(3). The program stands at its entry point before and after, with the
    /// same errno.
    pub(super) fn load_locale(&mut self) -> Result<(), NotCaptured> {
        let Some([set_locale, errno]) = self.locale_functions()? else { return Ok(()) };
        self.debuggee.clear_breakpoints().map_err(failed)?;
        // The calls return to the entry point.
        self.debuggee.set_breakpoint(self.entry).map_err(failed)?;
        let errno = self.called(errno, [0, 0])?;
        let before = self.debuggee.word(errno).map_err(failed)?;
        // If a constructor has set a locale, it must not be changed. Its data is loaded already.
        let current = self.called(set_locale, [ALL, 0])?;
        if current == 0 || self.debuggee.string(current).map_err(failed)? != b"C" {
            return Ok(());
        }
        let text = self.debuggee.registers().map_err(failed)?.stack() - BELOW;
        for locale in [0, u64::from(b'C')] {
            self.debuggee.write_word(text, locale).map_err(failed)?;
            let result = self.called(set_locale, [ALL, text])?;
            // If the locale of the environment does not exist, the current one stays.
            if result == 0 && locale != 0 {
                return Err(refused("its C library cannot restore the locale"));
            }
        }
        // errno is an int, so the upper half of the word belongs to another variable.
        let after = self.debuggee.word(errno).map_err(failed)?;
        let word = after & !u64::from(u32::MAX) | before & u64::from(u32::MAX);
        self.debuggee.write_word(errno, word).map_err(failed)
    }

    /// Calls a function in the program at its entry point, and returns the result.
    fn called(&mut self, function: u64, arguments: [u64; 2]) -> Result<u64, NotCaptured> {
        let registers = self.debuggee.registers().map_err(failed)?;
        let stack = ((registers.stack() - BELOW) & !0xf) - 8;
        self.debuggee.write_word(stack, self.entry).map_err(failed)?;
        self.debuggee.set_registers(&registers.calling(function, arguments, stack)).map_err(failed)?;
        self.reach_entry()?;
        let result = self.debuggee.registers().map_err(failed)?.result();
        self.debuggee.set_registers(&registers).map_err(failed)?;
        Ok(result)
    }

    /// Returns whether a large file with the data of many locales is mapped.
    pub(super) fn has_large_locale(&self) -> Result<bool, NotCaptured> {
        let maps = self.debuggee.maps().map_err(failed)?;
        Ok(maps.iter().any(|mapping| {
            mapping.length() > LARGE && mapping.file().is_some_and(|file| file.ends_with("locale-archive"))
        }))
    }

    /// Returns the addresses of setlocale(3) and of `__errno_location`; `None` if no module imports setlocale(3).
    fn locale_functions(&self) -> Result<Option<[u64; 2]>, NotCaptured> {
        let (mut wanted, mut given) = (false, None);
        for module in modules::all(&self.debuggee)? {
            if is_c_library(self, &module)? {
                let functions = ["setlocale", "__errno_location"].map(|name| module.function(&self.debuggee, name));
                let [set_locale, errno] = functions;
                given = set_locale?.zip(errno?).map(<[u64; 2]>::from);
            } else {
                wanted = wanted || module.wants(&self.debuggee, "setlocale")?;
            }
        }
        Ok(given.filter(|_| wanted))
    }

    /// Returns whether `address` is in the C library's own memory.
    pub(super) fn is_of_the_c_library(&self, address: u64) -> Result<bool, NotCaptured> {
        for module in modules::all(&self.debuggee)? {
            if is_c_library(self, &module)? {
                return Ok(module.holds(address));
            }
        }
        Ok(false)
    }
}

fn is_c_library(capture: &Capture, module: &Module) -> Result<bool, NotCaptured> {
    Ok(module.function(&capture.debuggee, GLIBC_FUNCTION)?.is_some())
}
