//! A host and its knobs, as comma-separated values.

use steady_model::{Deed, HostQuestion, HostReport, KnobState};

use crate::csv::quoted;

/// The columns of a status.
const KNOBS: [&str; 7] = ["name", "value", "quiet_value", "is_quiet", "settable", "reason", "files"];
/// The columns of what was done.
const DEEDS: [&str; 7] = ["deed", "name", "file", "from", "to", "outcome", "reason"];

/// A line per knob, or per file that was set or put back, below a line of names.
pub fn host_csv(report: &HostReport) -> String {
    let lines: Vec<String> = match report.question {
        HostQuestion::Status => {
            std::iter::once(KNOBS.join(",")).chain(report.knobs.iter().map(|one| knob(one).join(","))).collect()
        }
        HostQuestion::Quiet | HostQuestion::Restore => {
            let set = report.set.iter().map(|one| deed("quiet", one).join(","));
            let restored = report.restored.iter().map(|one| deed("restore", one).join(","));
            std::iter::once(DEEDS.join(",")).chain(set).chain(restored).collect()
        }
    };
    lines.into_iter().map(|line| line + "\n").collect()
}

fn knob(state: &KnobState) -> [String; KNOBS.len()] {
    let text = |reading: &steady_model::Reading<String>| quoted(reading.as_deref().unwrap_or_default());
    [
        state.knob.name().to_owned(),
        text(&state.value),
        text(&state.quiet_value),
        state.is_quiet.to_string(),
        state.settable.is_ok().to_string(),
        quoted(state.settable.as_ref().err().map_or("", |absent| absent.0.as_str())),
        state.files.len().to_string(),
    ]
}

fn deed(kind: &str, deed: &Deed) -> [String; DEEDS.len()] {
    [
        kind.to_owned(),
        deed.knob.name().to_owned(),
        quoted(&deed.file),
        quoted(deed.from.trim_end()),
        quoted(deed.to.trim_end()),
        deed.outcome.name().to_owned(),
        quoted(deed.outcome.reason().unwrap_or_default()),
    ]
}
