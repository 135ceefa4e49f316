//! The programs of a suite: those that its build lists, or that patterns name.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use steady_feature::Failure;

use crate::adapter::Adapter;
use crate::flags::{BenchFlags, matches};

/// A program of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The label that the build gave it, which is the same in both builds.
    pub(super) label: String,
    /// The directory in which it runs.
    pub(super) directory: PathBuf,
    /// The program, as the adapter's commands name it.
    pub(super) path: PathBuf,
    /// The file to execute: the first word of the command that runs a benchmark, which may be an interpreter.
    pub(super) executable: PathBuf,
}

impl Program {
    pub(super) fn new(label: &str, directory: PathBuf, path: PathBuf) -> Self {
        Program { label: label.to_owned(), directory, path, executable: PathBuf::new() }
    }

    /// Has a copy of the program executed, which is in this directory, so that it can be renewed. The first word of its
    /// commands remains. A script is executed as it is, and so is a program whose libraries are found relative to it.
    ///
    /// # Errors
    /// The program cannot be read, or the copy cannot be written.
    pub(super) fn execute_copy(&mut self, directory: &Path) -> io::Result<()> {
        let content = fs::read(&self.path)?;
        if !content.starts_with(b"\x7fELF") || memchr::memmem::find(&content, b"$ORIGIN").is_some() {
            return Ok(());
        }
        fs::create_dir(directory)?;
        let copy = directory.join(self.path.file_name().unwrap_or_default());
        fs::copy(&self.path, &copy)?;
        if self.executable == self.path {
            self.executable = copy;
        } else {
            self.path = copy;
        }
        Ok(())
    }

    /// Replaces its file by a copy, in other pages of memory, if the file is below this directory.
    pub(super) fn renew(&self, workspace: &Path) -> io::Result<()> {
        let Some(path) = [&self.executable, &self.path].into_iter().find(|path| path.starts_with(workspace)) else {
            return Ok(());
        };
        let mut name = path.clone().into_os_string();
        name.push("-copy");
        let mut from = fs::File::open(path)?;
        let mut to = fs::File::create(&name)?;
        // Bytes are read and written, because a copy that shares its blocks on disk would have to be read from there.
        let mut buffer = vec![0; 1 << 16];
        loop {
            match from.read(&mut buffer)? {
                0 => break,
                size => to.write_all(&buffer[..size])?,
            }
        }
        to.set_permissions(from.metadata()?.permissions())?;
        // ext4 writes the blocks of a file to disk at once if it replaces another one (auto_da_alloc).
        fs::remove_file(path)?;
        fs::rename(&name, path)
    }

    /// Whether it is a file, and not the name of an interpreter.
    pub(super) fn is_file(&self) -> bool {
        self.path.components().count() > 1
    }
}

/// The contents of programs.
pub(super) fn contents(programs: &[Program]) -> Vec<Option<Vec<u8>>> {
    programs.iter().map(|program| fs::read(&program.path).ok()).collect()
}

/// Refuses a program that is the same file in both revisions: the second build has replaced that of the first.
pub(super) fn not_shared(old: &[Program], new: &[Program]) -> Result<(), Failure> {
    match old.iter().filter(|program| program.is_file()).find(|one| new.iter().any(|other| other.path == one.path)) {
        Some(program) => Err(Failure::Usage(format!(
            "'{}' is the same file for both revisions: the build must put its programs below the directory in which it \
             runs",
            program.path.display()
        ))),
        None => Ok(()),
    }
}

