//! Sets the version that `steady --version` prints, with the commit of the source: `0.1.0 (1a2b3c4 2026-11-20)`.
//!
//! Without a repository or git, the version has no commit. The date is that of the commit, not of the build, so that
//! one commit has one version.
#![allow(clippy::print_stdout, reason = "cargo reads the standard output of build scripts")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of the binary, relative to the root of the workspace.
const SOURCES: [&str; 3] = ["crates", "Cargo.toml", "Cargo.lock"];

fn main() {
    // Read when this script runs: a target directory may be shared with another checkout, in which it was compiled.
    let variable = |name| std::env::var(name).unwrap_or_default();
    let (version, here) = (variable("CARGO_PKG_VERSION"), PathBuf::from(variable("CARGO_MANIFEST_DIR")));
    let state = here.ancestors().nth(2).and_then(|root| {
        let git = Git::of(root)?;
        git.watch();
        git.state()
    });
    match state {
        Some(state) => println!("cargo::rustc-env=STEADY_VERSION={version} ({state})"),
        None => println!("cargo::rustc-env=STEADY_VERSION={version}"),
    }
}

/// The repository that tracks these sources.
struct Git {
    root: PathBuf,
}

impl Git {
    /// `None` if the sources are untracked files inside another repository, such as an unpacked archive.
    fn of(root: &Path) -> Option<Self> {
        let git = Git { root: root.to_owned() };
        let top = PathBuf::from(git.output(&["rev-parse", "--show-toplevel"])?);
        let same = top.canonicalize().ok()? == root.canonicalize().ok()?;
        git.output(&["ls-files", "--error-unmatch", "crates/cli/build.rs"])?;
        same.then_some(git)
    }

    /// The commit and its date: `1a2b3c4 2026-11-20`, or `1a2b3c4+changes 2026-11-20`.
    fn state(&self) -> Option<String> {
        let commit = self.output(&["show", "--no-patch", "--format=%h %cd", "--date=short", "--abbrev=7", "HEAD"])?;
        let (revision, date) = commit.split_once(' ')?;
        let changed = self.output(&[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
        let changes = if changed.is_empty() { "" } else { "+changes" };
        Some(format!("{revision}{changes} {date}"))
    }

    /// Makes cargo run this script again when HEAD or a source changes.
    fn watch(&self) {
        // Without these lines, cargo runs it again when a file of this crate changes. The commit of a branch is in a
        // separate file or in packed-refs. The log has a line for every change of HEAD.
        let branch = self.output(&["symbolic-ref", "--quiet", "HEAD"]);
        let names = ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref());
        let files = names.filter_map(|name| self.output(&["rev-parse", "--git-path", name]));
        for path in files.map(PathBuf::from).chain(SOURCES.map(PathBuf::from)) {
            let path = self.root.join(path);
            // A missing file would make cargo run this script at every build.
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }

    /// The output of a git command without the final newline. `None` if the command fails.
    fn output(&self, words: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        // In a git hook, these variables select another repository or another state of this one.
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(variable);
        }
        // Prevents git from writing to the repository.
        git.env("GIT_OPTIONAL_LOCKS", "0");
        let output = git.arg("-C").arg(&self.root).args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim_end().to_owned())
    }
}
