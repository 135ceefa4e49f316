//! A store of snapshots for one test, and `steady warm` commands that use it.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::steady::{output_of, skip, steady};

/// A cache directory with its store, removed on drop.
pub(crate) struct TestEnv {
    folder: PathBuf,
    /// The value of XDG_CACHE_HOME.
    pub(crate) cache: PathBuf,
}

/// Returns an empty store, or `None` after reporting a skip where snapshots are not available.
pub(crate) fn available(test: &str) -> Option<TestEnv> {
    let env = TestEnv::new(test);
    let (_, _, stderr) = env.run(&["true"]);
    match stderr.contains("not available here") {
        true => {
            skip(test, stderr.trim());
            None
        }
        false => {
            assert!(within(10.0, || env.keepers() == 0), "the keeper does not end");
            env.clear();
            Some(env)
        }
    }
}

impl TestEnv {
    pub(crate) fn new(test: &str) -> Self {
        // `steady warm` rejects a store below a directory that others can write to, as the build directory may be.
        let folder = std::env::temp_dir().join(format!("steady-warm-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::DirBuilder::new().mode(0o700).create(&folder).expect("a directory can be created");
        TestEnv { cache: folder.join("cache"), folder }
    }

    /// Returns a directory for the files of the test.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the cache directory and with it the store.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.cache);
    }

    /// Returns a `steady` command that uses this store.
    pub(crate) fn steady(&self) -> Command {
        let mut command = steady();
        // Cargo sets LD_LIBRARY_PATH for tests.
        command.env("XDG_CACHE_HOME", &self.cache).env_remove("LD_PRELOAD").env_remove("LD_LIBRARY_PATH");
        command
    }

    /// Returns a command that runs under `steady warm`.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.steady();
        command.args(["warm", "--"]).args(args);
        command
    }

    /// Returns a shell command with the same environment.
    pub(crate) fn shell(&self, text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]).env("XDG_CACHE_HOME", &self.cache);
        command.env_remove("LD_PRELOAD").env_remove("LD_LIBRARY_PATH");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> (i32, String, String) {
        output_of(self.command(args).output().expect("steady starts"))
    }

    /// Creates the snapshot of a program.
    pub(crate) fn snapshot(&self, program: &str) {
        let (status, stdout, stderr) =
            output_of(self.steady().args(["warm", "snapshot", program]).output().expect("steady starts"));
        assert_eq!(status, 0, "{stdout}{stderr}");
    }

    /// Writes an executable script and returns its path.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("the script can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the script can be made executable");
        path.to_str().expect("the path is UTF-8").to_owned()
    }

    /// Returns the JSON of `steady warm status` for these programs, or for all if there are none.
    fn status_of(&self, programs: &[&str]) -> Value {
        let (status, stdout, stderr) = output_of(
            self.steady().args(["warm", "status", "--format", "json"]).args(programs).output().expect("steady starts"),
        );
        assert_eq!(status, 0, "{stderr}");
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }

    /// Returns the status of all programs as text, for messages.
    pub(crate) fn status(&self) -> String {
        self.status_of(&[]).to_string()
    }

    pub(crate) fn state(&self, program: &str) -> String {
        self.status_of(&[program])["programs"][0]["state"].as_str().expect("a program has a state").to_owned()
    }

    /// Returns the number of launches with this outcome.
    pub(crate) fn launches(&self, outcome: &str) -> u64 {
        let status = self.status_of(&[]);
        if status["store"].is_null() {
            0
        } else {
            status["store"]["launches"][outcome].as_u64().expect("launches are counted by outcome")
        }
    }

    /// Returns the directory of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.status_of(&[])["store"]["directory"].as_str().expect("the store has a directory").into()
    }

    /// Returns the process ids of the keepers of this store.
    pub(crate) fn keeper_processes(&self) -> Vec<i32> {
        let mark = self.cache.to_str().expect("the path is UTF-8").to_owned();
        let entries = fs::read_dir("/proc").expect("there is /proc").filter_map(Result::ok);
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_keeper = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains("warm-keeper") && line.contains(&mark)
        };
        numbers.filter(is_keeper).collect()
    }

    /// Returns the number of keepers of this store.
    pub(crate) fn keepers(&self) -> usize {
        self.keeper_processes().len()
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        // A keeper may still be writing.
        within(10.0, || self.keepers() == 0);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits up to this many seconds for `condition`.
pub(crate) fn within(seconds: f64, mut condition: impl FnMut() -> bool) -> bool {
    for _ in 0..(seconds * 20.0) as u32 {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    condition()
}
