//! From the flags of `steady warm bench` to a plan.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use steady_model::{Command, WarmBenchPlan};
use steady_warm::bench::StageLauncher;

use crate::failure::Failure;
use crate::flags::WarmBenchFlags;
use crate::programs;
use crate::resolve;

/// The plan of an experiment.
pub(super) fn plan(flags: &WarmBenchFlags) -> Result<WarmBenchPlan, Failure> {
    let mut all = flags.folder.as_deref().map(in_folder).transpose()?.unwrap_or_default();
    for text in &flags.programs {
        let mut command = programs::command(text, None)?;
        // Its driver may be elsewhere, and a snapshot is of a file by its whole path.
        command.program = absolute(&command.program)?;
        all.push(command);
    }
    if flags.cold {
        StageLauncher::can_drop_caches()
            .map_err(|absent| Failure::Usage(format!("--cold: the page cache cannot be dropped here: {absent}")))?;
    }
    Ok(WarmBenchPlan {
        programs: all,
        count: flags.count,
        runs: flags.runs,
        pause: flags.pause.unwrap_or_default(),
        cold: flags.cold,
        timeout: flags.timeout,
        seed: resolve::seed(flags.seed)?,
    })
}

/// The programs of a folder, by name.
fn in_folder(folder: &Path) -> Result<Vec<Command>, Failure> {
    let refused = |why: String| Failure::Usage(format!("'{}': {why}", folder.display()));
    let entries = fs::read_dir(folder).map_err(|error| refused(error.to_string()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_program(path)).collect();
    files.sort_by(|one, other| one.as_os_str().as_bytes().cmp(other.as_os_str().as_bytes()));
    if files.is_empty() {
        return Err(refused("there is no program in it".to_owned()));
    }
    let command = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Command { name: name.clone(), argv: vec![name], program: absolute(path)?, ..Command::default() })
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
