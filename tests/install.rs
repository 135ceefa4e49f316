//! The installed binary: its version, shell completions and manual pages, and that it needs no other files.

mod steady;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use steady::{output_of, run, scratch, skip, steady};

/// Returns the manual page of a subcommand, in roff.
fn page(subcommand: &str) -> String {
    let (status, page, stderr) = run(&["man", subcommand]);
    assert_eq!(status, 0, "{stderr}");
    page
}

/// Returns whether a program is installed.
fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}

/// Runs a program on `input`. Returns its exit status, standard output and standard error.
fn piped(program: &mut Command, input: &str) -> (i32, String, String) {
    let file = scratch("input");
    fs::write(&file, input).unwrap();
    let output = program.stdin(fs::File::open(&file).unwrap()).output().expect("the program starts");
    fs::remove_file(&file).unwrap();
    output_of(output)
}

/// Returns the completions that bash offers for the last of these words.
fn bash_completions(script: &str, words: &[&str]) -> Vec<String> {
    let ask = r#"source /dev/stdin || exit 1
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); previous=$(($# - 2))
        _steady "$1" "${!#}" "${COMP_WORDS[previous]}" || exit 1
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    let (status, offers, stderr) = piped(bash.args(["--noprofile", "--norc", "-c", ask, "bash"]).args(words), script);
    assert_eq!((status, stderr.as_str()), (0, ""), "{offers}");
    offers.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_subcommands_options_and_values() {
    if !is_installed("bash") {
        return skip("bash_completes_subcommands_options_and_values", "no bash");
    }
    let (status, script, stderr) = run(&["completions", "bash"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(bash_completions(&script, &["steady", "comp"]).contains(&"compare".to_owned()));
    assert_eq!(bash_completions(&script, &["steady", "compare", "--layout", "=", "d"]), ["duet"]);
    assert_eq!(bash_completions(&script, &["steady", "judg"]), ["judge"]);
    assert_eq!(bash_completions(&script, &["steady", "man", "bis"]), ["bisect"]);
    assert_eq!(bash_completions(&script, &["steady", "host", "quiet", "--only", "tur"]), ["turbo"]);
    assert_eq!(bash_completions(&script, &["steady", "compare", "--fail"]), ["--fail-if"]);
    assert!(bash_completions(&script, &["steady", "compare", "--metric", ""]).contains(&"wall".to_owned()));
}

#[test]
fn every_shell_has_a_script_without_internal_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (status, script, stderr) = run(&["completions", shell]);
        assert_eq!(status, 0, "{stderr}");
        assert!(script.contains("compare") && script.contains("fail-if"), "{shell}");
        assert!(!script.contains("launcher"), "{shell}");
    }
    assert_eq!(run(&["completions", "tcsh"]).0, 2);
}

#[test]
fn manual_pages_render_without_warnings() {
    if !is_installed("groff") {
        return skip("manual_pages_render_without_warnings", "no groff");
    }
    let folder = scratch("pages");
    assert_eq!(run(&["man", "--dir", folder.to_str().unwrap()]).0, 0);
    for file in fs::read_dir(&folder).unwrap() {
        let file = file.unwrap().path();
        let render = ["-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=80n"];
        let page = fs::read_to_string(&file).unwrap();
        let (status, text, warnings) = piped(Command::new("groff").args(render), &page);
        assert_eq!((status, warnings.as_str()), (0, ""), "{}", file.display());
        assert!(text.contains("SYNOPSIS"), "{text}");
        if file.ends_with("steady-compare.1") {
            assert_compare_page(&text);
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Panics unless the rendered page of `compare` has its options, examples and exit statuses.
fn assert_compare_page(text: &str) {
    for option in ["-N, --no-shell", "-b, --budget <TIME> [default: 10s]", "--fail-if <CONDITION>", "--shell[=<SHELL>]"]
    {
        assert!(text.contains(option), "{option}: {text}");
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for line in [
        "steady compare [OPTIONS] <COMMAND>...",
        "steady compare --fail-if 'slower>2%' './main' './branch'",
        "1    the --fail-if condition certainly holds; with --ratchet: not accepted",
        "4    with --require-verdict: undecided; with --fail-if: not known whether the",
    ] {
        assert!(lines.contains(&line), "no line '{line}': {text}");
    }
}

#[test]
fn all_pages_are_written() {
    let folder = scratch("man").join("man1");
    let (status, stdout, stderr) = run(&["man", "--dir", folder.to_str().unwrap()]);
    assert_eq!((status, stdout.as_str()), (0, ""), "{stderr}");
    assert_eq!(fs::read_to_string(folder.join("steady-compare.1")).unwrap(), page("compare"));
    let main = fs::read_to_string(folder.join("steady.1")).unwrap();
    assert!(main.contains(r"steady\-compare(1)"), "{main}");
    fs::remove_dir_all(folder.parent().unwrap()).unwrap();
    assert_eq!(run(&["man", "--dir", "/dev/null/man"]).0, 2);
    assert_eq!(run(&["man", "nothing"]).0, 2);
}

#[test]
fn the_binary_works_without_other_files() {
    let folder = scratch("alone");
    fs::create_dir_all(&folder).unwrap();
    let alone = folder.join("steady");
    // `cp` copies the file, because a concurrent fork in this process would inherit a file open for writing. Executing
    // it would then fail with ETXTBSY.
    let copied = Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_steady")), &alone]).status().unwrap();
    assert!(copied.success());
    let words = ["compare", "--runs", "3", "--format", "json", "true", "true"];
    let output = Command::new(&alone).args(words).env_clear().current_dir("/").stdin(Stdio::null()).output();
    let (status, stdout, stderr) = output_of(output.expect("steady starts"));
    assert_eq!(status, 0, "{stderr}");
    let report: serde_json::Value = serde_json::from_str(&stdout).expect("the report is JSON");
    assert_eq!(report["pairs"], 3, "{stdout}");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert_eq!(left.len(), 1, "steady created files next to the binary: {left:?}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn only_the_c_library_is_needed() {
    if !is_installed("ldd") {
        return skip("only_the_c_library_is_needed", "no ldd");
    }
    let output = Command::new("ldd").arg(env!("CARGO_BIN_EXE_steady")).output().expect("ldd starts");
    let (_, libraries, warnings) = output_of(output);
    // For a static binary, ldd reports on standard error.
    assert!(!libraries.is_empty() || warnings.contains("not a dynamic executable"), "{warnings}");
    let allowed = ["linux-vdso.so", "libc.so", "libm.so", "libgcc_s.so", "libpthread.so", "libdl.so", "ld-", "ld64"];
    let others = libraries.lines().filter(|line| {
        let name = line.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        name != "statically" && !allowed.iter().any(|known| name.starts_with(known))
    });
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn the_version_has_the_commit_and_date() {
    let (status, version, _) = output_of(steady().arg("--version").output().unwrap());
    assert_eq!(status, 0);
    let expected = concat!("steady ", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(expected), "{version}");
    let Some(commit) = git(Path::new(env!("CARGO_MANIFEST_DIR")), &["show", "-s", "--format=%h %cs", "--abbrev=7"])
    else {
        return skip("the_version_has_the_commit_and_date", "not in a git repository");
    };
    let (revision, date) = commit.trim().split_once(' ').unwrap();
    let clean = format!("{expected} ({revision} {date})\n");
    let changed = format!("{expected} ({revision}+changes {date})\n");
    assert!(version == clean || version == changed, "{version}: neither {clean} nor {changed}");
}

#[test]
fn the_version_shows_whether_sources_were_changed_or_untracked() {
    let root = scratch("source");
    let build = root.join("crates/cli/build.rs");
    fs::create_dir_all(build.parent().unwrap()).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs"), &build).unwrap();
    let script = Script::of(&build);
    assert_eq!(script.version(&root), "1.2.3", "outside a repository");

    let commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"];
    if git(&root, &["init", "-q"]).is_none() {
        return skip("the_version_shows_whether_sources_were_changed_or_untracked", "no git");
    }
    git(&root, &[&commit[..], &["--allow-empty"]].concat()).unwrap();
    assert_eq!(script.version(&root), "1.2.3", "inside a repository that does not track it");

    git(&root, &["add", "crates"]).unwrap();
    git(&root, &commit).unwrap();
    let state = git(&root, &["show", "-s", "--format=%h %cs", "--abbrev=7"]).unwrap();
    let (revision, date) = state.trim().split_once(' ').unwrap();
    assert_eq!(script.version(&root), format!("1.2.3 ({revision} {date})"));
    fs::write(root.join("notes"), "not a source of the binary").unwrap();
    assert_eq!(script.version(&root), format!("1.2.3 ({revision} {date})"));
    fs::write(root.join("crates/cli/more.rs"), "").unwrap();
    assert_eq!(script.version(&root), format!("1.2.3 ({revision}+changes {date})"));
    fs::remove_dir_all(&root).unwrap();
}

/// The build script, compiled to a program.
struct Script {
    program: PathBuf,
}

impl Script {
    fn of(build: &Path) -> Self {
        let program = build.with_file_name("build-script");
        let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
        let output = Command::new(rustc)
            .args(["--edition", "2024", "-o"])
            .args([&program, build])
            .output()
            .expect("rustc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // The compiled program must not count as a change.
        let ignore = program.with_file_name(".gitignore");
        fs::write(ignore, "build-script\n.gitignore\n").unwrap();
        Script { program }
    }

    /// Returns the version that the build script passes to the compiler.
    fn version(&self, root: &Path) -> String {
        let mut script = Command::new(&self.program);
        script.current_dir(root).env("GIT_CEILING_DIRECTORIES", root.parent().unwrap());
        script.env("CARGO_PKG_VERSION", "1.2.3").env("CARGO_MANIFEST_DIR", self.program.parent().unwrap());
        let (status, stdout, stderr) = output_of(script.output().expect("the build script starts"));
        assert_eq!(status, 0, "{stderr}");
        let version = stdout.lines().find_map(|line| line.strip_prefix("cargo::rustc-env=STEADY_VERSION="));
        version.expect("the build script prints the version").to_owned()
    }
}

/// Runs git in a directory and returns its standard output, or `None` if it fails.
fn git(folder: &Path, words: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(variable);
    }
    let output = git.arg("-C").arg(folder).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
