//! A test program with a library, which tests replace after a snapshot was created.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lines::folder;
use super::round::Sandbox;

/// The program `asks`, which prints the answer of its library, in a sandbox.
pub(crate) struct Swapped {
    pub(crate) sandbox: Sandbox,
    steady: PathBuf,
}

/// The output of one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The answer of the library.
    pub(crate) answer: i32,
    /// The number compiled into the program.
    pub(crate) own: i32,
    /// Whether the program ran from a snapshot.
    pub(crate) warm: bool,
}

impl Swapped {
    /// Compiles the program with number 1, and its library with answer 1, into `bin`. Returns the error without a
    /// compiler.
    pub(crate) fn make(root: &Path, steady: &Path) -> Result<Self, String> {
        let sandbox = Sandbox::empty(root);
        let swapped = Swapped { sandbox, steady: steady.to_owned() };
        swapped.library(1, "bin/libanswer.so")?;
        swapped.program(1, "bin/asks")?;
        Ok(swapped)
    }

    /// Returns a path in the sandbox.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.root().join(name)
    }

    /// Compiles a library with this answer.
    pub(crate) fn library(&self, answer: i32, name: &str) -> Result<(), String> {
        self.cc("answer.c", name, &["-shared", "-fPIC", &format!("-DANSWER={answer}")])
    }

    /// Compiles a library with this kind of constructor, see `testdata/warm/made/constructed.c`.
    pub(crate) fn constructed(&self, kind: &str, name: &str) -> Result<(), String> {
        let folder = format!("-DFOLDER=\"{}\"", self.sandbox.root().display());
        self.cc("constructed.c", name, &["-shared", "-fPIC", &format!("-DKIND={kind}"), &folder])
    }

    /// Compiles a program with this number. It searches its library first in the directory `first`, then in its own.
    pub(crate) fn program(&self, own: i32, name: &str) -> Result<(), String> {
        let (own, folder) = (format!("-DOWN={own}"), self.path("bin"));
        let library = format!("-L{}", folder.display());
        self.cc("asks.c", name, &[&own, &library, "-lanswer", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/first:$ORIGIN"])
    }

    /// Compiles a program or library of `testdata/warm/made`.
    pub(crate) fn cc(&self, source: &str, name: &str, options: &[&str]) -> Result<(), String> {
        let target = self.path(name);
        fs::create_dir_all(target.parent().expect("the path has a directory")).expect("a directory can be created");
        let mut command = self.sandbox.command("cc", "C");
        command
            .args(["-O1", "-o"])
            .arg(&target)
            .arg(folder().join("made").join(source))
            .args(options)
            .args(["-pthread", "-lm"]);
        let output = command.output().map_err(|error| format!("no cc: {error}"))?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    /// Runs a shell script under `steady warm` in the sandbox and returns its standard output.
    pub(crate) fn sh(&self, script: &str) -> String {
        let output = self.sandbox.command(&self.steady, "C.UTF-8").args(["warm", "--", "sh", "-c", script]).output();
        let output = output.expect("steady starts");
        assert!(output.stderr.is_empty(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts the program once under `steady warm`.
    pub(crate) fn launch(&self) -> Launch {
        parse_line(self.sh("bin/asks").trim())
    }

    /// Creates a snapshot of the program. Panics if it is refused.
    pub(crate) fn create_snapshot(&self) {
        assert!(
            within(10, || self.sandbox.snapshot(&self.steady, &["bin/asks"]).0 == 0),
            "the program has no snapshot"
        );
        let first = self.launch();
        assert!(first.warm, "{first:?}");
    }

    /// Panics unless every launch prints these values, and launches use a snapshot within 20 s. `what` names the
    /// replacement.
    pub(crate) fn assert_answers(&self, what: &str, answer: i32, own: i32) {
        let is_expected = |launch: &Launch| (launch.answer, launch.own) == (answer, own);
        for _ in 0..3 {
            let launch = self.launch();
            assert!(is_expected(&launch), "{what}: {launch:?}");
        }
        let warm = within(20, || {
            let launch = self.launch();
            assert!(is_expected(&launch), "{what}: {launch:?}");
            launch.warm
        });
        assert!(warm, "{what}: no launch uses a snapshot: {:?}", self.sandbox.programs(&self.steady));
    }
}

/// Parses a line that the program printed.
pub(crate) fn parse_line(line: &str) -> Launch {
    let mut words = line.split(' ');
    let mut number = || {
        words.next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no output of the program: '{line}'"))
    };
    let (answer, own) = (number(), number());
    Launch { answer, own, warm: words.next() == Some("warm") }
}

/// Waits up to this many seconds for `condition`, not counting the time that evaluating it takes.
pub(crate) fn within(seconds: u64, mut condition: impl FnMut() -> bool) -> bool {
    const PAUSE: u64 = 25;
    for _ in 0..seconds * 1000 / PAUSE {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(PAUSE));
    }
    condition()
}
