//! Errors of a comparison.

use steady_render::letters::{listed_with_more, quoted};
use thiserror::Error;

/// Reason why a question about a release has no report.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JudgeError {
    /// OLD and NEW have the same name.
    #[error("{} cannot be compared with itself: name two versions", quoted(.0))]
    SameVersion(String),
    /// There are no rows of the service within the window.
    #[error("service {} reported nothing within the window", quoted(.service))]
    NothingInWindow {
        /// Name of the service.
        service: String,
    },
    /// There are rows of the service within the window, but none of a version.
    #[error("there are no requests of version {} within the window, {}", quoted(.version), others(.there))]
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
    #[error(
        "requests were assigned to {} and to {} in different ways, so the versions cannot be compared",
        quoted(.old), quoted(.new)
    )]
    AssignedApart {
        /// Name of the version OLD.
        old: String,
        /// Name of the version NEW.
        new: String,
    },
}

/// Describes that the requests of a version were all among the first of their process.
fn first(version: &str, requests: u64) -> String {
    let (version, most) = (quoted(version), steady_stats::release::FIRST_REQUESTS);
    match requests {
        1 => format!("the only request of {version} within the window is one of the first {most} of its process"),
        _ => format!(
            "all {requests} requests of {version} within the window are among the first {most} of their processes"
        ),
    }
}

/// Lists the other versions: `only of 'v1'`, `but of 'v1' and 'v2'`.
fn others(names: &[String]) -> String {
    match names {
        [] => "and of no other".to_owned(),
        [_] => format!("only of {}", quoted_names(names)),
        _ => format!("but of {}", quoted_names(names)),
    }
}

/// Lists names for an error message, and cuts long lists: `'a', 'b' and 3 more`, or `nothing`.
pub(crate) fn quoted_names(names: &[impl AsRef<str>]) -> String {
    const MOST: usize = 12;
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let shown: Vec<String> = names.iter().take(MOST).map(|name| quoted(name.as_ref())).collect();
    listed_with_more(&shown, names.len().saturating_sub(MOST))
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
