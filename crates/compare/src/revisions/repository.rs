//! The current git repository, and the commits of revisions.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};
use steady_process::git::{self, NoAnswer};

use super::spec::{Spec, WORK};

/// The least length of a text that is taken for the hash of a commit, and not for its name, as in the short hashes of
/// git.
const HASH_MIN: usize = 7;
/// The remedy if commits are missing in a shallow clone.
const SHALLOW: &str = "; this clone is shallow: \"git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'\" \
    fetches the other commits and branches";
/// The remedy if git refuses a repository of another user, whose own remedy has many lines.
const NOT_SAFE: &str = "; 'git config --global --add safe.directory DIRECTORY' allows it, if you trust its owner";

/// The git repository of the directory in which `steady` was started.
#[derive(Clone, Debug)]
pub struct Repository {
    /// What needs the repository, for errors: `--rev`.
    needed_by: &'static str,
    /// The top directory of the working tree, or the repository itself if it is bare.
    pub(super) root: PathBuf,
    /// The directory that all its working trees share (`--git-common-dir`).
    pub(super) common: PathBuf,
    /// The directory in which `steady` was started, relative to the top directory.
    pub(super) prefix: PathBuf,
    has_tree: bool,
    shallow: bool,
}

/// A revision to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The full hash of the commit.
    pub commit: String,
    /// Whether it is the working tree, which is based on that commit.
    pub work: bool,
    /// Whether the working tree differs from the commit.
    pub changes: bool,
    /// The name in reports, as in `main 1a2b3c4`.
    pub label: String,
}

/// A commit of a line of first parents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCommit {
    /// The full hash.
    pub commit: String,
    /// The short hash.
    pub short: String,
    /// The full hashes of its parents.
    pub parents: Vec<String>,
    /// The first line of its message.
    pub subject: String,
}

impl LineCommit {
    /// Parses a line: the hash, the short hash and the parents, a null character, and the subject.
    fn parse(line: &str) -> Option<Self> {
        let (hashes, subject) = line.split_once('\0')?;
        let mut hashes = hashes.split_ascii_whitespace().map(str::to_owned);
        let (commit, short) = (hashes.next()?, hashes.next()?);
        Some(LineCommit { commit, short, parents: hashes.collect(), subject: subject.to_owned() })
    }

    /// The commit as a revision that can be built.
    pub fn revision(&self) -> Revision {
        Revision { commit: self.commit.clone(), work: false, changes: false, label: self.short.clone() }
    }
}

impl Revision {
    /// The short hash for the record, with a mark for uncommitted changes.
    pub fn recorded(&self) -> String {
        git::short(&self.commit, self.changes)
    }
}

impl Repository {
    /// Finds the repository of the current directory.
    ///
    /// # Errors
    /// There is none. The error says that `needed_by` needs it.
    pub fn discover(needed_by: &'static str) -> Result<Self, Failure> {
        let needs = |why: NoAnswer| {
            let why = why.to_string();
            let remedy = if why.contains("dubious ownership") { NOT_SAFE } else { "" };
            Failure::Usage(format!("{needed_by} needs a git repository: {why}{remedy}"))
        };
        let here = Path::new(".");
        let lines = |words: &[&str]| -> Result<Vec<PathBuf>, Failure> {
            let output = git::ask(here, [&["rev-parse"], words].concat()).map_err(needs)?;
            let lines = output.as_encoded_bytes().split(|byte| *byte == b'\n');
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
        Ok(Repository { needed_by, root, common, prefix, has_tree, shallow: shallow.as_os_str() == "true" })
    }

    /// Finds the commit of a revision.
    pub(super) fn resolve(&self, spec: &Spec) -> Result<Revision, Failure> {
        match spec {
            Spec::Commit(text) => {
                let commit = self.commit(text).ok_or_else(|| Failure::Usage(self.unknown(text)))?;
                let short = self.short(&commit)?;
                let is_hash = text.len() >= HASH_MIN && commit.starts_with(text.as_str());
                let label = if is_hash { short } else { format!("{text} {short}") };
                Ok(Revision { commit, work: false, changes: false, label })
            }
            Spec::MergeBase(one, other) => {
                let commit = self.merge_base(one, other)?;
                let label = format!("merge base {}", self.short(&commit)?);
                Ok(Revision { commit, work: false, changes: false, label })
            }
            Spec::Work => {
                if !self.has_tree {
                    return Err(Failure::Usage(format!("--rev {WORK}: there is no working tree here")));
                }
                let commit = self.commit("HEAD").ok_or_else(|| Failure::Usage(self.unknown("HEAD")))?;
                let changes = !super::overlay::changed(&self.root, &commit)?.is_empty();
                let short = self.short(&commit)?;
                let label = format!("{WORK} {short}{}", if changes { "+changes" } else { "" });
                Ok(Revision { commit, work: true, changes, label })
            }
        }
    }

    /// The directory in which `steady` was started, as a path that is the same for all working trees of a repository
    /// and differs between repositories.
    pub fn place(&self) -> PathBuf {
        self.common.join(&self.prefix)
    }

    /// Returns whether tracked files differ from HEAD.
    pub(super) fn is_dirty(&self, session: &dyn Session) -> bool {
        self.has_tree && session.revision().is_ok_and(|revision| revision.ends_with("+changes"))
    }

    fn commit(&self, text: &str) -> Option<String> {
        let words = ["rev-parse", "--verify", "--quiet", &format!("{text}^{{commit}}")].map(str::to_owned);
        git::ask(&self.root, words).ok()?.into_string().ok()
    }

    /// The last commit that two revisions have in common.
    ///
    /// # Errors
    /// One of them does not exist, or they have no such commit.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<String, Failure> {
        let commit = |text: &str| self.commit(text).ok_or_else(|| Failure::Usage(self.unknown(text)));
        let words = ["merge-base".to_owned(), commit(one)?, commit(other)?];
        let base = git::ask(&self.root, words).ok().and_then(|base| base.into_string().ok());
        base.filter(|base| !base.is_empty()).ok_or_else(|| {
            let helps = if self.shallow { SHALLOW } else { "" };
            self.usage(&format!("'{one}' and '{other}' have no commit in common{helps}"))
        })
    }

