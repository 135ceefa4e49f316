//! The area, and programs that are watched.

use std::fs::{self, File};
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use steady_preload::WATCHER;
use steady_preload::area::{
    Account, BUCKETS, HEAD_BYTES, Kind, Lock, MAGIC, PLACE_BYTES, ProcessPlace, Spread, TOMBSTONE, Thread, VARIABLE,
};

/// Creates a new directory for one test and returns its path.
fn scratch() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("locks-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).expect("the build directory is writable");
    fs::canonicalize(folder).expect("the directory exists")
}

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let library = scratch().join("watcher.so");
    fs::write(&library, WATCHER).expect("the file can be written");
    library
});

/// Compiles a program with this compiler.
pub(crate) fn compiled_by(compiler: &str, source: &str, options: &[&str]) -> PathBuf {
    let folder = scratch();
    let (text, program) = (folder.join(if compiler == "cc" { "made.c" } else { "made.cc" }), folder.join("made"));
    fs::write(&text, source).expect("the file can be written");
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(&text).args(options);
    assert!(command.status().expect("the compiler starts").success(), "the program does not compile");
    program
}

/// Compiles a program in C.
pub(crate) fn compiled(source: &str) -> PathBuf {
    compiled_by("cc", source, &["-Wno-deprecated-declarations"])
}

/// A file that serves as an area.
pub(crate) struct Area {
    folder: PathBuf,
}

impl Drop for Area {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Area {
    pub(crate) fn new(places: u32) -> Self {
        let area = Area { folder: scratch() };
        let mut file = File::create(area.path()).expect("the file can be created");
        file.write_all(&MAGIC.to_ne_bytes()).expect("the file can be written");
        file.write_all(&places.to_ne_bytes()).expect("the file can be written");
        file.set_len((HEAD_BYTES + places as usize * PLACE_BYTES) as u64).expect("the file can be extended");
        area
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("area")
    }

    /// Returns a command that runs a program with the watcher.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", &*LIBRARY).env(VARIABLE, self.path()).stdin(Stdio::null());
        command
    }

    /// Runs a program with the watcher and these arguments. Returns its output; it must succeed.
    pub(crate) fn run(&self, program: &Path, words: &[&str]) -> String {
        output_text(self.command(program).args(words).output().expect("the program starts"))
    }

    /// Returns the place with this number.
    pub(crate) fn place(&self, number: usize) -> Bytes<ProcessPlace> {
        Bytes::read(&self.path(), HEAD_BYTES + number * PLACE_BYTES)
    }
}

/// Returns the output of a command on both streams; it must have succeeded.
pub(crate) fn output_text(output: Output) -> String {
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("the output is UTF-8");
    assert!(output.status.success(), "{}: {text}", output.status);
    text
}

/// A cache line, which gives copied structures their alignment.
#[repr(align(64))]
struct Line {
    _words: [u64; 8],
}

/// A copy of a structure of the area.
pub(crate) struct Bytes<T> {
    lines: Vec<Line>,
    of: std::marker::PhantomData<T>,
}

impl<T> Bytes<T> {
    fn read(path: &Path, from: usize) -> Self {
        use std::os::unix::fs::FileExt;
        let mut bytes = vec![0; size_of::<T>()];
        File::open(path)
            .expect("the area exists")
            .read_exact_at(&mut bytes, from as u64)
            .expect("the file is long enough");
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("the slice has 8 bytes"));
        let line = |bytes: &[u8]| std::array::from_fn(|at| bytes.get(8 * at..8 * at + 8).map_or(0, word));
        Bytes {
            lines: bytes.chunks(64).map(|bytes| Line { _words: line(bytes) }).collect(),
            of: std::marker::PhantomData,
        }
    }
}

impl<T> Deref for Bytes<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lines are at least as large as T and aligned to 64 bytes, as T is at most. T consists of
        // integers, which are valid for any bytes.
        unsafe { &*self.lines.as_ptr().cast() }
    }
}

/// The counts of a lock, in its entry and in all accounts.
pub(crate) struct Totals {
    pub(crate) acquisitions: u64,
    pub(crate) contended: u64,
    pub(crate) given_up: u64,
    pub(crate) wait: u64,
    pub(crate) holds: u64,
    pub(crate) hold: u64,
    pub(crate) hold_most: u64,
    pub(crate) waits: [u64; BUCKETS],
}

