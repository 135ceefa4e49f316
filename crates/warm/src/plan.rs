//! From the flags of `steady warm bench` to what is to be measured.

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

/// What is to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Bench {
    /// The programs, with their arguments.
    pub programs: Vec<AttendedCommand>,
    /// How they are launched.
    pub plan: BenchPlan,
    /// The seed of the order.
    pub seed: Seed,
}

/// What these flags ask for.
pub(crate) fn bench(flags: &BenchFlags, session: &dyn Session) -> Result<Bench, Failure> {
    let mut programs = flags.folder.as_deref().map(in_folder).transpose()?.unwrap_or_default();
    for text in &flags.programs {
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
        timeout_seconds: flags.timeout,
    };
    Ok(Bench { programs, plan, seed: session.seed(flags.seed)? })
}

/// The command that a text stands for, split into words as a shell does.
fn command(text: &str, session: &dyn Session) -> Result<AttendedCommand, Failure> {
    let refused = |why: &dyn Display| Failure::Usage(format!("'{text}': {why}"));
    let argv = shell_words::split(text).map_err(|error| refused(&error))?;
    if argv.is_empty() {
        return Err(refused(&"there is no program in it"));
    }
    let words: Vec<OsString> = argv.iter().map(OsString::from).collect();
    let program = session.command(&words).map_err(|failure| refused(&failure))?.program;
    if !is_program(&program) {
        return Err(refused(&format!("'{}' is no program that can be executed", program.display())));
    }
    // Its driver may be elsewhere, and a snapshot is of a file by its whole path.
    Ok(AttendedCommand { name: text.trim().to_owned(), argv, program: absolute(&program)? })
}

/// The programs of a folder, by name.
fn in_folder(folder: &Path) -> Result<Vec<AttendedCommand>, Failure> {
    let refused = |why: String| Failure::Usage(format!("'{}': {why}", folder.display()));
    let entries = fs::read_dir(folder).map_err(|error| refused(error.to_string()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_program(path)).collect();
    files.sort_by(|one, other| one.as_os_str().as_bytes().cmp(other.as_os_str().as_bytes()));
    if files.is_empty() {
        return Err(refused("there is no program in it".to_owned()));
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
    fn the_programs_of_a_folder_are_found_by_name() {
        let all = in_folder(Path::new("/usr/bin")).unwrap();
        assert!(all.iter().any(|command| command.name == "env" && command.program == Path::new("/usr/bin/env")));
        assert!(all.windows(2).all(|two| two[0].program < two[1].program));
        for wrong in ["/nonexistent", "/etc/passwd", "/proc/self/task"] {
            assert!(matches!(in_folder(Path::new(wrong)), Err(Failure::Usage(_))), "{wrong}");
        }
    }
}
