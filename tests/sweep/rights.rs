//! Constructors that use files to which not all processes of a user have the same rights. They see the same under
//! `steady warm` as without it, also in a process with other groups or capabilities than that of the capture.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::STEADY;
use crate::steady::skip;
use crate::swapped::{Swapped, parse_line, within};

/// Files and a directory: name, group and mode. All belong to root.
const FILES: [(&str, u32, u32); 7] = [
    ("read_by_group", 12, 0o040),
    ("read_by_others", 12, 0o604),
    ("read_unasked", 0, 0o000),
    ("written_by_group", 12, 0o464),
    ("executed_by_group", 12, 0o454),
    ("read_by_all", 0, 0o644),
    ("searched_by_group", 12, 0o710),
];

/// Options of setpriv(1) for the processes that start programs. The first two pairs differ in the group, the last one
/// in capabilities.
const GROUP_12: &[&str] = &["--reuid=65534", "--regid=12", "--clear-groups"];
const GROUP_13: &[&str] = &["--reuid=65534", "--regid=13", "--clear-groups"];
const ROOT: &[&str] = &["--bounding-set=-sys_boot"];
const ROOT_WITHOUT: &[&str] = &["--bounding-set=-dac_override,-dac_read_search"];

/// A kind of constructor, the process that captures, another process that launches, the state of the program, and
/// whether the other process uses the snapshot.
type Case = (&'static str, &'static [&'static str], &'static [&'static str], &'static str, bool);
const CASES: [Case; 13] = [
    ("read_by_group", GROUP_12, GROUP_13, "refused", false),
    ("asked_group", GROUP_12, GROUP_13, "refused", false),
    ("asked_write", GROUP_12, GROUP_13, "refused", false),
    ("asked_execute", GROUP_12, GROUP_13, "refused", false),
    ("read_by_others", GROUP_13, GROUP_12, "refused", false),
    ("read_unasked", ROOT, ROOT_WITHOUT, "refused", false),
    ("asked_unasked", ROOT, ROOT_WITHOUT, "refused", false),
    // A launch looks up all paths with its own rights to directories.
    ("read_below", GROUP_12, GROUP_13, "warm", false),
    ("asked_below", GROUP_12, GROUP_13, "warm", false),
    ("asked_all", GROUP_12, GROUP_13, "warm", true),
    ("asked_all", ROOT, ROOT_WITHOUT, "warm", true),
    ("asked_existence", GROUP_12, GROUP_13, "warm", true),
    ("asked_existence", ROOT, ROOT_WITHOUT, "warm", true),
];

/// Starts programs with other rights, with a store for each user.
struct Starter<'a> {
    swapped: &'a Swapped,
    steady: &'a Path,
    options: &'static [&'static str],
}

impl Starter<'_> {
    fn command(&self, program: &Path) -> Command {
        let mut command = self.swapped.sandbox.command("setpriv", "C.UTF-8");
        let user = if self.options[0].starts_with("--reuid") { "nobody" } else { "root" };
        command.env("XDG_CACHE_HOME", self.swapped.path(&format!("cache-{user}")));
        command.args(self.options).arg(program);
        command
    }

    /// Attempts a snapshot of the program. Returns the status, and the state and the reason in the report.
    fn snapshot(&self) -> (Option<i32>, String, String) {
        let output = self.command(self.steady).args(["warm", "snapshot", "--format", "json", "bin/asks"]).output();
        let output = output.expect("setpriv starts");
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let text = |name: &str| report["programs"][0][name].as_str().unwrap_or_default().to_owned();
        (output.status.code(), text("state"), text("reason"))
    }

    /// Returns the line of a launch without `steady`, or under `steady warm`.
    fn launch(&self, warm: bool) -> String {
        let mut command = self.command(if warm { self.steady } else { Path::new("bin/asks") });
        if warm {
            command.args(["warm", "--", "sh", "-c", "bin/asks"]);
        }
        let output = command.output().expect("setpriv starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

/// Creates the test program in a directory that all users can enter, with [`FILES`] and a copy of `steady`.
fn prepared() -> Result<Swapped, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can change to other groups".to_owned());
    }
    if !Command::new("setpriv").args(GROUP_13).arg("true").status().is_ok_and(|status| status.success()) {
        return Err("setpriv (util-linux) cannot change to another user and group".to_owned());
    }
    let root = std::env::temp_dir().join(format!("steady-rights-{}", std::process::id()));
    let swapped = Swapped::make(&root, Path::new(STEADY))?;
    for folder in [".", "tmp"] {
        fs::set_permissions(swapped.path(folder), fs::Permissions::from_mode(0o1777)).expect("the mode can be changed");
    }
    fs::copy(STEADY, swapped.path("bin/steady")).expect("the binary can be copied");
    fs::create_dir(swapped.path("searched_by_group")).expect("a directory can be created");
    fs::write(swapped.path("searched_by_group/file"), "x").expect("a file can be written");
    for (name, group, mode) in FILES {
        if name != "searched_by_group" {
            fs::write(swapped.path(name), "x").expect("a file can be written");
        }
        chown(swapped.path(name), Some(0), Some(group))
            .map_err(|error| format!("no file of another group: {error}"))?;
        fs::set_permissions(swapped.path(name), fs::Permissions::from_mode(mode)).expect("the mode can be changed");
    }
    Ok(swapped)
}

#[test]
fn constructors_see_files_with_the_rights_of_their_own_process() {
    let swapped = match prepared() {
        Ok(swapped) => swapped,
        Err(why) => return skip("constructors_see_files_with_the_rights_of_their_own_process", &why),
    };
    let steady = swapped.path("bin/steady");
    for (kind, captures, launches, state, others) in CASES {
        swapped.constructed(kind, "bin/libanswer.so").expect("the library can be compiled");
        let starter = |options| Starter { swapped: &swapped, steady: &steady, options };
        let mut found = None;
        let settled = within(20, || {
            let (status, state, reason) = starter(captures).snapshot();
            found = Some((state, reason));
            status.is_some_and(|status| status <= 1)
        });
        let (found, reason) = found.expect("a snapshot was attempted");
        assert!(settled && found == state, "{kind}: {found}, not {state}: {reason}");
        assert!(found == "warm" || reason.contains("groups or capabilities"), "{kind}: {reason}");
        for (options, uses_snapshot) in [(captures, state == "warm"), (launches, others)] {
            let (usual, warm) =
                (parse_line(&starter(options).launch(false)), parse_line(&starter(options).launch(true)));
            assert_eq!(warm.answer, usual.answer, "{kind} {options:?}");
            assert_eq!(warm.warm, uses_snapshot, "{kind} {options:?}");
        }
    }
}
