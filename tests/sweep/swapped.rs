//! A made program and its library, swapped for others while they are warm.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lines::folder;
use super::round::Place;

/// A program that tells what its library answers.
pub(crate) struct Swapped {
    /// Where it is.
    pub(crate) place: Place,
    steady: PathBuf,
}

/// What it told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// What the library answers.
    pub(crate) answer: i32,
    /// The program's own number.
    pub(crate) own: i32,
    /// Whether it ran from a snapshot.
    pub(crate) warm: bool,
}

impl Swapped {
    /// Compiles the program, and its library with answer 1, into `bin`; the reason where that cannot be.
    pub(crate) fn make(root: &Path, steady: &Path) -> Result<Self, String> {
        let place = Place::bare(root);
        let swapped = Swapped { place, steady: steady.to_owned() };
        swapped.library(1, "bin/libanswer.so")?;
        swapped.program(1, "bin/asks")?;
        Ok(swapped)
    }

    /// A path below its folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.root().join(name)
    }

    /// Compiles a library that answers so.
    pub(crate) fn library(&self, answer: i32, name: &str) -> Result<(), String> {
        self.cc("answer.c", name, &["-shared", "-fPIC", &format!("-DANSWER={answer}")])
    }

    /// Compiles a library whose constructor does that.
    pub(crate) fn constructed(&self, kind: &str, name: &str) -> Result<(), String> {
        self.cc("constructed.c", name, &["-shared", "-fPIC", &format!("-DKIND={kind}")])
    }

    /// Compiles a program with that number of its own; it looks for its library beside it, but first in `first`.
    pub(crate) fn program(&self, own: i32, name: &str) -> Result<(), String> {
        let (own, folder) = (format!("-DOWN={own}"), self.path("bin"));
        let library = format!("-L{}", folder.display());
        self.cc("asks.c", name, &[&own, &library, "-lanswer", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/first:$ORIGIN"])
    }

    /// Compiles a made program or library.
    pub(crate) fn cc(&self, source: &str, name: &str, options: &[&str]) -> Result<(), String> {
        let made = self.path(name);
        fs::create_dir_all(made.parent().expect("it lies in a folder")).expect("a folder can be made");
        let mut command = self.place.command("cc", "C");
        command
            .args(["-O1", "-o"])
            .arg(&made)
            .arg(folder().join("made").join(source))
            .args(options)
            .args(["-pthread", "-lm"]);
        let told = command.output().map_err(|error| format!("no cc: {error}"))?;
        if told.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&told.stderr).into_owned()) }
    }

    /// Runs a shell's script in its folder, with the hook; what it wrote on standard output.
    pub(crate) fn sh(&self, script: &str) -> String {
        let told = self.place.command(&self.steady, "C.UTF-8").args(["warm", "--", "sh", "-c", script]).output();
        let told = told.expect("steady starts");
        assert!(told.stderr.is_empty(), "{script}: {}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8_lossy(&told.stdout).into_owned()
    }

    /// Starts the program with the hook once.
    pub(crate) fn ask(&self) -> Told {
        told(self.sh("bin/asks").trim())
    }

    /// Has the program taken now; panics where it is refused.
    pub(crate) fn take(&self) {
        assert!(within(10, || self.place.snapshot(&self.steady, &["bin/asks"]).0 == 0), "it is not taken");
        let first = self.ask();
        assert!(first.warm, "{first:?}");
    }

    /// After something was swapped: it is told at once, every time, and from snapshots again before long.
    pub(crate) fn tells(&self, what: &str, answer: i32, own: i32) {
        let right = |told: &Told| (told.answer, told.own) == (answer, own);
        for _ in 0..3 {
            let told = self.ask();
            assert!(right(&told), "{what}: {told:?}");
        }
        let warm = within(20, || {
            let told = self.ask();
            assert!(right(&told), "{what}: {told:?}");
            told.warm
        });
        assert!(warm, "{what}: it is not started from a snapshot any more: {:?}", self.place.kept(&self.steady));
    }
}

/// What the program printed.
pub(crate) fn told(line: &str) -> Told {
    let mut words = line.split(' ');
    let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("not told: '{line}'"));
    let (answer, own) = (number(), number());
    Told { answer, own, warm: words.next() == Some("warm") }
}

/// Whether `condition` comes true within so many seconds, or a little more.
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
