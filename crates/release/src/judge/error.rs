//! Errors of a comparison.

use thiserror::Error;

/// Reason why a question about a release has no report.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JudgeError {
    /// OLD and NEW have the same name.
    #[error("'{0}' cannot be compared with itself; name two versions")]
    SameVersion(String),
    /// There are no rows of the service within the window.
    #[error("service '{service}' reported nothing within the window")]
    NothingInWindow {
        /// Name of the service.
        service: String,
    },
    /// There are rows of the service within the window, but none of a version.
    #[error("there are no requests of version '{version}' within the window, {}", listed(.there))]
    NoSuchVersion {
        /// Name of the version without rows.
        version: String,
        /// Versions with rows, in alphabetical order.
        there: Vec<String>,
    },
    /// All requests of a version were among the first of their process, which do not count.
    #[error(
        "{}. They contain the start of the process, so they are left out: wait until a process has answered more",
        first(.version, *.first_requests)
    )]
    OnlyFirstRequests {
        /// Name of the version.
        version: String,
        /// Number of its requests.
        first_requests: u64,
    },
    /// The versions were assigned in different ways, such as one per request and one by slots, so no design applies.
    #[error("requests were assigned to '{old}' and to '{new}' in different ways, so the versions cannot be compared")]
    AssignedApart {
        /// Name of the version OLD.
        old: String,
        /// Name of the version NEW.
        new: String,
    },
}

/// Describes that the requests of a version were all among the first of their process.
fn first(version: &str, requests: u64) -> String {
    let most = steady_stats::release::FIRST_REQUESTS;
    match requests {
        1 => format!("the only request of '{version}' within the window is one of the first {most} of its process"),
        _ => format!(
            "all {requests} requests of '{version}' within the window are among the first {most} of their processes"
        ),
    }
}

/// Lists names for an error message, and cuts long lists: `only of 'v1'`, `but of 'v1' and 'v2'`.
fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let quoted: Vec<String> = names.iter().take(MOST).map(|name| format!("'{name}'")).collect();
    match (&quoted[..], names.len().saturating_sub(MOST)) {
        ([], _) => "and of no other".into(),
        ([one], 0) => format!("only of {one}"),
        ([most @ .., last], 0) => format!("but of {} and {last}", most.join(", ")),
        (most, more) => format!("but of {} and {more} more", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_explains_that_first_requests_do_not_count() {
        let error = |first_requests| JudgeError::OnlyFirstRequests { version: "v1".into(), first_requests }.to_string();
        assert!(
            error(1).starts_with("the only request of 'v1' within the window is one of the first 150 of its process.")
        );
        assert!(error(7).starts_with("all 7 requests of 'v1' within the window are among the first 150 of their proc"));
    }

    #[test]
    fn an_error_lists_the_versions_that_exist() {
        let error = |there: &[&str]| {
            let there = there.iter().map(ToString::to_string).collect();
            JudgeError::NoSuchVersion { version: "v9".into(), there }.to_string()
        };
        assert_eq!(error(&["v1"]), "there are no requests of version 'v9' within the window, only of 'v1'");
        assert_eq!(
            error(&["v1", "v2", "v3"]),
            "there are no requests of version 'v9' within the window, but of 'v1', 'v2' and 'v3'"
        );
        assert!(error(&["v"; 20]).ends_with("'v' and 8 more"));
    }
}
