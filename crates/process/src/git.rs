//! Runs git commands and returns their output.

mod here;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use steady_linux::clock;
use steady_model::Nanos;

pub use here::{here, short};

/// Variables that git sets for its hooks. With them, git would use the repository of the hook.
pub const LOCAL: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
];

/// Options of every command: no hook of the user runs, and worktrees have absolute paths.
pub const OPTIONS: [&str; 6] =
    ["-c", "core.hooksPath=/dev/null", "-c", "worktree.useRelativePaths=false", "-c", "core.fsmonitor=false"];

/// Why git gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// No program `git` was found.
    NoGit,
    /// The time limit was exceeded.
    Late,
    /// Git failed with this line.
    Said(String),
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            NoAnswer::NoGit => "no git in PATH",
            NoAnswer::Late => "git took too long",
            NoAnswer::Said(line) => line,
        })
    }
}

/// Runs git in `directory` and returns its output without the last newline.
///
/// # Errors
/// See [`NoAnswer`].
pub fn ask<S: AsRef<OsStr>>(directory: &Path, words: impl IntoIterator<Item = S>) -> Result<OsString, NoAnswer> {
    ask_within(directory, words, None)
}

/// The same with a time limit.
fn ask_within<S: AsRef<OsStr>>(
    directory: &Path,
    words: impl IntoIterator<Item = S>,
    limit: Option<Nanos>,
) -> Result<OsString, NoAnswer> {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(OPTIONS).args(words);
    // Without this, git would also refresh the user's index.
    git.env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    for name in LOCAL {
        git.env_remove(name);
    }
    let said = |error: io::Error| NoAnswer::Said(error.to_string());
    // Git may print more warnings than a pipe can hold, which would have to be read at the same time as its output.
    let mut errors =
        memfd_create("steady-git", MemfdFlags::CLOEXEC).map(File::from).map_err(|error| said(error.into()))?;
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors.try_clone().map_err(said)?);
    let mut child = git.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NoAnswer::NoGit,
        _ => said(error),
    })?;
    let answer = child.stdout.take().map_or(Ok(Vec::new()), |stdout| read_within(stdout, limit));
    let Ok(mut answer) = answer else {
        // An error means that it has already ended.
        let _ = child.kill();
        let _ = child.wait();
        return Err(NoAnswer::Late);
    };
    if !child.wait().map_err(said)?.success() {
        let mut text = Vec::new();
        errors.rewind().and_then(|()| errors.read_to_end(&mut text)).map_err(said)?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find(|line| line.starts_with("fatal:")).or(text.lines().next());
        return Err(NoAnswer::Said(line.unwrap_or("git failed").trim_start_matches("fatal: ").to_owned()));
    }
    if answer.last() == Some(&b'\n') {
        answer.pop();
    }
    Ok(OsString::from_vec(answer))
}

/// Reads a pipe to its end, or fails at the time limit.
fn read_within(mut pipe: impl Read + std::os::fd::AsFd, limit: Option<Nanos>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let Some(limit) = limit else { return pipe.read_to_end(&mut all).map(|_| all) };
    let deadline = clock::monotonic() + limit;
    let mut part = [0; 65_536];
    loop {
        let left = deadline - clock::monotonic();
        let left = Timespec { tv_sec: (left.0 / 1_000_000_000) as i64, tv_nsec: (left.0 % 1_000_000_000) as i64 };
        match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&left)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => match pipe.read(&mut part)? {
                0 => return Ok(all),
                length => all.extend_from_slice(&part[..length]),
            },
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn reading_stops_at_the_time_limit() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"begun").unwrap();
        let late = read_within(reader, Some(Nanos(10_000_000))).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"whole").unwrap();
        drop(writer);
        assert_eq!(read_within(reader, Some(Nanos(10_000_000_000))).unwrap(), b"whole");
    }

    #[test]
    fn git_may_print_more_warnings_than_a_pipe_holds() {
        // An alias that begins with `!` is a command of the shell.
        let loud =
            "alias.loud=!i=0; while [ $i -lt 9000 ]; do echo a line that is a warning >&2; i=$((i+1)); done; echo done";
        match ask(Path::new("/"), ["-c", loud, "loud"]) {
            Ok(answer) => assert_eq!(answer, "done"),
            Err(error) => assert_eq!(error, NoAnswer::NoGit),
        }
    }

    #[test]
    fn errors_of_git_have_one_line() {
        let why = ask(Path::new("/nonexistent"), ["status"]).unwrap_err();
        assert!(matches!(why, NoAnswer::NoGit | NoAnswer::Said(_)), "{why:?}");
        assert_eq!(why.to_string().lines().count(), 1);
    }
}
