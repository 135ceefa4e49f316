//! `--rev`: revisions of a git repository, checked out, built and compared; nothing of them is left.

mod steady;

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use steady::{eventually, primary, processes_with, scratch, steady, told, within_a_second};

/// A repository of this test's own, and a place for what `steady` makes of it.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = scratch(name);
        fs::create_dir_all(folder.join("repo")).unwrap();
        fs::create_dir_all(folder.join("tmp")).unwrap();
        let place = Place { folder };
        place.git(&["init", "-q", "-b", "main"]);
        place
    }

    fn repo(&self) -> PathBuf {
        self.folder.join("repo")
    }

    fn git(&self, words: &[&str]) -> String {
        git(&self.repo(), words)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.repo().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// `steady compare` in a folder of the repository.
    fn compare(&self, below: &str, words: &[&str]) -> Command {
        let mut command = steady();
        command.current_dir(self.repo().join(below)).env("TMPDIR", self.folder.join("tmp"));
        command.arg("compare").args(words);
        command
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        told(self.compare("", words).output().unwrap())
    }

    fn json(&self, words: &[&str]) -> Value {
        let (status, stdout, stderr) = self.run(&[&["--format", "json"], words].concat());
        assert_eq!(status, 0, "{stderr}");
        serde_json::from_str(&stdout).unwrap()
    }

    /// What was built, and what the repository knows of it.
    fn left(&self) -> Vec<String> {
        let made = fs::read_dir(self.folder.join("tmp"))
            .unwrap()
            .flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
        let mut left: Vec<String> = made.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.retain(|name| name != "lock");
        let trees = self.git(&["worktree", "list", "--porcelain"]);
        left.extend(trees.split("\n\n").filter(|tree| !tree.is_empty()).skip(1).map(str::to_owned));
        left
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left is seen in the build's own folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn git(directory: &Path, words: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"];
    let output = Command::new("git").arg("-C").arg(directory).args(identity).args(words).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A script that works so long.
fn busy(turns: u32) -> String {
    format!("#!/bin/sh\ni=0; while [ $i -lt {turns} ]; do i=$((i+1)); done\n")
}

/// A repository with two commits; `make.sh` builds `prog` from `source`, and the second's is slower.
fn two_commits(name: &str) -> Place {
    let place = Place::new(name);
    place.write(".gitignore", "prog\nnotes\n");
    place.write("make.sh", "#!/bin/sh\npwd >>../../notes; echo $STEADY_REVISION >>../../notes; cp source prog\n");
    place.write("source", &busy(1000));
    place.write("sub/data", "one\n");
    place.commit("one");
    place.git(&["branch", "old"]);
    place.write("source", &busy(4000));
    place.write("sub/data", "two\n");
    place.commit("two");
    place
}

#[test]
fn two_revisions_are_built_at_one_path_and_compared() {
    let place = two_commits("two");
    let report = place.json(&[
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
    let commits = ["old", "HEAD"].map(|name| place.git(&["rev-parse", name]).trim().to_owned());
    for (index, (name, commit)) in ["old", "HEAD"].iter().zip(&commits).enumerate() {
        let command = &report["commands"][index];
        assert_eq!(command["revision"], commit[..12]);
        let short = place.git(&["rev-parse", "--short", name]);
        assert_eq!(command["name"], format!("./prog ({name} {})", short.trim()));
        assert_eq!(command["argv"][0], "./prog");
    }
    let directories = [0, 1].map(|index| report["commands"][index]["directory"].as_str().unwrap().to_owned());
    assert_ne!(directories[0], directories[1]);
    assert_eq!(directories[0].len(), directories[1].len());
    let notes = fs::read_to_string(place.folder.join("tmp").join(directory_of_notes(&place))).unwrap();
    let lines: Vec<&str> = notes.lines().collect();
    assert_eq!([lines[1], lines[3]], [&commits[0], &commits[1]]);
    assert_eq!(lines[0], lines[2], "both are built at one path");
    assert_eq!(report["revision"], commits[1][..12]);
    assert_eq!(place.left(), ["notes"]);
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

/// The builds note where they are two folders above their own.
fn directory_of_notes(place: &Place) -> PathBuf {
    let base = fs::read_dir(place.folder.join("tmp")).unwrap().next().unwrap().unwrap();
    PathBuf::from(base.file_name()).join("notes")
}

#[test]
fn the_working_tree_is_taken_as_it_is() {
    let place = two_commits("work");
    place.write("source", "#!/bin/sh\ncat fresh sub/data link >&2\n");
    place.write("fresh", "fresh\n");
    place.write("ignored/prog", "ignored\n");
    fs::remove_file(place.repo().join("make.sh")).unwrap();
    std::os::unix::fs::symlink("sub/data", place.repo().join("link")).unwrap();
    place.write("sub/data", "three\n");
    place.git(&["add", "sub/data"]);
    let before = (place.git(&["status", "--porcelain"]), place.git(&["stash", "list"]), index_of(&place));
    let build =
        "if [ ! -e make.sh ] && [ ! -e ignored ]; then cp source prog; else echo '#!/bin/sh' >prog; chmod +x prog; fi";
    let words = ["--runs", "2", "--show-output", "--rev", "HEAD", "--rev", "WORK", "--build", build, "./prog"];
    let (status, _, stderr) = place.run(&words);
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("fresh\nthree\nthree\n"), "{stderr}");
    assert_eq!((place.git(&["status", "--porcelain"]), place.git(&["stash", "list"]), index_of(&place)), before);
    let report = place.json(&["--runs", "2", "--rev", "HEAD..WORK", "cat sub/data"]);
    assert!(report["commands"][1]["revision"].as_str().unwrap().ends_with("+changes"));
    assert!(report["commands"][1]["name"].as_str().unwrap().contains("(WORK "), "{report}");
    assert!(report["revision"].as_str().unwrap().ends_with("+changes"));
    let (_, _, stderr) = place.run(&["--quiet", "--runs", "2", "--rev", "old..HEAD", "cat sub/data"]);
    assert!(stderr.contains("uncommitted changes") && stderr.lines().count() == 1, "{stderr}");
    assert!(place.left().is_empty());
}

fn index_of(place: &Place) -> Vec<u8> {
    fs::read(place.repo().join(".git/index")).unwrap()
}

#[test]
fn files_and_directories_that_changed_places_are_followed() {
    let place = Place::new("places");
    place.write("a", "file\n");
    place.write("b/c", "file\n");
    place.commit("one");
    fs::remove_file(place.repo().join("a")).unwrap();
    place.write("a/x", "now a directory\n");
    fs::remove_dir_all(place.repo().join("b")).unwrap();
    place.write("b", "now a file\n");
    let report = place.json(&["--runs", "2", "--rev", "WORK..WORK", "cat a/x b"]);
    assert_eq!(report["runs"], 4);
}

/// Files behind a link that the working tree has in place of a directory are not the tree's: they are neither copied nor removed.
#[test]
fn files_outside_the_repository_are_left_alone() {
    let place = Place::new("outside");
    place.write("a/x", "in the commit\n");
    place.write("a/y", "in the commit\n");
    place.write("b/x", "in the commit\n");
    place.commit("one");
    let outside = place.folder.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "precious\n").unwrap();
    for name in ["a", "b"] {
        fs::remove_dir_all(place.repo().join(name)).unwrap();
        std::os::unix::fs::symlink(&outside, place.repo().join(name)).unwrap();
    }
    place.git(&["add", "a"]);
    let report = place.json(&["--runs", "2", "--rev", "WORK..WORK", "cat a/x b/x"]);
    assert_eq!(report["runs"], 4);
    assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "precious\n");
    // The other way round: the commit has the link, the working tree a directory.
    place.git(&["add", "--all"]);
    place.commit("two");
    fs::remove_file(place.repo().join("a")).unwrap();
    place.write("a/x", "in the working tree\n");
    let report = place.json(&["--runs", "2", "--rev", "WORK..WORK", "grep -q tree a/x"]);
    assert_eq!(report["runs"], 4);
    assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "precious\n");
}

/// The directory of workspaces is also where the agent's socket lies by default.
#[test]
fn directories_that_are_not_workspaces_stay() {
    let place = two_commits("neighbours");
    let base = place.folder.join("tmp").join(format!("steady-{}", rustix::process::geteuid()));
    fs::DirBuilder::new().mode(0o700).create(&base).unwrap();
    let outside = place.folder.join("outside");
    for folder in [base.join("store"), base.join("1234"), outside.clone()] {
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("data"), "precious").unwrap();
    }
    fs::write(base.join("agent.db"), "precious").unwrap();
    std::os::unix::fs::symlink(&outside, base.join("workspace-1")).unwrap();
    let words = ["--runs", "2", "--quiet", "--rev", "old..HEAD", "true"];
    assert_eq!(place.run(&words).0, 0);
    for file in ["store/data", "1234/data", "workspace-1/data", "agent.db"] {
        assert_eq!(fs::read_to_string(base.join(file)).unwrap(), "precious", "{file}");
    }
    // A link in the place of the directory itself.
    let real = place.folder.join("real");
    fs::rename(&base, &real).unwrap();
    std::os::unix::fs::symlink(&real, &base).unwrap();
    let (status, _, stderr) = place.run(&words);
    assert!(status != 0 && stderr.contains("is not a directory"), "{status} {stderr}");
    assert!(real.join("store/data").exists());
}

