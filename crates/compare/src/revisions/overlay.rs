//! `--rev WORK`: copies the changes of the working tree over a checkout of its commit.
//!
//! Files are copied as they are, so that the index, the stash and git's objects stay unchanged.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};
use steady_feature::{Failure, Session};
use steady_linux::clock;
use steady_model::Nanos;
use steady_process::git;

use super::spec::WORK;

/// The paths that differ from `commit`, and those that are untracked and not ignored.
pub(super) fn changed(root: &Path, commit: &str) -> Result<Vec<PathBuf>, Failure> {
    let tracked =
        ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=untracked", commit];
    let untracked = ["ls-files", "-z", "--others", "--exclude-standard"];
    let mut paths = Vec::new();
    for words in [&tracked[..], &untracked] {
        let output = git::ask(root, words).map_err(|why| Failure::Usage(format!("--rev WORK: {why}")))?;
        let names = output.as_encoded_bytes().split(|byte| *byte == 0).filter(|name| !name.is_empty());
        paths.extend(names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec()))));
    }
    Ok(paths)
}

/// Gives the files of `tree` the order of their times of modification in the working tree. Tools such as make then build
/// what they would build there: a program that was built there and is not ignored is copied, and would otherwise seem to be
/// newer than its changed sources. All times are later than those of earlier builds, which may share a directory of objects.
fn take_order_of_times(root: &Path, tree: &Path) -> Result<(), Failure> {
    let failed = |why: &dyn Display| Failure::Own(format!("--rev WORK: the times of files: {why}"));
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = git::ask(root, words).map_err(|why| failed(&why))?;
    let mut files: BTreeMap<(i64, i64), Vec<PathBuf>> = BTreeMap::new();
    for name in output.as_encoded_bytes().split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let path = PathBuf::from(OsString::from_vec(name.to_vec()));
        let file = |base: &Path| base.join(&path).symlink_metadata().ok().filter(fs::Metadata::is_file);
        if is_behind_link(root, &path) || is_behind_link(tree, &path) {
            continue;
        }
        if let (Some(from), Some(_)) = (file(root), file(tree)) {
            files.entry((from.mtime(), from.mtime_nsec())).or_default().push(tree.join(path));
        }
    }
    // Files with later times are a microsecond apart, which is less than the time to set one.
    let began = clock::real_time();
    for (rank, (_, files)) in (0..).zip(files) {
        let time = began + Nanos(1000 * rank);
        let modified = Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 };
        let times =
            Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: modified };
        for file in files {
            utimensat(CWD, &file, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| failed(&error))?;
        }
    }
    Ok(())
}

/// Makes `tree`, a checkout of `commit`, equal to the working tree at `root`. HEAD may have moved since the commit was
/// resolved.
pub(super) fn put(root: &Path, commit: &str, tree: &Path, session: &dyn Session) -> Result<(), Failure> {
    for path in changed(root, commit)? {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            session.notice(&format!("'{}' is a separate repository, and is left out of {WORK}", path.display()));
            continue;
        }
        let (from, to) = (root.join(&path), tree.join(&path));
        let own = |error: io::Error| Failure::Own(format!("--rev WORK: '{}': {error}", path.display()));
        // A directory was replaced by a link. The file of the commit below it is gone, whatever the link points to.
        if is_behind_link(root, &path) {
            if !is_behind_link(tree, &path) {
                remove(&to).map_err(own)?;
            }
            continue;
        }
        // A link that was replaced by a directory is removed already, because git lists it before the files in it.
        if is_behind_link(tree, &path) {
            return Err(own(io::Error::other("a symbolic link leads out of the tree that is compared")));
        }
        match from.symlink_metadata() {
            // The path is gone, or a directory above it was replaced by a file.
            Err(error) if is_gone(&error) => remove(&to).map_err(own)?,
            Err(error) => return Err(own(error)),
            Ok(metadata) if metadata.is_dir() && from.join(".git").exists() => submodule(&path, &from, tree)?,
            // A file was replaced by a directory, whose files are listed separately.
            Ok(metadata) if metadata.is_dir() => remove(&to).map_err(own)?,
            Ok(metadata) => copy(&from, &to, &metadata).map_err(own)?,
        }
    }
    take_order_of_times(root, tree)
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
        return Err(io::Error::other("it is neither a regular file nor a symbolic link"));
    }
    fs::copy(from, to).map(drop)
}

/// Creates a directory and those above it, and replaces a file that is in the way.
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

/// Sets a submodule in the index of `tree` to the commit that is checked out at `from`.
fn submodule(path: &Path, from: &Path, tree: &Path) -> Result<(), Failure> {
    let usage = |why: String| Failure::Usage(format!("--rev WORK: '{}': {why}", path.display()));
    let failed = |why: git::NoAnswer| usage(why.to_string());
    let words = ["status", "--porcelain", "--untracked-files=no"];
    if !git::ask(from, words).map_err(failed)?.is_empty() {
        return Err(usage("this submodule has uncommitted changes: commit them there".to_owned()));
    }
    let commit = git::ask(from, ["rev-parse", "HEAD"]).map_err(failed)?;
    let entry = [OsString::from("160000,"), commit, OsString::from(","), path.into()].into_iter().collect::<OsString>();
    let words = [OsString::from("update-index"), "--add".into(), "--cacheinfo".into(), entry];
    git::ask(tree, words).map(drop).map_err(failed)
}
