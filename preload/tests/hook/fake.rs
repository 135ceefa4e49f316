//! A store with snapshots of a test program, and programs that run with the hook.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use steady_preload::card::{COUNTERS, FIRST_PROGRAM, Outcome};
use steady_preload::identity::{Identity, Time};
use steady_preload::{CardDraft, HOOK, WarmDraft};

/// Prints its first word and all arguments; if requested, the name of the process first.
const PRINTER: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    char name[64] = "";
    FILE *file = getenv("SAY_NAME") ? fopen("/proc/self/comm", "r") : NULL;
    if (file && fgets(name, sizeof name, file)) { name[strcspn(name, "\n")] = ' '; printf("%s", name); }
    printf("%s", WORD);
    for (int i = 1; i < argc; i++) printf(" %s", argv[i]);
    printf("\n");
    return STATUS;
}
"#;

/// A store, and next to it a directory `bin` with the program `tool`.
pub(crate) struct Fake {
    pub(crate) folder: PathBuf,
    pub(crate) tool: PathBuf,
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Creates a new directory for one test and returns its path.
fn scratch() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hook-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).expect("the build directory is writable");
    fs::canonicalize(folder).expect("the directory exists")
}

/// Compiles a C program.
pub(crate) fn compiled(name: &str, source: &str, options: &[&str]) -> PathBuf {
    let folder = scratch();
    let (text, program) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&text, source).expect("the file can be written");
    let status = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(&text).args(options).status();
    assert!(status.expect("cc starts").success(), "{name} does not compile");
    program
}

fn printer(word: &str, status: i32) -> PathBuf {
    compiled(word, PRINTER, &[&format!("-DWORD=\"{word}\""), &format!("-DSTATUS={status}")])
}

pub(crate) static COLD: LazyLock<PathBuf> = LazyLock::new(|| printer("cold", 0));
static WARM: LazyLock<PathBuf> = LazyLock::new(|| printer("warm", 0));

pub(crate) fn identity(path: &Path) -> Identity {
    let mount_id_unique = StatxFlags::from_bits_retain(0x4000);
    let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | mount_id_unique;
    let stat = statx(CWD, path, AtFlags::empty(), mask).expect("the file exists");
    let time = |time: rustix::fs::StatxTimestamp| Time { seconds: time.tv_sec, nanoseconds: time.tv_nsec.into() };
    Identity {
        device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        inode: stat.stx_ino,
        mount: stat.stx_mnt_id,
        bytes: stat.stx_size,
        modified: time(stat.stx_mtime),
        changed: time(stat.stx_ctime),
    }
}

pub(crate) fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("the text has no NUL")
}

impl Fake {
    /// Returns a store without cards.
    pub(crate) fn empty() -> Self {
        let folder = scratch();
        let store = folder.join("store");
        fs::DirBuilder::new().mode(0o700).create(&store).expect("the directory can be created");
        for name in ["cards", "snapshots", "wanted"] {
            fs::create_dir(store.join(name)).expect("the directory can be created");
        }
        fs::write(store.join("hook.so"), HOOK).expect("the file can be written");
        fs::write(store.join("counts"), [0; COUNTERS * 8]).expect("the file can be written");
        fs::create_dir(folder.join("bin")).expect("the directory can be created");
        let tool = folder.join("bin/tool");
        copy_program(&COLD, &tool);
        Fake { folder, tool }
    }

