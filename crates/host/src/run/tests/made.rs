//! A simulated host: a tree of files, and a kernel that changes some of them when others are written.

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
use crate::run::access::HostAccess;
use crate::run::journal::Journal;

const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// A simulated host; its files are removed when it is dropped.
pub(super) struct SimulatedHost {
    top: PathBuf,
    root: Root,
    journal: Option<Journal>,
    boot: String,
    /// Number of steps until the process is killed.
    left: Option<u32>,
    /// Number of steps so far.
    pub(super) steps: u32,
    /// Whether the disk is full, so no journal can be written.
    pub(super) is_full: bool,
    /// The lowest rate that was requested for each policy.
    lowest: BTreeMap<String, u64>,
    /// The preferences that come back with a governor other than performance.
    preferences: BTreeMap<String, String>,
    /// The files of policies of offline CPUs.
    away: BTreeMap<String, String>,
    /// The highest rates with turbo. Without turbo, they are two thirds of these.
    highest: BTreeMap<String, u64>,
}

/// The panic that simulates a kill.
struct Killed;

impl SimulatedHost {
    /// Creates a host with these files.
    pub(super) fn new(files: &BTreeMap<String, String>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Preferably in memory, because tests create thousands of hosts.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let top = folder.join(format!("steady-host-{}-{number}", std::process::id()));
        for (file, text) in files {
            let path = top.join(file.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut host = SimulatedHost {
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
        for policy in host.policies() {
            let least = host.text(&format!("{policy}/scaling_min_freq")).trim().parse().unwrap_or(0);
            let most: u64 = host.text(&format!("{policy}/scaling_max_freq")).trim().parse().unwrap_or(0);
            let is_off = host.text("/sys/devices/system/cpu/intel_pstate/no_turbo").trim() == "1";
            host.highest.insert(policy.clone(), if is_off { most * 3 / 2 } else { most });
            let preference = host.text(&format!("{policy}/energy_performance_preference"));
            host.lowest.insert(policy.clone(), least);
            host.preferences.insert(policy, preference);
        }
        host
    }

    /// Creates a host from a recorded tree of files.
    pub(super) fn recorded(name: &str) -> Self {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trees").join(name);
        SimulatedHost::new(&texts(&top))
    }

    /// Returns all files that contain a value.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        let mut files = texts(&self.top);
        files.extend(self.away.clone());
        // This file contains no value.
        files.remove("/proc/sys/vm/drop_caches");
        files
    }

    pub(super) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.root.path(file)).unwrap_or_default()
    }

    /// Writes a file as another program would.
    pub(super) fn overwrite(&self, file: &str, text: &str) {
        fs::write(self.root.path(file), text).unwrap();
    }

    /// Adds a file that was not recorded.
    pub(super) fn add_file(&self, file: &str, text: &str) {
        fs::create_dir_all(self.root.path(file).parent().unwrap()).unwrap();
        self.overwrite(file, text);
    }

    /// Removes a file and returns its content.
    pub(super) fn hide(&self, file: &str) -> String {
        let text = self.text(file);
        fs::remove_file(self.root.path(file)).unwrap();
        text
    }

    /// Removes a directory with its files.
    pub(super) fn hide_folder(&self, folder: &str) {
        fs::remove_dir_all(self.root.path(folder)).unwrap();
    }

    /// Brings a removed file back.
    pub(super) fn unhide(&self, file: &str, text: String) {
        self.overwrite(file, &text);
    }

    pub(super) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Changes the ID of the boot, and nothing else.
    pub(super) fn reboot(&mut self) {
        self.boot.push('+');
    }

    /// Runs some code and kills it after so many steps. Returns whether it was killed.
    pub(super) fn killed_after<T>(&mut self, steps: u32, run: impl FnOnce(&mut SimulatedHost) -> T) -> bool {
        self.left = Some(steps);
        let ran = catch_unwind(AssertUnwindSafe(|| run(self)));
        self.left = None;
        match ran {
            Ok(_) => false,
            Err(why) if why.is::<Killed>() => true,
            Err(why) => resume_unwind(why),
        }
    }

    fn step(&mut self) {
        self.steps += 1;
        match &mut self.left {
            // This does not call the panic hook, so nothing is printed.
            Some(0) => resume_unwind(Box::new(Killed)),
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

    /// Reacts to a write as the kernel does.
    fn react(&mut self, file: &str, text: &str) -> io::Result<()> {
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
                // A value that is in effect stays as it was written, byte for byte.
                self.put(file, text);
                self.clamp(&policy, text);
            }
            "no_turbo" => {
                self.put(file, text);
                self.limit_to_turbo();
                // The lowest performance in percent is lowered, and stays so.
                let least = format!("{policy}/min_perf_pct");
                if word == "1" && self.text(&least).trim().parse().is_ok_and(|percent: u64| percent > 66) {
                    self.put(&least, "66\n");
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
                if word == "on" { self.bring_online() } else { self.take_offline() }
            }
            // Interrupt 7 cannot be moved.
            "smp_affinity_list" if file.contains("/irq/7/") => return Err(Errno::IO.into()),
            _ => self.put(file, text),
        }
        Ok(())
    }

    /// Gives all policies the highest rate that the turbo switch allows.
    fn limit_to_turbo(&self) {
        let is_off = self.text("/sys/devices/system/cpu/intel_pstate/no_turbo").trim() == "1";
        for policy in self.policies() {
            let most = self.highest[&policy];
            let most = if is_off { most * 2 / 3 } else { most };
            self.put(&format!("{policy}/scaling_max_freq"), &format!("{most}\n"));
            self.clamp(&policy, "");
        }
    }

    /// Limits the lowest rate of a policy to its highest rate.
    fn clamp(&self, policy: &str, as_written: &str) {
        let file = format!("{policy}/scaling_min_freq");
        let most = self.text(&format!("{policy}/scaling_max_freq")).trim().parse().unwrap_or(u64::MAX);
        let requested = self.lowest.get(policy).copied().unwrap_or(0);
        if requested > most {
            self.put(&file, &format!("{most}\n"));
        } else if as_written.trim().parse() != Ok(requested) && self.text(&file).trim().parse() != Ok(requested) {
            self.put(&file, &format!("{requested}\n"));
        }
    }

    /// Takes the second threads of cores offline. Their policies lose their files, and interrupts that only they served
    /// move for good.
    fn take_offline(&mut self) {
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

    fn bring_online(&mut self) {
        self.put("/sys/devices/system/cpu/online", "0-7\n");
        for (file, text) in std::mem::take(&mut self.away) {
            fs::create_dir_all(self.root.path(&file).parent().unwrap()).unwrap();
            self.put(&file, &text);
        }
        // The switch may have been changed while the policies were away.
        if self.root.path("/sys/devices/system/cpu/intel_pstate/no_turbo").exists() {
            self.limit_to_turbo();
        }
    }
}

impl Drop for SimulatedHost {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

impl HostAccess for SimulatedHost {
    fn root(&self) -> &Root {
        &self.root
    }

    fn write(&mut self, _: Knob, file: &str, text: &str) -> io::Result<()> {
        self.step();
        if !self.root.path(file).exists() {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.react(file, text)?;
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
        // A journal that cannot be parsed must fail here.
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

/// Returns all files below a directory, by their paths relative to it.
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
