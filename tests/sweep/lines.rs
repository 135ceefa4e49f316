//! The tables of command lines, and the programs that a package brings.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs are looked for; the machine's own, whatever this test was started with.
pub(crate) const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// The tables.
pub(crate) const TABLES: [&str; 9] =
    ["coreutils", "text", "archives", "perl", "python", "git", "shells", "openssl", "locales"];

/// The packages whose programs must each have lines.
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

/// In place of a line: the program is not asked for its version, for it would wait, or tell the time.
const NO_OPTIONS: &str = "-";

/// A command line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The program that it is about: it starts it at least once.
    pub(crate) program: String,
    /// What bash runs.
    pub(crate) text: String,
    /// Files whose contents may differ: what their paths end with.
    pub(crate) except: Vec<String>,
}

/// The folder of the tables.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/warm")
}

/// The lines of a table, with two more for each of its programs: an option that most have, and one that none has.
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

/// The lines of a table as they stand there.
pub(crate) fn read(name: &str) -> Vec<Line> {
    let text = fs::read_to_string(folder().join(format!("{name}.tsv"))).expect("there is the table");
    let rows = text.lines().filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(|row| parsed(row).unwrap_or_else(|| panic!("no line: '{row}'"))).collect()
}

fn parsed(row: &str) -> Option<Line> {
    let mut fields = row.split('\t');
    let (program, text) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let except = fields.next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    fields.next().is_none().then_some(Line { program, text, except })
}

/// Where a program is, by [`PATH`].
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The names of the programs of a package, if it is installed and there is a dpkg.
pub(crate) fn programs_of(package: &str) -> Vec<String> {
    let Ok(told) = Command::new("dpkg").args(["-L", package]).env("PATH", PATH).output() else { return vec![] };
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let paths = text
        .lines()
        .map(Path::new)
        .filter(|path| path.parent().is_some_and(|folder| folder.ends_with("bin") || folder.ends_with("sbin")));
    paths.filter(|path| is_program(path)).filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
}
