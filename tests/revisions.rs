//! `steady compare --rev`: revisions of a git repository are checked out, built, compared and removed again.

mod steady;

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use steady::repository::{Repository, busy, git};
use steady::{eventually, output_of, own_duration, primary, processes_with, skip, within_a_second};

/// Creates a repository with two commits. `make.sh` builds `prog` from `source`, which is slower in the second commit.
fn two_commits(name: &str) -> Repository {
    let repository = Repository::new(name);
    repository.write(".gitignore", "prog\nnotes\n");
    repository.write("make.sh", "#!/bin/sh\npwd >>../../notes; echo $STEADY_REVISION >>../../notes; cp source prog\n");
    repository.write("source", &busy(1000));
    repository.write("sub/data", "one\n");
    repository.commit("one");
    repository.git(&["branch", "old"]);
    repository.write("source", &busy(4000));
    repository.write("sub/data", "two\n");
    repository.commit("two");
    repository
}

#[test]
fn two_revisions_are_built_at_the_same_path_and_compared() {
    let repository = two_commits("two");
    let report = repository.json(&[
        "--seed",
        "2",
        "--budget",
        "5s",
        "--rev",
        "old..HEAD",
        "--build",
        "./make.sh >/dev/null",
        "./prog",
    ]);
    assert_eq!(primary(&report)["verdict"], "slower");
    let commits = ["old", "HEAD"].map(|name| repository.git(&["rev-parse", name]).trim().to_owned());
    for (index, (name, commit)) in ["old", "HEAD"].iter().zip(&commits).enumerate() {
        let command = &report["commands"][index];
        assert_eq!(command["revision"], commit[..12]);
        let short = repository.git(&["rev-parse", "--short", name]);
        assert_eq!(command["name"], format!("./prog ({name} {})", short.trim()));
        assert_eq!(command["argv"][0], "./prog");
    }
    let directories = [0, 1].map(|index| report["commands"][index]["directory"].as_str().unwrap().to_owned());
    assert_ne!(directories[0], directories[1]);
    assert_eq!(directories[0].len(), directories[1].len());
    let notes = fs::read_to_string(repository.folder.join("tmp").join(path_of_notes(&repository))).unwrap();
    let lines: Vec<&str> = notes.lines().collect();
    assert_eq!([lines[1], lines[3]], [&commits[0], &commits[1]]);
    assert_eq!(lines[0], lines[2], "both are built at the same path");
    assert_eq!(report["revision"], commits[1][..12]);
    assert_eq!(repository.leftovers(), ["notes"]);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

/// Copies of one file may differ in speed, because they are in other pages of memory. With new copies for each pair,
/// this is a random error.
#[test]
fn the_program_is_another_copy_in_each_pair() {
    let repository = Repository::new("renewed");
    let notes = repository.folder.join("times");
    // The time of the last change of the file's own inode.
    repository.write("prog", &format!("#!/bin/sh\nstat -c %z \"$0\" >>{}\n", notes.display()));
    fs::set_permissions(repository.repo().join("prog"), PermissionsExt::from_mode(0o755)).unwrap();
    repository.commit("one");
    let report = repository.json(&["--runs", "8", "--layout", "turns", "--rev", "HEAD..HEAD", "./prog"]);
    assert_eq!(report["pairs"], 8);
    let times = fs::read_to_string(&notes).unwrap();
    let measured: std::collections::BTreeSet<&str> = times.lines().rev().take(16).collect();
    // Both files of a pair may be written in one tick of the clock.
    assert!(measured.len() >= 8, "{times}");
    assert!(repository.leftovers().is_empty());
}

/// Returns the path of the notes, relative to the directory for work trees. The builds write them two directories above
/// their own.
fn path_of_notes(repository: &Repository) -> PathBuf {
    let base = fs::read_dir(repository.folder.join("tmp")).unwrap().next().unwrap().unwrap();
    PathBuf::from(base.file_name()).join("notes")
}

#[test]
fn work_compares_the_working_tree_with_its_uncommitted_changes() {
    let repository = two_commits("work");
    repository.write("source", "#!/bin/sh\ncat fresh sub/data link >&2\n");
    repository.write("fresh", "fresh\n");
    repository.write("ignored/prog", "ignored\n");
    fs::remove_file(repository.repo().join("make.sh")).unwrap();
    std::os::unix::fs::symlink("sub/data", repository.repo().join("link")).unwrap();
    repository.write("sub/data", "three\n");
    repository.git(&["add", "sub/data"]);
    let before =
        (repository.git(&["status", "--porcelain"]), repository.git(&["stash", "list"]), index_of(&repository));
    let build =
        "if [ ! -e make.sh ] && [ ! -e ignored ]; then cp source prog; else echo '#!/bin/sh' >prog; chmod +x prog; fi";
    let args = ["--runs", "2", "--show-output", "--rev", "HEAD", "--rev", "WORK", "--build", build, "./prog"];
    let (status, _, stderr) = repository.run(&args);
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("fresh\nthree\nthree\n"), "{stderr}");
    assert_eq!(
        (repository.git(&["status", "--porcelain"]), repository.git(&["stash", "list"]), index_of(&repository)),
        before
    );
    let report = repository.json(&["--runs", "2", "--rev", "HEAD..WORK", "cat sub/data"]);
    assert!(report["commands"][1]["revision"].as_str().unwrap().ends_with("+changes"));
    assert!(report["commands"][1]["name"].as_str().unwrap().contains("(WORK "), "{report}");
    assert!(report["revision"].as_str().unwrap().ends_with("+changes"));
    let (_, _, stderr) = repository.run(&["--quiet", "--runs", "2", "--rev", "old..HEAD", "cat sub/data"]);
    assert!(stderr.contains("uncommitted changes") && stderr.lines().count() == 1, "{stderr}");
    assert!(repository.leftovers().is_empty());
}

