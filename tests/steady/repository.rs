//! A git repository for tests of revisions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{output_of, scratch, steady};

/// A git repository for one test, and a directory for the work trees that `steady` creates.
pub(crate) struct Repository {
    pub(crate) folder: PathBuf,
}

impl Repository {
    pub(crate) fn new(name: &str) -> Self {
        let folder = scratch(name);
        fs::create_dir_all(folder.join("repo")).unwrap();
        fs::create_dir_all(folder.join("tmp")).unwrap();
        let repository = Repository { folder };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    /// Returns the work tree of the repository itself.
    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.join("repo")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.repo(), args)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.repo().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Returns a `steady` command that starts in the directory `below` of the repository.
    pub(crate) fn steady(&self, below: &str, args: &[&str]) -> Command {
        let mut command = steady();
        command.current_dir(self.repo().join(below)).env("TMPDIR", self.folder.join("tmp")).args(args);
        command
    }

    /// The same for `steady compare`.
    pub(crate) fn compare(&self, below: &str, args: &[&str]) -> Command {
        self.steady(below, &[&["compare"], args].concat())
    }

    pub(crate) fn run(&self, args: &[&str]) -> (i32, String, String) {
        output_of(self.compare("", args).output().unwrap())
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let (status, stdout, stderr) = self.run(&[&["--format", "json"], args].concat());
        assert_eq!(status, 0, "{stderr}");
        serde_json::from_str(&stdout).unwrap()
    }

    /// Returns the files that `steady` has left in its directory, and the work trees that git lists in addition to the
    /// main one. Returns `None` while git adds a work tree, because `git worktree list` cannot read an incomplete one.
    pub(crate) fn leftovers_unless_busy(&self) -> Option<Vec<String>> {
        let made = fs::read_dir(self.folder.join("tmp"))
            .unwrap()
            .flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
        let mut left: Vec<String> = made.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.retain(|name| name != "lock");
        let trees = Command::new("git").arg("-C").arg(self.repo()).args(["worktree", "list", "--porcelain"]).output();
        let trees = trees.ok().filter(|output| output.status.success())?;
        let trees = String::from_utf8(trees.stdout).unwrap();
        left.extend(trees.split("\n\n").filter(|tree| !tree.is_empty()).skip(1).map(str::to_owned));
        Some(left)
    }

    pub(crate) fn leftovers(&self) -> Vec<String> {
        self.leftovers_unless_busy().expect("git lists its work trees")
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        // A failure is harmless, because the directory is in the build directory.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"];
    let output = Command::new("git").arg("-C").arg(directory).args(identity).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a script that loops `turns` times.
pub(crate) fn busy(turns: u32) -> String {
    format!("#!/bin/sh\ni=0; while [ $i -lt {turns} ]; do i=$((i+1)); done\n")
}
