//! `steady host` on copies of the files of recorded hosts.

mod steady;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use steady::{copy_steady, eventually, output_of, processes_with, run, scratch, skip, steady, within_a_second};

/// The journal of changed settings, relative to the root.
const JOURNAL: &str = "var/lib/steady-host/host.json";
const GOVERNOR: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";

/// A copy of the files of a recorded host, removed on drop.
struct CopiedHost(PathBuf);

impl CopiedHost {
    fn of(tree: &str, test: &str) -> Self {
        Self::at(scratch(&format!("host-{test}")), tree)
    }

    fn at(to: PathBuf, tree: &str) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trees").join(tree);
        let _ = fs::remove_dir_all(&to);
        let copied = Command::new("cp").arg("-r").arg(from).arg(&to).status().expect("cp starts");
        assert!(copied.success());
        CopiedHost(to)
    }

    fn root(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let (command, rest) = args.split_first().unwrap();
        run(&[&["host", command, "--root", self.root()], rest].concat())
    }

    /// Returns the files and their contents, except write-only ones and those of `steady`.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("drop_caches") && !path.starts_with(self.0.join("var")) {
                    found.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        found
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }
}

impl Drop for CopiedHost {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn status_shows_every_setting() {
    let host = CopiedHost::of("host-intel-active", "status");
    let (status, stdout, stderr) = host.run(&["status", "--no-rulers", "--format", "json"]);
    assert_eq!(status, 0, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["schema"], "steady.host/1");
    let of = |name: &str| report["knobs"].as_array().unwrap().iter().find(|knob| knob["name"] == name).unwrap().clone();
    assert_eq!((&of("turbo")["value"], &of("turbo")["quiet_value"]), (&"0".into(), &"1".into()));
    assert_eq!(of("governor")["files"], 8);
    let condition = |name: &str| {
        let all = report["conditions"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap()["value"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(condition("power"), "mains");
    assert_eq!(condition("throttling"), "17 times since boot, on the core with the most");
    assert_eq!(condition("wakers"), "cron (starts programs), irqbalance (moves interrupts), timers apt-daily, fstrim");
    let text = host.run(&["status", "--no-rulers"]).1;
    assert!(text.trim_end().ends_with("How far it is from quiet was not measured: --no-rulers was given."), "{text}");
}

#[test]
fn the_last_sentence_says_how_far_from_quiet_this_host_is() {
    let (status, stdout, stderr) = run(&["host", "status"]);
    assert_eq!(status, 0, "{stderr}");
    let last = stdout.replace("\n  ", " ");
    assert!(
        last.trim_end().lines().last().unwrap().starts_with("How far it is from quiet: for one second"),
        "{stdout}"
    );
}

/// The umask of root is often 077.
#[test]
fn every_user_can_read_the_journal_whatever_the_umask() {
    let host = CopiedHost::of("host-intel-active", "umask");
    let quiet = format!("umask 077; exec '{}' host quiet --root '{}'", env!("CARGO_BIN_EXE_steady"), host.root());
    let (status, _, stderr) = output_of(Command::new("sh").args(["-c", &quiet]).output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    let journal = host.0.join(JOURNAL);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(journal.parent().unwrap()), mode(&journal)), (0o755, 0o644));
    assert_eq!(host.run(&["restore"]).0, 0);
}

#[test]
fn restore_gives_identical_files() {
    for tree in ["host-intel-active", "host-intel-passive", "host-amd-pstate", "host-acpi-cpufreq"] {
        let host = CopiedHost::of(tree, &format!("whole-{tree}"));
        let before = host.files();
        let (status, _, stderr) = host.run(&["quiet"]);
        assert_eq!(status, 0, "{tree}: {stderr}");
        assert_ne!(host.files(), before, "{tree}");
        assert!(host.0.join(JOURNAL).exists(), "{tree}");
        let (status, stdout, stderr) = host.run(&["restore"]);
        assert_eq!(status, 0, "{tree}: {stdout} {stderr}");
        assert_eq!(host.files(), before, "{tree}");
        assert!(!host.0.join(JOURNAL).exists(), "{tree}");
        let (status, stdout, _) = host.run(&["restore"]);
        assert_eq!((status, stdout.as_str()), (0, "There was nothing to restore.\n"), "{tree}");
    }
}

#[test]
fn dashes_without_a_command_are_refused() {
    let host = CopiedHost::of("host-intel-active", "dashes");
    let before = host.files();
    let (status, _, stderr) = host.run(&["quiet", "--"]);
    assert_eq!(status, 125, "{stderr}");
    assert!(stderr.contains("no command follows --"), "{stderr}");
    assert_eq!(host.files(), before);
}

#[test]
fn the_published_knobs_are_set_and_restored() {
    let host = CopiedHost::of("host-intel-active", "published");
    let before = host.files();
    let (status, stdout, stderr) = host.run(&["quiet", "--as-published", "--format", "json"]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let mut names: Vec<&str> =
        report["set"].as_array().unwrap().iter().map(|attempt| attempt["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    // Interrupts that only the second threads of cores serve are moved first.
    assert_eq!(names, ["aslr", "caches", "governor", "irq-affinity", "nmi-watchdog", "smt", "turbo"]);
    assert_eq!(host.text("proc/sys/kernel/randomize_va_space").trim(), "0");
    assert_eq!(host.run(&["restore"]).0, 0);
    assert_eq!(host.files(), before);
    assert_eq!(host.run(&["quiet", "--as-published", "--only", "turbo"]).0, 2);
}

/// Runs `steady` again and again, killing it one step later each time, and calls `then` after each kill. Returns the
/// number of steps, once a run ends before its kill.
fn killed_at_every_step(host: &CopiedHost, args: &[&str], mut then: impl FnMut(u32)) -> u32 {
    for at in 0.. {
        let number = at.to_string();
        let mut command = steady();
        command.args(["host", args[0], "--root", host.root(), "--die-at", &number]).args(&args[1..]);
        let output = command.output().unwrap();
        if output.status.signal() != Some(9) {
            assert_eq!(output.status.code(), Some(0), "at {at}: {}", String::from_utf8_lossy(&output.stderr));
            return at;
        }
        then(at);
    }
    unreachable!("a run has fewer than 2^32 steps")
}

#[test]
fn restore_works_after_quiet_was_killed_at_any_step() {
    let host = CopiedHost::of("host-acpi-cpufreq", "killed");
    let before = host.files();
    let steps = killed_at_every_step(&host, &["quiet"], |at| {
        let (status, stdout, stderr) = host.run(&["restore"]);
        assert_eq!(status, 0, "at {at}: {stdout} {stderr}");
        assert_eq!(host.files(), before, "at {at}");
        assert!(!host.0.join(JOURNAL).exists(), "at {at}");
    });
    assert!(steps > 15, "too few steps for a journal, six settings and the caches: {steps}");
    host.run(&["restore"]);
    assert_eq!(host.files(), before);
}

#[test]
fn restore_works_after_restore_was_killed_at_any_step() {
    let host = CopiedHost::of("host-intel-passive", "killed-back");
    let before = host.files();
    host.run(&["quiet"]);
    let steps = killed_at_every_step(&host, &["restore"], |at| {
        let (status, stdout, stderr) = host.run(&["restore"]);
        assert_eq!(status, 0, "at {at}: {stdout} {stderr}");
        assert_eq!(host.files(), before, "at {at}");
        host.run(&["quiet"]);
    });
    assert!(steps > 4, "{steps}");
    assert_eq!(host.files(), before);
}

#[test]
fn concurrent_commands_wait_for_each_other() {
    let host = CopiedHost::of("host-intel-active", "two");
    let before = host.files();
    let start = |args: &[&str]| {
        let mut command = steady();
        command.args(["host", args[0], "--root", host.root()]).args(&args[1..]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    for _ in 0..5 {
        let all: Vec<_> = (0..4).map(|_| start(&["quiet"])).collect();
        for mut one in all {
            assert!(one.wait().unwrap().success());
        }
        let all: Vec<_> = (0..4).map(|_| start(&["restore"])).collect();
        for mut one in all {
            assert!(one.wait().unwrap().success());
        }
        assert_eq!(host.files(), before);
        assert!(!host.0.join(JOURNAL).exists());
    }
}

#[test]
fn settings_that_others_have_changed_are_reported_and_kept() {
    let host = CopiedHost::of("host-intel-passive", "foreign");
    let before = host.files();
    host.run(&["quiet"]);
    host.write(GOVERNOR, "ondemand\n");
    let (status, stdout, _) = host.run(&["restore"]);
    assert_eq!(status, 1, "{stdout}");
    assert!(stdout.replace("\n  ", " ").contains("another program set it"), "{stdout}");
    assert_eq!(host.text(GOVERNOR), "ondemand\n");
    let (status, ..) = host.run(&["restore", "--force"]);
    assert_eq!((status, host.files()), (0, before));
}

#[test]
fn a_journal_of_an_earlier_boot_is_not_used() {
    let host = CopiedHost::of("host-intel-active", "void");
    host.run(&["quiet"]);
    host.write("proc/sys/kernel/random/boot_id", "another\n");
    let after = host.files();
    let (status, stdout, _) = host.run(&["restore"]);
    assert_eq!(status, 0, "{stdout}");
    assert!(stdout.contains("earlier boot") && stdout.contains("host.void.json"), "{stdout}");
    assert_eq!(host.files(), after);
    assert!(!host.0.join(JOURNAL).exists() && host.0.join("var/lib/steady-host/host.void.json").exists());
}

#[test]
fn an_invalid_journal_is_an_error() {
    let host = CopiedHost::of("host-intel-active", "broken");
    host.run(&["quiet"]);
    let after = host.files();
    let valid = host.text(JOURNAL);
    let target = scratch("host-broken-target");
    fs::write(&target, "mine\n").unwrap();
    let elsewhere = valid.replace("/proc/sys/vm/swappiness", target.to_str().unwrap());
    for text in
        ["", "{", "[]", &valid[..valid.len() / 2], &elsewhere, &valid.replace("\"version\": 1", "\"version\": 9")]
    {
        host.write(JOURNAL, text);
        for args in [&["restore"][..], &["restore", "--force"], &["quiet"]] {
            let (status, _, stderr) = host.run(args);
            assert_eq!(status, 125, "{args:?}: {stderr}");
            assert!(stderr.contains("journal"), "{stderr}");
            assert_eq!(host.files(), after, "{args:?}");
        }
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
    let _ = fs::remove_file(target);
}

/// The directory of the journal, and the one that earlier versions used.
const FOLDER: &str = "var/lib/steady-host";
const FORMER: &str = "var/lib/steady";
/// The user id of `nobody`.
const NOBODY: u32 = 65_534;

#[test]
fn a_journal_directory_that_others_can_write_to_is_rejected() {
    let host = CopiedHost::of("host-intel-active", "others");
    let (before, victim) = (host.files(), scratch("host-others-victim"));
    fs::write(&victim, "precious\n").unwrap();
    fs::create_dir_all(host.0.join(FOLDER)).unwrap();
    for name in ["host.json.tmp", "host.json.new", "lock"] {
        symlink(&victim, host.0.join(FOLDER).join(name)).unwrap();
    }
    let refused = |why: &str| {
        let (status, _, stderr) = host.run(&["quiet"]);
        assert!(status == 125 && stderr.contains("nothing was changed") && stderr.contains(why), "{status}: {stderr}");
        assert_eq!((host.files(), fs::read_to_string(&victim).unwrap().as_str()), (before.clone(), "precious\n"));
    };
    fs::set_permissions(host.0.join(FOLDER), fs::Permissions::from_mode(0o777)).unwrap();
    refused("can be written by everybody (mode 0777)");
    fs::set_permissions(host.0.join(FOLDER), fs::Permissions::from_mode(0o755)).unwrap();
    refused("lock");
    if rustix::process::geteuid().is_root() {
        chown(host.0.join(FOLDER), Some(NOBODY), None).unwrap();
        refused("belongs to another user (number 65534)");
        chown(host.0.join(FOLDER), Some(0), None).unwrap();
    } else {
        skip(
            "a_journal_directory_that_others_can_write_to_is_rejected",
            "only root may give a directory to another user",
        );
    }
    fs::remove_file(host.0.join(FOLDER).join("lock")).unwrap();
    assert_eq!(host.run(&["quiet"]).0, 0);
    assert_eq!(fs::metadata(host.0.join(JOURNAL)).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!((host.run(&["restore"]).0, host.files()), (0, before));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n");
    let _ = fs::remove_file(victim);
}

#[test]
fn restore_reads_a_journal_of_an_earlier_version() {
    let host = CopiedHost::of("host-intel-active", "former");
    let before = host.files();
    let own_by = |file: &str, user: u32| {
        if rustix::process::geteuid().is_root() {
            chown(host.0.join(file), Some(user), None).unwrap();
        }
    };
    for number in 0..2 {
        assert_eq!(host.run(&["quiet"]).0, 0);
        fs::create_dir_all(host.0.join(FORMER)).unwrap();
        fs::rename(host.0.join(JOURNAL), host.0.join(FORMER).join("host.json")).unwrap();
        // The user of the agent may own that directory.
        own_by(FORMER, NOBODY);
        let (_, stdout, _) = host.run(&["status", "--no-rulers"]);
        assert!(stdout.contains("steady/host.json"), "{stdout}");
        if number == 1 {
            // A second `quiet` keeps the original values of the first.
            assert_eq!(host.run(&["quiet"]).0, 0);
        }
        let (status, stdout, stderr) = host.run(&["restore"]);
        assert_eq!((status, host.files()), (0, before.clone()), "{stdout} {stderr}");
        assert!(!host.0.join(JOURNAL).exists() && !host.0.join(FORMER).join("host.json").exists());
    }
    if !rustix::process::geteuid().is_root() {
        return skip("restore_reads_a_journal_of_an_earlier_version", "only root may give a file to another user");
    }
    assert_eq!(host.run(&["quiet"]).0, 0);
    let quiet = host.files();
    fs::rename(host.0.join(JOURNAL), host.0.join(FORMER).join("host.json")).unwrap();
    own_by("var/lib/steady/host.json", NOBODY);
    let (status, stdout, stderr) = host.run(&["restore"]);
    assert_eq!((status, host.files()), (0, quiet), "{stderr}");
    assert!(stdout.replace("\n  ", " ").contains("belongs to another user (number 65534)"), "{stdout}");
    own_by("var/lib/steady/host.json", 0);
    assert_eq!((host.run(&["restore"]).0, host.files()), (0, before));
}

#[test]
fn locks_of_other_users_do_not_block() {
    if !rustix::process::geteuid().is_root() {
        return skip("locks_of_other_users_do_not_block", "only root may become another user");
    }
    let host = CopiedHost::of("host-intel-active", "lock");
    let before = host.files();
    assert_eq!(host.run(&["quiet", "--only", "swap"]).0, 0);
    // Every user who may read a directory can lock it.
    let mut holder = Command::new("flock");
    holder.args(["-s", host.0.join(FOLDER).to_str().unwrap(), "sh", "-c", "echo held; read -r _"]);
    let holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).uid(NOBODY).gid(NOBODY).spawn();
    let mut holder = holder.expect("flock (util-linux) starts");
    let mut line = String::new();
    let _ = BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line);
    if line != "held\n" {
        let _ = holder.wait();
        return skip("locks_of_other_users_do_not_block", "other users cannot reach the build's directory");
    }
    for args in [&["quiet"][..], &["restore"]] {
        let child = steady().args(["host", args[0], "--root", host.root()]).stdout(Stdio::null()).spawn();
        let mut child = child.unwrap();
        let ended = (0..2_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            child.try_wait().unwrap().is_some()
        });
        let _ = child.kill();
        assert!(ended && child.wait().unwrap().success(), "{args:?}");
    }
    assert_eq!(host.files(), before);
    drop(holder.stdin.take());
    let _ = holder.wait();
}

#[test]
fn a_journal_of_root_does_not_fail_the_runs_of_other_users() {
    const TEST: &str = "a_journal_of_root_does_not_fail_the_runs_of_other_users";
    if !rustix::process::geteuid().is_root() {
        return skip(TEST, "only root may become another user");
    }
    // Other users may have no access to the build directory.
    let folder = Path::new("/tmp").join(scratch("host-others").file_name().unwrap());
    let host = CopiedHost::at(folder, "host-intel-active");
    assert_eq!(host.run(&["quiet", "--only", "swap"]).0, 0);
    let program = host.0.join("steady");
    copy_steady(&program);
    let mut command = Command::new(&program);
    command.args(["host", "quiet", "--root", host.root(), "--only", "smt", "--", "sh", "-c", "echo ran; exit 3"]);
    let output = command.stdin(Stdio::null()).current_dir("/").uid(NOBODY).gid(NOBODY).output();
    let (status, stdout, stderr) = output_of(output.unwrap());
    assert_eq!((status, stdout.as_str()), (3, "ran\n"), "{stderr}");
}

#[test]
fn nothing_is_changed_if_the_journal_cannot_be_written() {
    let host = CopiedHost::of("host-intel-active", "full");
    fs::create_dir_all(host.0.join("var")).unwrap();
    host.write("var/lib", "a file in a folder's place");
    let before = host.files();
    let (status, _, stderr) = host.run(&["quiet"]);
    assert_eq!(status, 125, "{stderr}");
    assert!(stderr.contains("nothing was changed"), "{stderr}");
    assert_eq!(host.files(), before);
    let (status, _, stderr) = host.run(&["quiet", "--", "echo", "ran"]);
    assert_eq!(status, 125, "{stderr}");
    assert_eq!(host.files(), before);
}

/// The disk may become full or read-only while the host is quiet.
#[test]
fn restore_works_although_nothing_can_be_written_to_the_disk() {
    const TEST: &str = "restore_works_although_nothing_can_be_written_to_the_disk";
    let full = "index=0; while : > file$index; do index=$((index + 1)); done";
    for (name, disk) in [("read-only", "mount -o remount,ro,bind ."), ("full", full)] {
        let host = CopiedHost::of("host-intel-active", name);
        let before = host.files();
        fs::create_dir_all(host.0.join(FOLDER)).unwrap();
        let script = format!(
            r#"mount -t tmpfs -o nr_inodes=16,mode=755 tmpfs '{folder}' || exit 77
            "$@" host quiet --root '{root}' > /dev/null || exit
            cd '{folder}'
            ({disk}) 2> /dev/null
            "$@" host restore --root '{root}'"#,
            folder = host.0.join(FOLDER).display(),
            root = host.root(),
        );
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_steady")]);
        let done = command.output().ok().map(output_of);
        let Some((status, stdout, stderr)) =
            done.filter(|(status, _, stderr)| *status != 77 && !stderr.starts_with("unshare"))
        else {
            return skip(TEST, "no file system can be mounted");
        };
        assert_eq!(status, 0, "{name}: {stdout} {stderr}");
        // A name can be removed from a full disk.
        assert_eq!(stdout.contains("the journal could not be updated"), name == "read-only", "{stdout} {stderr}");
        assert_eq!(host.files(), before, "{name}");
    }
}

#[test]
fn a_command_gets_a_quiet_host_and_returns_its_status() {
    let host = CopiedHost::of("host-intel-passive", "command");
    let before = host.files();
    let file = scratch("host-command.json");
    let script = format!("cat {}/{GOVERNOR}; exit 7", host.root());
    let (status, stdout, stderr) =
        host.run(&["quiet", "--export-json", file.to_str().unwrap(), "--", "sh", "-c", &script]);
    assert_eq!((status, stdout.as_str()), (7, "performance"), "{stderr}");
    assert!(stderr.contains("restored after the command ended"), "{stderr}");
    assert_eq!(host.files(), before);
    assert!(!host.0.join(JOURNAL).exists());
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let _ = fs::remove_file(&file);
    assert_eq!((&report["run"]["ended"]["exited"], &report["complete"]), (&7.into(), &true.into()));
    for (args, status) in [(["--", "/nowhere/prog"], 127), (["--", "/etc/passwd"], 126)] {
        assert_eq!(host.run(&[&["quiet"], &args[..]].concat()).0, status);
        assert_eq!(host.files(), before);
    }
    assert_eq!(
        host.run(&["quiet", "--format", "json", "--", "true"]).0,
        125,
        "--format is accepted although standard output belongs to the command"
    );
    assert_eq!(run(&["host", "quiet", "--only", "nonsense", "--", "true"]).0, 125);
    assert_eq!(run(&["host", "quiet", "--only", "nonsense"]).0, 2);
}

/// Starts a long command under `steady host quiet` and waits until it runs.
fn start_long_command(host: &CopiedHost, mark: &str) -> std::process::Child {
    let mut command = steady();
    command.args(["host", "quiet", "--root", host.root(), "--", "sh", "-c", &format!("sleep 60.{mark} & wait")]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    // steady, its two helper processes, the shell and `sleep`.
    assert!(eventually(|| processes_with(&format!("sleep 60.{mark}")) == 5), "the command does not start");
    assert_eq!(host.text(GOVERNOR), "performance");
    child
}

/// Returns the children of a process that have this word on their command line.
fn helpers(parent_pid: u32, word: &str) -> Vec<i32> {
    let listed = Command::new("ps").args(["-eo", "pid,ppid,args"]).output().expect("ps starts");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let of = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (pid, parent) = (fields.next()?.parse::<i32>().ok()?, fields.next()?.parse::<u32>().ok()?);
        (parent == parent_pid && line.contains(word)).then_some(pid)
    };
    listed.lines().filter_map(of).collect()
}

fn kill(signal: &str, pid: i32) {
    assert!(Command::new("kill").args([signal, "--", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn the_host_is_restored_if_any_of_the_processes_is_killed() {
    for (number, victim) in ["steady", "attendant", "guard", "group"].into_iter().enumerate() {
        let host = CopiedHost::of("host-intel-passive", &format!("kill-{victim}"));
        let before = host.files();
        let mark = format!("{}{number}", std::process::id());
        let mut child = start_long_command(&host, &mark);
        let pid = child.id() as i32;
        match victim {
            "steady" => kill("-KILL", pid),
            // A terminal sends Ctrl-C to the whole process group.
            "group" => kill("-INT", -pid),
            word => {
                let found = helpers(child.id(), &format!("__host-{word}"));
                assert_eq!(found.len(), 1, "{word}");
                kill("-KILL", found[0]);
                if word == "guard" {
                    kill("-TERM", pid);
                }
            }
        }
        let _ = child.wait();
        assert!(within_a_second(|| processes_with(&format!("sleep 60.{mark}")) == 0), "{victim}");
        assert!(within_a_second(|| host.files() == before), "{victim}");
        assert!(within_a_second(|| !host.0.join(JOURNAL).exists()), "{victim}");
    }
}

#[test]
fn status_reports_a_host_that_was_left_quiet() {
    let host = CopiedHost::of("host-intel-passive", "left");
    let before = host.files();
    let mark = format!("{}9", std::process::id());
    let mut child = start_long_command(&host, &mark);
    for pid in [helpers(child.id(), "__host-guard"), vec![child.id() as i32]].concat() {
        kill("-KILL", pid);
    }
    let _ = child.wait();
    assert!(within_a_second(|| processes_with(&format!("sleep 60.{mark}")) == 0));
    let (_, stdout, _) = host.run(&["status", "--no-rulers"]);
    assert!(stdout.replace("\n  ", " ").contains("was killed; run steady host restore"), "{stdout}");
    assert_eq!((host.run(&["restore"]).0, host.files()), (0, before));
}

#[test]
fn quiet_host_is_restored_after_measuring() {
    let host = CopiedHost::of("host-intel-passive", "measuring");
    let before = host.files();
    let args = ["compare", "--no-history", "--runs", "6", "--quiet-host", "--host-root", host.root()];
    let (status, _, stderr) = run(&[
        &args[..],
        &["--prepare", &format!("cp {}/{GOVERNOR} {}/seen", host.root(), host.root()), "true", "true"],
    ]
    .concat());
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("this host is quiet during the run: governor"), "{stderr}");
    assert_eq!(host.text("seen"), "performance");
    fs::remove_file(host.0.join("seen")).unwrap();
    assert_eq!(host.files(), before);
    let failing = [&args[..], &["false", "true"]].concat();
    assert_eq!((run(&failing).0, host.files()), (3, before.clone()));
    let mut command = steady();
    command.args([
        "load",
        "--no-history",
        "--procs",
        "1",
        "--cpu-time",
        "60s",
        "--quiet-host",
        "--host-root",
        host.root(),
    ]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(eventually(|| host.text(GOVERNOR) == "performance"));
    child.kill().unwrap();
    let _ = child.wait();
    assert!(within_a_second(|| host.files() == before && !host.0.join(JOURNAL).exists()));
}

#[test]
fn the_hint_is_one_line_and_appears_only_where_it_helps() {
    for (tree, hint) in [("host-intel-active", true), ("host-no-cpufreq", false)] {
        let host = CopiedHost::of(tree, &format!("hint-{tree}"));
        for args in [
            &["compare", "--no-history", "--runs", "6", "true"][..],
            &["costs", "--no-history", "--list"],
            &["load", "--no-history", "--procs", "1", "--cpu-time", "10ms"],
        ] {
            let with = [&args[..1], &["--host-root", host.root()], &args[1..]].concat();
            let (status, _, stderr) = run(&with);
            assert_eq!(status, 0, "{args:?}: {stderr}");
            let lines = stderr.lines().filter(|line| line.contains("--quiet-host")).count();
            let wanted = hint && !args.contains(&"--list");
            assert_eq!(lines, usize::from(wanted), "{tree}: {args:?}: {stderr}");
            let quiet = [&with[..], &["--quiet"]].concat();
            assert!(!run(&quiet).2.contains("--quiet-host"), "{tree}: {args:?}");
        }
    }
}