/// A commit while the first revision is built must not hide the changes of the working tree.
#[test]
fn work_is_relative_to_the_commit_at_the_start() {
    let repository = two_commits("moving");
    repository.write("sub/data", "three\n");
    let commit = "-c user.name=t -c user.email=t@t commit -qam moved";
    let build = format!("git -C {} {commit} || true", repository.repo().display());
    // An even seed builds the revisions in their order.
    let args = ["--seed", "2", "--runs", "2", "--show-output", "--rev", "HEAD..WORK", "--build", &build];
    let (status, _, stderr) = repository.run(&[&args[..], &["sh -c 'cat sub/data >&2'"]].concat());
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(repository.git(&["log", "-1", "--format=%s"]).trim(), "moved");
    assert!(stderr.contains("two\n") && stderr.contains("three\n"), "{stderr}");
    assert!(repository.leftovers().is_empty());
}

fn index_of(repository: &Repository) -> Vec<u8> {
    fs::read(repository.repo().join(".git/index")).unwrap()
}

#[test]
fn a_file_may_become_a_directory_and_a_directory_a_file() {
    let repository = Repository::new("places");
    repository.write("a", "file\n");
    repository.write("b/c", "file\n");
    repository.commit("one");
    fs::remove_file(repository.repo().join("a")).unwrap();
    repository.write("a/x", "now a directory\n");
    fs::remove_dir_all(repository.repo().join("b")).unwrap();
    repository.write("b", "now a file\n");
    let report = repository.json(&["--runs", "2", "--rev", "WORK..WORK", "cat a/x b"]);
    assert_eq!(report["runs"], 4);
}

