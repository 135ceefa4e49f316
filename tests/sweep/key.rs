//! A changed program or library never runs its old code. After a file of a program with a snapshot is replaced, the
//! next launch runs the new code, first without a snapshot and later from a new one.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::STEADY;
use crate::steady::{at_length, scratch, skip};
use crate::swapped::{Swapped, parse_line, within};

/// Compiles a program and creates its snapshot, in a directory for one test. Returns `None`, after reporting a skip,
/// without a compiler.
fn program_with_snapshot(test: &str) -> Option<Swapped> {
    match Swapped::make(&scratch(test), Path::new(STEADY)) {
        Ok(swapped) => {
            swapped.create_snapshot();
            Some(swapped)
        }
        Err(why) => {
            skip(test, &why);
            None
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_library_is_overwritten() {
    let Some(swapped) = program_with_snapshot("a_library_is_overwritten") else { return };
    swapped.library(8, "other.so").unwrap();
    fs::copy(swapped.path("other.so"), swapped.path("bin/libanswer.so")).unwrap();
    swapped.assert_answers("a longer library is written over it", 8, 1);
    let before = fs::metadata(swapped.path("bin/libanswer.so")).unwrap().modified().unwrap();
    swapped.library(15, "other.so").unwrap();
    fs::copy(swapped.path("other.so"), swapped.path("bin/libanswer.so")).unwrap();
    File::options().write(true).open(swapped.path("bin/libanswer.so")).unwrap().set_modified(before).unwrap();
    swapped.assert_answers("a library of equal length and time is written over it", 15, 1);
}

#[test]
fn a_library_is_replaced_by_rename() {
    let Some(swapped) = program_with_snapshot("a_library_is_replaced_by_rename") else { return };
    swapped.library(8, "other.so").unwrap();
    fs::hard_link(swapped.path("bin/libanswer.so"), swapped.path("kept.so")).unwrap();
    swapped.assert_answers("a hard link is added", 1, 1);
    fs::rename(swapped.path("other.so"), swapped.path("bin/libanswer.so")).unwrap();
    swapped.assert_answers("another library is renamed over it", 8, 1);
    fs::rename(swapped.path("kept.so"), swapped.path("bin/libanswer.so")).unwrap();
    swapped.assert_answers("the first library is renamed back", 1, 1);
}

#[test]
fn a_library_is_a_symbolic_link() {
    let Some(swapped) = program_with_snapshot("a_library_is_a_symbolic_link") else { return };
    let library = swapped.path("bin/libanswer.so");
    fs::rename(&library, swapped.path("bin/libanswer.so.1")).unwrap();
    swapped.library(2, "bin/libanswer.so.2").unwrap();
    symlink("libanswer.so.1", &library).unwrap();
    swapped.assert_answers("a link to the library", 1, 1);
    fs::remove_file(&library).unwrap();
    symlink("libanswer.so.2", &library).unwrap();
    swapped.assert_answers("the link points to another library", 2, 1);
}

#[test]
fn a_library_is_added_earlier_in_the_search_path() {
    let Some(swapped) = program_with_snapshot("a_library_is_added_earlier_in_the_search_path") else { return };
    swapped.library(3, "bin/first/libanswer.so").unwrap();
    swapped.assert_answers("a library in the directory that is searched first", 3, 1);
    fs::remove_dir_all(swapped.path("bin/first")).unwrap();
    swapped.assert_answers("that library is removed", 1, 1);
}

#[test]
fn a_library_is_removed() {
    let Some(swapped) = program_with_snapshot("a_library_is_removed") else { return };
    fs::rename(swapped.path("bin/libanswer.so"), swapped.path("away.so")).unwrap();
    let out = swapped.sh("bin/asks 2> errors; echo $?");
    assert_eq!(out, "127\n");
    assert!(fs::read_to_string(swapped.path("errors")).unwrap().contains("libanswer.so: cannot open shared object"));
    fs::rename(swapped.path("away.so"), swapped.path("bin/libanswer.so")).unwrap();
    swapped.assert_answers("the library is back", 1, 1);
}

/// A program is refused because of its library, and then the library is replaced.
#[test]
fn a_refused_library_is_replaced() {
    let Some(swapped) = program_with_snapshot("a_refused_library_is_replaced") else { return };
    swapped.constructed("open_file", "bin/libanswer.so").unwrap();
    swapped.launch();
    let refused =
        || swapped.sandbox.programs(Path::new(STEADY)).into_values().any(|program| program.state == "refused");
    assert!(within(20, || {
        swapped.launch();
        refused()
    }));
    swapped.library(9, "bin/libanswer.so").unwrap();
    swapped.assert_answers("a library that is not refused", 9, 1);
}

#[test]
fn a_program_is_replaced() {
    let Some(swapped) = program_with_snapshot("a_program_is_replaced") else { return };
    swapped.program(2, "other").unwrap();
    fs::copy(swapped.path("other"), swapped.path("bin/asks")).unwrap();
    swapped.assert_answers("another program is written over it", 1, 2);
    swapped.program(3, "other").unwrap();
    fs::rename(swapped.path("other"), swapped.path("bin/asks")).unwrap();
    swapped.assert_answers("another program is renamed over it", 1, 3);
    File::open(swapped.path("bin/asks")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    swapped.assert_answers("the modification time changes", 1, 3);
    fs::set_permissions(swapped.path("bin/asks"), Permissions::from_mode(0o644)).unwrap();
    assert_eq!(swapped.sh("bin/asks 2>/dev/null; echo $?"), "126\n", "a program without execute permission runs");
    fs::set_permissions(swapped.path("bin/asks"), Permissions::from_mode(0o755)).unwrap();
    swapped.assert_answers("the execute permission is restored", 1, 3);
    fs::rename(swapped.path("bin"), swapped.path("moved")).unwrap();
    assert_eq!(swapped.sh("moved/asks; moved/asks; mkdir bin; cp moved/* bin").matches("1 3").count(), 2);
    swapped.assert_answers("a copy at the old path", 1, 3);
}

/// Replaces the library while programs start and snapshots are created. Each launch after a replacement gives the new
/// answer.
#[test]
fn a_library_is_replaced_repeatedly() {
    let Some(swapped) = program_with_snapshot("a_library_is_replaced_repeatedly") else { return };
    for answer in 0..7 {
        // All libraries have the same length.
        swapped.library(answer * 7, &format!("lib{answer}.so")).unwrap();
    }
    let script = "i=0
        while [ $i -lt TIMES ]; do
            i=$((i + 1)); n=$((i % 7))
            case $((i % 3)) in
                0) cp lib$n.so bin/libanswer.so ;;
                1) cp lib$n.so new.so; mv new.so bin/libanswer.so ;;
                2) ln -f lib$n.so bin/libanswer.so ;;
            esac
            bin/asks | sed \"s/^/$((n * 7)) /\"; bin/asks | sed \"s/^/$((n * 7)) /\"
            rm bin/libanswer.so
            [ $((i % 10)) -ne 0 ] || sleep 0.3
            [ $((i % 10)) -ne 0 ] || { cp lib$n.so bin/libanswer.so; sleep 0.2; bin/asks | sed \"s/^/$((n * 7)) /\"; }
        done";
    let times = if at_length() { 150 } else { 60 };
    let out = swapped.sh(&script.replace("TIMES", &times.to_string()));
    let mut launches = 0;
    for line in out.lines() {
        let (expected, line) = line.split_once(' ').expect("sed has added a number");
        assert_eq!(parse_line(line).answer.to_string(), expected, "{line}");
        launches += 1;
    }
    // Two in each turn, and a third in every tenth turn.
    assert_eq!(launches, 2 * times + times / 10);
}

/// Returns whether this test can mount in a new mount namespace; reports a skip if not.
fn can_mount(test: &str) -> bool {
    let available =
        is_root() && Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !available {
        skip(test, "mounting needs root");
    }
    available
}

#[test]
fn a_library_is_hidden_by_a_mount() {
    let test = "a_library_is_hidden_by_a_mount";
    if !can_mount(test) {
        return;
    }
    let Some(swapped) = program_with_snapshot(test) else { return };
    swapped.library(4, "other.so").unwrap();
    let script = "bin/asks
        mount --bind other.so bin/libanswer.so
        bin/asks; bin/asks
        umount bin/libanswer.so
        bin/asks; bin/asks";
    let out = swapped.sh(&format!("unshare -m sh -c '{script}'"));
    let answers: Vec<i32> = out.lines().map(|line| parse_line(line).answer).collect();
    assert_eq!(answers, [1, 4, 4, 1, 1]);
}

/// Files that all programs load are replaced by copies in a mount namespace. A copy is another file.
#[test]
fn files_that_all_programs_load_are_replaced() {
    let test = "files_that_all_programs_load_are_replaced";
    if !can_mount(test) {
        return;
    }
    let Some(swapped) = program_with_snapshot(test) else { return };
    let files = [
        "/etc/ld.so.cache",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/locale/C.utf8/LC_CTYPE",
    ];
    for file in files.into_iter().filter(|file| Path::new(file).exists()) {
        let script = format!("cp -p --remove-destination {file} copy; mount --bind copy {file}; bin/asks");
        let line = swapped.sh(&format!("unshare -m sh -c '{script}'"));
        let launch = parse_line(line.trim());
        assert!(launch.answer == 1 && !launch.warm, "a snapshot is used with another {file}: {launch:?}");
        assert!(within(10, || swapped.launch().warm), "no snapshot is used with the original {file}");
    }
}

/// A mounted file system, unmounted on drop.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Creates a file system image with a program. The length, inode number and times of the program are the same in all
/// images.
fn image(swapped: &Swapped, own: i32, name: &str) -> Result<PathBuf, String> {
    swapped.program(own, "other")?;
    let (image, program) = (swapped.path(name), swapped.path("other"));
    File::create(&image).and_then(|file| file.set_len(4 << 20)).unwrap();
    let run = |command: &mut Command| {
        let done = command.output().map_err(|error| error.to_string())?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
    };
    let features = "^has_journal,^metadata_csum";
    run(Command::new("mkfs.ext4").args(["-q", "-I", "256", "-O", features]).arg(&image))?;
    let library = swapped.path("bin/libanswer.so");
    let mut requests = vec![
        format!("write {} asks", program.display()),
        format!("write {} libanswer.so", library.display()),
        "sif libanswer.so mode 0100755".to_owned(),
    ];
    let fields = ["mode 0100755", "uid 0", "gid 0"];
    requests.extend(fields.map(|field| format!("sif asks {field}")));
    for (file, time) in
        ["asks", "libanswer.so"].into_iter().flat_map(|file| ["ctime", "mtime"].map(|time| (file, time)))
    {
        requests.extend([format!("sif {file} {time} 20240101000000"), format!("sif {file} {time}_extra 0")]);
    }
    for request in requests {
        run(Command::new("debugfs").args(["-w", "-R", &request]).arg(&image))?;
    }
    Ok(image)
}

/// Two images with equal inode numbers and times are mounted one after the other at the same path.
#[test]
fn another_image_is_mounted_at_the_same_path() {
    let test = "another_image_is_mounted_at_the_same_path";
    if !can_mount(test) {
        return;
    }
    let Some(swapped) = program_with_snapshot(test) else { return };
    let images = match [1, 2].map(|own| image(&swapped, own, &format!("image{own}"))) {
        [Ok(one), Ok(other)] => [one, other],
        [one, other] => return skip(test, &format!("an image cannot be created: {one:?} {other:?}")),
    };
    let mount_point = swapped.path("mounted");
    fs::create_dir(&mount_point).unwrap();
    let mut seen = Vec::new();
    for (own, image) in (1..).zip(images) {
        let mount = Command::new("mount").args(["-o", "loop,ro"]).arg(&image).arg(&mount_point).output().unwrap();
        if !mount.status.success() {
            return skip(test, &format!("no image can be mounted: {}", String::from_utf8_lossy(&mount.stderr)));
        }
        let mounted = Mounted(mount_point.clone());
        seen.push({
            use std::os::unix::fs::MetadataExt;
            let file = fs::metadata(mount_point.join("asks")).unwrap();
            (file.dev(), file.ino(), file.size(), file.mtime(), file.ctime(), file.ctime_nsec())
        });
        let first = parse_line(swapped.sh("mounted/asks").trim());
        assert_eq!(first.own, own, "the program of image {own}: {first:?}");
        assert!(within(20, || {
            let line = parse_line(swapped.sh("mounted/asks").trim());
            assert_eq!(line.own, own, "the program of image {own}: {line:?}");
            line.warm
        }));
        drop(mounted);
    }
    if seen[0] != seen[1] {
        skip(test, &format!("the images have different numbers: {seen:?}"));
    }
}
