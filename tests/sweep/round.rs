//! One round: all lines run once, in folders of their own, and what became of each.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lines::{Line, PATH, folder};
use super::swapped::within;

/// What a line did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Its status, as the shell tells it.
    pub(crate) status: String,
    /// What it wrote on standard output.
    pub(crate) out: Vec<u8>,
    /// What it wrote on standard error.
    pub(crate) err: Vec<u8>,
    /// What was in its folder then: kind and mode, and contents.
    pub(crate) files: BTreeMap<PathBuf, (String, Vec<u8>)>,
    /// How the made program was started by it, once for each time: `warm` or `usual`.
    pub(crate) starts: Vec<String>,
}

/// A place where rounds are run, with the files that the lines read: always the same paths, for programs print them.
pub(crate) struct Place {
    root: PathBuf,
}

impl Drop for Place {
    /// Removes all; a keeper may be about to end, and write until then.
    fn drop(&mut self) {
        let removed = within(20, || fs::remove_dir_all(&self.root).is_ok());
        assert!(removed || std::thread::panicking(), "{} can be removed", self.root.display());
    }
}

impl Place {
    /// Makes the files; replaces what was there.
    pub(crate) fn make(root: &Path) -> Self {
        let place = Self::bare(root);
        let root = place.root.clone();
        fs::create_dir(root.join("files")).expect("a folder can be made");
        let script = folder().join("files.sh").canonicalize().expect("there is the script");
        let mut made = place.command("bash", "C");
        let made = made.arg(script).current_dir(root.join("files")).output().expect("bash starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::copy(folder().join("drive.sh"), root.join("drive.sh")).expect("there is the script");
        place
    }

    /// A folder without files; replaces what was there.
    pub(crate) fn bare(root: &Path) -> Self {
        let _ = fs::remove_dir_all(root);
        fs::create_dir_all(root).expect("a folder can be made");
        let root = root.canonicalize().expect("it has just been made");
        fs::create_dir(root.join("tmp")).expect("a folder can be made");
        Self { root }
    }

    /// Its folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the store of snapshots goes.
    pub(crate) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Where programs put temporary files: empty when a round begins.
    fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Compiles a program of `testdata/warm/made` into `bin`; its path, or why there is none.
    pub(crate) fn compile(&self, name: &str, options: &[&str]) -> Result<PathBuf, String> {
        let (source, made) = (folder().join("made").join(format!("{name}.c")), self.root.join("bin").join(name));
        fs::create_dir_all(self.root.join("bin")).expect("a folder can be made");
        let log = format!("-DLOG=\"{}\"", self.root.join("log").display());
        let mut command = self.command("cc", "C");
        command.args(["-O1", "-pthread", "-o"]).arg(&made).arg(source).arg(log).args(options);
        let told = command.output().map_err(|error| format!("no cc: {error}"))?;
        if told.status.success() { Ok(made) } else { Err(String::from_utf8_lossy(&told.stderr).into_owned()) }
    }

    /// A command with nothing of this test's own environment.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>, locale: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.root).stdin(Stdio::null());
        command.env("PATH", PATH).env("HOME", &self.root).env("XDG_CACHE_HOME", self.cache()).env("LC_ALL", locale);
        command.env("TMPDIR", self.tmp());
        command.env("P", self.root.join("bin/probe")).env("W", self.root.join("bin/ways"));
        command.env("F", "../../files").env("GIT_CONFIG_NOSYSTEM", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        // git advises where a command took long, as it does on a busy machine.
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "advice.statusUoption");
        command.env("GIT_CONFIG_VALUE_0", "false");
        command.env("GIT_AUTHOR_DATE", "@1700000009 +0000").env("GIT_COMMITTER_DATE", "@1700000009 +0000");
        command
    }

    /// Runs all lines once, under `steady warm` where it is given.
    pub(crate) fn run(&self, lines: &[Line], locale: &str, steady: Option<&Path>) -> Vec<Done> {
        for name in ["work", "out", "err", "status", "tmp"] {
            let _ = fs::remove_dir_all(self.root.join(name));
            fs::create_dir_all(self.root.join(name)).expect("a folder can be made");
        }
        // Some leave temporary files behind that are named after their process number, which the next round may reuse; and
        // perldoc writes them as another user.
        fs::set_permissions(self.tmp(), fs::Permissions::from_mode(0o1777)).expect("it is this test's own");
        for number in 1..=lines.len() {
            let _ = fs::remove_file(self.root.join(format!("log-{number}")));
            fs::create_dir(self.root.join("work").join(number.to_string())).expect("a folder can be made");
        }
        let text: String = lines.iter().map(|line| line.text.clone() + "\n").collect();
        fs::write(self.root.join("lines"), text).expect("the lines can be written");
        // A line that hangs is a failure, not a wait.
        let mut command = self.command("timeout", locale);
        command.args(["--kill-after=5", "800"]);
        if let Some(steady) = steady {
            command.arg(steady).args(["warm", "--"]);
        }
        let told = command.args(["bash", "drive.sh"]).output().expect("the driver starts");
        let (out, err) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        assert!(told.status.success() && out.is_empty() && err.is_empty(), "{}: {out}{err}", told.status);
        (1..=lines.len()).map(|number| self.done(number)).collect()
    }

    fn done(&self, number: usize) -> Done {
        let read = |kind: &str| fs::read(self.root.join(kind).join(number.to_string())).expect("the driver wrote it");
        let work = self.root.join("work").join(number.to_string());
        let mut files = BTreeMap::new();
        gather(&work, Path::new(""), &mut files);
        let status = String::from_utf8_lossy(&read("status")).trim().to_owned();
        let log = fs::read_to_string(self.root.join(format!("log-{number}"))).unwrap_or_default();
        let starts = log.lines().map(str::to_owned).collect();
        Done { status, out: read("out"), err: read("err"), files, starts }
    }
}

fn gather(folder: &Path, below: &Path, files: &mut BTreeMap<PathBuf, (String, Vec<u8>)>) {
    // A folder without rights, or one that was removed, is told by its own entry.
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
            gather(folder, &path, files);
        }
        files.insert(path, (format!("{:?} {:o}", about.file_type(), about.permissions().mode()), contents));
    }
}

/// What is different between two rounds of a line, in words; nothing where they are the same.
pub(crate) fn difference(line: &Line, usual: &Done, other: &Done) -> Option<String> {
    let mut told = vec![];
    if usual.status != other.status {
        told.push(format!("status {} became {}", usual.status, other.status));
    }
    for (name, usual, other) in [("output", &usual.out, &other.out), ("errors", &usual.err, &other.err)] {
        if usual != other {
            told.push(format!("{name} {:?} became {:?}", shown(usual), shown(other)));
        }
    }
    let names: std::collections::BTreeSet<_> = usual.files.keys().chain(other.files.keys()).collect();
    for name in names {
        let excepted = line.except.iter().any(|end| name.to_string_lossy().ends_with(end.as_str()));
        let (left, right) = (usual.files.get(name), other.files.get(name));
        if left != right && !excepted {
            let contents = |file: Option<&(String, Vec<u8>)>| file.map(|(kind, bytes)| (kind.clone(), shown(bytes)));
            told.push(format!("file {}: {:?} became {:?}", name.display(), contents(left), contents(right)));
        }
    }
    (!told.is_empty()).then(|| format!("{}: {}\n    {}", line.program, line.text, told.join("\n    ")))
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(600)]).into_owned()
}