impl Totals {
    fn add_waits(&mut self, spread: &Spread) {
        let buckets = self.waits.iter_mut().zip(&spread.buckets);
        buckets.for_each(|(sum, bucket)| *sum += u64::from(bucket.load(Relaxed)));
    }
}

/// Queries on a place.
pub(crate) trait Queries {
    /// Returns the locks of a kind that have an entry, with its number.
    fn locks(&self, kind: Kind) -> Vec<(usize, &Lock)>;
    /// Returns the threads that have an entry.
    fn threads(&self) -> Vec<&Thread>;
    /// Returns the counts of the lock with this number.
    fn totals(&self, lock: usize) -> Totals;
    /// Returns how many threads have a pair with a lock.
    fn threads_of(&self, lock: usize) -> usize;
    /// Returns the acquisitions of all locks, including those without an entry.
    fn acquisitions(&self) -> u64;
}

impl Queries for ProcessPlace {
    fn locks(&self, kind: Kind) -> Vec<(usize, &Lock)> {
        let used = self.process.locks.load(Relaxed) as usize;
        let all = self.locks.iter().enumerate().take(used);
        all.filter(|(_, lock)| lock.kind.load(Relaxed) == kind as u32 && lock.address.load(Relaxed) != 0).collect()
    }

    fn threads(&self) -> Vec<&Thread> {
        self.threads.iter().take_while(|thread| thread.tid.load(Relaxed) != 0).collect()
    }

    fn totals(&self, lock: usize) -> Totals {
        let entry = &self.locks[lock];
        let used = get(&self.process.accounts) as usize;
        let own = |account: &&Account| get(&account.key) >> 32 == lock as u64 + 1;
        let mut totals = Totals {
            contended: get(&entry.contended),
            given_up: get(&entry.given_up),
            wait: get(&entry.wait),
            holds: get(&entry.holds_contended),
            hold: get(&entry.hold_contended),
            hold_most: get(&entry.hold_most),
            waits: [0; BUCKETS],
            acquisitions: 0,
        };
        totals.add_waits(&self.waits[lock]);
        for account in self.accounts.iter().take(used).filter(own) {
            totals.contended += get(&account.contended);
            totals.given_up += get(&account.given_up);
            totals.wait += get(&account.wait);
            totals.holds += get(&account.holds_contended);
            totals.hold += get(&account.hold_contended);
            totals.hold_most = totals.hold_most.max(get(&account.hold_most));
            totals.add_waits(&account.waits);
        }
        totals.acquisitions = get(&entry.uncontended) + totals.contended;
        totals
    }

    fn threads_of(&self, lock: usize) -> usize {
        let keys = self.pairs.iter().map(|pair| pair.key.load(Relaxed));
        keys.filter(|&key| key != TOMBSTONE && key >> 32 == lock as u64 + 1).count()
    }

    fn acquisitions(&self) -> u64 {
        let all: u64 = self.locks.iter().map(|lock| get(&lock.uncontended) + get(&lock.contended)).sum();
        let used = get(&self.process.accounts) as usize;
        let accounts: u64 = self.accounts.iter().take(used).map(|account| get(&account.contended)).sum();
        all + accounts + get(&self.process.folded.acquisitions)
    }
}

pub(crate) fn get(number: &AtomicU64) -> u64 {
    number.load(Relaxed)
}

/// Returns the numbers in the output of a program.
pub(crate) fn numbers(printed: &str) -> Vec<u64> {
    printed.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{printed}"))).collect()
}

/// Returns whether two numbers differ by at most this percentage of the second one.
pub(crate) fn within(percent: u64, one: u64, other: u64) -> bool {
    one.abs_diff(other) * 100 <= other * percent
}

/// Returns whether a program is installed; reports the test as skipped otherwise.
pub(crate) fn is_installed(test: &str, program: &str) -> bool {
    let there = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", program]).output().expect("sh starts");
    if !there.status.success() {
        eprintln!("skipped: {test}: {program} is not installed");
    }
    there.status.success()
}