    fn short(&self, commit: &str) -> Result<String, Failure> {
        let short = git::ask(&self.root, ["rev-parse", "--short", commit]);
        short.map(|text| text.to_string_lossy().into_owned()).map_err(|why| self.usage(&why.to_string()))
    }

    fn unknown(&self, text: &str) -> String {
        let remedy = if text.trim() != text {
            "; write the revisions without spaces, as in A..B".to_owned()
        } else if text.eq_ignore_ascii_case(WORK) {
            format!("; the working tree is {WORK}")
        } else if self.commit(&format!("refs/remotes/origin/{text}")).is_some() {
            format!("; use 'origin/{text}', which exists")
        } else if self.shallow {
            SHALLOW.to_owned()
        } else {
            String::new()
        };
        format!("{}: there is no commit '{text}' in this repository{remedy}", self.needed_by)
    }

    fn usage(&self, why: &str) -> Failure {
        Failure::Usage(format!("{}: {why}", self.needed_by))
    }

    /// The commits from `good` to `bad`, in the order of time and with both ends, along first parents: a merged branch
    /// is one commit.
    ///
    /// # Errors
    /// One of them does not exist, or `good` is not on the line of first parents of `bad`.
    pub fn first_parents(&self, good: &str, bad: &str) -> Result<Vec<LineCommit>, Failure> {
        let commit = |text: &str| self.commit(text).ok_or_else(|| Failure::Usage(self.unknown(text)));
        let (first, last) = (commit(good)?, commit(bad)?);
        if first == last {
            return Err(self.usage(&format!("'{good}' and '{bad}' are the same commit")));
        }
        let lines = |range: &str| -> Result<Vec<LineCommit>, Failure> {
            let words = ["log", "--first-parent", "--reverse", "--format=%H %h %P%x00%s", range];
            let text = git::ask(&self.root, words).map_err(|why| self.usage(&why.to_string()))?;
            Ok(text.to_string_lossy().lines().filter_map(LineCommit::parse).collect())
        };
        let mut commits = lines(&format!("{first}..{last}"))?;
        let is_line = commits.first().is_some_and(|next| next.parents.first() == Some(&first));
        if !is_line {
            let words = ["merge-base", first.as_str(), last.as_str()];
            let base = git::ask(&self.root, words).ok().and_then(|base| base.into_string().ok());
            let remedy = match base {
                Some(base) if base == last => format!("; write {bad}..{good}"),
                _ if self.shallow => SHALLOW.to_owned(),
                Some(base) if base != first => {
                    format!("; '{}' is the last commit that both have", self.short(&base)?)
                }
                _ => String::new(),
            };
            let why = format!("'{good}' is not on the line of first parents of '{bad}'{remedy}");
            return Err(self.usage(&why));
        }
        commits.splice(0..0, lines(&format!("{first}^!"))?);
        Ok(commits)
    }
}
