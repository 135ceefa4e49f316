//! The tables of command lines, and the programs of a package.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The PATH of all rounds, independent of the PATH of the test.
pub(crate) const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// The names of the tables.
pub(crate) const TABLES: [&str; 9] =
    ["coreutils", "text", "archives", "perl", "python", "git", "shells", "openssl", "locales"];

/// The packages whose programs should have command lines in the tables.
pub(crate) const PACKAGES: [&str; 15] = [
    "coreutils",
    "sed",
    "grep",
    "gawk",
    "mawk",
    "findutils",
    "diffutils",
    "tar",
    "gzip",
    "perl",
    "perl-base",
    "git",
    "bash",
    "dash",
    "openssl",
];

/// In place of a command line: `--version` is not tried, because the program would wait or print the time.
const NO_OPTIONS: &str = "-";

/// A command line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The program that the command line starts at least once.
    pub(crate) program: String,
    /// The text that bash runs.
    pub(crate) text: String,
    /// The ends of paths of files whose contents may differ.
    pub(crate) except: Vec<String>,
}

/// Returns the directory of the tables.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/warm")
}

/// Returns the lines of a table and two more for each of its programs: one with `--version` and one with an unknown
/// option.
pub(crate) fn table(name: &str) -> Vec<Line> {
    let mut lines = read(name);
    let closed: BTreeSet<String> =
        lines.extract_if(.., |line| line.text == NO_OPTIONS).map(|line| line.program).collect();
    let programs: BTreeSet<String> = lines.iter().map(|line| line.program.clone()).collect();
    for program in programs.difference(&closed) {
        for option in ["--version", "--no-such-option"] {
            let text = format!("timeout 10 {program} {option} x | cat");
            lines.push(Line { program: program.clone(), text, except: vec![] });
        }
    }
    lines
}

/// Returns the lines of a table.
pub(crate) fn read(name: &str) -> Vec<Line> {
    let text = fs::read_to_string(folder().join(format!("{name}.tsv"))).expect("the table exists");
    let rows = text.lines().filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(|row| parsed(row).unwrap_or_else(|| panic!("no line: '{row}'"))).collect()
}

fn parsed(row: &str) -> Option<Line> {
    let mut fields = row.split('\t');
    let (program, text) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let except = fields.next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    fields.next().is_none().then_some(Line { program, text, except })
}

/// Returns the path of a program, searched in [`PATH`].
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Returns the names of the programs of a package. There are none if the package or dpkg is not installed.
pub(crate) fn programs_of(package: &str) -> Vec<String> {
    let Ok(output) = Command::new("dpkg").args(["-L", package]).env("PATH", PATH).output() else { return vec![] };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths = text
        .lines()
        .map(Path::new)
        .filter(|path| path.parent().is_some_and(|folder| folder.ends_with("bin") || folder.ends_with("sbin")));
    paths.filter(|path| is_program(path)).filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
}
