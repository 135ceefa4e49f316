//! Resolves the flags of `steady warm bench` into the experiment to run.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use steady_feature::attended::AttendedCommand;
use steady_feature::{Failure, Session};
use steady_model::Seed;

use crate::bench::StageLauncher;
use crate::flags::BenchFlags;
use crate::record::BenchPlan;

/// The experiment that `steady warm bench` runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Bench {
    /// The programs to launch, with their arguments.
    pub programs: Vec<AttendedCommand>,
    /// How to launch them.
    pub plan: BenchPlan,
    /// The seed of the random order of sessions.
    pub seed: Seed,
}

/// Resolves the flags: finds the programs, and checks that the page cache can be dropped if `--cold` needs it.
pub(crate) fn bench(flags: &BenchFlags, session: &dyn Session) -> Result<Bench, Failure> {
    if flags.folder.is_none() && flags.programs.is_empty() {
        let what = "nothing to measure: name a directory of programs, or programs: --programs 'true,cat /dev/null'";
        return Err(Failure::Usage(what.to_owned()));
    }
    let folder =
        flags.folder.as_deref().map(|folder| in_folder(folder).map_err(|why| or_program(why, folder, session)));
    let mut programs = folder.transpose()?.unwrap_or_default();
    for text in flags.programs.iter().flat_map(|list| listed(list)) {
        programs.push(command(text, session)?);
    }
    if flags.cold {
        StageLauncher::can_drop_caches()
            .map_err(|absent| Failure::Usage(format!("--cold: the page cache cannot be dropped here: {absent}")))?;
    }
    let plan = BenchPlan {
        count: flags.count,
        runs: flags.runs,
        pause_seconds: flags.pause.unwrap_or_default(),
        cold: flags.cold,
        sync: flags.sync,
        timeout_seconds: flags.timeout,
    };
    Ok(Bench { programs, plan, seed: session.seed(flags.seed)? })
}

/// Splits a list at the commas that are not quoted.
fn listed(list: &str) -> Vec<&str> {
    let (mut quote, mut is_escaped, mut begin) = (None, false, 0);
    let mut items = Vec::new();
    for (at, letter) in list.char_indices() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (Some('"') | None, '\\') => is_escaped = true,
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, ',') => {
                items.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[begin..]);
    items
}

/// Returns the command that a text stands for, split into words as a shell does.
fn command(text: &str, session: &dyn Session) -> Result<AttendedCommand, Failure> {
    let refused = |why: &dyn Display| Failure::Usage(format!("'{text}': {why}"));
    let argv = shell_words::split(text).map_err(|error| refused(&error))?;
    if argv.is_empty() {
        return Err(refused(&"it names no program"));
    }
    let words: Vec<OsString> = argv.iter().map(OsString::from).collect();
    let program = session.command(&words).map_err(|failure| refused(&failure))?.program;
    if !is_program(&program) {
        return Err(refused(&format!("'{}' is not an executable program", program.display())));
    }
    // The driver may have another working directory, and a snapshot belongs to an absolute path.
    Ok(AttendedCommand { name: text.trim().to_owned(), argv, program: absolute(&program)? })
}

/// Adds to the failure of a directory how to measure the program of that name, if there is one.
fn or_program(failure: Failure, folder: &Path, session: &dyn Session) -> Failure {
    match (failure, session.command(&[folder.as_os_str().to_owned()])) {
        (Failure::Usage(why), Ok(command)) if is_program(&command.program) => {
            Failure::Usage(format!("{why}; to measure this program, use --programs {}", folder.display()))
        }
        (failure, _) => failure,
    }
}

/// Returns the programs of a directory, sorted by name.
fn in_folder(folder: &Path) -> Result<Vec<AttendedCommand>, Failure> {
    let refused = |why: String| Failure::Usage(format!("'{}': {why}", folder.display()));
    let entries = fs::read_dir(folder).map_err(|error| refused(error.to_string()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_program(path)).collect();
    files.sort_by(|one, other| one.as_os_str().as_bytes().cmp(other.as_os_str().as_bytes()));
    if files.is_empty() {
        return Err(refused("the directory has no program".to_owned()));
    }
    let command = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(AttendedCommand { name: name.clone(), argv: vec![name], program: absolute(path)? })
    };
    files.iter().map(command).collect()
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::Own(format!("'{}': {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_commas_do_not_split_a_list() {
        assert_eq!(listed("true,cat /dev/null"), ["true", "cat /dev/null"]);
        assert_eq!(listed(r#"python3 -c "import json,re",true"#), [r#"python3 -c "import json,re""#, "true"]);
        assert_eq!(listed(r"echo 'a\',echo a\,b,c"), [r"echo 'a\'", r"echo a\,b", "c"]);
        assert_eq!(listed(r#"echo "\",",x"#), [r#"echo "\",""#, "x"]);
        assert_eq!(listed("a,,b"), ["a", "", "b"]);
    }

    #[test]
    fn the_programs_of_a_directory_are_sorted_by_name() {
        let all = in_folder(Path::new("/usr/bin")).unwrap();
        assert!(all.iter().any(|command| command.name == "env" && command.program == Path::new("/usr/bin/env")));
        assert!(all.windows(2).all(|two| two[0].program < two[1].program));
        for wrong in ["/nonexistent", "/etc/passwd", "/proc/self/task"] {
            assert!(matches!(in_folder(Path::new(wrong)), Err(Failure::Usage(_))), "{wrong}");
        }
    }
}
