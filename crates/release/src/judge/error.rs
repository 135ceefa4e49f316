//! Why nothing can be judged.

use thiserror::Error;

/// Why a question about a release has no report at all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JudgeError {
    /// Both names are the same.
    #[error("'{0}' is compared with itself; name two versions")]
    SameVersion(String),
    /// Nothing is known of the service within the window.
    #[error("nothing was told of service '{service}' within the window")]
    NothingInWindow {
        /// The service.
        service: String,
    },
    /// No version of that name is known.
    #[error("no version '{version}' within the window; there is {}", listed(.there))]
    NoSuchVersion {
        /// What was asked for.
        version: String,
        /// What there is, in the order of names.
        there: Vec<String>,
    },
    /// All requests of that version were among the first of their process.
    #[error(
        "all {warming} requests of '{version}' were among the first {} of their process, which do not count",
        steady_stats::release::WARMING_REQUESTS
    )]
    OnlyWarming {
        /// The version.
        version: String,
        /// How many requests there are.
        warming: u64,
    },
    /// Each version came about in another way, such as by coin and by slots, so that they cannot be held against each other.
    #[error("'{old}' and '{new}' were assigned in ways that cannot be compared with each other")]
    AssignedApart {
        /// The one version.
        old: String,
        /// The other.
        new: String,
    },
}

/// `'v1'`, `'v1' and 'v2'`, `'v1', 'v2' and 'v3'`; many are cut short.
fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let quoted: Vec<String> = names.iter().take(MOST).map(|name| format!("'{name}'")).collect();
    match (&quoted[..], names.len().saturating_sub(MOST)) {
        ([], _) => "none".into(),
        ([one], 0) => format!("only {one}"),
        ([most @ .., last], 0) => format!("{} and {last}", most.join(", ")),
        (most, more) => format!("{} and {more} more", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_what_there_is() {
        let error = |there: &[&str]| {
            let there = there.iter().map(ToString::to_string).collect();
            JudgeError::NoSuchVersion { version: "v9".into(), there }.to_string()
        };
        assert_eq!(error(&["v1"]), "no version 'v9' within the window; there is only 'v1'");
        assert_eq!(error(&["v1", "v2", "v3"]), "no version 'v9' within the window; there is 'v1', 'v2' and 'v3'");
        assert!(error(&["v"; 20]).ends_with("'v' and 8 more"));
    }
}
