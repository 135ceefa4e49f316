//! A store of a test's own, and `steady warm` in it.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::steady::{skip, steady, told};

/// A folder for stores; removed in the end.
pub(crate) struct Kept {
    folder: PathBuf,
    /// What is to be XDG_CACHE_HOME.
    pub(crate) cache: PathBuf,
}

/// A store, where programs can be kept warm; said aloud where not.
pub(crate) fn available(test: &str) -> Option<Kept> {
    let kept = Kept::new(test);
    let (_, _, stderr) = kept.run(&["true"]);
    match stderr.contains("not available here") {
        true => {
            skip(test, stderr.trim());
            None
        }
        false => {
            assert!(within(10.0, || kept.keepers() == 0), "the keeper stays");
            kept.forget();
            Some(kept)
        }
    }
}

impl Kept {
    pub(crate) fn new(test: &str) -> Self {
        // Not in the build's folder, which others may be allowed to write to.
        let folder = std::env::temp_dir().join(format!("steady-warm-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::DirBuilder::new().mode(0o700).create(&folder).expect("there is room for a folder");
        Kept { cache: folder.join("cache"), folder }
    }

    /// A folder for the test's own files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes all that is kept.
    pub(crate) fn forget(&self) {
        let _ = fs::remove_dir_all(&self.cache);
    }

    /// A call of `steady` with this store.
    pub(crate) fn steady(&self) -> Command {
        let mut command = steady();
        // Cargo tells the tests' loader where libraries are.
        command.env("XDG_CACHE_HOME", &self.cache).env_remove("LD_PRELOAD").env_remove("LD_LIBRARY_PATH");
        command
    }

    /// A command, kept warm.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.steady();
        command.args(["warm", "--"]).args(words);
        command
    }

    /// A shell with the same environment.
    pub(crate) fn shell(&self, text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]).env("XDG_CACHE_HOME", &self.cache);
        command.env_remove("LD_PRELOAD").env_remove("LD_LIBRARY_PATH");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> (i32, String, String) {
        told(self.command(words).output().expect("steady starts"))
    }

    /// Takes a program now.
    pub(crate) fn snapshot(&self, program: &str) {
        let (status, stdout, stderr) =
            told(self.steady().args(["warm", "snapshot", program]).output().expect("steady starts"));
        assert_eq!(status, 0, "{stdout}{stderr}");
    }

    /// A script that can be executed.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("there is room");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        path.to_str().expect("it is text").to_owned()
    }

    /// What is told of these programs, or of all.
    fn told(&self, programs: &[&str]) -> Value {
        let (status, stdout, stderr) = told(
            self.steady().args(["warm", "status", "--format", "json"]).args(programs).output().expect("steady starts"),
        );
        assert_eq!(status, 0, "{stderr}");
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }

    /// All that is told, for messages.
    pub(crate) fn status(&self) -> String {
        self.told(&[]).to_string()
    }

    pub(crate) fn state(&self, program: &str) -> String {
        self.told(&[program])["programs"][0]["state"].as_str().expect("it has a state").to_owned()
    }

    /// How many launches went that way.
    pub(crate) fn launches(&self, outcome: &str) -> u64 {
        let told = self.told(&[]);
        if told["store"].is_null() { 0 } else { told["store"]["launches"][outcome].as_u64().expect("it is counted") }
    }

    /// The store's folder.
    pub(crate) fn store(&self) -> PathBuf {
        self.told(&[])["store"]["folder"].as_str().expect("there is one").into()
    }

    /// The keepers of this store.
    pub(crate) fn keeper_processes(&self) -> Vec<i32> {
        let mark = self.cache.to_str().expect("it is text").to_owned();
        let entries = fs::read_dir("/proc").expect("there is /proc").filter_map(Result::ok);
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let keeps = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains("warm-keeper") && line.contains(&mark)
        };
        numbers.filter(keeps).collect()
    }

    pub(crate) fn keepers(&self) -> usize {
        self.keeper_processes().len()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // A keeper may still be writing.
        within(10.0, || self.keepers() == 0);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether a condition comes true within so many seconds.
pub(crate) fn within(seconds: f64, mut condition: impl FnMut() -> bool) -> bool {
    for _ in 0..(seconds * 20.0) as u32 {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    condition()
}
