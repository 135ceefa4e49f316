//! Loading the locale's data ahead: most of what setlocale(3) costs is paid once, for the C library keeps them.

use super::super::taken::NotTaken;
use super::modules::{self, Module};
use super::{Taking, failed, refused};

/// `LC_ALL` of the GNU C library.
const ALL: u64 = 6;
/// So far below the stack's top the calls have their own: beyond what a function may use below its stack.
const BELOW: u64 = 4096;
/// More than this is too much for every snapshot to hold, in bytes.
const LARGE: u64 = 8 << 20;
/// What the GNU C library has alone.
const ITS_OWN: &str = "gnu_get_libc_version";

impl Taking {
    /// Has it call setlocale(3) twice, first with what the environment names and then with "C", as at its beginning; not
    /// where nobody in it would call that. It stands at its entry, and again in the end.
    pub(super) fn load_locale(&mut self) -> Result<(), NotTaken> {
        let Some(function) = self.locale_function()? else { return Ok(()) };
        let registers = self.debuggee.registers().map_err(failed)?;
        self.debuggee.clear_breakpoints().map_err(failed)?;
        // Where it stands is where the calls return to.
        self.debuggee.set_breakpoint(self.entry).map_err(failed)?;
        let text = registers.stack() - BELOW;
        let stack = (text & !0xf) - 8;
        for locale in [0, u64::from(b'C')] {
            self.debuggee.write_word(text, locale).map_err(failed)?;
            self.debuggee.write_word(stack, self.entry).map_err(failed)?;
            self.debuggee.set_registers(&registers.calling(function, [ALL, text], stack)).map_err(failed)?;
            self.reach_entry()?;
            let result = self.debuggee.registers().map_err(failed)?.result();
            // A locale that is not there leaves the one that was.
            if result == 0 && locale != 0 {
                return Err(refused("its C library cannot set the locale back"));
            }
        }
        self.debuggee.set_registers(&registers).map_err(failed)
    }

    /// Whether the data of the locale are in one large file with those of many others, all of which is mapped.
    pub(super) fn has_large_locale(&self) -> Result<bool, NotTaken> {
        let maps = self.debuggee.maps().map_err(failed)?;
        Ok(maps.iter().any(|mapping| {
            mapping.length() > LARGE && mapping.file().is_some_and(|file| file.ends_with("locale-archive"))
        }))
    }

    fn locale_function(&self) -> Result<Option<u64>, NotTaken> {
        let (mut wanted, mut given) = (false, None);
        for module in modules::all(&self.debuggee)? {
            if is_c_library(self, &module)? {
                given = module.function(&self.debuggee, "setlocale")?;
            } else {
                wanted = wanted || module.wants(&self.debuggee, "setlocale")?;
            }
        }
        Ok(given.filter(|_| wanted))
    }

    /// Whether `address` lies in the C library's own memory.
    pub(super) fn is_of_the_c_library(&self, address: u64) -> Result<bool, NotTaken> {
        for module in modules::all(&self.debuggee)? {
            if is_c_library(self, &module)? {
                return Ok(module.holds(address));
            }
        }
        Ok(false)
    }
}

fn is_c_library(taking: &Taking, module: &Module) -> Result<bool, NotTaken> {
    Ok(module.function(&taking.debuggee, ITS_OWN)?.is_some())
}
