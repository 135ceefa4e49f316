//! Knobs: files of the kernel's that can be set so that the host is steadier. What is in them, what would steady, and
//! whether it may be written there.

mod clock_rate;
mod file;
mod interrupts;
mod kernel;

use steady_model::{Absent, Knob, KnobState, Reading};

use crate::Root;

pub use file::{fitting, read, same, to_write, write};
pub use interrupts::{online_after_smt, stranded};

/// One file of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The knob.
    pub knob: Knob,
    /// The file, from the root on.
    pub file: String,
    /// What is in it, to the byte.
    pub value: String,
    /// What would steady, as it is written; absent where the file does not take such a value.
    pub quiet: Reading<String>,
    /// What else the kernel may make of it when other files of the knob are written.
    pub may_become: Vec<String>,
    /// Whether this process may write it.
    pub may_write: Reading<()>,
}

impl Setting {
    /// Whether it has the value that steadies.
    pub fn is_quiet(&self) -> bool {
        self.quiet.as_ref().is_ok_and(|quiet| same(self.knob, &self.value, quiet))
    }

    /// What would be written, or why nothing can be.
    ///
    /// # Errors
    /// Why it cannot be set.
    pub fn settable(&self) -> Reading<&str> {
        self.may_write.clone()?;
        self.quiet.as_deref().map_err(Clone::clone)
    }
}

/// A knob with all of its files that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The knob.
    pub knob: Knob,
    /// Its files, in the order in which they are to be written.
    pub settings: Vec<Setting>,
    /// Why there are none.
    pub absent: Option<Absent>,
}

impl Found {
    fn none(knob: Knob, why: impl Into<String>) -> Self {
        Found { knob, settings: Vec::new(), absent: Some(Absent::because(why)) }
    }

    /// Those of `files` that can be read, each with what would steady it; where there is none, `why`.
    fn of(
        root: &Root,
        knob: Knob,
        files: impl IntoIterator<Item = String>,
        quiet: impl Fn(&str, &str) -> Reading<String>,
        why: &str,
    ) -> Self {
        let mut refused = None;
        let mut settings = Vec::new();
        for file in files {
            match read(root, &file) {
                Ok(value) => settings.push(Setting {
                    knob,
                    quiet: quiet(&file, &value),
                    may_become: Vec::new(),
                    may_write: file::may_write(root, &file),
                    value,
                    file,
                }),
                Err(absent) => refused = refused.or(Some(absent)),
            }
        }
        let absent = settings.is_empty().then(|| refused.unwrap_or_else(|| Absent::because(why)));
        Found { knob, settings, absent }
    }

    /// Whether all of its files have the value that steadies, or there is nothing that it could be set to.
    pub fn is_quiet(&self) -> bool {
        !self.settings.is_empty() && self.settings.iter().all(|setting| setting.is_quiet() || is_moot(setting))
    }

    /// Whether any of its files can be set, or why none can.
    ///
    /// # Errors
    /// Why it cannot be set.
    pub fn settable(&self) -> Reading<()> {
        if let Some(absent) = &self.absent {
            return Err(absent.clone());
        }
        let open = || self.settings.iter().filter(|setting| !setting.is_quiet());
        let all = || self.settings.iter();
        let asked: Vec<Reading<&str>> = if open().next().is_some() {
            open().map(Setting::settable).collect()
        } else {
            all().map(Setting::settable).collect()
        };
        match asked.iter().find(|one| one.is_ok()) {
            Some(_) => Ok(()),
            None => Err(asked.into_iter().find_map(Result::err).unwrap_or_else(|| Absent::because("it has no file"))),
        }
    }

