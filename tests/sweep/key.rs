//! A changed program or library never runs its old code: whatever is swapped under a warm program, the next launch tells
//! what is there now, as usual first, and from a new snapshot later.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::STEADY;
use crate::steady::{at_length, scratch, skip};
use crate::swapped::{Swapped, told, within};

/// A warm program in a folder of this test's own, where there is a compiler.
fn warm(test: &str) -> Option<Swapped> {
    match Swapped::make(&scratch(test), Path::new(STEADY)) {
        Ok(swapped) => {
            swapped.take();
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
fn a_library_written_over_in_place() {
    let Some(swapped) = warm("a_library_written_over_in_place") else { return };
    swapped.library(8, "other.so").unwrap();
    fs::copy(swapped.path("other.so"), swapped.path("bin/libanswer.so")).unwrap();
    swapped.tells("a longer one in place", 8, 1);
    let before = fs::metadata(swapped.path("bin/libanswer.so")).unwrap().modified().unwrap();
    swapped.library(15, "other.so").unwrap();
    fs::copy(swapped.path("other.so"), swapped.path("bin/libanswer.so")).unwrap();
    File::options().write(true).open(swapped.path("bin/libanswer.so")).unwrap().set_modified(before).unwrap();
    swapped.tells("one of the same length and time", 15, 1);
}

#[test]
fn a_library_moved_over() {
    let Some(swapped) = warm("a_library_moved_over") else { return };
    swapped.library(8, "other.so").unwrap();
    fs::hard_link(swapped.path("bin/libanswer.so"), swapped.path("kept.so")).unwrap();
    swapped.tells("it has one name more", 1, 1);
    fs::rename(swapped.path("other.so"), swapped.path("bin/libanswer.so")).unwrap();
    swapped.tells("another is moved over it", 8, 1);
    fs::rename(swapped.path("kept.so"), swapped.path("bin/libanswer.so")).unwrap();
    swapped.tells("the first is moved back", 1, 1);
}

#[test]
fn a_library_behind_a_link() {
    let Some(swapped) = warm("a_library_behind_a_link") else { return };
    let library = swapped.path("bin/libanswer.so");
    fs::rename(&library, swapped.path("bin/libanswer.so.1")).unwrap();
    swapped.library(2, "bin/libanswer.so.2").unwrap();
    symlink("libanswer.so.1", &library).unwrap();
    swapped.tells("a link to it", 1, 1);
    fs::remove_file(&library).unwrap();
    symlink("libanswer.so.2", &library).unwrap();
    swapped.tells("the link leads to another", 2, 1);
}

#[test]
fn a_library_that_is_found_earlier() {
    let Some(swapped) = warm("a_library_that_is_found_earlier") else { return };
    swapped.library(3, "bin/first/libanswer.so").unwrap();
    swapped.tells("there is one in the folder that is searched first", 3, 1);
    fs::remove_dir_all(swapped.path("bin/first")).unwrap();
    swapped.tells("it is gone again", 1, 1);
}

#[test]
fn a_library_that_is_gone() {
    let Some(swapped) = warm("a_library_that_is_gone") else { return };
    fs::rename(swapped.path("bin/libanswer.so"), swapped.path("away.so")).unwrap();
    let out = swapped.sh("bin/asks 2> told; echo $?");
    assert_eq!(out, "127\n");
    assert!(fs::read_to_string(swapped.path("told")).unwrap().contains("libanswer.so: cannot open shared object"));
    fs::rename(swapped.path("away.so"), swapped.path("bin/libanswer.so")).unwrap();
    swapped.tells("it is back", 1, 1);
}

/// A library that made its program be refused is replaced by another one.
#[test]
fn a_library_that_was_refused() {
    let Some(swapped) = warm("a_library_that_was_refused") else { return };
    swapped.constructed("open_file", "bin/libanswer.so").unwrap();
    swapped.ask();
    let refused = || swapped.place.kept(Path::new(STEADY)).into_values().any(|kept| kept.state == "refused");
    assert!(within(20, || {
        swapped.ask();
        refused()
    }));
    swapped.library(9, "bin/libanswer.so").unwrap();
    swapped.tells("a library that can be kept", 9, 1);
}

#[test]
fn a_program_swapped() {
    let Some(swapped) = warm("a_program_swapped") else { return };
    swapped.program(2, "other").unwrap();
    fs::copy(swapped.path("other"), swapped.path("bin/asks")).unwrap();
    swapped.tells("another in place", 1, 2);
    swapped.program(3, "other").unwrap();
    fs::rename(swapped.path("other"), swapped.path("bin/asks")).unwrap();
    swapped.tells("another moved over it", 1, 3);
    File::open(swapped.path("bin/asks")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    swapped.tells("another time", 1, 3);
    fs::set_permissions(swapped.path("bin/asks"), Permissions::from_mode(0o644)).unwrap();
    assert_eq!(swapped.sh("bin/asks 2>/dev/null; echo $?"), "126\n", "it may not be executed any more");
    fs::set_permissions(swapped.path("bin/asks"), Permissions::from_mode(0o755)).unwrap();
    swapped.tells("it may be executed again", 1, 3);
    fs::rename(swapped.path("bin"), swapped.path("moved")).unwrap();
    assert_eq!(swapped.sh("moved/asks; moved/asks; mkdir bin; cp moved/* bin").matches("1 3").count(), 2);
    swapped.tells("a copy at its old place", 1, 3);
}

/// Swaps while launches and takes go on: each launch that began after a swap tells the new answer.
#[test]
fn swapped_again_and_again() {
    let Some(swapped) = warm("swapped_again_and_again") else { return };
    for answer in 0..7 {
        // All of one length.
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
        let (expected, line) = line.split_once(' ').expect("sed wrote it before");
        assert_eq!(told(line).answer.to_string(), expected, "{line}");
        launches += 1;
    }
    // Two in each turn, and one more in every tenth.
    assert_eq!(launches, 2 * times + times / 10);
}

/// In a mount namespace of its own, so that nobody else sees it.
fn mounted(test: &str) -> bool {
    let can = is_root() && Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !can {
        skip(test, "mounting takes root");
    }
    can
}

#[test]
fn a_library_mounted_over() {
    let test = "a_library_mounted_over";
    if !mounted(test) {
        return;
    }
    let Some(swapped) = warm(test) else { return };
    swapped.library(4, "other.so").unwrap();
    let script = "bin/asks
        mount --bind other.so bin/libanswer.so
        bin/asks; bin/asks
        umount bin/libanswer.so
        bin/asks; bin/asks";
    let out = swapped.sh(&format!("unshare -m sh -c '{script}'"));
    let answers: Vec<i32> = out.lines().map(|line| told(line).answer).collect();
    assert_eq!(answers, [1, 4, 4, 1, 1]);
}

/// What the machine has for all programs, replaced by a copy in a mount namespace: a copy is another file.
#[test]
fn what_all_programs_load() {
    let test = "what_all_programs_load";
    if !mounted(test) {
        return;
    }
    let Some(swapped) = warm(test) else { return };
    let files = [
        "/etc/ld.so.cache",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/locale/C.utf8/LC_CTYPE",
    ];
    for file in files.into_iter().filter(|file| Path::new(file).exists()) {
        let script = format!("cp -p --remove-destination {file} copy; mount --bind copy {file}; bin/asks");
        let line = swapped.sh(&format!("unshare -m sh -c '{script}'"));
        let told = told(line.trim());
        assert!(told.answer == 1 && !told.warm, "{file} is another file: {told:?}");
        assert!(within(10, || swapped.ask().warm), "{file} is what it was");
    }
}

/// A file system that is mounted; unmounted when dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// An image with a program in it: inode and times are the same in all images, and so is its length.
fn image(swapped: &Swapped, own: i32, name: &str) -> Result<PathBuf, String> {
    swapped.program(own, "other")?;
    let (image, program) = (swapped.path(name), swapped.path("other"));
    File::create(&image).and_then(|file| file.set_len(4 << 20)).unwrap();
    let run = |command: &mut Command| {
        let done = command.output().map_err(|error| error.to_string())?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
    };
    let settings = "^has_journal,^metadata_csum";
    run(Command::new("mkfs.ext4").args(["-q", "-I", "256", "-O", settings]).arg(&image))?;
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

/// Two images with files of the same numbers and times, mounted one after the other at the same path.
#[test]
fn another_image_mounted_at_the_same_path() {
    let test = "another_image_mounted_at_the_same_path";
    if !mounted(test) {
        return;
    }
    let Some(swapped) = warm(test) else { return };
    let images = match [1, 2].map(|own| image(&swapped, own, &format!("image{own}"))) {
        [Ok(one), Ok(other)] => [one, other],
        [one, other] => return skip(test, &format!("an image cannot be made: {one:?} {other:?}")),
    };
    let place = swapped.path("place");
    fs::create_dir(&place).unwrap();
    let mut seen = Vec::new();
    for (own, image) in (1..).zip(images) {
        let mount = Command::new("mount").args(["-o", "loop,ro"]).arg(&image).arg(&place).output().unwrap();
        if !mount.status.success() {
            return skip(test, &format!("no image can be mounted: {}", String::from_utf8_lossy(&mount.stderr)));
        }
        let mounted = Mounted(place.clone());
        seen.push({
            use std::os::unix::fs::MetadataExt;
            let file = fs::metadata(place.join("asks")).unwrap();
            (file.dev(), file.ino(), file.size(), file.mtime(), file.ctime(), file.ctime_nsec())
        });
        let first = told(swapped.sh("place/asks").trim());
        assert_eq!(first.own, own, "the program of image {own}: {first:?}");
        assert!(within(20, || {
            let line = told(swapped.sh("place/asks").trim());
            assert_eq!(line.own, own, "the program of image {own}: {line:?}");
            line.warm
        }));
        drop(mounted);
    }
    if seen[0] != seen[1] {
        skip(test, &format!("the second image got other numbers: {seen:?}"));
    }
}
