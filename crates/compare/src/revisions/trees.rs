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
use crate::again::{last_lines, listed};
use crate::workspace::Workspace;

/// The directory of all builds. Its name is as long as the names of the directories where trees are stored, `revNN`.
pub(super) const BUILD: &str = "build";

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
    /// Checks out and builds a revision, and moves its tree. Returns the directory in which its command runs.
    pub(super) fn tree(&mut self, name: &str, revision: &Revision, session: &dyn Session) -> Result<PathBuf, NotBuilt> {
        let path = self.workspace.path().join(BUILD);
        self.check_out(revision, &path, session)?;
        let directory = path.join(&self.repository.prefix);
        if !directory.is_dir() {
            return Err(NotBuilt::Revision(format!(
                "{} has no directory '{}', the current directory",
                revision.label,
                self.repository.prefix.display()
            )));
        }
        self.build_in(&directory, revision)?;
        let stored = self.workspace.path().join(name);
        store(&path, &stored)?;
        Ok(stored.join(&self.repository.prefix))
    }

    /// Builds a tree again, at the path of its first build.
    pub(super) fn rebuild(&mut self, name: &str, revision: &Revision) -> Result<(), NotBuilt> {
        let (path, stored) = (self.workspace.path().join(BUILD), self.workspace.path().join(name));
        store(&stored, &path)?;
        let built = self.build_in(&path.join(&self.repository.prefix), revision);
        store(&path, &stored)?;
        built
    }

    /// Runs the build, if there is one.
    fn build_in(&mut self, directory: &Path, revision: &Revision) -> Result<(), NotBuilt> {
        if let Some(build) = self.build {
            let script = format!("cd {} && exec sh -c {}", quoted(directory)?, shell_words::quote(build));
            let log = self.workspace.path().join("log");
            self.run(&script, Some(&log)).map_err(|what| match what {
                Failed::Script { how, output } => {
                    NotBuilt::Revision(format!("the build of {} {how}{output}", revision.label))
                }
                Failed::Otherwise(failure) => NotBuilt::Other(failure),
            })?;
        }
        Ok(())
    }

    fn check_out(&mut self, revision: &Revision, path: &Path, session: &dyn Session) -> Result<(), NotBuilt> {
        let add = ["worktree", "add", "--quiet", "--detach"].join(" ");
        let add = format!("{add} {} {}", quoted(path)?, revision.commit);
        self.git(revision, &self.repository.root.clone(), &add)?;
        if revision.work {
            overlay::put(&self.repository.root, &revision.commit, path, session)?;
        }
        self.check_out_submodules(revision, &self.repository.root.clone(), path, session)
    }

    fn check_out_submodules(
        &mut self,
        revision: &Revision,
        from: &Path,
        tree: &Path,
        session: &dyn Session,
    ) -> Result<(), NotBuilt> {
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
            self.git(revision, tree, &submodules::update(&name, &path, &source)?)?;
            self.check_out_submodules(revision, &source, &tree.join(&path), session)?;
        }
        Ok(())
    }

    /// Runs git as a script, because it may take long and must not outlive `steady`.
    fn git(&mut self, revision: &Revision, directory: &Path, words: &str) -> Result<(), NotBuilt> {
        let script = format!("exec git -C {} {} {words}", quoted(directory)?, git::OPTIONS.join(" "));
        // The disk may be full, so git writes to no file.
        self.run(&script, None).map_err(|what| match what {
            Failed::Script { output, .. } => {
                NotBuilt::Revision(format!("{} could not be checked out{output}", revision.label))
            }
            Failed::Otherwise(failure) => NotBuilt::Other(failure),
        })
    }

    /// Runs a script. If its output is not shown, it is in the file `log`, or only its end is kept.
    fn run(&mut self, script: &str, log: Option<&Path>) -> Result<(), Failed> {
        let redirection = match log.filter(|_| !self.shown) {
            None => String::new(),
            // An empty line gives the log its first block, so that it has room for an error if the disk becomes full.
            Some(log) => format!("exec >{} 2>&1\necho\n", quoted(log).map_err(Failed::Otherwise)?),
        };
        let script = format!("{redirection}unset {}\nexport GIT_TERMINAL_PROMPT=0\n{script}", git::LOCAL.join(" "));
        self.scripts.run(0, script).map_err(|error| match error {
            RunError::ScriptFailed { outcome, printed, .. } => Failed::Script {
                how: how(&outcome),
                // The shell says why it cannot write to the log.
                output: log
                    .map(last_lines)
                    .filter(|lines| !lines.is_empty())
                    .unwrap_or_else(|| listed(&printed.unwrap_or_default())),
            },
            other => Failed::Otherwise(other.into()),
        })
    }
}

/// Why a revision has no tree in which its command can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotBuilt {
    /// It cannot be checked out or built, or has no such program or directory. Another revision may have one.
    Revision(String),
    /// A failure that is not due to the revision.
    Other(Failure),
}

impl From<Failure> for NotBuilt {
    fn from(failure: Failure) -> Self {
        NotBuilt::Other(failure)
    }
}

impl From<NotBuilt> for Failure {
    fn from(not_built: NotBuilt) -> Self {
        match not_built {
            NotBuilt::Revision(why) => Failure::Usage(why),
            NotBuilt::Other(failure) => failure,
        }
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

/// Moves a tree, and replaces its path in built files.
fn store(from: &Path, to: &Path) -> Result<(), Failure> {
    move_tree(from, to)
        .and_then(|()| paths::redirect(to, from, to))
        .map_err(|error| Failure::Own(format!("'{}': {error}", to.display())))
}

/// Moves a tree, and updates its path in the repository (git-worktree(1): "If a working tree is moved manually").
fn move_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    let link = fs::read(to.join(".git"))?;
    let admin = link.trim_ascii_end().strip_prefix(b"gitdir: ").ok_or(io::ErrorKind::InvalidData)?;
    let admin = PathBuf::from(OsString::from_vec(admin.to_vec()));
    fs::write(admin.join("gitdir"), [to.join(".git").as_os_str().as_bytes(), b"\n"].concat())
}
