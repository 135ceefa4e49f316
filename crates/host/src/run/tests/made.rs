//! A host that does not exist: a tree of files, and a kernel that moves some of them when others are written.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use steady_linux::Root;
use steady_model::{Knob, Timestamp};

use crate::run::HostError;
use crate::run::hand::Hand;
use crate::run::journal::Journal;

const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// A host of this test's own, removed at its end.
pub(super) struct Made {
    top: PathBuf,
    root: Root,
    journal: Option<Journal>,
    boot: String,
    /// How many steps are left to live.
    left: Option<u32>,
    /// How many were made.
    pub(super) steps: u32,
    /// Whether the disk has no room for a journal.
    pub(super) is_full: bool,
    /// What policies were asked for as their lowest rate.
    lowest: BTreeMap<String, u64>,
    /// The preferences that come back with another governor than performance.
    preferences: BTreeMap<String, String>,
    /// What policies of CPUs that are off have in their files.
    away: BTreeMap<String, String>,
    /// The highest rates with turbo; without it they are two thirds of these.
    highest: BTreeMap<String, u64>,
}

/// Why a run of code ended early.
struct Died;

impl Made {
    /// A host with these files.
    pub(super) fn new(files: &BTreeMap<String, String>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // In memory where that can be had: there are thousands of them.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let top = folder.join(format!("steady-host-{}-{number}", std::process::id()));
        for (file, text) in files {
            let path = top.join(file.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut made = Made {
            root: Root::at(&top),
            top,
            journal: None,
            boot: "one".to_owned(),
            left: None,
            steps: 0,
            is_full: false,
            lowest: BTreeMap::new(),
            preferences: BTreeMap::new(),
            away: BTreeMap::new(),
            highest: BTreeMap::new(),
        };
        for policy in made.policies() {
            let least = made.text(&format!("{policy}/scaling_min_freq")).trim().parse().unwrap_or(0);
            let most: u64 = made.text(&format!("{policy}/scaling_max_freq")).trim().parse().unwrap_or(0);
            let is_off = made.text("/sys/devices/system/cpu/intel_pstate/no_turbo").trim() == "1";
            made.highest.insert(policy.clone(), if is_off { most * 3 / 2 } else { most });
            let preference = made.text(&format!("{policy}/energy_performance_preference"));
            made.lowest.insert(policy.clone(), least);
            made.preferences.insert(policy, preference);
        }
        made
    }

    /// A recorded tree.
    pub(super) fn recorded(name: &str) -> Self {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trees").join(name);
        Made::new(&texts(&top))
    }

    /// All of its files that hold a value.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        let mut files = texts(&self.top);
        files.extend(self.away.clone());
        // It holds none.
        files.remove("/proc/sys/vm/drop_caches");
        files
    }

    pub(super) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.root.path(file)).unwrap_or_default()
    }

    /// Somebody else writes a file.
    pub(super) fn overwrite(&self, file: &str, text: &str) {
        fs::write(self.root.path(file), text).unwrap();
    }

    /// A file that was not recorded.
    pub(super) fn grow(&self, file: &str, text: &str) {
        fs::create_dir_all(self.root.path(file).parent().unwrap()).unwrap();
        self.overwrite(file, text);
    }

    /// Takes a file away; what was in it.
    pub(super) fn hide(&self, file: &str) -> String {
        let text = self.text(file);
        fs::remove_file(self.root.path(file)).unwrap();
        text
    }

    /// Has it there again.
    pub(super) fn unhide(&self, file: &str, text: String) {
        self.overwrite(file, &text);
    }

    pub(super) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// The kernel starts again, and so does nothing else.
    pub(super) fn reboot(&mut self) {
        self.boot.push('+');
    }

    /// Runs some code that is killed after so many steps; whether it was.
    pub(super) fn killed_after<T>(&mut self, steps: u32, run: impl FnOnce(&mut Made) -> T) -> bool {
        self.left = Some(steps);
        let ran = catch_unwind(AssertUnwindSafe(|| run(self)));
        self.left = None;
        match ran {
            Ok(_) => false,
            Err(why) if why.is::<Died>() => true,
            Err(why) => resume_unwind(why),
        }
    }

    fn step(&mut self) {
        self.steps += 1;
        match &mut self.left {
            // Without the hook of a panic: nothing is printed.
            Some(0) => resume_unwind(Box::new(Died)),
            Some(left) => *left -= 1,
            None => {}
        }
    }

    fn policies(&self) -> Vec<String> {
        let read = fs::read_dir(self.root.path(CPUFREQ)).into_iter().flatten();
        let names = read.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| name.starts_with("policy")).map(|name| format!("{CPUFREQ}/{name}")).collect()
    }

    fn put(&self, file: &str, text: &str) {
        fs::write(self.root.path(file), text).unwrap();
    }

    /// What a kernel does with what is written.
    fn obey(&mut self, file: &str, text: &str) -> io::Result<()> {
        let word = text.trim().to_owned();
        let policy = file.rsplit_once('/').map_or("", |(policy, _)| policy).to_owned();
        match file.rsplit('/').next().unwrap_or_default() {
            "energy_performance_preference" => {
                let governor = self.text(&format!("{policy}/scaling_governor"));
                if governor.trim() == "performance" && word != "performance" {
                    return Err(Errno::BUSY.into());
                }
                self.put(file, text);
                self.preferences.insert(policy, text.to_owned());
            }
            "scaling_governor" => {
                self.put(file, text);
                let preference = format!("{policy}/energy_performance_preference");
                if self.root.path(&preference).exists() {
                    let kept = self.preferences.get(&policy).cloned().unwrap_or_default();
                    let now = if word == "performance" { "performance\n" } else { kept.as_str() };
                    self.put(&preference, now);
                }
            }
            "scaling_min_freq" => {
                self.lowest.insert(policy.clone(), word.parse().map_err(|_| io::Error::from(Errno::INVAL))?);
                // A text that says what holds is left as it was written.
                self.put(file, text);
                self.clamp(&policy, text);
            }
            "no_turbo" => {
                self.put(file, text);
                for policy in self.policies() {
                    let most = self.highest[&policy];
                    let most = if word == "1" { most * 2 / 3 } else { most };
                    self.put(&format!("{policy}/scaling_max_freq"), &format!("{most}\n"));
                    self.clamp(&policy, "");
                }
            }
            "boost" => {
                self.put(file, text);
                if policy == CPUFREQ {
                    let each = self.policies().into_iter().map(|policy| format!("{policy}/boost"));
                    each.filter(|file| self.root.path(file).exists()).for_each(|file| self.put(&file, text));
                }
            }
            "control" => {
                self.put(file, text);
                if word == "on" { self.plug() } else { self.unplug() }
            }
            // Number 7 cannot be moved.
            "smp_affinity_list" if file.contains("/irq/7/") => return Err(Errno::IO.into()),
            _ => self.put(file, text),
        }
        Ok(())
    }

    /// The lowest rate is no higher than the highest.
    fn clamp(&self, policy: &str, as_written: &str) {
        let file = format!("{policy}/scaling_min_freq");
        let most = self.text(&format!("{policy}/scaling_max_freq")).trim().parse().unwrap_or(u64::MAX);
        let asked = self.lowest.get(policy).copied().unwrap_or(0);
        if asked > most {
            self.put(&file, &format!("{most}\n"));
        } else if as_written.trim().parse() != Ok(asked) && self.text(&file).trim().parse() != Ok(asked) {
            self.put(&file, &format!("{asked}\n"));
        }
    }

    /// Second threads go: their policies have no values, and interrupts that were theirs alone go elsewhere for good.
    fn unplug(&mut self) {
        self.put("/sys/devices/system/cpu/online", "0-3\n");
        for cpu in 4..8 {
            let policy = format!("{CPUFREQ}/policy{cpu}");
            for (name, text) in texts(&self.root.path(&policy)) {
                self.away.insert(format!("{policy}{name}"), text);
            }
            let _ = fs::remove_dir_all(self.root.path(&policy));
        }
        for number in 0..200 {
            let file = format!("/proc/irq/{number}/smp_affinity_list");
            if matches!(self.text(&file).trim(), "4" | "5" | "6" | "7" | "4-7") {
                self.put(&file, "0-3\n");
            }
        }
    }

    fn plug(&mut self) {
        self.put("/sys/devices/system/cpu/online", "0-7\n");
        for (file, text) in std::mem::take(&mut self.away) {
            fs::create_dir_all(self.root.path(&file).parent().unwrap()).unwrap();
            self.put(&file, &text);
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

impl Hand for Made {
    fn root(&self) -> &Root {
        &self.root
    }

    fn write(&mut self, _: Knob, file: &str, text: &str) -> io::Result<()> {
        self.step();
        if !self.root.path(file).exists() {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.obey(file, text)?;
        self.step();
        Ok(())
    }

    fn boot_id(&self) -> Result<String, HostError> {
        Ok(self.boot.clone())
    }

    fn now(&self) -> Timestamp {
        Timestamp(1)
    }

    fn load(&mut self) -> Result<(Option<Journal>, Vec<String>), HostError> {
        self.journal = self.journal.take().filter(|journal| journal.boot_id == self.boot);
        Ok((self.journal.clone(), Vec::new()))
    }

    fn save(&mut self, journal: &Journal) -> io::Result<()> {
        self.step();
        if self.is_full {
            return Err(Errno::NOSPC.into());
        }
        // As the file does: what is not to be read back is not kept.
        self.journal = Some(Journal::parse(&journal.text()).unwrap());
        self.step();
        Ok(())
    }

    fn forget(&mut self) -> io::Result<()> {
        self.step();
        self.journal = None;
        self.step();
        Ok(())
    }
}

/// All files below a folder, by their paths below it.
fn texts(top: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                found.insert(format!("/{}", path.strip_prefix(top).unwrap().display()), text);
            }
        }
    }
    found
}
