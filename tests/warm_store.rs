//! The store of `steady warm`: which owners and permissions it accepts, and that it stays consistent if keepers are
//! killed.

mod steady;
#[path = "warm/mod.rs"]
mod test_env;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use steady::{output_of, skip};
use test_env::{TestEnv, available, within};

/// Panics unless a command runs without snapshots, with a reason that contains `why` on standard error.
fn assert_no_snapshots(env: &TestEnv, why: &str) {
    let (status, stdout, stderr) = env.run(&["sh", "-c", "echo [$LD_PRELOAD]; exit 5"]);
    assert_eq!((status, stdout.as_str()), (5, "[]\n"), "{stderr}");
    assert!(stderr.contains("not available here") && stderr.contains(why), "{stderr}");
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_directory_that_others_can_write_to_is_rejected() {
    let Some(env) = available("a_directory_that_others_can_write_to_is_rejected") else { return };
    fs::create_dir(&env.cache).unwrap();
    for mode in [0o777, 0o770, 0o702] {
        chmod(&env.cache, mode);
        assert_no_snapshots(&env, "can be written by other users");
    }
    chmod(&env.cache, 0o755);
    assert_eq!(env.run(&["true"]).2, "");
    let store = env.store();
    for folder in [store.parent().unwrap(), store.as_path(), &store.join("cards"), &store.join("snapshots")] {
        chmod(folder, 0o770);
        assert_no_snapshots(&env, "not a directory that only this user can access");
        chmod(folder, 0o700);
    }
    // A directory above the cache.
    chmod(env.folder(), 0o777);
    assert_no_snapshots(&env, "can be written by other users");
    chmod(env.folder(), 0o1777);
    assert_eq!(env.run(&["true"]).2, "", "in a sticky directory only the owner can replace a file");
    chmod(env.folder(), 0o700);
}

#[test]
fn symbolic_links_and_other_owners_are_rejected() {
    let Some(env) = available("symbolic_links_and_other_owners_are_rejected") else { return };
    assert_eq!(env.run(&["true"]).2, "");
    assert!(within(10.0, || env.keepers() == 0));
    let store = env.store();
    let elsewhere = env.folder().join("elsewhere");
    fs::rename(&store, &elsewhere).unwrap();
    symlink(&elsewhere, &store).unwrap();
    assert_no_snapshots(&env, "not a directory that only this user can access");
    fs::remove_file(&store).unwrap();
    fs::rename(&elsewhere, &store).unwrap();
    if fs::metadata(env.folder()).unwrap().uid() != 0 {
        return skip("symbolic_links_and_other_owners_are_rejected", "only root can give files away");
    }
    for folder in [store.as_path(), &env.cache] {
        chown(folder, Some(12_345), None).unwrap();
        assert_no_snapshots(&env, "'");
        chown(folder, Some(0), None).unwrap();
    }
    assert_eq!(env.run(&["true"]).2, "");
}

#[test]
fn paths_with_separators_of_ld_preload_are_rejected() {
    let env = TestEnv::new("with a blank");
    if env.run(&["true"]).2.contains("x86-64") {
        return skip("paths_with_separators_of_ld_preload_are_rejected", "no snapshots here");
    }
    assert_no_snapshots(&env, "has a blank");
    assert!(!env.cache.exists(), "nothing is created");
}

#[test]
fn a_damaged_hook_is_replaced() {
    let Some(env) = available("a_damaged_hook_is_replaced") else { return };
    env.run(&["true"]);
    let hook = env.store().join("hook.so");
    let original = fs::read(&hook).unwrap();
    fs::remove_file(&hook).unwrap();
    fs::write(&hook, &original[..100]).unwrap();
    assert_eq!(env.run(&["sh", "-c", "true"]), (0, String::new(), String::new()));
    assert_eq!(fs::read(&hook).unwrap(), original);
}

#[test]
fn stores_of_earlier_boots_are_removed() {
    let Some(env) = available("stores_of_earlier_boots_are_removed") else { return };
    env.run(&["true"]);
    let store = env.store();
    let name = store.file_name().unwrap().to_str().unwrap();
    let earlier = store.with_file_name(format!("00000000{}", &name[8..]));
    let unrelated = store.with_file_name("something-else");
    fs::create_dir_all(earlier.join("cards")).unwrap();
    fs::create_dir(&unrelated).unwrap();
    env.run(&["true"]);
    assert!(!earlier.exists() && unrelated.exists() && store.exists());
}

/// Starts a command that ends when its standard input is closed.
fn start_waiting_command(env: &TestEnv) -> std::process::Child {
    let mut command = env.command(&["sh", "-c", "read line"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_keeper_ends_with_its_command_and_holds_none_of_its_descriptors() {
    let Some(env) = available("a_keeper_ends_with_its_command_and_holds_none_of_its_descriptors") else { return };
    let mut command = start_waiting_command(&env);
    assert!(within(10.0, || env.keepers() == 1), "no keeper starts");
    let keeper = env.keeper_processes()[0];
    let read = |file: &str| fs::read_to_string(format!("/proc/{keeper}/{file}")).unwrap();
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    // Session, nice value and parent, by their positions in proc_pid_stat(5).
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    let own = own.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap();
    assert_ne!(fields[3], own, "the keeper is in the session of the test");
    let own_nice = rustix::process::getpriority_process(None).unwrap().to_string();
    assert_eq!(fields[16], own_nice, "the keeper has another priority than the command");
    assert_ne!(fields[1], std::process::id().to_string(), "the keeper is a child of the test");
    for entry in fs::read_dir(format!("/proc/{keeper}/fd")).unwrap() {
        let target = fs::read_link(entry.unwrap().path()).unwrap_or_default();
        assert!(!target.to_string_lossy().starts_with("pipe:"), "the keeper holds {}", target.display());
    }
    drop(command.stdin.take());
    command.wait().unwrap();
    assert!(within(10.0, || env.keepers() == 0), "the keeper does not end");
}

/// A capture that takes too long is abandoned with its program: a keeper is gone after ten seconds, as docs/warm.md says.
#[test]
fn a_keeper_is_gone_after_ten_seconds_in_the_middle_of_a_capture() {
    const TEST: &str = "a_keeper_is_gone_after_ten_seconds_in_the_middle_of_a_capture";
    /// CPU time of the constructor. It is below the limit of a capture, and the three captures take longer than ten.
    const SECONDS: f64 = 4.0;
    let Some(env) = available(TEST) else { return };
    let folder = env.folder();
    // It is captured once more because a library of it starts programs.
    fs::write(
        folder.join("slow.c"),
        "#include <unistd.h>\nvoid slow(void) { execve(\"/\", 0, 0); }\n\
         __attribute__((constructor)) void spin(void) { for (volatile long i = 0; i < STEPS; i++); }\n",
    )
    .unwrap();
    // It prints its CPU time so far, in seconds.
    fs::write(
        folder.join("program.c"),
        "#include <stdio.h>\n#include <time.h>\nvoid slow(void);\n\
         int main(void) { printf(\"%f\", clock() / (double)CLOCKS_PER_SEC); slow(); return 0; }\n",
    )
    .unwrap();
    let compile = |steps: f64| {
        let steps = format!("-DSTEPS={steps:.0}L");
        let library = [steps.as_str(), "-w", "-shared", "-fPIC", "-o", "libslow.so", "slow.c"];
        let program = ["-o", "program", "program.c", "-L.", "-lslow", "-Wl,-rpath,$ORIGIN"];
        let compiles = |words: &[&str]| {
            Command::new("cc").args(words).current_dir(folder).status().is_ok_and(|status| status.success())
        };
        compiles(&library) && compiles(&program)
    };
    let program = folder.join("program");
    const FIRST: f64 = 1e8;
    if !compile(FIRST) {
        return skip(TEST, "no C compiler");
    }
    let (_, stdout, _) = output_of(Command::new(&program).output().unwrap());
    assert!(compile(FIRST * SECONDS / stdout.parse::<f64>().unwrap()));
    // A file that was changed a moment ago is not captured.
    std::thread::sleep(Duration::from_millis(200));
    let runs = |process: &Path| fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program);
    let mut command = env.command(&[program.to_str().unwrap()]).spawn().unwrap();
    let of_command = PathBuf::from(format!("/proc/{}", command.id()));
    assert!(within(10.0, || runs(&of_command)), "the command does not start");
    command.kill().unwrap();
    command.wait().unwrap();
    let captured = || fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(|one| runs(&one.path())).count();
    assert!(within(8.0, || captured() == 1), "nothing is captured: {}", env.status());
    assert!(within(10.0, || env.keepers() == 0), "the keeper does not end");
    assert!(within(1.0, || captured() == 0), "its program does not end");
    assert_eq!(env.state(program.to_str().unwrap()), "unknown");
}

#[test]
fn one_keeper_is_active_and_another_takes_over_when_it_is_killed() {
    let Some(env) = available("one_keeper_is_active_and_another_takes_over_when_it_is_killed") else { return };
    let mut first = start_waiting_command(&env);
    assert!(within(10.0, || env.keepers() == 1));
    let mut second = start_waiting_command(&env);
    assert!(within(10.0, || env.keepers() == 2));
    let holds_the_lock = |pid: i32| {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let Ok(file) = fs::metadata(env.store().join("keeper")).map(|file| file.ino()) else { return false };
        let ours = |line: &&str| line.contains(&format!(" {pid} ")) && line.contains(&format!(":{file} "));
        locks.lines().filter(|line| !line.contains("->")).any(|line| ours(&line))
    };
    let working = || env.keeper_processes().into_iter().filter(|pid| holds_the_lock(*pid)).collect::<Vec<_>>();
    assert!(within(10.0, || working().len() == 1), "{:?}", fs::read_to_string("/proc/locks"));
    let killed = working()[0];
    Command::new("kill").args(["-KILL", &killed.to_string()]).status().unwrap();
    assert!(within(10.0, || working().len() == 1 && working()[0] != killed), "no keeper takes over");
    let (status, ..) = env.run(&["sh", "-c", "/bin/cat /dev/null"]);
    assert_eq!(status, 0);
    let is_warm = || {
        env.run(&["sh", "-c", "/bin/cat /dev/null"]);
        env.state("/bin/cat") == "warm"
    };
    assert!(within(20.0, is_warm), "{}", env.status());
    for command in [&mut first, &mut second] {
        drop(command.stdin.take());
        command.wait().unwrap();
    }
    assert!(within(10.0, || env.keepers() == 0));
}

#[test]
fn incomplete_files_are_removed() {
    let Some(env) = available("incomplete_files_are_removed") else { return };
    env.snapshot("/bin/true");
    let store = env.store();
    // No process has this number: it is above the kernel's limit of 4194304.
    let half = ".new-4194305-0-x";
    let orphan = store.join("snapshots/0-0");
    fs::create_dir_all(orphan.join("0")).unwrap();
    chmod(&orphan, 0o700);
    let mut snapshots = fs::read_dir(store.join("snapshots")).unwrap().map(|entry| entry.unwrap().path());
    let own = snapshots.find(|path| *path != orphan).unwrap();
    let left = [store.join("cards").join(half), store.join(half), own.join("0").join(half)];
    left.iter().for_each(|path| fs::write(path, "half").unwrap());
    fs::create_dir(store.join("snapshots").join(half)).unwrap();
    fs::write(store.join("wanted/not-a-link"), "").unwrap();
    symlink("/nonexistent", store.join("wanted/1-1")).unwrap();
    symlink("/bin/true", store.join("wanted/2-2")).unwrap();
    env.run(&["true"]);
    assert!(within(10.0, || left.iter().all(|path| !path.exists()) && !orphan.exists()), "{left:?}");
    assert!(within(10.0, || fs::read_dir(store.join("wanted")).unwrap().count() == 0));
    assert_eq!(env.state("/bin/true"), "warm");
}

#[test]
fn on_a_full_disk_programs_run_without_snapshots() {
    let Some(env) = available("on_a_full_disk_programs_run_without_snapshots") else { return };
    let test = "on_a_full_disk_programs_run_without_snapshots";
    fs::create_dir(&env.cache).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=1m,mode=700", "none"];
    let mounted = Command::new("mount").args(mount).arg(&env.cache).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return skip(test, "no file system can be mounted");
    }
    let (status, stdout, _) =
        env.run(&["sh", "-c", "/bin/cat /etc/hostname; /bin/true; sleep 1; /bin/cat /etc/hostname"]);
    let state = env.state("/bin/cat");
    let (refused, _, stderr) = output_of(env.steady().args(["warm", "snapshot", "/bin/cat"]).output().unwrap());
    let gone = within(10.0, || env.keepers() == 0);
    let snapshots = env.store().join("snapshots");
    let files = Command::new("find").arg(&snapshots).args(["-type", "f"]).output().unwrap().stdout;
    Command::new("umount").arg(&env.cache).status().unwrap();
    assert!(gone && status == 0, "{status}");
    assert_eq!(stdout, fs::read_to_string("/etc/hostname").unwrap().repeat(2));
    assert_eq!(state, "unknown", "a full disk is remembered as a permanent reason");
    assert!(refused == 125 && stderr.contains("no room"), "{refused} {stderr}");
    assert_eq!(String::from_utf8(files).unwrap(), "", "incomplete files are left");
}

#[test]
fn without_a_cache_directory_commands_run_normally() {
    let env = TestEnv::new("no_folder");
    let mut command = env.command(&["sh", "-c", "exit 4"]);
    let (status, _, stderr) = output_of(command.env_remove("XDG_CACHE_HOME").env_remove("HOME").output().unwrap());
    assert!(status == 4 && stderr.contains("not available here"), "{stderr}");
    let mut command = env.command(&["sh", "-c", "exit 4"]);
    let (status, _, stderr) = output_of(command.env("XDG_CACHE_HOME", "/proc/none").output().unwrap());
    assert!(status == 4 && stderr.contains("not available here"), "{stderr}");
}

/// Neither the hook nor `steady` itself executes a snapshot that is not the file that was written.
#[test]
fn snapshots_that_were_changed_are_not_executed() {
    let Some(env) = available("snapshots_that_were_changed_are_not_executed") else { return };
    env.snapshot("/bin/cat");
    let script = "/bin/cat /etc/hostname";
    let hostname = fs::read_to_string("/etc/hostname").unwrap();
    for damage in ["truncate -s 4096", "printf '#!/bin/echo wrong\\n' | tee", "sed -i 's/ELF/elf/'"] {
        let damaged = format!("chmod 700 \"$file\"; {damage} \"$file\" >/dev/null");
        let loops = format!("for file in {}/snapshots/*/*/cat; do {damaged}; done", env.store().display());
        assert_eq!(output_of(env.shell(&loops).output().unwrap()).0, 0);
        assert_eq!(env.state("/bin/cat"), "stale", "{damage}");
        for args in [&["sh", "-c", script][..], &["/bin/cat", "/etc/hostname"]] {
            assert_eq!(env.run(args), (0, hostname.clone(), String::new()), "{damage}");
        }
        let warm = || {
            assert_eq!(env.run(&["sh", "-c", script]).1, hostname);
            env.state("/bin/cat") == "warm"
        };
        assert!(within(20.0, warm), "{damage}: {}", env.status());
    }
}

/// A new hard link changes only the ctime, as a tool that keeps copies of programs does.
#[test]
fn launches_are_counted_across_captures_and_a_reason_names_what_changed() {
    let Some(env) = available("launches_are_counted_across_captures_and_a_reason_names_what_changed") else { return };
    let program = env.folder().join("copy");
    fs::copy("/bin/true", &program).unwrap();
    let path = program.to_str().unwrap();
    env.snapshot(path);
    let script = format!("{path}; {path}; {path}");
    assert_eq!(env.run(&["sh", "-c", &script]).0, 0);
    let counted = || {
        let record = serde_json::from_str::<serde_json::Value>(&env.status()).unwrap();
        let programs = record["programs"].as_array().unwrap().clone();
        programs.into_iter().find(|program| program["program"] == path).unwrap()
    };
    assert_eq!(counted()["warm_launches"], 3);
    fs::hard_link(&program, env.folder().join("link")).unwrap();
    let stale = counted();
    assert_eq!((&stale["state"], &stale["warm_launches"]), (&"stale".into(), &3.into()), "{stale}");
    assert!(stale["reason"].as_str().unwrap().contains("only its change time (ctime)"), "{stale}");
    env.snapshot(path);
    assert_eq!(counted()["warm_launches"], 3);
}

#[test]
fn directories_outside_the_store_are_not_removed() {
    let Some(env) = available("directories_outside_the_store_are_not_removed") else { return };
    env.run(&["true"]);
    let store = env.store();
    let outside = env.folder().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "precious").unwrap();
    symlink(&outside, store.join("wanted/1-1-1")).unwrap();
    symlink(&outside, store.join("snapshots/1-1-1")).unwrap();
    symlink(&outside, store.join("snapshots/.new-4194305-0-x")).unwrap();
    let name = store.file_name().unwrap().to_str().unwrap();
    let earlier = store.with_file_name(format!("00000000{}", &name[8..]));
    symlink(&outside, &earlier).unwrap();
    env.run(&["true"]);
    assert!(within(10.0, || env.keepers() == 0));
    let (status, _, stderr) = output_of(env.steady().args(["warm", "clear"]).output().unwrap());
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "precious", "{status} {stderr}");
}