#[test]
fn commands_run_in_the_folder_that_one_is_in() {
    let place = two_commits("folder");
    let words = [
        "--runs",
        "2",
        "--show-output",
        "--rev",
        "old..HEAD",
        "--build",
        "cp ../source here",
        "sh -c 'cat data >&2; ./here'",
    ];
    let (status, _, stderr) = told(place.compare("sub", &words).output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("one\n") && stderr.contains("two\n"), "{stderr}");
    place.write("later/x", "");
    let (status, _, stderr) = told(place.compare("later", &["--rev", "old..HEAD", "cat x"]).output().unwrap());
    assert_eq!(status, 2);
    assert!(stderr.contains("has no directory 'later/'"), "{stderr}");
    assert!(place.left().is_empty());
}

#[test]
fn a_failed_build_says_what_it_said() {
    let place = two_commits("failed");
    let (status, stdout, stderr) =
        place.run(&["--seed", "2", "--rev", "old..HEAD", "--build", "echo in a line; exit 7", "./prog"]);
    assert_eq!((status, stdout.as_str()), (2, ""));
    assert!(
        stderr.contains("the build of old ") && stderr.contains("status 7") && stderr.contains("  in a line"),
        "{stderr}"
    );
    let (status, _, stderr) = place.run(&["--seed", "2", "--rev", "old..HEAD", "--build", "true", "./prog"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("in old ") && stderr.contains("no file"), "{stderr}");
    assert!(place.left().is_empty());
}

#[test]
fn what_is_no_revision_is_told() {
    let place = two_commits("unknown");
    for (words, why) in [
        (&["--rev", "old..nosuch", "./prog"][..], "no commit 'nosuch'"),
        (&["--rev", "old", "./prog"], "needs two"),
        (&["--rev", "old...HEAD", "./prog"], "write A..B"),
        (&["--rev", "old..HEAD", "./prog", "./prog"], "give one"),
        (&["--build", "make", "./prog"], "--rev"),
        (&["--rev", "a..b", "-L", "n=1,2", "echo {n}"], "cannot be used with"),
    ] {
        let (status, _, stderr) = place.run(words);
        assert_eq!(status, 2);
        assert!(stderr.contains(why), "{words:?}: {stderr}");
    }
    let mut outside = place.compare("", &["--rev", "a..b", "true"]);
    let (status, _, stderr) = told(outside.current_dir("/").output().unwrap());
    assert_eq!(status, 2);
    assert!(stderr.contains("--rev needs a git repository"), "{stderr}");
}

#[test]
fn a_program_outside_the_trees_is_refused_where_it_is_the_repositorys() {
    let place = two_commits("outside");
    place.write("prog", "#!/bin/sh\n");
    let program = place.repo().join("prog");
    let (status, _, stderr) = place.run(&["--rev", "old..HEAD", program.to_str().unwrap()]);
    assert_eq!(status, 2);
    assert!(stderr.contains("same file for all revisions") && stderr.contains("'./prog'"), "{stderr}");
}

#[test]
fn revisions_are_named_as_asked() {
    let place = two_commits("names");
    let names = |words: &[&str]| {
        let report = place.json(&[&["--runs", "2", "--rev", "old..HEAD", "true"], words].concat());
        [0, 1].map(|index| report["commands"][index]["name"].as_str().unwrap().to_owned())
    };
    assert_eq!(names(&["-n", "before", "-n", "after"]), ["before", "after"]);
    let [old, new] = names(&["-n", "it"]);
    assert!(old.starts_with("it (old ") && new.starts_with("it (HEAD "), "{old} {new}");
}

#[test]
fn bare_and_shallow_repositories_are_told_apart() {
    let place = two_commits("bare");
    git(&place.folder, &["clone", "-q", "--bare", "repo", "bare"]);
    let url = format!("file://{}", place.repo().display());
    git(&place.folder, &["clone", "-q", "--depth", "1", &url, "shallow"]);
    let within = |folder: &str, words: &[&str]| {
        told(place.compare("", words).current_dir(place.folder.join(folder)).output().unwrap())
    };
    let (status, _, stderr) = within("bare", &["--runs", "2", "--rev", "old..main", "cat sub/data"]);
    assert_eq!(status, 0, "{stderr}");
    let (status, _, stderr) = within("bare", &["--rev", "main..WORK", "cat sub/data"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("no working tree"), "{stderr}");
    let (status, _, stderr) = within("shallow", &["--rev", "HEAD~..HEAD", "cat sub/data"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("shallow"), "{stderr}");
}

#[test]
fn submodules_come_from_the_repository_at_hand() {
    let place = Place::new("super");
    let inner = two_commits("inner");
    let url = inner.repo();
    place.git(&["submodule", "--quiet", "add", url.to_str().unwrap(), "lib/inner"]);
    git(&place.repo().join("lib/inner"), &["checkout", "-q", "origin/old"]);
    place.commit("one");
    git(&place.repo().join("lib/inner"), &["checkout", "-q", "origin/main"]);
    place.commit("two");
    // It cannot be fetched any more.
    drop(inner);
    let config = || fs::read(place.repo().join(".git/config")).unwrap();
    let before = config();
    let words = ["--runs", "2", "--show-output", "--rev", "HEAD~..HEAD", "sh -c 'cat lib/inner/sub/data >&2'"];
    let (status, _, stderr) = place.run(&words);
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("one\n") && stderr.contains("two\n"), "{stderr}");
    assert!(place.left().is_empty());
    assert_eq!(config(), before);
    fs::write(place.repo().join("lib/inner/source"), "dirty").unwrap();
    let (status, _, stderr) = place.run(&["--rev", "HEAD..WORK", "true"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("commit them there"), "{stderr}");
}

/// Begins to build, and waits until it does.
fn building(place: &Place, mark: &str) -> Child {
    let build = format!("setsid sleep {mark} & sleep {mark}; true");
    let child =
        place.compare("", &["--rev", "old..HEAD", "--build", &build, "./prog"]).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| processes_with(&format!("sleep {mark}")) >= 3), "the build has begun");
    assert_eq!(place.left().len(), 2);
    child
}

#[test]
fn an_interrupted_build_leaves_nothing() {
    let place = two_commits("interrupted");
    let child = building(&place, "7201");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let (status, _, stderr) = told(child.wait_with_output().unwrap());
    assert_eq!(status, 130, "{stderr}");
    assert!(place.left().is_empty(), "{:?}", place.left());
    assert_eq!(processes_with("sleep 7201"), 0);
}

#[test]
fn what_a_killed_steady_left_is_gone_with_the_next() {
    let place = two_commits("killed");
    let mut child = building(&place, "7202");
    // One that lives is left alone.
    assert_eq!(place.run(&["--runs", "2", "--quiet", "--rev", "old..HEAD", "true"]).0, 0);
    assert_eq!(place.left().len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within_a_second(|| processes_with("sleep 7202") == 0));
    assert_eq!(place.left().len(), 2);
    assert_eq!(place.run(&["--runs", "2", "--quiet", "--rev", "old..HEAD", "true"]).0, 0);
    assert!(place.left().is_empty(), "{:?}", place.left());
}

#[test]
fn an_interruption_while_measuring_leaves_nothing() {
    let place = two_commits("measuring");
    let child = place
        .compare("", &["--runs", "1000000", "--rev", "HEAD..HEAD", "sleep 0.01"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(within_a_second(|| place.left().len() == 3));
    std::thread::sleep(std::time::Duration::from_millis(1000));
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let (status, _, stderr) = told(child.wait_with_output().unwrap());
    assert_eq!(status, 143, "{stderr}");
    assert!(place.left().is_empty());
}

#[test]
fn directories_that_forbid_writing_are_removed() {
    let place = two_commits("forbidding");
    let build = "mkdir -p a/b && touch a/b/c && chmod 555 a/b a";
    assert_eq!(place.run(&["--runs", "2", "--quiet", "--rev", "old..HEAD", "--build", build, "true"]).0, 0);
    assert!(place.left().is_empty());
}

#[test]
fn programs_find_the_libraries_that_were_built_with_them() {
    let place = Place::new("libraries");
    place.write("prog.c", "int f(void);\nint main(void) { return f(); }\n");
    let build = "mkdir -p lib && cc -shared -fPIC -o lib/libsteadytest.so f.c && \
                 cc -o prog prog.c -Llib -lsteadytest -Wl,-rpath,$PWD/lib && echo $PWD >where";
    for (status, message) in [(3, "one"), (4, "two")] {
        place.write("f.c", &format!("int f(void) {{ return {status}; }}\n"));
        place.commit(message);
    }
    for ignored in ["3", "4"] {
        let ignored = format!("--ignore-failure={ignored}");
        let (status, _, stderr) =
            place.run(&[&ignored, "--runs", "2", "--rev", "HEAD~..HEAD", "--build", build, "./prog"]);
        assert_eq!(status, 3);
        let (name, other) = if ignored.ends_with('3') { ("(HEAD ", "status 4") } else { ("(HEAD~ ", "status 3") };
        assert!(stderr.contains(name) && stderr.contains(other), "each has its own: {stderr}");
    }
    let (status, _, stderr) = place.run(&["--rev", "HEAD..HEAD", "--build", build, "sh -c 'cat $(cat where)/f.c'"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("'where' names the directory that it was built in"), "{stderr}");
}

#[test]
fn hooks_and_variables_of_git_do_no_harm() {
    let place = two_commits("hook");
    let hook = place.repo().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command =
        place.compare("", &["--runs", "2", "--rev", "old..HEAD", "--build", "git rev-parse HEAD", "true"]);
    command.env("GIT_DIR", "/nonexistent").env("GIT_INDEX_FILE", "/nonexistent");
    let (status, _, stderr) = told(command.output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    assert!(place.left().is_empty());
}

#[test]
fn the_revision_at_hand_is_absent_with_its_reason() {
    let place = Place::new("unborn");
    assert_eq!(place.json(&["--runs", "2", "true"])["revision_absent"], "there is no commit yet");
    let output =
        place.compare("", &["--runs", "2", "--format", "json", "/bin/true"]).env("PATH", "/nonexistent").output();
    let (_, stdout, stderr) = told(output.unwrap());
    let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
    assert_eq!((&report["revision"], &report["revision_absent"]), (&Value::Null, &"no git in PATH".into()));
    let output = place.compare("", &["--runs", "2", "--format", "json", "true"]).current_dir("/").output();
    let report: Value = serde_json::from_str(&told(output.unwrap()).1).unwrap();
    assert_eq!(report["revision_absent"], "not a git repository");
}
