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
    /// where nobody in it would call that. It stands at its entry, and again in the end, with the errno that it had.
    pub(super) fn load_locale(&mut self) -> Result<(), NotTaken> {
        let Some([set_locale, errno]) = self.locale_functions()? else { return Ok(()) };
        self.debuggee.clear_breakpoints().map_err(failed)?;
        // Where it stands is where the calls return to.
        self.debuggee.set_breakpoint(self.entry).map_err(failed)?;
        let errno = self.called(errno, [0, 0])?;
        let before = self.debuggee.word(errno).map_err(failed)?;
        // A constructor that has set a locale must find it again. What it set is loaded already.
        let current = self.called(set_locale, [ALL, 0])?;
        if current == 0 || self.debuggee.string(current).map_err(failed)? != b"C" {
            return Ok(());
        }
        let text = self.debuggee.registers().map_err(failed)?.stack() - BELOW;
        for locale in [0, u64::from(b'C')] {
            self.debuggee.write_word(text, locale).map_err(failed)?;
            let result = self.called(set_locale, [ALL, text])?;
            // A locale that is not there leaves the one that was.
            if result == 0 && locale != 0 {
                return Err(refused("its C library cannot set the locale back"));
            }
        }
        // An int: what lies behind it is another's.
        let after = self.debuggee.word(errno).map_err(failed)?;
        let word = after & !u64::from(u32::MAX) | before & u64::from(u32::MAX);
        self.debuggee.write_word(errno, word).map_err(failed)
    }

    /// What a function returns that it calls where it stands, at its entry.
    fn called(&mut self, function: u64, arguments: [u64; 2]) -> Result<u64, NotTaken> {
        let registers = self.debuggee.registers().map_err(failed)?;
        let stack = ((registers.stack() - BELOW) & !0xf) - 8;
        self.debuggee.write_word(stack, self.entry).map_err(failed)?;
        self.debuggee.set_registers(&registers.calling(function, arguments, stack)).map_err(failed)?;
        self.reach_entry()?;
        let result = self.debuggee.registers().map_err(failed)?.result();
        self.debuggee.set_registers(&registers).map_err(failed)?;
        Ok(result)
    }

    /// Whether the data of the locale are in one large file with those of many others, all of which is mapped.
    pub(super) fn has_large_locale(&self) -> Result<bool, NotTaken> {
        let maps = self.debuggee.maps().map_err(failed)?;
        Ok(maps.iter().any(|mapping| {
            mapping.length() > LARGE && mapping.file().is_some_and(|file| file.ends_with("locale-archive"))
        }))
    }

    /// setlocale(3) and what tells where errno is; nothing where nobody would call the one.
    fn locale_functions(&self) -> Result<Option<[u64; 2]>, NotTaken> {
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
