//! Runs programs from snapshots and as usual, and compares what they do.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

mod made;
mod real;
mod surroundings;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use steady_warm::capture::capture;
use steady_warm::captured::{Captured, Request};
use steady_warm::compose::compose;
use steady_warm::image::image;

/// Numbers for the directories of snapshots.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The snapshots of a program, in a directory that is removed at the end.
pub(crate) struct Snapshots {
    program: PathBuf,
    folder: PathBuf,
    files: [PathBuf; 2],
}

impl Snapshots {
    /// Captures `program` twice with immediate binding and once with late binding, and creates its snapshots.
    pub(crate) fn of(program: &Path) -> Self {
        let [one, two, unbound] =
            [(0, true), (1, true), (2, false)].map(|(number, now)| captured(program, number, now));
        let (one, two) =
            compose(&one, &two, Some(&unbound)).unwrap_or_else(|why| panic!("{}: {why}", program.display()));
        let name = program.file_name().expect("a program has a name");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("steady-snapshots-{}-{number}", std::process::id()));
        let files = [folder.join("0").join(name), folder.join("1").join(name)];
        for (snapshot, file) in [&one, &two].into_iter().zip(&files) {
            fs::create_dir_all(file.parent().expect("a directory")).expect("a directory can be created");
            written(file, image(snapshot).expect("an image").parts());
        }
        Snapshots { program: program.to_owned(), folder, files }
    }

    /// Returns the paths of both snapshots.
    pub(crate) fn files(&self) -> &[PathBuf; 2] {
        &self.files
    }

    /// Runs the program as usual and from both snapshots, with its own name and only this environment.
    pub(crate) fn outputs(&self, environment: &[(&str, &str)], arguments: &[&str], input: &str) -> [Output; 3] {
        [&self.program, &self.files[0], &self.files[1]]
            .map(|file| run(file, &self.program, environment, arguments, input))
    }

    /// Checks that the program does the same from both snapshots as usual, and returns its output.
    pub(crate) fn same(&self, environment: &[(&str, &str)], arguments: &[&str], input: &str) -> Output {
        let [usual, one, two] = self.outputs(environment, arguments, input);
        assert_eq!(one, usual, "{} {arguments:?}", self.program.display());
        assert_eq!(two, usual, "{} {arguments:?}", self.program.display());
        usual
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes an executable file by another process. If this process wrote it, a process forked by another thread could
/// have it open for writing, and executing it would fail with ETXTBSY.
fn written<'a>(file: &Path, parts: impl IntoIterator<Item = &'a [u8]>) {
    use std::io::Write;
    let mut writer = Command::new("tee");
    let mut writer = writer.arg(file).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("tee can be started");
    let mut input = writer.stdin.take().expect("a pipe to tee");
    parts.into_iter().for_each(|part| input.write_all(part).expect("tee reads its input"));
    drop(input);
    assert!(writer.wait().expect("tee can be waited for").success());
    fs::set_permissions(file, fs::Permissions::from_mode(0o700)).expect("the file can be made executable");
}

/// Captures a program. Captures with other numbers differ in everything that a launch can make different.
fn captured(program: &Path, number: u32, bind_now: bool) -> Captured {
    let name = format!("{}{}", "/".repeat(number as usize), program.display()) + &"+".repeat(number as usize);
    let variable = |index: u32| (format!("FILLER{index}").into(), "filler".into());
    let request = Request {
        program: program.to_owned(),
        name: name.into(),
        arguments: 20 + 10 * number,
        // A search for a locale that does not exist sets errno.
        environment: (0..number).map(variable).chain([("LC_ALL".into(), "xx_XX.UTF-8".into())]).collect(),
        preloaded: None,
        stack_limit: Some((8 << 20) - (u64::from(number) << 20)),
        bind_now,
        locale: true,
        alternative: false,
    };
    capture(&request).unwrap_or_else(|why| panic!("{}: {why}", program.display()))
}

fn run(file: &Path, name: &Path, environment: &[(&str, &str)], arguments: &[&str], input: &str) -> Output {
    use std::io::Write;
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(file);
    command.arg0(name).args(arguments).env_clear().envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be executed");
    // A program may end without reading its input, so a broken pipe is no error.
    let _ = child.stdin.take().expect("a pipe to the program").write_all(input.as_bytes());
    child.wait_with_output().expect("the program can be waited for")
}

/// Returns the path of a program, if it exists and is not a script.
pub(crate) fn found(name: &str) -> Option<PathBuf> {
    let path = fs::canonicalize(Path::new("/usr/bin").join(name)).ok()?;
    fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")).then_some(path)
}

/// Returns the output of a program as text.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the output is UTF-8")
}

/// Prints that a test, or a part of it, is skipped, and why.
#[allow(clippy::print_stderr)]
pub(crate) fn skip(test: &str, why: impl AsRef<OsStr>) {
    eprintln!("skipped: {test}: {}", why.as_ref().display());
}
