//! The working tree as it is: what differs from its commit, put over a checkout of that.
//!
//! Files are copied as they stand, so that neither the index, nor the stash, nor git's objects are touched.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};
use steady_process::git;

use super::spec::WORK;

/// The paths that differ from the commit at hand, and those that are new and not ignored.
pub(super) fn changed(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let tracked =
        ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=untracked", "HEAD"];
    let fresh = ["ls-files", "-z", "--others", "--exclude-standard"];
    let mut paths = Vec::new();
    for words in [&tracked[..], &fresh] {
        let answer = git::ask(root, words).map_err(|why| Failure::Usage(format!("--rev WORK: {why}")))?;
        let names = answer.as_encoded_bytes().split(|byte| *byte == 0).filter(|name| !name.is_empty());
        paths.extend(names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec()))));
    }
    Ok(paths)
}

/// Makes `tree`, a checkout of the commit at hand, equal to the working tree at `root`.
pub(super) fn put(root: &Path, tree: &Path, session: &dyn Session) -> Result<(), Failure> {
    for path in changed(root)? {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            session.notice(&format!("'{}' is a repository of its own, and is left out of {WORK}", path.display()));
            continue;
        }
        let (from, to) = (root.join(&path), tree.join(&path));
        let own = |error: io::Error| Failure::Own(format!("--rev WORK: '{}': {error}", path.display()));
        // A directory has become a link, and the file below it that the commit has is gone, whatever the link leads to.
        if is_behind_link(root, &path) {
            if !is_behind_link(tree, &path) {
                remove(&to).map_err(own)?;
            }
            continue;
        }
        // Each link that has become a directory was removed before, for git names it before what is in it.
        if is_behind_link(tree, &path) {
            return Err(own(io::Error::other("a symbolic link leads out of the tree that is compared")));
        }
        match from.symlink_metadata() {
            // It is gone, or a directory on the way to it has become a file.
            Err(error) if is_gone(&error) => remove(&to).map_err(own)?,
            Err(error) => return Err(own(error)),
            Ok(metadata) if metadata.is_dir() && from.join(".git").exists() => submodule(&path, &from, tree)?,
            // A file has become a directory; what is in it comes by itself.
            Ok(metadata) if metadata.is_dir() => remove(&to).map_err(own)?,
            Ok(metadata) => copy(&from, &to, &metadata).map_err(own)?,
        }
    }
    Ok(())
}

/// Returns whether one of the directories that lead from `base` to the path is a symbolic link.
fn is_behind_link(base: &Path, path: &Path) -> bool {
    let between = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    between.map(|above| base.join(above)).any(|above| above.is_symlink())
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if is_gone(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn copy(from: &Path, to: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    remove(to)?;
    if let Some(parent) = to.parent() {
        make_directories(parent)?;
    }
    if metadata.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is neither a file nor a link"));
    }
    fs::copy(from, to).map(drop)
}

/// Makes a directory, in the place of a file where one stands on the way to it.
fn make_directories(path: &Path) -> io::Result<()> {
    match fs::create_dir_all(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::AlreadyExists) => {
            let file = path.ancestors().find(|above| above.symlink_metadata().is_ok_and(|found| !found.is_dir()));
            fs::remove_file(file.ok_or(error)?)?;
            fs::create_dir_all(path)
        }
        done => done,
    }
}

/// A submodule that is at another commit than the one recorded: it is taken at that commit.
fn submodule(path: &Path, from: &Path, tree: &Path) -> Result<(), Failure> {
    let usage = |why: String| Failure::Usage(format!("--rev WORK: '{}': {why}", path.display()));
    let said = |why: git::NoAnswer| usage(why.to_string());
    let words = ["status", "--porcelain", "--untracked-files=no"];
    if !git::ask(from, words).map_err(said)?.is_empty() {
        return Err(usage("this repository within has changes of its own: commit them there".to_owned()));
    }
    let commit = git::ask(from, ["rev-parse", "HEAD"]).map_err(said)?;
    let entry = [OsString::from("160000,"), commit, OsString::from(","), path.into()].into_iter().collect::<OsString>();
    let words = [OsString::from("update-index"), "--add".into(), "--cacheinfo".into(), entry];
    git::ask(tree, words).map(drop).map_err(said)
}
