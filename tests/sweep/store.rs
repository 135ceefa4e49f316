//! The store of a sandbox, as `steady warm` reports it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::round::Sandbox;

/// The status of a program in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramStatus {
    /// `warm`, `refused`, `script`, ...
    pub(crate) state: String,
    /// The reason if the program is refused.
    pub(crate) reason: String,
    /// The number of launches from a snapshot.
    pub(crate) warm: u64,
    /// The interpreter of a script.
    pub(crate) interpreter: String,
}

impl Sandbox {
    /// Creates snapshots of programs. Returns the exit status of the command, and the status of each program in their
    /// order.
    pub(crate) fn snapshot(&self, steady: &Path, programs: &[&str]) -> (i32, Vec<ProgramStatus>) {
        let (status, report) = self.run_warm(steady, &[&["snapshot", "--format", "json"], programs].concat());
        let all = report["programs"].as_array().expect("the report has programs");
        assert_eq!(all.len(), programs.len(), "{report}");
        (status, all.iter().map(program_status).collect())
    }

    /// Returns the status of all programs in the store, by path.
    pub(crate) fn programs(&self, steady: &Path) -> BTreeMap<String, ProgramStatus> {
        let report = self.status(steady);
        let all = report["programs"].as_array().expect("the report has programs");
        all.iter().map(|program| (text(&program["program"]), program_status(program))).collect()
    }

    /// Creates all snapshots that launches have requested, so that the following rounds do not depend on the keeper.
    pub(crate) fn settle(&self, steady: &Path) {
        let folder = text(&self.status(steady)["store"]["directory"]);
        let requests = fs::read_dir(Path::new(&folder).join("wanted"))
            .expect("the store has a directory for requests")
            .filter_map(Result::ok);
        for request in
            requests.filter_map(|request| fs::read_link(request.path()).ok()).filter(|request| request.exists())
        {
            let output = self.command(steady, "C").args(["warm", "snapshot"]).arg(request).output();
            output.expect("steady starts");
        }
    }

    /// Returns the report of `steady warm status`.
    pub(crate) fn status(&self, steady: &Path) -> Value {
        let (status, report) = self.run_warm(steady, &["status", "--format", "json"]);
        assert_eq!(status, 0, "{report}");
        report
    }

    fn run_warm(&self, steady: &Path, args: &[&str]) -> (i32, Value) {
        let output = self.command(steady, "C.UTF-8").arg("warm").args(args).output().expect("steady starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let report = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {args:?} {out}{err}"));
        (output.status.code().unwrap_or(-1), report)
    }
}

fn program_status(program: &Value) -> ProgramStatus {
    ProgramStatus {
        state: text(&program["state"]),
        reason: text(&program["reason"]),
        warm: program["warm_launches"].as_u64().unwrap_or(0),
        interpreter: text(&program["interpreter"]),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
