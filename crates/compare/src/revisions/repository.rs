//! The repository at hand, and the commits that revisions stand for.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};
use steady_process::git::{self, NoAnswer};

use super::spec::{Spec, WORK};

/// A git repository, as seen from the directory that `steady` was started in.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    /// The top of the working tree; the repository itself where there is none.
    pub(super) root: PathBuf,
    /// The directory that all its working trees share.
    pub(super) common: PathBuf,
    /// Where `steady` was started, below the top.
    pub(super) prefix: PathBuf,
    has_tree: bool,
    shallow: bool,
}

/// What is to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Revision {
    /// The commit.
    pub(super) commit: String,
    /// Whether it is the working tree at that commit.
    pub(super) work: bool,
    /// Whether that differs from the commit.
    pub(super) changes: bool,
    /// What reports call it: `main 1a2b3c4`.
    pub(super) label: String,
}

impl Revision {
    /// The short form for the record.
    pub(super) fn recorded(&self) -> String {
        git::short(&self.commit, self.changes)
    }
}

impl Repository {
    /// The repository that the current directory belongs to.
    pub(super) fn discover() -> Result<Self, Failure> {
        let needs = |why: NoAnswer| Failure::Usage(format!("--rev needs a git repository: {why}"));
        let here = Path::new(".");
        let lines = |words: &[&str]| -> Result<Vec<PathBuf>, Failure> {
            let answer = git::ask(here, [&["rev-parse"], words].concat()).map_err(needs)?;
            let lines = answer.as_encoded_bytes().split(|byte| *byte == b'\n');
            Ok(lines.map(|line| PathBuf::from(OsString::from_vec(line.to_vec()))).collect())
        };
        let facts = lines(&["--is-inside-work-tree", "--is-shallow-repository", "--git-common-dir"])?;
        let [inside, shallow, common] = facts.as_slice() else {
            return Err(needs(NoAnswer::Said("this git is older than 2.20".to_owned())));
        };
        let full = |path: &Path| path.canonicalize().map_err(|error| needs(NoAnswer::Said(error.to_string())));
        let common = full(common)?;
        let has_tree = inside.as_os_str() == "true";
        let place = if has_tree { lines(&["--show-toplevel", "--show-prefix"])? } else { vec![] };
        let root = place.first().map_or(Ok(common.clone()), |root| full(root))?;
        let prefix = place.get(1).cloned().unwrap_or_default();
        Ok(Repository { root, common, prefix, has_tree, shallow: shallow.as_os_str() == "true" })
    }

    /// The revision that a word stands for.
    pub(super) fn resolve(&self, spec: &Spec) -> Result<Revision, Failure> {
        match spec {
            Spec::Commit(text) => {
                let commit = self.commit(text).ok_or_else(|| Failure::Usage(self.unknown(text)))?;
                let short = self.short(&commit)?;
                let label = if commit.starts_with(text.as_str()) { short } else { format!("{text} {short}") };
                Ok(Revision { commit, work: false, changes: false, label })
            }
            Spec::Work => {
                if !self.has_tree {
                    return Err(Failure::Usage(format!("--rev {WORK}: there is no working tree here")));
                }
                let commit = self.commit("HEAD").ok_or_else(|| Failure::Usage(self.unknown("HEAD")))?;
                let changes = !super::overlay::changed(&self.root)?.is_empty();
                let short = self.short(&commit)?;
                let label = format!("{WORK} {short}{}", if changes { "+changes" } else { "" });
                Ok(Revision { commit, work: true, changes, label })
            }
        }
    }

    /// Whether tracked files differ from the commit at hand.
    pub(super) fn is_dirty(&self, session: &dyn Session) -> bool {
        self.has_tree && session.revision().is_ok_and(|revision| revision.ends_with("+changes"))
    }

    fn commit(&self, text: &str) -> Option<String> {
        let words = ["rev-parse", "--verify", "--quiet", &format!("{text}^{{commit}}")].map(str::to_owned);
        git::ask(&self.root, words).ok()?.into_string().ok()
    }

    fn short(&self, commit: &str) -> Result<String, Failure> {
        let short = git::ask(&self.root, ["rev-parse", "--short", commit]);
        short.map(|text| text.to_string_lossy().into_owned()).map_err(|why| Failure::Usage(format!("--rev: {why}")))
    }

    fn unknown(&self, text: &str) -> String {
        let remedy = if self.commit(&format!("refs/remotes/origin/{text}")).is_some() {
            format!("; there is 'origin/{text}'")
        } else if self.shallow {
            "; this clone is shallow, and 'git fetch --unshallow' fetches the rest".to_owned()
        } else {
            String::new()
        };
        format!("--rev: no commit '{text}' in this repository{remedy}")
    }
}
