//! Checks out and builds revisions, each at the same path, and then moves each tree to its own path.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};
use steady_process::runner::{RunError, how};
use steady_process::{Scripts, git};

use super::overlay;
use super::paths;
use super::paths::quoted;
use super::repository::{Repository, Revision};
use super::submodules::{self, Submodule};
use crate::again::last_lines;
use crate::workspace::Workspace;

/// The directory of all builds. Its name is as long as the names of the directories where trees are stored, `revNN`.
const BUILD: &str = "build";

/// Builds revisions in a workspace.
pub(super) struct Builder<'a> {
    pub(super) repository: &'a Repository,
    pub(super) workspace: &'a Workspace,
    pub(super) scripts: Scripts,
    /// The shell command of `--build`.
    pub(super) build: Option<&'a str>,
    /// Whether the output of scripts is shown (`--show-output`).
    pub(super) shown: bool,
}

impl Builder<'_> {
    /// The path where every revision is built.
    pub(super) fn path(&self) -> PathBuf {
        self.workspace.path().join(BUILD)
    }

    /// Checks out and builds a revision, and moves its tree. Returns the directory in which its command runs.
    pub(super) fn tree(
        &mut self,
        index: usize,
        revision: &Revision,
        session: &dyn Session,
    ) -> Result<PathBuf, Failure> {
        let path = self.path();
        self.check_out(index, revision, &path, session)?;
        let directory = path.join(&self.repository.prefix);
        if !directory.is_dir() {
            return Err(Failure::Usage(format!(
                "{} has no directory '{}', the current directory",
                revision.label,
                self.repository.prefix.display()
            )));
        }
        if let Some(build) = self.build {
            let script = format!("cd {} && exec sh -c {}", quoted(&directory)?, shell_words::quote(build));
            self.run(index, &script).map_err(|what| match what {
                Failed::Script { how, output } => {
                    Failure::Usage(format!("the build of {} {how}{output}", revision.label))
                }
                Failed::Otherwise(failure) => failure,
            })?;
        }
        let stored = self.workspace.path().join(format!("rev{index:02}"));
        move_tree(&path, &stored)
            .and_then(|()| paths::redirect(&stored, &path, &stored))
            .map_err(|error| Failure::Own(format!("'{}': {error}", stored.display())))?;
        Ok(stored.join(&self.repository.prefix))
    }

    fn check_out(
        &mut self,
        index: usize,
        revision: &Revision,
        path: &Path,
        session: &dyn Session,
    ) -> Result<(), Failure> {
        let add = ["worktree", "add", "--quiet", "--detach"].join(" ");
        let add = format!("{add} {} {}", quoted(path)?, revision.commit);
        self.git(index, revision, &self.repository.root.clone(), &add)?;
        if revision.work {
            overlay::put(&self.repository.root, path, session)?;
        }
        self.check_out_submodules(index, revision, &self.repository.root.clone(), path, session)
    }

    fn check_out_submodules(
        &mut self,
        index: usize,
        revision: &Revision,
        from: &Path,
        tree: &Path,
        session: &dyn Session,
    ) -> Result<(), Failure> {
        for Submodule { name, path } in submodules::all(tree)? {
            let Some(source) = submodules::source(&self.repository.common, from, &name, &path) else {
                session.notice(&format!(
                    "the submodule '{}' of {} stays empty: it is not in this repository ('git submodule update --init' \
                     fetches it)",
                    path.display(),
                    revision.label
                ));
                continue;
            };
            self.git(index, revision, tree, &submodules::update(&name, &path, &source)?)?;
            self.check_out_submodules(index, revision, &source, &tree.join(&path), session)?;
        }
        Ok(())
    }

    /// Runs git as a script, because it may take long and must not outlive `steady`.
    fn git(&mut self, index: usize, revision: &Revision, directory: &Path, words: &str) -> Result<(), Failure> {
        let script = format!("exec git -C {} {} {words}", quoted(directory)?, git::OPTIONS.join(" "));
        self.run(index, &script).map_err(|what| match what {
            Failed::Script { output, .. } => {
                Failure::Usage(format!("{} could not be checked out{output}", revision.label))
            }
            Failed::Otherwise(failure) => failure,
        })
    }

    fn run(&mut self, index: usize, script: &str) -> Result<(), Failed> {
        let log = self.workspace.path().join("log");
        let redirection = match self.shown {
            true => String::new(),
            false => format!("exec >{} 2>&1\n", quoted(&log).map_err(Failed::Otherwise)?),
        };
        let script = format!("{redirection}unset {}\nexport GIT_TERMINAL_PROMPT=0\n{script}", git::LOCAL.join(" "));
        self.scripts.run(index, script).map_err(|error| match error {
            RunError::ScriptFailed { outcome, .. } => Failed::Script { how: how(&outcome), output: last_lines(&log) },
            RunError::Interrupted => Failed::Otherwise(Failure::Interrupted(0)),
            other => Failed::Otherwise(Failure::Own(other.to_string())),
        })
    }
}

/// Why a script did not succeed.
enum Failed {
    /// The script failed. `output` is a clause with its last lines, or empty.
    Script {
        how: String,
        output: String,
    },
    Otherwise(Failure),
}

/// Moves a tree, and updates its path in the repository (git-worktree(1): "If a working tree is moved manually").
fn move_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    let link = fs::read(to.join(".git"))?;
    let admin = link.trim_ascii_end().strip_prefix(b"gitdir: ").ok_or(io::ErrorKind::InvalidData)?;
    let admin = PathBuf::from(OsString::from_vec(admin.to_vec()));
    fs::write(admin.join("gitdir"), [to.join(".git").as_os_str().as_bytes(), b"\n"].concat())
}