/// The working tree has symbolic links where the commit has directories. Files behind them are neither copied nor
/// removed.
#[test]
fn files_outside_the_repository_are_left_alone() {
    let repository = Repository::new("outside");
    repository.write("a/x", "in the commit\n");
    repository.write("a/y", "in the commit\n");
    repository.write("b/x", "in the commit\n");
    repository.commit("one");
    let outside = repository.folder.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "precious\n").unwrap();
    for name in ["a", "b"] {
        fs::remove_dir_all(repository.repo().join(name)).unwrap();
        std::os::unix::fs::symlink(&outside, repository.repo().join(name)).unwrap();
    }
    repository.git(&["add", "a"]);
    let report = repository.json(&["--runs", "2", "--rev", "WORK..WORK", "cat a/x b/x"]);
    assert_eq!(report["runs"], 4);
    assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "precious\n");
    // Now the commit has the link and the working tree has a directory.
    repository.git(&["add", "--all"]);
    repository.commit("two");
    fs::remove_file(repository.repo().join("a")).unwrap();
    repository.write("a/x", "in the working tree\n");
    let report = repository.json(&["--runs", "2", "--rev", "WORK..WORK", "grep -q tree a/x"]);
    assert_eq!(report["runs"], 4);
    assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "precious\n");
}

/// The directory of workspaces also holds the socket of the agent by default.
#[test]
fn directories_that_are_not_workspaces_are_kept() {
    let repository = two_commits("neighbours");
    let base = repository.folder.join("tmp").join(format!("steady-{}", rustix::process::geteuid()));
    fs::DirBuilder::new().mode(0o700).create(&base).unwrap();
    let outside = repository.folder.join("outside");
    for folder in [base.join("store"), base.join("1234"), outside.clone()] {
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("data"), "precious").unwrap();
    }
    fs::write(base.join("agent.db"), "precious").unwrap();
    std::os::unix::fs::symlink(&outside, base.join("workspace-1")).unwrap();
    let args = ["--runs", "2", "--quiet", "--rev", "old..HEAD", "true"];
    assert_eq!(repository.run(&args).0, 0);
    for file in ["store/data", "1234/data", "workspace-1/data", "agent.db"] {
        assert_eq!(fs::read_to_string(base.join(file)).unwrap(), "precious", "{file}");
    }
    // A symbolic link instead of the directory itself.
    let real = repository.folder.join("real");
    fs::rename(&base, &real).unwrap();
    std::os::unix::fs::symlink(&real, &base).unwrap();
    let (status, _, stderr) = repository.run(&args);
    assert!(status != 0 && stderr.contains("not a directory"), "{status} {stderr}");
    assert!(real.join("store/data").exists());
}

#[test]
fn commands_run_in_the_current_directory_of_each_revision() {
    let repository = two_commits("folder");
    let args = [
        "--runs",
        "2",
        "--show-output",
        "--rev",
        "old..HEAD",
        "--build",
        "cp ../source here",
        "sh -c 'cat data >&2; ./here'",
    ];
    let (status, _, stderr) = output_of(repository.compare("sub", &args).output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("one\n") && stderr.contains("two\n"), "{stderr}");
    repository.write("later/x", "");
    let (status, _, stderr) =
        output_of(repository.compare("later", &["--rev", "old..HEAD", "cat x"]).output().unwrap());
    assert_eq!(status, 2);
    assert!(stderr.contains("has no directory 'later/'"), "{stderr}");
    assert!(repository.leftovers().is_empty());
}