    /// It in short.
    pub fn state(&self) -> KnobState {
        let values = |text: &dyn Fn(&Setting) -> Option<String>| {
            let mut all: Vec<String> = self.settings.iter().filter_map(text).collect();
            all.sort_unstable();
            all.dedup();
            /// More different values are not listed.
            const MOST: usize = 4;
            let more = all.len().saturating_sub(MOST);
            all.truncate(MOST);
            if more > 0 {
                all.push(format!("{more} more"));
            }
            all.join(", ")
        };
        let why = || self.absent.clone().unwrap_or_else(|| Absent::because("it has no file"));
        let quiet = values(&|setting| setting.quiet.as_ref().ok().map(|quiet| file::shown(self.knob, quiet)));
        let no_quiet = || self.settings.iter().find_map(|setting| setting.quiet.clone().err()).unwrap_or_else(why);
        KnobState {
            knob: self.knob,
            value: if self.settings.is_empty() {
                Err(why())
            } else {
                Ok(values(&|setting| Some(file::shown(self.knob, &setting.value))))
            },
            quiet_value: if quiet.is_empty() { Err(no_quiet()) } else { Ok(quiet) },
            is_quiet: self.is_quiet(),
            settable: self.settable(),
            files: self.settings.iter().map(|setting| setting.file.clone()).collect(),
        }
    }
}

/// Whether a file says that there is nothing to set: the CPU has no second threads, or they cannot be had again.
fn is_moot(setting: &Setting) -> bool {
    setting.knob == Knob::Smt && !matches!(setting.value.trim(), "on" | "off") && setting.quiet.is_err()
}

/// A knob as it is now. Interrupts have to keep off second threads where SMT is about to go off.
pub fn find(root: &Root, knob: Knob, smt_goes_off: bool) -> Found {
    match knob {
        Knob::Turbo => clock_rate::turbo(root),
        Knob::Governor => clock_rate::governor(root),
        Knob::Epp => clock_rate::epp(root),
        Knob::MinFrequency => clock_rate::min_frequency(root),
        Knob::Smt => kernel::smt(root),
        Knob::Aslr => kernel::aslr(root),
        Knob::NmiWatchdog => kernel::nmi_watchdog(root),
        Knob::PerfSampleRate => kernel::perf_sample_rate(root),
        Knob::IrqAffinity => interrupts::affinity(root, smt_goes_off),
        Knob::Thp => kernel::huge_pages(root),
        Knob::Swap => kernel::swap(root),
        Knob::Caches => kernel::caches(root),
    }
}

/// Whether a file is one that a knob may stand for: a journal is no way to have other files written.
pub fn is_of(knob: Knob, file: &str) -> bool {
    /// What stands between the two parts is one name.
    const PLACES: [(Knob, &str, &str); 6] = [
        (Knob::Turbo, "/sys/devices/system/cpu/cpufreq/", "/boost"),
        (Knob::Governor, "/sys/devices/system/cpu/cpufreq/", "/scaling_governor"),
        (Knob::Epp, "/sys/devices/system/cpu/cpufreq/", "/energy_performance_preference"),
        (Knob::MinFrequency, "/sys/devices/system/cpu/cpufreq/", "/scaling_min_freq"),
        (Knob::IrqAffinity, "/proc/irq/", "/smp_affinity_list"),
        (Knob::Thp, "/sys/kernel/mm/transparent_hugepage/", "/enabled"),
    ];
    const WHOLE: [(Knob, &str); 9] = [
        (Knob::Turbo, clock_rate::NO_TURBO),
        (Knob::Turbo, clock_rate::BOOST),
        (Knob::Smt, kernel::SMT),
        (Knob::Aslr, kernel::ASLR),
        (Knob::NmiWatchdog, kernel::NMI_WATCHDOG),
        (Knob::PerfSampleRate, kernel::SAMPLE_RATE),
        (Knob::Thp, kernel::HUGE_PAGES),
        (Knob::Swap, kernel::SWAPPINESS),
        (Knob::Caches, kernel::DROP_CACHES),
    ];
    let between = |start: &str, end: &str| {
        let name = file.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
        name.is_some_and(|name| !name.is_empty() && !name.contains('/') && !name.starts_with('.'))
    };
    WHOLE.iter().any(|(of, whole)| *of == knob && *whole == file)
        || PLACES.iter().any(|(of, start, end)| *of == knob && between(start, end))
}

/// The names in a directory that begin so, by their numbers.
fn entries(root: &Root, directory: &str, start: &str) -> Vec<String> {
    let read = std::fs::read_dir(root.path(directory));
    let names = read.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(start)).collect();
    names.sort_by_key(|name| {
        let digits: String = name.chars().filter(char::is_ascii_digit).collect();
        (digits.parse::<u64>().unwrap_or(u64::MAX), name.clone())
    });
    names
}

#[cfg(test)]
mod tests;
