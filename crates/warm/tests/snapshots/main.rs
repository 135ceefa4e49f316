//! Programs run from snapshots of themselves: they do what they do as usual.
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

use steady_warm::compose::compose;
use steady_warm::image::image;
use steady_warm::take::take;
use steady_warm::taken::{Request, Taken};

/// Numbers for folders.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The snapshots of a program, in a folder of their own that is removed in the end.
pub(crate) struct Snapshots {
    program: PathBuf,
    folder: PathBuf,
    files: [PathBuf; 2],
}

impl Snapshots {
    /// Takes `program` as often as is needed, with functions bound at once.
    pub(crate) fn of(program: &Path) -> Self {
        let [one, two, unbound] = [(0, true), (1, true), (2, false)].map(|(number, now)| taken(program, number, now));
        let (one, two) =
            compose(&one, &two, Some(&unbound)).unwrap_or_else(|why| panic!("{}: {why}", program.display()));
        let name = program.file_name().expect("a program has a name");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("steady-snapshots-{}-{number}", std::process::id()));
        let files = [folder.join("0").join(name), folder.join("1").join(name)];
        for (snapshot, file) in [&one, &two].into_iter().zip(&files) {
            fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder can be made");
            written(file, image(snapshot).expect("it can be written").parts());
        }
        Snapshots { program: program.to_owned(), folder, files }
    }

    /// Both snapshots.
    pub(crate) fn files(&self) -> &[PathBuf; 2] {
        &self.files
    }

    /// The program as usual, and from its snapshots: called by its own name, with nothing in its environment but this.
    pub(crate) fn outputs(&self, environment: &[(&str, &str)], arguments: &[&str], input: &str) -> [Output; 3] {
        [&self.program, &self.files[0], &self.files[1]]
            .map(|file| run(file, &self.program, environment, arguments, input))
    }

    /// It does the same from both snapshots as it does as usual, and this is what.
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

/// Makes an executable file, by another process: what a thread of this one forks meanwhile would have it open for writing too, and
/// nobody executes a file that is being written.
fn written<'a>(file: &Path, parts: impl IntoIterator<Item = &'a [u8]>) {
    use std::io::Write;
    let mut writer = Command::new("tee");
    let mut writer = writer.arg(file).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("tee can be started");
    let mut input = writer.stdin.take().expect("it has an input");
    parts.into_iter().for_each(|part| input.write_all(part).expect("there is room"));
    drop(input);
    assert!(writer.wait().expect("it can be waited for").success());
    fs::set_permissions(file, fs::Permissions::from_mode(0o700)).expect("it is ours");
}

/// A take that differs from those of other numbers in all that a launch may make different.
fn taken(program: &Path, number: u32, bind_now: bool) -> Taken {
    let name = format!("{}{}", "/".repeat(number as usize), program.display()) + &"+".repeat(number as usize);
    let variable = |index: u32| (format!("FILLER{index}").into(), "filler".into());
    let request = Request {
        program: program.to_owned(),
        name: name.into(),
        arguments: 20 + 10 * number,
        // To look for a locale that is not there leaves an errno behind.
        environment: (0..number).map(variable).chain([("LC_ALL".into(), "xx_XX.UTF-8".into())]).collect(),
        preloaded: None,
        stack_limit: Some((8 << 20) - (u64::from(number) << 20)),
        bind_now,
        locale: true,
        alternative: false,
    };
    take(&request).unwrap_or_else(|why| panic!("{}: {why}", program.display()))
}

fn run(file: &Path, name: &Path, environment: &[(&str, &str)], arguments: &[&str], input: &str) -> Output {
    use std::io::Write;
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(file);
    command.arg0(name).args(arguments).env_clear().envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it can be executed");
    // A program that does not read leaves the pipe broken, which is its right.
    let _ = child.stdin.take().expect("it has an input").write_all(input.as_bytes());
    child.wait_with_output().expect("it can be waited for")
}

/// Where a program is, if it is there and no script.
pub(crate) fn found(name: &str) -> Option<PathBuf> {
    let path = fs::canonicalize(Path::new("/usr/bin").join(name)).ok()?;
    fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")).then_some(path)
}

/// Text that a program has put out.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it is text")
}

/// What is left out, and why.
#[allow(clippy::print_stderr)]
pub(crate) fn skip(test: &str, why: impl AsRef<OsStr>) {
    eprintln!("skipped: {test}: {}", why.as_ref().display());
}