#[test]
fn the_output_of_a_failed_build_is_shown() {
    let repository = two_commits("failed");
    let (status, stdout, stderr) =
        repository.run(&["--seed", "2", "--rev", "old..HEAD", "--build", "echo in a line; exit 7", "./prog"]);
    assert_eq!((status, stdout.as_str()), (2, ""));
    assert!(
        stderr.contains("the build of old ") && stderr.contains("status 7") && stderr.contains("  in a line"),
        "{stderr}"
    );
    let (status, _, stderr) = repository.run(&["--seed", "2", "--rev", "old..HEAD", "--build", "true", "./prog"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("in old ") && stderr.contains("no file"), "{stderr}");
    assert!(repository.leftovers().is_empty());
}

#[test]
fn a_build_that_fills_the_disk_says_so() {
    const NAME: &str = "a_build_that_fills_the_disk_says_so";
    let repository = two_commits("full");
    let script = "mount -t tmpfs -o size=8m tmpfs \"$TMPDIR\" || exit 77; \
                  exec \"$STEADY\" compare --runs 6 --rev old..HEAD --build 'head -c 9m /dev/zero >big' ./prog";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).stdin(Stdio::null());
    command.env("STEADY", env!("CARGO_BIN_EXE_steady")).env("TMPDIR", repository.folder.join("tmp"));
    let output = command.current_dir(repository.repo()).output().map(output_of);
    match output.ok().filter(|(status, _, stderr)| *status != 77 && !stderr.starts_with("unshare")) {
        None => skip(NAME, "no mount namespace"),
        Some((status, _, stderr)) => {
            assert!(
                status == 2 && stderr.contains("/workspace-") && stderr.contains("' is full; the last"),
                "{stderr}"
            );
            assert!(stderr.contains(":\n  head: ") && stderr.contains("No space left on device"), "{stderr}");
        }
    }
}

