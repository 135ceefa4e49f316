//! The programs of a suite: those that its build lists, or that patterns name.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use steady_compare::renew;
use steady_feature::Failure;
use steady_linux::files::gives_rights;

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

    /// Whether a copy of it elsewhere behaves alike, as far as is known: not a script, not a program whose libraries are
    /// found relative to it, nor one whose file gives rights or cannot be read.
    ///
    /// # Errors
    /// The file cannot be examined.
    fn is_movable(&self) -> io::Result<bool> {
        if gives_rights(&self.path, &fs::metadata(&self.path)?) {
            return Ok(false);
        }
        let content = match fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(false),
            content => content?,
        };
        let has = |text: &[u8]| memchr::memmem::find(&content, text).is_some();
        Ok(content.starts_with(b"\x7fELF") && !has(b"$ORIGIN") && !has(b"${ORIGIN}"))
    }

    /// Has a copy of the program executed, which is in this new directory. The first word of its commands remains.
    fn execute_copy(&mut self, directory: &Path) -> io::Result<()> {
        fs::create_dir(directory)?;
        let copy = directory.join(self.path.file_name().unwrap_or_default());
        fs::copy(&self.path, &copy)?;
        let file = if self.executable == self.path { &mut self.executable } else { &mut self.path };
        *file = copy;
        Ok(())
    }

    /// Replaces its file by a copy, if the file is in this directory: the program, or else what its interpreter reads.
    pub(super) fn renew(&self, workspace: &Path) -> io::Result<()> {
        let _ = renew(&self.executable, workspace)? || renew(&self.path, workspace)?;
        Ok(())
    }

    /// Whether it is a file, and not the name of an interpreter.
    pub(super) fn is_file(&self) -> bool {
        self.path.components().count() > 1
    }
}

/// Has copies of these programs executed, in the private directory, so that they can be renewed. If one of them cannot be
/// moved, none is copied, because files on different file systems could differ in speed.
///
/// # Errors
/// A program cannot be read, or its copy cannot be written.
pub(super) fn execute_copies(programs: &mut [&mut Program], workspace: &Path) -> Result<(), Failure> {
    for program in programs.iter() {
        if !program.is_movable().map_err(|error| not_copied(program, workspace, &error))? {
            return Ok(());
        }
    }
    for (at, program) in programs.iter_mut().enumerate() {
        let copied = program.execute_copy(&workspace.join(format!("program-{at}")));
        copied.map_err(|error| not_copied(program, workspace, &error))?;
    }
    Ok(())
}

pub(super) fn not_copied(program: &Program, workspace: &Path, error: &io::Error) -> Failure {
    Failure::Own(format!(
        "'{}' cannot be copied to '{}': {error}; set TMPDIR to use another directory",
        program.path.display(),
        workspace.display()
    ))
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

/// The programs that the build has listed in the file `list`, or that the options or the adapter name. `moved` returns
/// where a file is now that the build named.
pub(super) fn found_programs(
    flags: &BenchFlags,
    adapter: &Adapter,
    list: &Path,
    directory: &Path,
    moved: impl Fn(&Path) -> PathBuf,
) -> Result<Vec<Program>, Failure> {
    let patterns = if flags.program.is_empty() { &adapter.programs } else { &flags.program };
    // A build need not list its programs if patterns name them.
    let listed = fs::read_to_string(list).unwrap_or_default();
    let line = |line: &str| match line.split('\t').collect::<Vec<_>>()[..] {
        [label, place, path] => Ok(Program::new(label, moved(place.as_ref()), moved(path.as_ref()))),
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
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("steady-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    fn program(path: &Path, executable: &Path) -> Program {
        Program { executable: executable.to_owned(), ..Program::new("", "/".into(), path.to_owned()) }
    }

    #[test]
    fn named_programs_are_executed_as_copies_if_both_can_be_moved() {
        let workspace = folder("copies");
        let (old, new, shell) = (workspace.join("old"), workspace.join("new"), Path::new("/bin/sh"));
        let copied = |contents: [&[u8]; 2], executable: Option<&Path>| {
            fs::write(&old, contents[0]).unwrap();
            fs::write(&new, contents[1]).unwrap();
            let mut programs = [&old, &new].map(|path| program(path, executable.unwrap_or(path)));
            execute_copies(&mut programs.iter_mut().collect::<Vec<_>>(), &workspace).unwrap();
            for at in 0..2 {
                let _ = fs::remove_dir_all(workspace.join(format!("program-{at}")));
            }
            programs.map(|program| (program.path, program.executable))
        };
        let native: &[u8] = b"\x7fELF...";
        let copies = [workspace.join("program-0/old"), workspace.join("program-1/new")];
        let [old_copy, new_copy] = copies.clone();
        assert_eq!(copied([native, native], None), [(old.clone(), old_copy), (new.clone(), new_copy)]);
        assert_eq!(copied([native, native], Some(shell)), copies.map(|copy| (copy, shell.to_owned())));
        let kept = [(old.clone(), old.clone()), (new.clone(), new.clone())];
        for other in [&b"#!/bin/sh\n"[..], b"\x7fELF $ORIGIN/lib", b"\x7fELF ${ORIGIN}/lib", b""] {
            assert_eq!(copied([native, other], None), kept);
        }
        fs::remove_dir_all(workspace).unwrap();
    }
}
