//! The errors of reading rows from a store.

use thiserror::Error;

/// The reason why a store gave no rows.
#[derive(Debug, Error)]
pub enum FleetError {
    /// There is no connection, or it was closed before an answer.
    #[error("'{address}' cannot be reached: {why}")]
    Unreachable {
        /// The address of the store.
        address: String,
        /// The error of the connection.
        why: String,
    },
    /// The answer took longer than the timeout.
    #[error("'{address}' took longer than {seconds} s to answer {query}; allow more time with --timeout")]
    TooSlow {
        /// The address of the store.
        address: String,
        /// The timeout, in seconds.
        seconds: f64,
        /// The query in PromQL.
        query: String,
    },
    /// The store requires authentication (401), or does not authorize the user (403).
    #[error("'{address}' refuses to answer (status {status}); send a token or a tenant with --header")]
    Refused {
        /// The address of the store.
        address: String,
        /// The HTTP status, 401 or 403.
        status: u16,
    },
    /// An agent answers.
    #[error(
        "'{0}' is the address at which a steady agent publishes its metrics, not a metrics store; --prometheus must name \
         the store that scrapes the agents, such as Prometheus (to compare one host without it, use --store)"
    )]
    IsAgent(String),
    /// The store redirects to another address. Redirects are not followed, because they might send a token elsewhere.
    #[error(
        "'{address}' redirects to {} (status {status}); name that address with --prometheus if you trust it",
        .to.as_deref().unwrap_or("an address that it does not name")
    )]
    Moved {
        /// The address of the store.
        address: String,
        /// The HTTP status of the answer.
        status: u16,
        /// The address that it redirects to.
        to: Option<String>,
    },
    /// The store answers with another HTTP status, and no error message in JSON.
    #[error("'{address}' answers with status {status}{}{}", page_note(.is_page), address_note(*.status))]
    Status {
        /// The address of the store.
        address: String,
        /// The HTTP status of the answer.
        status: u16,
        /// Whether the answer is an HTML page.
        is_page: bool,
    },
    /// The answer is an HTML page.
    #[error(
        "'{0}' answers with an HTML page, not with JSON; --prometheus must name the address that the path \
         /api/v1/query follows"
    )]
    Page(String),
    /// The store reports an error.
    #[error("'{address}' reports an error: {message} (query: {query})")]
    Reported {
        /// The address of the store.
        address: String,
        /// The message of the store.
        message: String,
        /// The query in PromQL.
        query: String,
        /// Whether the store rejects the query as invalid.
        bad_query: bool,
    },
    /// The answer is incomplete.
    #[error("the answer of '{address}' ends too early: {why}")]
    Incomplete {
        /// The address of the store.
        address: String,
        /// What shows that the answer is incomplete.
        why: String,
    },
    /// The answer does not conform to the API.
    #[error("the answer of '{address}' is invalid: {why}")]
    Invalid {
        /// The address of the store.
        address: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// The store has no agents in the window.
    #[error("'{address}' has no series steady_agent_start_time_seconds{matchers} {}", agents_note(.now))]
    NoAgents {
        /// The address of the store.
        address: String,
        /// The labels that the agents must have.
        matchers: String,
        /// Whether the store has such agents now.
        now: bool,
    },
    /// The store has renamed a label of the agents, because its own targets have a label with this name.
    #[error(
        "'{address}' has renamed the label {label} to exported_{label}; set honor_labels: true in its scrape \
         configuration, and give the targets no label {label}"
    )]
    Renamed {
        /// The address of the store.
        address: String,
        /// The name of the label.
        label: &'static str,
    },
    /// The agents do not have the label that should identify hosts.
    #[error(
        "agents have no label '{label}' that identifies hosts; name one of these with --host-label: {}",
        .there.join(", ")
    )]
    NoHostLabel {
        /// The name of the label.
        label: String,
        /// The labels that the agents have.
        there: Vec<String>,
    },
    /// Several agents have the same host label, or one agent is scraped twice.
    #[error(
        "several agents are '{host}' by the label '{label}', or one agent is scraped twice; choose one of them with \
         --select, or name a label that distinguishes them with --host-label"
    )]
    Ambiguous {
        /// The name of the label.
        label: String,
        /// The value of the label.
        host: String,
    },
    /// The versions of requests were decided in a way that only newer versions of steady know.
    #[error(
        "the versions of requests were decided by '{0}', which this version of steady does not know; upgrade steady"
    )]
    UnknownAssignment(String),
    /// The requested blocks are shorter than the time between scrapes.
    #[error(
        "--block {seconds}s is too short: agents are scraped every {scrape_seconds} s, so a block has at least \
         {scrape_seconds} s"
    )]
    ShortBlock {
        /// The requested length of a block, in seconds.
        seconds: u64,
        /// The time between scrapes, in seconds.
        scrape_seconds: u64,
    },
    /// The window has fewer than two blocks.
    #[error(
        "the window is too short: it does not contain two whole blocks of {seconds} s after its first scrape (agents \
         are scraped every {scrape_seconds} s); a window of {sufficient_seconds} s always does"
    )]
    TooShort {
        /// The length of a block, in seconds.
        seconds: u64,
        /// The time between scrapes, in seconds.
        scrape_seconds: u64,
        /// The length of a window, in seconds, that has two blocks wherever it begins.
        sufficient_seconds: u64,
    },
}

fn page_note(is_page: &bool) -> &'static str {
    if *is_page { " and an HTML page; it may not be the API of a store" } else { "" }
}

fn address_note(status: u16) -> &'static str {
    match status {
        404 => {
            "; --prometheus must name a metrics store that scrapes the agents, such as Prometheus, not an agent, with \
             the path that /api/v1/query follows"
        }
        _ => "",
    }
}

fn agents_note(now: &bool) -> &'static str {
    match now {
        true => "in the window, but it has some now: agents started later, or it does not store data for that long",
        false => "at all; check that it scrapes agents that run with --listen, and that --select matches them",
    }
}

impl FleetError {
    /// Returns whether other options or another configuration would help; otherwise the store failed.
    pub fn is_of_usage(&self) -> bool {
        match self {
            FleetError::Unreachable { .. }
            | FleetError::TooSlow { .. }
            | FleetError::Incomplete { .. }
            | FleetError::Invalid { .. }
            | FleetError::Status { .. }
            | FleetError::UnknownAssignment(_) => false,
            FleetError::Reported { bad_query, .. } => *bad_query,
            FleetError::Refused { .. }
            | FleetError::IsAgent(_)
            | FleetError::Moved { .. }
            | FleetError::Page(_)
            | FleetError::NoAgents { .. }
            | FleetError::Renamed { .. }
            | FleetError::NoHostLabel { .. }
            | FleetError::Ambiguous { .. }
            | FleetError::ShortBlock { .. }
            | FleetError::TooShort { .. } => true,
        }
    }
}
