//! Rounds of command lines: each runs in its own directory, and its output, status and files are compared between
//! rounds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lines::{Line, PATH, folder};
use super::swapped::within;

/// The result of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The exit status, as the shell reports it.
    pub(crate) status: String,
    /// What it wrote to standard output.
    pub(crate) out: Vec<u8>,
    /// What it wrote to standard error.
    pub(crate) err: Vec<u8>,
    /// The files in its directory afterwards: type and mode, and contents.
    pub(crate) files: BTreeMap<PathBuf, (String, Vec<u8>)>,
    /// How each launch of the test program was started: `warm` from a snapshot, or `usual`.
    pub(crate) starts: Vec<String>,
}

/// A directory in which rounds run, with the files that command lines read and a store of snapshots. Paths are the same
/// in all rounds, because programs print them.
pub(crate) struct Sandbox {
    root: PathBuf,
}

impl Drop for Sandbox {
    /// Removes the directory. Retries, because a keeper may still write to the store.
    fn drop(&mut self) {
        let removed = within(20, || fs::remove_dir_all(&self.root).is_ok());
        assert!(removed || std::thread::panicking(), "{} cannot be removed", self.root.display());
    }
}

impl Sandbox {
    /// Creates a sandbox with files for command lines. Replaces an existing one.
    pub(crate) fn with_files(root: &Path) -> Self {
        let sandbox = Self::empty(root);
        let root = sandbox.root.clone();
        fs::create_dir(root.join("files")).expect("a directory can be created");
        let script = folder().join("files.sh").canonicalize().expect("the script exists");
        let mut bash = sandbox.command("bash", "C");
        let output = bash.arg(script).current_dir(root.join("files")).output().expect("bash starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::copy(folder().join("drive.sh"), root.join("drive.sh")).expect("the script exists");
        sandbox
    }

    /// Creates a sandbox without files. Replaces an existing one.
    pub(crate) fn empty(root: &Path) -> Self {
        let _ = fs::remove_dir_all(root);
        fs::create_dir_all(root).expect("a directory can be created");
        let root = root.canonicalize().expect("the directory exists");
        fs::create_dir(root.join("tmp")).expect("a directory can be created");
        Self { root }
    }

    /// Returns the directory of the sandbox.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the value of XDG_CACHE_HOME, which holds the store of snapshots.
    pub(crate) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Returns the directory for temporary files, which is empty at the start of a round.
    fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Compiles a program of `testdata/warm/made` into `bin`. Returns its path, or the error.
    pub(crate) fn compile(&self, name: &str, options: &[&str]) -> Result<PathBuf, String> {
        let (source, target) = (folder().join("made").join(format!("{name}.c")), self.root.join("bin").join(name));
        fs::create_dir_all(self.root.join("bin")).expect("a directory can be created");
        let log = format!("-DLOG=\"{}\"", self.root.join("log").display());
        let mut command = self.command("cc", "C");
        command.args(["-O1", "-pthread", "-o"]).arg(&target).arg(source).arg(log).args(options);
        let output = command.output().map_err(|error| format!("no cc: {error}"))?;
        if output.status.success() { Ok(target) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    /// Returns a command with a fixed environment, which inherits nothing from the environment of the test.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>, locale: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.root).stdin(Stdio::null());
        command.env("PATH", PATH).env("HOME", &self.root).env("XDG_CACHE_HOME", self.cache()).env("LC_ALL", locale);
        command.env("TMPDIR", self.tmp());
        command.env("P", self.root.join("bin/probe")).env("W", self.root.join("bin/ways"));
        command.env("F", "../../files").env("GIT_CONFIG_NOSYSTEM", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        // git prints advice if `git status` takes long, as on a busy machine.
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "advice.statusUoption");
        command.env("GIT_CONFIG_VALUE_0", "false");
        command.env("GIT_AUTHOR_DATE", "@1700000009 +0000").env("GIT_COMMITTER_DATE", "@1700000009 +0000");
        command
    }

    /// Runs all command lines once, under `steady warm` if `steady` is given.
    pub(crate) fn run(&self, lines: &[Line], locale: &str, steady: Option<&Path>) -> Vec<Outcome> {
        for name in ["work", "out", "err", "status", "tmp"] {
            let _ = fs::remove_dir_all(self.root.join(name));
            fs::create_dir_all(self.root.join(name)).expect("a directory can be created");
        }
        // The directory is new in each round, because programs leave files that are named after their process id, which
        // the next round may reuse. All users can write to it, because perldoc writes as another user.
        fs::set_permissions(self.tmp(), fs::Permissions::from_mode(0o1777)).expect("the mode can be changed");
        for number in 1..=lines.len() {
            let _ = fs::remove_file(self.root.join(format!("log-{number}")));
            fs::create_dir(self.root.join("work").join(number.to_string())).expect("a directory can be created");
        }
        let text: String = lines.iter().map(|line| line.text.clone() + "\n").collect();
        fs::write(self.root.join("lines"), text).expect("the lines can be written");
        // The timeout turns a hanging command line into a failure.
        let mut command = self.command("timeout", locale);
        command.args(["--kill-after=5", "800"]);
        if let Some(steady) = steady {
            command.arg(steady).args(["warm", "--"]);
        }
        let output = command.args(["bash", "drive.sh"]).output().expect("the driver starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out.is_empty() && err.is_empty(), "{}: {out}{err}", output.status);
        (1..=lines.len()).map(|number| self.outcome(number)).collect()
    }

    fn outcome(&self, number: usize) -> Outcome {
        let read = |kind: &str| fs::read(self.root.join(kind).join(number.to_string())).expect("the driver wrote it");
        let work = self.root.join("work").join(number.to_string());
        let mut files = BTreeMap::new();
        collect_files(&work, Path::new(""), &mut files);
        let status = String::from_utf8_lossy(&read("status")).trim().to_owned();
        let log = fs::read_to_string(self.root.join(format!("log-{number}"))).unwrap_or_default();
        let starts = log.lines().map(str::to_owned).collect();
        Outcome { status, out: read("out"), err: read("err"), files, starts }
    }
}

/// Adds the files in a directory to `files`, by their paths relative to `folder`.
fn collect_files(folder: &Path, below: &Path, files: &mut BTreeMap<PathBuf, (String, Vec<u8>)>) {
    // A directory that cannot be read has an entry, but its files have none.
    let Ok(entries) = fs::read_dir(folder.join(below)) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = below.join(entry.file_name());
        let Ok(about) = entry.metadata() else { continue };
        let contents = if about.is_symlink() {
            fs::read_link(entry.path())
                .map(|target| target.to_string_lossy().into_owned().into_bytes())
                .unwrap_or_default()
        } else if about.is_file() {
            fs::read(entry.path()).unwrap_or_default()
        } else {
            vec![]
        };
        if about.is_dir() {
            collect_files(folder, &path, files);
        }
        files.insert(path, (format!("{:?} {:o}", about.file_type(), about.permissions().mode()), contents));
    }
}

/// Describes the difference between two outcomes of a command line. Returns `None` if they are equal.
pub(crate) fn difference(line: &Line, usual: &Outcome, other: &Outcome) -> Option<String> {
    let mut differences = vec![];
    if usual.status != other.status {
        differences.push(format!("status {} became {}", usual.status, other.status));
    }
    for (name, usual, other) in [("output", &usual.out, &other.out), ("errors", &usual.err, &other.err)] {
        if usual != other {
            differences.push(format!("{name} {:?} became {:?}", shown(usual), shown(other)));
        }
    }
    let names: std::collections::BTreeSet<_> = usual.files.keys().chain(other.files.keys()).collect();
    for name in names {
        let excepted = line.except.iter().any(|end| name.to_string_lossy().ends_with(end.as_str()));
        let (left, right) = (usual.files.get(name), other.files.get(name));
        if left != right && !excepted {
            let contents = |file: Option<&(String, Vec<u8>)>| file.map(|(kind, bytes)| (kind.clone(), shown(bytes)));
            differences.push(format!("file {}: {:?} became {:?}", name.display(), contents(left), contents(right)));
        }
    }
    (!differences.is_empty()).then(|| format!("{}: {}\n    {}", line.program, line.text, differences.join("\n    ")))
}

/// Returns at most the first 600 bytes as text.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(600)]).into_owned()
}
