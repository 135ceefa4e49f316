//! What `steady warm` says of the store of a place.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::round::Place;

/// What is kept of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// `warm`, `refused`, `script`, ...
    pub(crate) state: String,
    /// Why, where it is refused.
    pub(crate) reason: String,
    /// How often it was started from a snapshot.
    pub(crate) warm: u64,
    /// The interpreter of a script.
    pub(crate) interpreter: String,
}

impl Place {
    /// Has programs taken now: what is kept of each, in their order, and the status of the command.
    pub(crate) fn snapshot(&self, steady: &Path, programs: &[&str]) -> (i32, Vec<Kept>) {
        let (status, report) = self.asked(steady, &[&["snapshot", "--format", "json"], programs].concat());
        let all = report["programs"].as_array().expect("programs are told of");
        assert_eq!(all.len(), programs.len(), "{report}");
        (status, all.iter().map(kept).collect())
    }

    /// All that is kept, by path.
    pub(crate) fn kept(&self, steady: &Path) -> BTreeMap<String, Kept> {
        let report = self.status(steady);
        let all = report["programs"].as_array().expect("programs are told of");
        all.iter().map(|program| (text(&program["program"]), kept(program))).collect()
    }

    /// Has all taken now that launches have wanted, so that what follows does not depend on when a keeper finds time.
    pub(crate) fn settle(&self, steady: &Path) {
        let folder = text(&self.status(steady)["store"]["folder"]);
        let wishes =
            fs::read_dir(Path::new(&folder).join("wanted")).expect("a store has wishes").filter_map(Result::ok);
        for wish in wishes.filter_map(|wish| fs::read_link(wish.path()).ok()).filter(|wish| wish.exists()) {
            let told = self.command(steady, "C").args(["warm", "snapshot"]).arg(wish).output();
            told.expect("steady starts");
        }
    }

    /// The report of `steady warm status`.
    pub(crate) fn status(&self, steady: &Path) -> Value {
        let (status, report) = self.asked(steady, &["status", "--format", "json"]);
        assert_eq!(status, 0, "{report}");
        report
    }

    fn asked(&self, steady: &Path, words: &[&str]) -> (i32, Value) {
        let told = self.command(steady, "C.UTF-8").arg("warm").args(words).output().expect("steady starts");
        let (out, err) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        let report = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {words:?} {out}{err}"));
        (told.status.code().unwrap_or(-1), report)
    }
}

fn kept(program: &Value) -> Kept {
    Kept {
        state: text(&program["state"]),
        reason: text(&program["reason"]),
        warm: program["warm_launches"].as_u64().unwrap_or(0),
        interpreter: text(&program["interpreter"]),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
