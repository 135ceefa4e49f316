//! The `configure` script and the test suite of a real package, GNU hello, run as usual and from snapshots: what they print
//! and make is the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::STEADY;
use crate::round::Place;
use crate::steady::{at_length, scratch, skip};

/// Where Debian has the sources of this machine's release; of stable, where it is none of Debian's.
fn sources_list() -> String {
    let about = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let release = about.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or("stable");
    format!("deb-src http://deb.debian.org/debian {release} main\n")
}

/// The package's sources, kept for the next time; or why they cannot be had.
fn sources() -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("source-of-hello");
    let found = || {
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
        entries
            .into_iter()
            .find(|path| path.to_string_lossy().contains(".orig.tar"))
            .filter(|path| !path.to_string_lossy().ends_with(".asc"))
    };
    if let Some(archive) = found() {
        return Ok(archive);
    }
    fs::create_dir_all(folder.join("lists/partial")).map_err(|error| error.to_string())?;
    fs::write(folder.join("sources.list"), sources_list()).map_err(|error| error.to_string())?;
    let at = |name: &str| folder.join(name).display().to_string();
    let options = [
        format!("Dir::Etc::sourcelist={}", at("sources.list")),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        format!("Dir::State::lists={}", at("lists")),
        format!("Dir::Cache={}", at("cache")),
        "APT::Sandbox::User=root".to_owned(),
    ];
    for words in [&["update"][..], &["source", "--download-only", "--tar-only", "hello"]] {
        let mut command = Command::new("timeout");
        command.args(["120", "apt-get", "-q"]).current_dir(&folder);
        options.iter().for_each(|option| _ = command.args(["-o", option]));
        let told = command.args(words).output().map_err(|error| error.to_string())?;
        if !told.status.success() {
            return Err(format!("apt-get {words:?}: {}", String::from_utf8_lossy(&told.stderr).trim()));
        }
    }
    found().ok_or_else(|| "apt-get has brought no archive".to_owned())
}

/// Configures, builds and checks the package in `work`; what it printed, and the files that came of it.
fn built(place: &Place, archive: &Path, warm: bool) -> (String, BTreeMap<PathBuf, String>) {
    let work = place.root().join("work");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir(&work).expect("a folder can be made");
    let unpacked =
        place.command("tar", "C").arg("xf").arg(archive).args(["--strip-components=1", "-C", "work"]).status();
    assert!(unpacked.is_ok_and(|status| status.success()), "the sources can be unpacked");
    let script = "./configure --disable-dependency-tracking && make -s && make -s check VERBOSE=1; echo status $?";
    let mut command = place.command("timeout", "C");
    command.arg("800");
    if warm {
        command.args([STEADY, "warm", "--"]);
    }
    let told = command.args(["sh", "-c", script]).current_dir(&work).output().expect("it starts");
    let printed = format!("{}\n{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    let names = ["config.status", "config.h", "Makefile", "config.log", "po/Makefile", "hello", "test-suite.log"];
    let texts = names.map(|name| (PathBuf::from(name), settled(&fs::read(work.join(name)).unwrap_or_default())));
    (printed, texts.into())
}

/// Without the lines that are different each time: process numbers, random names, times.
fn settled(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let other = |line: &&str| {
        !["$$", "/cc", "tmp", "conf1", "conf2", "uptime", "configure:", "PID"].iter().any(|mark| line.contains(mark))
    };
    text.lines().filter(other).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_package_is_configured_built_and_checked_the_same() {
    let test = "a_package_is_configured_built_and_checked_the_same";
    let archive = match sources() {
        Ok(archive) if Command::new("cc").arg("--version").output().is_ok() => archive,
        Ok(_) => return skip(test, "no cc"),
        Err(why) => return skip(test, &format!("the sources cannot be had: {why}")),
    };
    let place = Place::bare(&scratch("package"));
    let (usual, files) = built(&place, &archive, false);
    assert!(usual.contains("status 0") && usual.contains("# FAIL:  0"), "{usual}");
    for round in 0..if at_length() { 2 } else { 1 } {
        let (warm, made) = built(&place, &archive, true);
        assert_eq!(settled(warm.as_bytes()), settled(usual.as_bytes()), "round {round}");
        for (name, contents) in &files {
            assert!(!contents.is_empty() && made[name] == *contents, "round {round}: {} is another", name.display());
        }
    }
    let launches = place.status(Path::new(STEADY))["store"]["launches"].clone();
    let least = if at_length() { 2_000 } else { 1_000 };
    assert!(launches["warm"].as_u64() > Some(least), "{launches}");
}
