//! The git revision of the working directory, which every record has as a label.

use std::path::Path;

use steady_model::{Absent, Nanos, Reading};

use super::{NoAnswer, ask_within};

/// Time limit for git, because the revision is only a label.
const TIME_LIMIT: Nanos = Nanos(1_000_000_000);
/// Digits of the short form, enough to be unique in large repositories.
const DIGITS: usize = 12;

/// Returns the current commit, with `+changes` if tracked files differ from it. Runs git once.
///
/// # Errors
/// Absent if there is no commit or no git, or if git took longer than a second.
pub fn here() -> Reading<String> {
    // Without the distance to the upstream branch, which takes long if it is far.
    let words = [
        "status",
        "--porcelain=v2",
        "--branch",
        "--no-ahead-behind",
        "--untracked-files=no",
        "--ignore-submodules=dirty",
    ];
    let status = ask_within(Path::new("."), words, Some(TIME_LIMIT)).map_err(|why| match why {
        NoAnswer::Said(line) if line.starts_with("not a git repository") => Absent::because("not a git repository"),
        why => Absent::because(why.to_string()),
    })?;
    read(&status.to_string_lossy())
}

/// Short form of a commit in records.
pub fn short(commit: &str, changes: bool) -> String {
    let digits = commit.get(..DIGITS).unwrap_or(commit);
    format!("{digits}{}", if changes { "+changes" } else { "" })
}

fn read(status: &str) -> Reading<String> {
    let commit = status.lines().find_map(|line| line.strip_prefix("# branch.oid "));
    match commit {
        None => Err(Absent::because("git names no commit")),
        Some("(initial)") => Err(Absent::because("there is no commit yet")),
        Some(commit) => Ok(short(commit, status.lines().any(|line| !line.starts_with('#')))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# branch.oid 0123456789abcdef0123456789abcdef01234567\n# branch.head main\n";

    #[test]
    fn changed_files_are_marked() {
        assert_eq!(read(HEAD), Ok("0123456789ab".to_owned()));
        assert_eq!(
            read(&format!("{HEAD}1 .M N... 100644 100644 100644 a b f\n")),
            Ok("0123456789ab+changes".to_owned())
        );
    }

    #[test]
    fn without_a_commit_the_revision_is_absent() {
        assert!(read("# branch.oid (initial)\n").unwrap_err().to_string().contains("no commit yet"));
        assert!(read("").is_err());
    }
}
