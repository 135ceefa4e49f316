//! The store of `steady warm`: who is trusted with it, and that its keepers leave it whole, however they end.

#[path = "warm/mod.rs"]
mod kept;
mod steady;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use kept::{Kept, available, within};
use steady::{skip, told};

/// A command that runs as usual, with the reason on standard error.
fn as_usual(kept: &Kept, why: &str) {
    let (status, stdout, stderr) = kept.run(&["sh", "-c", "echo [$LD_PRELOAD]; exit 5"]);
    assert_eq!((status, stdout.as_str()), (5, "[]\n"), "{stderr}");
    assert!(stderr.contains("not available here") && stderr.contains(why), "{stderr}");
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_that_others_may_write_to_is_not_trusted() {
    let Some(kept) = available("a_folder_that_others_may_write_to_is_not_trusted") else { return };
    fs::create_dir(&kept.cache).unwrap();
    for mode in [0o777, 0o770, 0o702] {
        chmod(&kept.cache, mode);
        as_usual(&kept, "can be written by other users");
    }
    chmod(&kept.cache, 0o755);
    assert_eq!(kept.run(&["true"]).2, "");
    let store = kept.store();
    for folder in [store.parent().unwrap(), store.as_path(), &store.join("cards"), &store.join("snapshots")] {
        chmod(folder, 0o770);
        as_usual(&kept, "not a folder of this user's alone");
        chmod(folder, 0o700);
    }
    // Above the cache too.
    chmod(kept.folder(), 0o777);
    as_usual(&kept, "can be written by other users");
    chmod(kept.folder(), 0o1777);
    assert_eq!(kept.run(&["true"]).2, "", "in a sticky folder nobody can replace what is another's");
    chmod(kept.folder(), 0o700);
}

#[test]
fn links_and_other_owners_are_not_trusted() {
    let Some(kept) = available("links_and_other_owners_are_not_trusted") else { return };
    assert_eq!(kept.run(&["true"]).2, "");
    assert!(within(10.0, || kept.keepers() == 0));
    let store = kept.store();
    let elsewhere = kept.folder().join("elsewhere");
    fs::rename(&store, &elsewhere).unwrap();
    symlink(&elsewhere, &store).unwrap();
    as_usual(&kept, "not a folder of this user's alone");
    fs::remove_file(&store).unwrap();
    fs::rename(&elsewhere, &store).unwrap();
    if fs::metadata(kept.folder()).unwrap().uid() != 0 {
        return skip("links_and_other_owners_are_not_trusted", "only root can give files away");
    }
    for folder in [store.as_path(), &kept.cache] {
        chown(folder, Some(12_345), None).unwrap();
        as_usual(&kept, "'");
        chown(folder, Some(0), None).unwrap();
    }
    assert_eq!(kept.run(&["true"]).2, "");
}

#[test]
fn paths_that_the_loader_would_take_apart_are_not_used() {
    let kept = Kept::new("with a blank");
    if kept.run(&["true"]).2.contains("x86-64") {
        return skip("paths_that_the_loader_would_take_apart_are_not_used", "no snapshots here");
    }
    as_usual(&kept, "has a blank");
}

#[test]
fn a_hook_that_was_changed_is_replaced() {
    let Some(kept) = available("a_hook_that_was_changed_is_replaced") else { return };
    kept.run(&["true"]);
    let hook = kept.store().join("hook.so");
    let whole = fs::read(&hook).unwrap();
    fs::remove_file(&hook).unwrap();
    fs::write(&hook, &whole[..100]).unwrap();
    assert_eq!(kept.run(&["sh", "-c", "true"]), (0, String::new(), String::new()));
    assert_eq!(fs::read(&hook).unwrap(), whole);
}

#[test]
fn stores_of_earlier_boots_are_removed() {
    let Some(kept) = available("stores_of_earlier_boots_are_removed") else { return };
    kept.run(&["true"]);
    let store = kept.store();
    let name = store.file_name().unwrap().to_str().unwrap();
    let earlier = store.with_file_name(format!("00000000{}", &name[8..]));
    let strange = store.with_file_name("something-else");
    fs::create_dir_all(earlier.join("cards")).unwrap();
    fs::create_dir(&strange).unwrap();
    kept.run(&["true"]);
    assert!(!earlier.exists() && strange.exists() && store.exists());
}

/// A command that lasts until it is told to end.
fn lasting(kept: &Kept) -> std::process::Child {
    let mut command = kept.command(&["sh", "-c", "read line"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_keeper_ends_with_its_command_and_holds_nothing_of_it() {
    let Some(kept) = available("a_keeper_ends_with_its_command_and_holds_nothing_of_it") else { return };
    let mut command = lasting(&kept);
    assert!(within(10.0, || kept.keepers() == 1), "no keeper came");
    let keeper = kept.keeper_processes()[0];
    let read = |file: &str| fs::read_to_string(format!("/proc/{keeper}/{file}")).unwrap();
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    // Session, nice value and policy, by their places in proc_pid_stat(5).
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    let own = own.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap();
    assert_ne!(fields[3], own, "a session of its own");
    let own_nice = rustix::process::getpriority_process(None).unwrap().to_string();
    assert_eq!(fields[16], own_nice, "the priority of the command");
    assert_ne!(fields[1], std::process::id().to_string(), "no child that the command did not ask for");
    for entry in fs::read_dir(format!("/proc/{keeper}/fd")).unwrap() {
        let target = fs::read_link(entry.unwrap().path()).unwrap_or_default();
        assert!(!target.to_string_lossy().starts_with("pipe:"), "it holds {}", target.display());
    }
    drop(command.stdin.take());
    command.wait().unwrap();
    assert!(within(10.0, || kept.keepers() == 0), "the keeper stays");
}

#[test]
fn one_keeper_works_and_another_takes_over_when_it_is_killed() {
    let Some(kept) = available("one_keeper_works_and_another_takes_over_when_it_is_killed") else { return };
    let mut first = lasting(&kept);
    assert!(within(10.0, || kept.keepers() == 1));
    let mut second = lasting(&kept);
    assert!(within(10.0, || kept.keepers() == 2));
    let works = |pid: i32| {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let Ok(file) = fs::metadata(kept.store().join("keeper")).map(|file| file.ino()) else { return false };
        let ours = |line: &&str| line.contains(&format!(" {pid} ")) && line.contains(&format!(":{file} "));
        locks.lines().filter(|line| !line.contains("->")).any(|line| ours(&line))
    };
    let working = || kept.keeper_processes().into_iter().filter(|pid| works(*pid)).collect::<Vec<_>>();
    assert!(within(10.0, || working().len() == 1), "{:?}", fs::read_to_string("/proc/locks"));
    let killed = working()[0];
    Command::new("kill").args(["-KILL", &killed.to_string()]).status().unwrap();
    assert!(within(10.0, || working().len() == 1 && working()[0] != killed), "nobody takes over");
    let (status, ..) = kept.run(&["sh", "-c", "/bin/cat /dev/null"]);
    assert_eq!(status, 0);
    let is_warm = || {
        kept.run(&["sh", "-c", "/bin/cat /dev/null"]);
        kept.state("/bin/cat") == "warm"
    };
    assert!(within(20.0, is_warm), "{}", kept.status());
    for command in [&mut first, &mut second] {
        drop(command.stdin.take());
        command.wait().unwrap();
    }
    assert!(within(10.0, || kept.keepers() == 0));
}

#[test]
fn what_was_left_half_made_is_removed() {
    let Some(kept) = available("what_was_left_half_made_is_removed") else { return };
    kept.snapshot("/bin/true");
    let store = kept.store();
    // No process has this number: it is beyond the kernel's largest.
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
    kept.run(&["true"]);
    assert!(within(10.0, || left.iter().all(|path| !path.exists()) && !orphan.exists()), "{left:?}");
    assert!(within(10.0, || fs::read_dir(store.join("wanted")).unwrap().count() == 0));
    assert_eq!(kept.state("/bin/true"), "warm");
}

#[test]
fn a_full_disk_leaves_programs_as_they_are() {
    let Some(kept) = available("a_full_disk_leaves_programs_as_they_are") else { return };
    let test = "a_full_disk_leaves_programs_as_they_are";
    fs::create_dir(&kept.cache).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=1m,mode=700", "none"];
    let mounted = Command::new("mount").args(mount).arg(&kept.cache).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return skip(test, "no file system can be mounted");
    }
    let (status, stdout, _) =
        kept.run(&["sh", "-c", "/bin/cat /etc/hostname; /bin/true; sleep 1; /bin/cat /etc/hostname"]);
    let state = kept.state("/bin/cat");
    let (refused, _, stderr) = told(kept.steady().args(["warm", "snapshot", "/bin/cat"]).output().unwrap());
    let gone = within(10.0, || kept.keepers() == 0);
    let snapshots = kept.store().join("snapshots");
    let files = Command::new("find").arg(&snapshots).args(["-type", "f"]).output().unwrap().stdout;
    Command::new("umount").arg(&kept.cache).status().unwrap();
    assert!(gone && status == 0, "{status}");
    assert_eq!(stdout, fs::read_to_string("/etc/hostname").unwrap().repeat(2));
    assert_eq!(state, "unknown", "that there was no room is not kept for good");
    assert!(refused == 125 && stderr.contains("no room"), "{refused} {stderr}");
    assert_eq!(String::from_utf8(files).unwrap(), "", "nothing half-written stays");
}

#[test]
fn no_folder_at_all_is_no_obstacle() {
    let kept = Kept::new("no_folder");
    let mut command = kept.command(&["sh", "-c", "exit 4"]);
    let (status, _, stderr) = told(command.env_remove("XDG_CACHE_HOME").env_remove("HOME").output().unwrap());
    assert!(status == 4 && stderr.contains("not available here"), "{stderr}");
    let mut command = kept.command(&["sh", "-c", "exit 4"]);
    let (status, _, stderr) = told(command.env("XDG_CACHE_HOME", "/proc/none").output().unwrap());
    assert!(status == 4 && stderr.contains("not available here"), "{stderr}");
}

/// A snapshot that is not the file that was written is not executed: neither by the hook nor by `steady` itself.
#[test]
fn snapshots_that_were_changed_are_not_executed() {
    let Some(kept) = available("snapshots_that_were_changed_are_not_executed") else { return };
    kept.snapshot("/bin/cat");
    let script = "/bin/cat /etc/hostname";
    let hostname = fs::read_to_string("/etc/hostname").unwrap();
    for damage in ["truncate -s 4096", "printf '#!/bin/echo wrong\\n' | tee", "sed -i 's/ELF/elf/'"] {
        let damaged = format!("chmod 700 \"$file\"; {damage} \"$file\" >/dev/null");
        let loops = format!("for file in {}/snapshots/*/*/cat; do {damaged}; done", kept.store().display());
        assert_eq!(told(kept.shell(&loops).output().unwrap()).0, 0);
        assert_eq!(kept.state("/bin/cat"), "stale", "{damage}");
        for words in [&["sh", "-c", script][..], &["/bin/cat", "/etc/hostname"]] {
            assert_eq!(kept.run(words), (0, hostname.clone(), String::new()), "{damage}");
        }
        let warm = || {
            assert_eq!(kept.run(&["sh", "-c", script]).1, hostname);
            kept.state("/bin/cat") == "warm"
        };
        assert!(within(20.0, warm), "{damage}: {}", kept.status());
    }
}

#[test]
fn directories_that_are_not_the_stores_own_stay() {
    let Some(kept) = available("directories_that_are_not_the_stores_own_stay") else { return };
    kept.run(&["true"]);
    let store = kept.store();
    let outside = kept.folder().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "precious").unwrap();
    symlink(&outside, store.join("wanted/1-1-1")).unwrap();
    symlink(&outside, store.join("snapshots/1-1-1")).unwrap();
    symlink(&outside, store.join("snapshots/.new-4194305-0-x")).unwrap();
    let name = store.file_name().unwrap().to_str().unwrap();
    let earlier = store.with_file_name(format!("00000000{}", &name[8..]));
    symlink(&outside, &earlier).unwrap();
    kept.run(&["true"]);
    assert!(within(10.0, || kept.keepers() == 0));
    let (status, _, stderr) = told(kept.steady().args(["warm", "clear"]).output().unwrap());
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "precious", "{status} {stderr}");
}