/// The programs that the build has listed in the file `list`, or that the options or the adapter name. Paths below `built_in` are moved to
/// `directory`.
pub(super) fn found_programs(
    flags: &BenchFlags,
    adapter: &Adapter,
    list: &Path,
    directory: &Path,
    built_in: &Path,
) -> Result<Vec<Program>, Failure> {
    let patterns = if flags.program.is_empty() { &adapter.programs } else { &flags.program };
    let moved = |path: &str| match Path::new(path).strip_prefix(built_in) {
        Ok(rest) => directory.join(rest),
        Err(_) => directory.join(path),
    };
    // A build need not list its programs if patterns name them.
    let listed = fs::read_to_string(list).unwrap_or_default();
    let line = |line: &str| match line.split('\t').collect::<Vec<_>>()[..] {
        [label, place, path] => Ok(Program::new(label, moved(place), moved(path))),
        _ => Err(Failure::Usage(format!(
            "the build wrote '{line}' to STEADY_PROGRAMS: write a label, a directory and a program, separated by tabs"
        ))),
    };
    let mut programs = match patterns.is_empty() {
        true => listed.lines().filter(|text| !text.is_empty()).map(line).collect::<Result<Vec<_>, _>>()?,
        false => {
            let found = patterns.iter().map(|pattern| matching(directory, pattern));
            found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
        }
    };
    programs.sort_by(|one, other| one.label.cmp(&other.label));
    programs.dedup();
    Ok(programs)
}

pub(super) fn no_programs(adapter: &Adapter) -> Failure {
    Failure::Usage(format!(
        "no program of a suite of {} was built; --program names them, --build builds them",
        adapter.name
    ))
}

/// The programs that match a pattern, in the order of their names. A name without a slash and without '*' is looked up
/// like a command.
fn matching(directory: &Path, pattern: &str) -> Result<Vec<Program>, Failure> {
    let program = |label: &str, path: PathBuf| Program::new(label, directory.to_owned(), path);
    if !pattern.contains(['/', '*']) {
        return Ok(vec![program(pattern, PathBuf::from(pattern))]);
    }
    let usage = |error: std::io::Error, place: &Path| {
        Failure::Usage(format!("--program '{pattern}': '{}': {error}", place.display()))
    };
    let mut places = vec![directory.to_owned()];
    for part in Path::new(pattern).components() {
        let part = part.as_os_str().to_string_lossy().into_owned();
        let mut next = vec![];
        for place in &places {
            if !part.contains('*') {
                next.push(place.join(&part));
                continue;
            }
            let Ok(entries) = fs::read_dir(place) else { continue };
            for entry in entries {
                let name = entry.map_err(|error| usage(error, place))?.file_name().to_string_lossy().into_owned();
                if matches(&part, &name) {
                    next.push(place.join(name));
                }
            }
        }
        places = next;
    }
    let mut files: Vec<PathBuf> = places.into_iter().filter(|path| path.is_file()).collect();
    files.sort();
    let label = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(files.into_iter().map(|path| program(&label(&path), path)).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn a_renewed_program_is_another_file_with_the_same_bytes_and_permissions() {
        let directory = std::env::temp_dir().join(format!("steady-renew-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("prog");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        // While it is open, its number is not used for another file.
        let open = fs::File::open(&path).unwrap();
        Program::new("prog", directory.clone(), path.clone()).renew(&directory).unwrap();
        let (before, after) = (open.metadata().unwrap(), path.metadata().unwrap());
        assert_ne!(before.ino(), after.ino());
        assert_eq!(after.mode() & 0o777, 0o750);
        assert_eq!(fs::read(&path).unwrap(), b"#!/bin/sh\n");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_named_program_is_executed_as_a_copy_unless_it_finds_libraries_next_to_itself() {
        let directory = std::env::temp_dir().join(format!("steady-copy-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("prog");
        let copied = |content: &[u8], executable: &Path, name: &str| {
            fs::write(&path, content).unwrap();
            let mut program = Program::new("", directory.clone(), path.clone());
            program.executable = executable.to_owned();
            program.execute_copy(&directory.join(name)).unwrap();
            (program.path, program.executable)
        };
        let (native, shell) = (b"\x7fELF...", Path::new("/bin/sh"));
        assert_eq!(copied(native, &path, "1"), (path.clone(), directory.join("1/prog")));
        assert_eq!(copied(native, shell, "2"), (directory.join("2/prog"), shell.to_owned()));
        assert_eq!(copied(b"\x7fELF $ORIGIN/lib", &path, "3"), (path.clone(), path.clone()));
        assert_eq!(copied(b"#!/bin/sh\n", &path, "4"), (path.clone(), path.clone()));
        fs::remove_dir_all(directory).unwrap();
    }
}
