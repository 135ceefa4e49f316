//! Knobs: kernel files that can be set to make measurements on the host less noisy. Reads their values, knows their
//! quiet values, and checks whether this process may write them.

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
pub struct KnobFile {
    /// The knob that the file belongs to.
    pub knob: Knob,
    /// Path of the file, starting at `/`.
    pub file: String,
    /// Exact content of the file.
    pub value: String,
    /// Value for low noise, as it is written. An error means that the file does not accept such a value.
    pub quiet: Reading<String>,
    /// Other values that the kernel may set when other files of this knob are written.
    pub may_become: Vec<String>,
    /// Whether this process may write the file.
    pub may_write: Reading<()>,
}

impl KnobFile {
    /// Returns whether the file has its quiet value.
    pub fn is_quiet(&self) -> bool {
        self.quiet.as_ref().is_ok_and(|quiet| same(self.knob, &self.value, quiet))
    }

    /// Returns the value to write.
    ///
    /// # Errors
    /// The reason why the file cannot be set.
    pub fn settable(&self) -> Reading<&str> {
        // Without a value to write, rights make no difference.
        let quiet = self.quiet.as_deref().map_err(Clone::clone)?;
        self.may_write.clone().map(|()| quiet)
    }

    /// Returns whether root could set the file to another value, although this process may not.
    fn needs_root(&self) -> bool {
        !self.is_quiet() && self.settable().is_err_and(|absent| absent == file::only_root())
    }
}

/// A knob with all of its readable files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Name of the knob.
    pub knob: Knob,
    /// Files of the knob, in the order in which they must be written.
    pub settings: Vec<KnobFile>,
    /// Reason why there are no files.
    pub absent: Option<Absent>,
}

impl Found {
    fn none(knob: Knob, why: impl Into<String>) -> Self {
        Found { knob, settings: Vec::new(), absent: Some(Absent::because(why)) }
    }

    /// Makes a knob from the readable ones of `files`, each with its quiet value. If none is readable, the reason is
    /// the first error, or `why` if there are no files.
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
                Ok(value) => settings.push(KnobFile {
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

    /// Returns the files that make the host quiet, without those that only follow them.
    fn set(&self) -> impl Iterator<Item = &KnobFile> {
        self.settings.iter().filter(|setting| !only_follows(&setting.file))
    }

    /// Returns whether each file has its quiet value or has no other value that could be set.
    pub fn is_quiet(&self) -> bool {
        !self.settings.is_empty() && self.settings.iter().all(|setting| setting.is_quiet() || is_moot(setting))
    }

    /// Returns whether at least one file can be set.
    ///
    /// # Errors
    /// The reason why no file can be set; missing rights, if root could set one.
    pub fn settable(&self) -> Reading<()> {
        if let Some(absent) = &self.absent {
            return Err(absent.clone());
        }
        let open = || self.settings.iter().filter(|setting| !setting.is_quiet());
        let all = || self.set();
        let settable: Vec<Reading<&str>> = if open().next().is_some() {
            open().map(KnobFile::settable).collect()
        } else {
            all().map(KnobFile::settable).collect()
        };
        match settable.iter().find(|one| one.is_ok()) {
            Some(_) => Ok(()),
            None => Err(settable
                .into_iter()
                .filter_map(Result::err)
                .min_by_key(|absent| *absent != file::only_root())
                .unwrap_or_else(|| Absent::because("the knob has no file"))),
        }
    }

    /// Returns a summary of the knob.
    pub fn state(&self) -> KnobState {
        let values = |text: &dyn Fn(&KnobFile) -> Option<String>| {
            let mut all: Vec<String> = self.set().filter_map(text).collect();
            all.sort_unstable();
            all.dedup();
            /// Maximum number of different values to list.
            const MOST: usize = 4;
            let more = all.len().saturating_sub(MOST);
            all.truncate(MOST);
            if more > 0 {
                all.push(format!("{more} more"));
            }
            all.join(", ")
        };
        let why = || self.absent.clone().unwrap_or_else(|| Absent::because("the knob has no file"));
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
            needs_root: self.settable().is_err() && self.settings.iter().any(KnobFile::needs_root),
            files: self.set().map(|setting| setting.file.clone()).collect(),
        }
    }
}

/// Returns whether the file says that there is nothing to set: the CPU has no SMT, or SMT cannot be switched on again.
fn is_moot(setting: &KnobFile) -> bool {
    setting.knob == Knob::Smt && !matches!(setting.value.trim(), "on" | "off") && setting.quiet.is_err()
}

/// Reads a knob. If SMT will be switched off, interrupts must also avoid the second threads of cores.
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

/// Returns whether a knob may have this file. It prevents a modified journal from causing writes to other files.
pub fn is_of(knob: Knob, file: &str) -> bool {
    /// Files with a variable name between two fixed parts.
    const PLACES: [(Knob, &str, &str); 6] = [
        (Knob::Turbo, "/sys/devices/system/cpu/cpufreq/", "/boost"),
        (Knob::Governor, "/sys/devices/system/cpu/cpufreq/", "/scaling_governor"),
        (Knob::Epp, "/sys/devices/system/cpu/cpufreq/", "/energy_performance_preference"),
        (Knob::MinFrequency, "/sys/devices/system/cpu/cpufreq/", "/scaling_min_freq"),
        (Knob::IrqAffinity, "/proc/irq/", "/smp_affinity_list"),
        (Knob::Thp, "/sys/kernel/mm/transparent_hugepage/", "/enabled"),
    ];
    /// Files with fixed names.
    const WHOLE: [(Knob, &str); 10] = [
        (Knob::Turbo, clock_rate::NO_TURBO),
        (Knob::Turbo, clock_rate::LEAST_PERFORMANCE),
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

/// Returns whether a file is never set, but may change when others of its knob are written. Its quiet value is the
/// current one. It must be restored after the others.
pub fn only_follows(file: &str) -> bool {
    file == clock_rate::LEAST_PERFORMANCE
}

/// Returns whether the kernel may give a file of a knob another value than the one that was written: drivers round clock
/// rates to those that they support, and limit the lowest performance.
pub fn is_adjusted(knob: Knob, file: &str) -> bool {
    knob == Knob::MinFrequency || only_follows(file)
}

/// Returns the names in a directory that begin with `start`, sorted by their numbers.
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