#[test]
fn a_failing_run_says_where_it_ran() {
    let repository = two_commits("where");
    repository.write("notes", "not in any revision\n");
    let (status, _, stderr) = repository.run(&["--runs", "6", "--rev", "old..HEAD", "cat notes"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("\n  cat: notes: ") && stderr.contains("only the files of the"), "{stderr}");
    let (_, _, stderr) = repository.run(&["--show-output", "--runs", "6", "--rev", "old..HEAD", "cat notes"]);
    assert!(stderr.contains("its output is above") && stderr.contains("cat: notes"), "{stderr}");
}

#[test]
fn without_a_build_revisions_are_only_checked_out() {
    let repository = two_commits("no-build");
    let (status, _, stderr) = repository.run(&["--runs", "6", "--rev", "old..HEAD", "cat sub/data"]);
    assert!(status == 0 && stderr.contains("checking out old") && !stderr.contains("building"), "{stderr}");
    // Building would not make a file executable that is there.
    let (status, _, stderr) = repository.run(&["--rev", "old..HEAD", "./sub/data"]);
    assert!(status == 2 && stderr.contains("is not executable (chmod +x)") && !stderr.contains("--build"), "{stderr}");
}

#[test]
fn equal_revisions_are_compared_with_a_notice() {
    let repository = two_commits("equal");
    let (status, _, stderr) = repository.run(&["--quiet", "--runs", "6", "--rev", "main..HEAD", "true"]);
    assert!(status == 0 && stderr.contains("are the same commit"), "{stderr}");
    let (_, _, stderr) = repository.run(&["--quiet", "--runs", "6", "--rev", "old..HEAD", "true"]);
    assert!(!stderr.contains("same commit"), "{stderr}");
    let (_, _, stderr) = repository.run(&["--quiet", "--runs", "6", "--rev", "HEAD..WORK", "true"]);
    assert!(stderr.contains("the working tree has no changes relative to HEAD"), "{stderr}");
    // A gate does not pass, because nothing was tested. The same revision twice is meant as a test of noise.
    let words =
        ["--quiet", "--runs", "12", "--resolution", "90%", "--fail-if", "slower>900%", "--require-verdict", "--rev"];
    for (revisions, expected) in [("main..HEAD", 4), ("HEAD..HEAD", 0)] {
        let (status, _, stderr) = repository.run(&[&words[..], &[revisions, "cat sub/data"]].concat());
        assert_eq!(status, expected, "{stderr}");
        assert_eq!(stderr.contains("is open: its revisions are the same commit"), expected == 4, "{stderr}");
    }
    let words = ["--quiet", "--runs", "12", "--resolution", "90%", "--require-verdict", "--rev"];
    for (revisions, command, why) in [
        ("main..HEAD", "cat sub/data", "All revisions are the commit"),
        ("old..HEAD", "true", "No run opened a file of its revision"),
    ] {
        let (status, _, stderr) = repository.run(&[&words[..], &[revisions, command]].concat());
        assert!(status == 4 && stderr.contains(why), "{status} {stderr}");
    }
}

#[test]
fn a_directory_for_temporary_files_that_does_not_exist_is_a_wrong_setting() {
    let repository = two_commits("tmpdir");
    let mut compare = repository.compare("", &["--runs", "2", "--rev", "old..HEAD", "cat sub/data"]);
    let (status, _, stderr) = output_of(compare.env("TMPDIR", "/nonexistent").output().unwrap());
    assert!(status == 2 && stderr.contains("TMPDIR: '/nonexistent/"), "{stderr}");
}

#[test]
fn a_checkout_that_fails_has_the_message_of_git() {
    let repository = two_commits("checkout");
    let object = repository.git(&["rev-parse", "old:sub/data"]);
    let (folder, file) = object.trim().split_at(2);
    fs::remove_file(repository.repo().join(".git/objects").join(folder).join(file)).unwrap();
    let (status, _, stderr) = repository.run(&["--runs", "2", "--rev", "old..HEAD", "cat sub/data"]);
    assert!(status == 2 && stderr.contains("could not be checked out; the last lines"), "{stderr}");
    assert!(stderr.contains(object.trim()), "{stderr}");
}

#[test]
fn a_short_name_that_a_hash_begins_with_is_shown() {
    let repository = two_commits("prefix");
    let first = repository.git(&["rev-parse", "old"])[..1].to_owned();
    repository.git(&["branch", &first, "old"]);
    let report = repository.json(&["--runs", "2", "--rev", &format!("{first}..HEAD"), "cat sub/data"]);
    assert!(report["commands"][0]["name"].as_str().unwrap().contains(&format!("({first} ")), "{report}");
}

/// `make` builds a program again if it is older than its source. Both were changed in the working tree, the source
/// last.
#[test]
fn files_of_the_working_tree_keep_the_order_of_their_times() {
    let repository = two_commits("times");
    repository.write("tool", "built from old sources\n");
    repository.write("sub/data", "edited later\n");
    let built = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for (name, later) in [("tool", 0), ("make.sh", 1), ("sub/data", 2)] {
        let file = std::fs::File::options().write(true).open(repository.repo().join(name)).unwrap();
        file.set_modified(built + std::time::Duration::from_secs(later)).unwrap();
    }
    let build = "[ sub/data -nt tool ] && [ make.sh -nt tool ] && [ sub/data -nt make.sh ]";
    let (status, _, stderr) = repository.run(&["--runs", "6", "--rev", "WORK..WORK", "--build", build, "cat tool"]);
    assert_eq!(status, 0, "{stderr}");
    // A build outside the trees, such as one with a shared directory of objects, is older than the files of the next
    // tree.
    let object = repository.folder.join("object");
    let build = format!("[ ! -e {0} ] || [ tool -nt {0} ] || exit 1; touch {0}", object.display());
    let (status, _, stderr) = repository.run(&["--runs", "6", "--rev", "WORK..WORK", "--build", &build, "cat tool"]);
    assert_eq!(status, 0, "{stderr}");
}

#[test]
fn a_command_that_opens_no_file_of_its_revision_gets_a_warning() {
    let repository = two_commits("unused");
    let json = |command: &str| {
        repository.run(&["--format", "json", "--samples", "--runs", "6", "--rev", "old..HEAD", command]).1
    };
    let (warning, field) = ("No run opened a file of its revision", "\"unused_revisions\": true");
    let unused = json("true");
    assert!(unused.contains(warning) && unused.contains("'true' is /") && unused.contains(field), "{unused}");
    // A gate does not pass, because nothing was tested.
    for gate in [&["--require-verdict"][..], &["--fail-if", "slower>900%", "--require-verdict"]] {
        let of = |command: &str| {
            let words =
                [&["--quiet", "--runs", "12", "--resolution", "90%", "--rev", "old..HEAD"][..], gate, &[command]];
            repository.run(&words.concat())
        };
        let (status, _, stderr) = of("true");
        assert_eq!(status, 4, "{stderr}");
        assert!(gate.len() == 1 || stderr.contains("is open: no run opened a file of its revision"), "{stderr}");
        assert_eq!(of("cat sub/data").0, 0);
    }
    for command in ["cat sub/data", "./make.sh", "git --no-pager log"] {
        let used = json(command);
        assert!(used.contains("\"pairs\": 6") && !used.contains(warning) && !used.contains(field), "{command}: {used}");
    }
}

#[test]
fn three_dots_compare_with_the_merge_base() {
    let repository = two_commits("merge-base");
    let base = repository.git(&["rev-parse", "--short", "old"]);
    repository.git(&["checkout", "-q", "-b", "side", "old"]);
    repository.write("sub/data", "side\n");
    repository.commit("side");
    let report = repository.json(&["--runs", "2", "--rev", "main...HEAD", "cat sub/data"]);
    assert_eq!(report["commands"][0]["name"], format!("cat sub/data (merge base {})", base.trim()));
    assert!(report["commands"][1]["name"].as_str().unwrap().contains("(HEAD "), "{report}");
}

#[test]
fn invalid_revisions_are_rejected() {
    let repository = two_commits("unknown");
    for (args, why) in [
        (&["--rev", "old..nosuch", "./prog"][..], "no commit 'nosuch'"),
        (&["--rev", "old", "./prog"], "needs two"),
        (&["--rev", "old....HEAD", "./prog"], "write A..B"),
        (&["--rev", "old..HEAD", "./prog", "./prog"], "give one"),
        (&["--build", "make", "./prog"], "--rev"),
        (&["--rev", "a..b", "-L", "n=1,2", "echo {n}"], "cannot be used with"),
    ] {
        let (status, _, stderr) = repository.run(args);
        assert_eq!(status, 2);
        assert!(stderr.contains(why), "{args:?}: {stderr}");
    }
    let mut outside = repository.compare("", &["--rev", "a..b", "true"]);
    let (status, _, stderr) = output_of(outside.current_dir("/").output().unwrap());
    assert_eq!(status, 2);
    assert!(stderr.contains("--rev needs a git repository"), "{stderr}");
}

#[test]
fn an_absolute_path_into_the_repository_is_rejected() {
    let repository = two_commits("outside");
    repository.write("prog", "#!/bin/sh\n");
    let program = repository.repo().join("prog");
    let (status, _, stderr) = repository.run(&["--rev", "old..HEAD", program.to_str().unwrap()]);
    assert_eq!(status, 2);
    assert!(stderr.contains("same file for all revisions") && stderr.contains("'./prog'"), "{stderr}");
}

#[test]
fn names_of_revisions_follow_the_name_option() {
    let repository = two_commits("names");
    let names = |args: &[&str]| {
        let report = repository.json(&[&["--runs", "2", "--rev", "old..HEAD", "true"], args].concat());
        [0, 1].map(|index| report["commands"][index]["name"].as_str().unwrap().to_owned())
    };
    assert_eq!(names(&["-n", "before", "-n", "after"]), ["before", "after"]);
    let [old, new] = names(&["-n", "it"]);
    assert!(old.starts_with("it (old ") && new.starts_with("it (HEAD "), "{old} {new}");
}

#[test]
fn bare_repositories_work_and_shallow_ones_are_rejected_if_commits_are_missing() {
    let repository = two_commits("bare");
    git(&repository.folder, &["clone", "-q", "--bare", "repo", "bare"]);
    let url = format!("file://{}", repository.repo().display());
    git(&repository.folder, &["clone", "-q", "--depth", "1", &url, "shallow"]);
    let run_in = |folder: &str, args: &[&str]| {
        output_of(repository.compare("", args).current_dir(repository.folder.join(folder)).output().unwrap())
    };
    let (status, _, stderr) = run_in("bare", &["--runs", "2", "--rev", "old..main", "cat sub/data"]);
    assert_eq!(status, 0, "{stderr}");
    let (status, _, stderr) = run_in("bare", &["--rev", "main..WORK", "cat sub/data"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("no working tree"), "{stderr}");
    let (status, _, stderr) = run_in("shallow", &["--rev", "HEAD~..HEAD", "cat sub/data"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("shallow"), "{stderr}");
    // The commits between both ends are missing, so nothing is known about their line.
    git(&repository.folder.join("shallow"), &["fetch", "-q", "--depth", "1", "origin", "old:old"]);
    let mut bisect = repository.steady("", &["bisect", "--no-history", "old..HEAD", "cat sub/data"]);
    let (status, _, stderr) = output_of(bisect.current_dir(repository.folder.join("shallow")).output().unwrap());
    assert!(status == 2 && stderr.contains("first parents of 'HEAD'; this clone is shallow"), "{stderr}");
}

#[test]
fn submodules_are_copied_from_the_local_repository() {
    let repository = Repository::new("super");
    let inner = two_commits("inner");
    let url = inner.repo();
    repository.git(&["submodule", "--quiet", "add", url.to_str().unwrap(), "lib/inner"]);
    git(&repository.repo().join("lib/inner"), &["checkout", "-q", "origin/old"]);
    repository.commit("one");
    git(&repository.repo().join("lib/inner"), &["checkout", "-q", "origin/main"]);
    repository.commit("two");
    // The submodule can no longer be fetched.
    drop(inner);
    let config = || fs::read(repository.repo().join(".git/config")).unwrap();
    let before = config();
    let args = ["--runs", "2", "--show-output", "--rev", "HEAD~..HEAD", "sh -c 'cat lib/inner/sub/data >&2'"];
    let (status, _, stderr) = repository.run(&args);
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("one\n") && stderr.contains("two\n"), "{stderr}");
    assert!(repository.leftovers().is_empty());
    assert_eq!(config(), before);
    fs::write(repository.repo().join("lib/inner/source"), "dirty").unwrap();
    let (status, _, stderr) = repository.run(&["--rev", "HEAD..WORK", "true"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("commit them there"), "{stderr}");
}

/// Starts a comparison and waits until its build runs, which starts two processes with this command line.
fn building(repository: &Repository, sleep: &str) -> Child {
    let build = format!("setsid {sleep} & {sleep}; true");
    let child = repository
        .compare("", &["--rev", "old..HEAD", "--build", &build, "./prog"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(eventually(|| processes_with(sleep) >= 3), "the build does not start");
    assert_eq!(repository.leftovers().len(), 2);
    child
}

#[test]
fn an_interrupted_build_leaves_nothing() {
    let repository = two_commits("interrupted");
    let sleep = &format!("sleep {}", own_duration("7201."));
    let child = building(&repository, sleep);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let (status, _, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!(status, 130, "{stderr}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
    assert_eq!(processes_with(sleep), 0);
}

#[test]
fn the_next_comparison_removes_what_a_killed_one_left() {
    let repository = two_commits("killed");
    let sleep = &format!("sleep {}", own_duration("7202."));
    let mut child = building(&repository, sleep);
    // The workspace of a running process is not touched.
    assert_eq!(repository.run(&["--runs", "2", "--quiet", "--rev", "old..HEAD", "true"]).0, 0);
    assert_eq!(repository.leftovers().len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within_a_second(|| processes_with(sleep) == 0));
    assert_eq!(repository.leftovers().len(), 2);
    assert_eq!(repository.run(&["--runs", "2", "--quiet", "--rev", "old..HEAD", "true"]).0, 0);
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

#[test]
fn an_interrupted_measurement_leaves_nothing() {
    let repository = two_commits("measuring");
    let sleep = &format!("sleep {}", own_duration("0.01"));
    let child = repository
        .compare("", &["--runs", "1000000", "--rev", "HEAD..HEAD", sleep])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(eventually(|| repository.leftovers_unless_busy().is_some_and(|left| left.len() == 3)));
    // The command line of `steady` contains that of the command.
    assert!(eventually(|| processes_with(sleep) >= 2), "the command does not start");
    std::thread::sleep(std::time::Duration::from_millis(1000));
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let (status, _, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!(status, 143, "{stderr}");
    assert!(repository.leftovers().is_empty());
}

#[test]
fn read_only_directories_are_removed() {
    let repository = two_commits("forbidding");
    let build = "mkdir -p a/b && touch a/b/c && chmod 555 a/b a";
    assert_eq!(repository.run(&["--runs", "2", "--quiet", "--rev", "old..HEAD", "--build", build, "true"]).0, 0);
    assert!(repository.leftovers().is_empty());
}

#[test]
fn programs_load_the_libraries_of_their_own_revision() {
    let repository = Repository::new("libraries");
    repository.write("prog.c", "int f(void);\nint main(void) { return f(); }\n");
    let build = "mkdir -p lib && cc -shared -fPIC -o lib/libsteadytest.so f.c && \
                 cc -o prog prog.c -Llib -lsteadytest -Wl,-rpath,$PWD/lib && echo $PWD >where";
    for (status, message) in [(3, "one"), (4, "two")] {
        repository.write("f.c", &format!("int f(void) {{ return {status}; }}\n"));
        repository.commit(message);
    }
    for ignored in ["3", "4"] {
        let ignored = format!("--ignore-failure={ignored}");
        let (status, _, stderr) =
            repository.run(&[&ignored, "--runs", "2", "--rev", "HEAD~..HEAD", "--build", build, "./prog"]);
        assert_eq!(status, 3);
        let (name, other) = if ignored.ends_with('3') { ("(HEAD ", "status 4") } else { ("(HEAD~ ", "status 3") };
        assert!(stderr.contains(name) && stderr.contains(other), "each revision loads its own library: {stderr}");
    }
    let (status, _, stderr) =
        repository.run(&["--rev", "HEAD..HEAD", "--build", build, "sh -c 'cat $(cat where)/f.c'"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("'where' names the directory that it was built in"), "{stderr}");
}

#[test]
fn git_hooks_and_git_environment_variables_are_ignored() {
    let repository = two_commits("hook");
    let hook = repository.repo().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command =
        repository.compare("", &["--runs", "2", "--rev", "old..HEAD", "--build", "git rev-parse HEAD", "true"]);
    command.env("GIT_DIR", "/nonexistent").env("GIT_INDEX_FILE", "/nonexistent");
    let (status, _, stderr) = output_of(command.output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    assert!(repository.leftovers().is_empty());
}

#[test]
fn the_report_says_why_it_has_no_revision() {
    let repository = Repository::new("unborn");
    assert_eq!(repository.json(&["--runs", "2", "true"])["revision_absent"], "there is no commit yet");
    let output =
        repository.compare("", &["--runs", "2", "--format", "json", "/bin/true"]).env("PATH", "/nonexistent").output();
    let (_, stdout, stderr) = output_of(output.unwrap());
    let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
    assert_eq!((&report["revision"], &report["revision_absent"]), (&Value::Null, &"no git in PATH".into()));
    let output = repository.compare("", &["--runs", "2", "--format", "json", "true"]).current_dir("/").output();
    let report: Value = serde_json::from_str(&output_of(output.unwrap()).1).unwrap();
    assert_eq!(report["revision_absent"], "not a git repository");
}