    /// Returns a store with two snapshots of `tool`.
    pub(crate) fn new() -> Self {
        let fake = Self::empty();
        fake.keep_warm(&fake.tool, |_| ());
        fake
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    pub(crate) fn hook(&self) -> PathBuf {
        self.store().join("hook.so")
    }

    /// Makes two snapshots of a program, and its card with a change.
    pub(crate) fn keep_warm(&self, program: &Path, change: impl FnOnce(&mut WarmDraft)) {
        self.keep_warm_from(program, &WARM, change);
    }

    /// Like [`keep_warm`](Fake::keep_warm), with copies of another program as snapshots.
    pub(crate) fn keep_warm_from(&self, program: &Path, snapshot: &Path, change: impl FnOnce(&mut WarmDraft)) {
        let program = fs::canonicalize(program).expect("the file exists");
        let name = Path::new(program.file_name().expect("the path has a file name"));
        for copy in 0..2 {
            let folder = self.copies(&program).join(copy.to_string());
            fs::create_dir_all(&folder).expect("the directory can be created");
            let _ = fs::remove_file(folder.join(name));
            copy_program(snapshot, &folder.join(name));
        }
        self.write_warm(&program, change);
    }

    fn write_warm(&self, program: &Path, change: impl FnOnce(&mut WarmDraft)) {
        let identity = identity(program);
        let name = Path::new(program.file_name().expect("the path has a file name"));
        let mut warm = WarmDraft {
            identity,
            uid: own_user(),
            images: self.images(program),
            slot: FIRST_PROGRAM as u32,
            hook_inside: false,
            stack_limits: [soft_stack_limit(); 2],
            name: text(name),
            program: text(program),
            dependencies: vec![],
            conditions: vec![],
        };
        change(&mut warm);
        self.write_card(program, &CardDraft::Warm(warm));
    }

    fn images(&self, program: &Path) -> Vec<Identity> {
        let name = program.file_name().expect("the path has a file name");
        ["0", "1"].map(|copy| identity(&self.copies(program).join(copy).join(name))).into()
    }

    /// Writes the card again, with the current identities of the snapshots.
    pub(crate) fn accept_images(&self, program: &Path) {
        self.write_warm(program, |_| ());
    }

    /// Returns the directory of a program's snapshots.
    pub(crate) fn copies(&self, program: &Path) -> PathBuf {
        self.store().join("snapshots").join(identity(program).key().as_str())
    }

    /// Gives the snapshots of a program another name.
    pub(crate) fn add_name(&self, program: &Path, name: &str) {
        for copy in ["0", "1"] {
            let folder = self.copies(program).join(copy);
            let own = folder.join(program.file_name().expect("the path has a file name"));
            symlink(own, folder.join(name)).expect("the name is new");
        }
    }

    pub(crate) fn card(&self, program: &Path) -> PathBuf {
        self.store().join("cards").join(identity(program).key().as_str())
    }

    pub(crate) fn write_card(&self, program: &Path, card: &CardDraft) {
        self.write_card_bytes(program, &card.to_bytes().expect("the card is short enough"));
    }

    pub(crate) fn write_card_bytes(&self, program: &Path, bytes: &[u8]) {
        let card = self.card(program);
        let _ = fs::remove_file(&card);
        fs::write(card, bytes).expect("the file can be written");
    }

    /// Writes an executable file next to `tool`.
    pub(crate) fn script(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.join("bin").join(name);
        let draft = path.with_extension("draft");
        fs::write(&draft, content).expect("the file can be written");
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).expect("the file can be changed");
        copy_program(&draft, &path);
        fs::remove_file(draft).expect("the file can be changed");
        path
    }

    /// Returns the counter of launches with this outcome.
    pub(crate) fn count(&self, outcome: Outcome) -> u64 {
        self.counter(outcome as usize)
    }

    pub(crate) fn counter(&self, place: usize) -> u64 {
        let counts = fs::read(self.store().join("counts")).expect("the file exists");
        u64::from_ne_bytes(counts[8 * place..8 * place + 8].try_into().expect("the slice has 8 bytes"))
    }

    /// Returns the paths of the programs of this test for which snapshots are requested.
    pub(crate) fn requests(&self) -> Vec<PathBuf> {
        let links = fs::read_dir(self.store().join("wanted")).expect("the directory exists");
        let requests = links.map(|link| {
            fs::read_link(link.expect("the directory can be read").path()).expect("the entry is a symbolic link")
        });
        requests.filter(|path| path.starts_with(&self.folder)).collect()
    }

    /// Removes all requests, as the keeper does when it has read them.
    pub(crate) fn clear_requests(&self) {
        let wanted = self.store().join("wanted");
        fs::remove_dir_all(&wanted).expect("the directory can be removed");
        fs::create_dir(wanted).expect("the directory can be created");
    }

    /// Returns a command with the hook preloaded and `tool` in PATH.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:{}", self.folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.env_remove("LD_LIBRARY_PATH").env("LD_PRELOAD", self.hook()).env("PATH", path);
        command.stdin(Stdio::null()).current_dir(&self.folder);
        command
    }

    /// Runs a command. Returns its output on both streams.
    pub(crate) fn run(&self, words: &[&str]) -> String {
        output_text(self.command(words[0]).args(&words[1..]).output().expect("the program starts"))
    }

    /// Runs a shell script.
    pub(crate) fn sh(&self, script: &str) -> String {
        self.run(&["/bin/bash", "-c", script])
    }
}

/// Copies a program in another process. If this process had the copy open for writing, children that other tests start
/// concurrently would inherit the descriptor, and executing the copy would fail with ETXTBSY until they call execve(2).
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("--preserve=mode").arg(from).arg(to).status().expect("cp starts");
    assert!(status.success(), "{} cannot be copied", from.display());
}

pub(crate) fn output_text(output: Output) -> String {
    String::from_utf8([output.stdout, output.stderr].concat()).expect("the output is UTF-8")
}

/// Returns whether a program is installed; reports the test as skipped otherwise.
pub(crate) fn is_installed(test: &str, program: &str) -> bool {
    let there = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", program]).output().expect("sh starts");
    if !there.status.success() {
        eprintln!("skipped: {test}: {program} is not installed");
    }
    there.status.success()
}

fn own_user() -> u32 {
    fs::metadata("/proc/self").expect("/proc is mounted").uid()
}

fn soft_stack_limit() -> u64 {
    let limits = fs::read_to_string("/proc/self/limits").expect("/proc is mounted");
    let line = limits.lines().find(|line| line.starts_with("Max stack size")).expect("the limit is listed");
    let soft = line.split_whitespace().nth(3).expect("the limit has a value");
    if soft == "unlimited" { u64::MAX } else { soft.parse().expect("the limit is a number") }
}
