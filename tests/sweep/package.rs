//! The `configure` script and the test suite of a real package, GNU hello, give the same output and files with
//! snapshots and without.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::STEADY;
use crate::round::Sandbox;
use crate::steady::{at_length, scratch, skip};

/// Returns the line of sources.list for the sources of the Debian release of this machine, or of stable on other
/// systems.
fn sources_list() -> String {
    let about = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let release = about.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or("stable");
    format!("deb-src http://deb.debian.org/debian {release} main\n")
}

/// Returns the source archive of the package, and downloads it if it is not there from an earlier test.
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
    for args in [&["update"][..], &["source", "--download-only", "--tar-only", "hello"]] {
        let mut command = Command::new("timeout");
        command.args(["120", "apt-get", "-q"]).current_dir(&folder);
        options.iter().for_each(|option| _ = command.args(["-o", option]));
        let output = command.args(args).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("apt-get {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
    }
    found().ok_or_else(|| "apt-get has downloaded no archive".to_owned())
}

/// Configures, builds and checks the package in `work`. Returns its output and the contents of the created files.
fn build(sandbox: &Sandbox, archive: &Path, warm: bool) -> (String, BTreeMap<PathBuf, String>) {
    let work = sandbox.root().join("work");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir(&work).expect("a directory can be created");
    let unpacked =
        sandbox.command("tar", "C").arg("xf").arg(archive).args(["--strip-components=1", "-C", "work"]).status();
    assert!(unpacked.is_ok_and(|status| status.success()), "the sources cannot be unpacked");
    let script = "./configure --disable-dependency-tracking && make -s && make -s check VERBOSE=1; echo status $?";
    let mut command = sandbox.command("timeout", "C");
    command.arg("800");
    if warm {
        command.args([STEADY, "warm", "--"]);
    }
    let output = command.args(["sh", "-c", script]).current_dir(&work).output().expect("timeout starts");
    let printed = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let names = ["config.status", "config.h", "Makefile", "config.log", "po/Makefile", "hello", "test-suite.log"];
    let texts =
        names.map(|name| (PathBuf::from(name), reproducible_lines(&fs::read(work.join(name)).unwrap_or_default())));
    (printed, texts.into())
}

/// Removes lines that differ between builds: those with process ids, random names or times.
fn reproducible_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let is_reproducible = |line: &&str| {
        !["$$", "/cc", "tmp", "conf1", "conf2", "uptime", "configure:", "PID"].iter().any(|mark| line.contains(mark))
    };
    text.lines().filter(is_reproducible).collect::<Vec<_>>().join("\n")
}

#[test]
fn building_a_package_gives_the_same_output_and_files() {
    let test = "building_a_package_gives_the_same_output_and_files";
    if !at_length() {
        return skip(test, "it takes minutes: ./test --all runs it");
    }
    let archive = match sources() {
        Ok(archive) if Command::new("cc").arg("--version").output().is_ok() => archive,
        Ok(_) => return skip(test, "no cc"),
        Err(why) => return skip(test, &format!("the sources are not available: {why}")),
    };
    let sandbox = Sandbox::empty(&scratch("package"));
    let (usual, files) = build(&sandbox, &archive, false);
    assert!(usual.contains("status 0") && usual.contains("# FAIL:  0"), "{usual}");
    for round in 0..2 {
        let (warm, files_with_snapshots) = build(&sandbox, &archive, true);
        assert_eq!(reproducible_lines(warm.as_bytes()), reproducible_lines(usual.as_bytes()), "round {round}");
        for (name, contents) in &files {
            assert!(
                !contents.is_empty() && files_with_snapshots[name] == *contents,
                "round {round}: {} differs",
                name.display()
            );
        }
    }
    let launches = sandbox.status(Path::new(STEADY))["store"]["launches"].clone();
    assert!(launches["warm"].as_u64() > Some(2_000), "{launches}");
}
