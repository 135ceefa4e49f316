//! Which state of the source a binary was built from: `steady --version` says it, `0.1.0 (1a2b3c4 2026-11-20)`.
//!
//! Where there is no repository, or no git, the version stands alone. The date is the commit's, not the build's: one
//! commit has one version.
#![allow(clippy::print_stdout, reason = "build scripts speak to cargo on standard output")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the binary is made of, from the workspace's root.
const SOURCES: [&str; 3] = ["crates", "Cargo.toml", "Cargo.lock"];

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
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
    /// None where the sources merely lie inside a repository of something else, as an unpacked archive may.
    fn of(root: &Path) -> Option<Self> {
        let git = Git { root: root.to_owned() };
        let top = PathBuf::from(git.tell(&["rev-parse", "--show-toplevel"])?);
        let same = top.canonicalize().ok()? == root.canonicalize().ok()?;
        git.tell(&["ls-files", "--error-unmatch", "crates/cli/build.rs"])?;
        same.then_some(git)
    }

    /// `1a2b3c4 2026-11-20`, or `1a2b3c4+changes 2026-11-20`.
    fn state(&self) -> Option<String> {
        let commit = self.tell(&["show", "--no-patch", "--format=%h %cd", "--date=short", "--abbrev=7", "HEAD"])?;
        let (revision, date) = commit.split_once(' ')?;
        let changed = self.tell(&[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
        let changes = if changed.is_empty() { "" } else { "+changes" };
        Some(format!("{revision}{changes} {date}"))
    }

    /// Has cargo ask again when another commit is checked out or made, or a source changes.
    fn watch(&self) {
        // Without any of these lines cargo asks again when a file of this crate changes, build.rs among them.
        // A branch's commit is a file of its own or a line of packed-refs; the log has a line for every move.
        let branch = self.tell(&["symbolic-ref", "--quiet", "HEAD"]);
        let names = ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref());
        let files = names.filter_map(|name| self.tell(&["rev-parse", "--git-path", name]));
        for path in files.map(PathBuf::from).chain(SOURCES.map(PathBuf::from)) {
            let path = self.root.join(path);
            // One that is not there would have this run at every build.
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }

    /// What git says, less the line's end; None where it fails.
    fn tell(&self, words: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        // In a hook these name another repository, or another state of this one.
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(variable);
        }
        // Asking must not write to the repository.
        git.env("GIT_OPTIONAL_LOCKS", "0");
        let output = git.arg("-C").arg(&self.root).args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim_end().to_owned())
    }
}
