//! Why a store gave no rows.

use thiserror::Error;

/// What a store has to say, or what stands between it and its rows.
#[derive(Debug, Error)]
pub enum FleetError {
    /// No connection, or it broke before there was an answer.
    #[error("'{address}' cannot be reached: {why}")]
    Unreachable {
        /// The store.
        address: String,
        /// What went wrong.
        why: String,
    },
    /// It takes too long.
    #[error("'{address}' took longer than {seconds} s over {query}; --timeout allows it more")]
    TooSlow {
        /// The store.
        address: String,
        /// How long it was waited for.
        seconds: f64,
        /// What it was asked.
        query: String,
    },
    /// It wants to know who asks (401), or does not want this one to (403).
    #[error("'{address}' refuses to answer (status {status}): --header tells it who you are")]
    Refused {
        /// The store.
        address: String,
        /// 401 or 403.
        status: u16,
    },
    /// It says that it has moved: no token is carried there.
    #[error(
        "'{address}' says that it is elsewhere (status {status}): {}",
        .to.as_deref().unwrap_or("it does not say where")
    )]
    Moved {
        /// The store.
        address: String,
        /// Its status.
        status: u16,
        /// Where to.
        to: Option<String>,
    },
    /// It answers with another status, and nothing that could be passed on.
    #[error("'{address}' answers with status {status}{}", what_page(.is_page))]
    Status {
        /// The store.
        address: String,
        /// The status.
        status: u16,
        /// Whether what came with it is a page for people.
        is_page: bool,
    },
    /// It answers with a page for people.
    #[error("'{0}' answers with a page, not with JSON: is it the address that /api/v1/query stands below?")]
    Page(String),
    /// It says why it cannot answer.
    #[error("'{address}' says: {said} (to {query})")]
    Said {
        /// The store.
        address: String,
        /// What it says.
        said: String,
        /// What it was asked.
        query: String,
        /// Whether it finds the query wrong.
        bad_query: bool,
    },
    /// Its answer ends before it is complete.
    #[error("the answer of '{address}' ends too early: {why}")]
    CutOff {
        /// The store.
        address: String,
        /// What says so.
        why: String,
    },
    /// Its answer is not what its API promises.
    #[error("the answer of '{address}' makes no sense: {why}")]
    Nonsense {
        /// The store.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// It knows no agent in the window.
    #[error("'{address}' knows nothing of steady_agent_start_time_seconds{matchers} {}", where_agents_are(.now))]
    NoAgents {
        /// The store.
        address: String,
        /// Which were looked for.
        matchers: String,
        /// Whether it knows some now.
        now: bool,
    },
    /// It scraped the labels under other names, for its own targets have them.
    #[error(
        "'{address}' has renamed the label {label} to exported_{label}: scrape agents with honor_labels: true, \
         and no {label} among the targets' labels"
    )]
    Renamed {
        /// The store.
        address: String,
        /// The label.
        label: &'static str,
    },
    /// Agents are not told apart by the label that was named, or by none.
    #[error("agents have no label '{label}' that tells hosts; --host-label names one of {}", .there.join(", "))]
    NoHostLabel {
        /// The label.
        label: String,
        /// The labels that there are.
        there: Vec<String>,
    },
    /// Several agents, or one that is scraped twice, have one host's name.
    #[error(
        "several agents, or one that is scraped twice, are '{host}' by the label '{label}': --select leaves one of \
         them, --host-label names a label that tells them apart"
    )]
    Ambiguous {
        /// The label.
        label: String,
        /// Its value.
        host: String,
    },
    /// A newer agent's way to decide versions.
    #[error("requests were assigned by '{0}', which is not known here; upgrade steady")]
    UnknownAssignment(String),
    /// The window holds no two scrapes.
    #[error(
        "the window is too short: it takes three blocks of {seconds} s at least (agents are scraped every \
         {scrape_seconds} s)"
    )]
    TooShort {
        /// A block.
        seconds: u64,
        /// Between scrapes.
        scrape_seconds: u64,
    },
}

fn what_page(is_page: &bool) -> &'static str {
    if *is_page { ": a page, no store's API" } else { "" }
}

fn where_agents_are(now: &bool) -> &'static str {
    match now {
        true => "within the window, though it does now: agents came later, or it does not keep so much",
        false => "at all: does it scrape steady agent --listen?",
    }
}

impl FleetError {
    /// Whether asking otherwise would help; else the store could not do its part.
    pub fn is_of_usage(&self) -> bool {
        match self {
            FleetError::Unreachable { .. }
            | FleetError::TooSlow { .. }
            | FleetError::CutOff { .. }
            | FleetError::Nonsense { .. }
            | FleetError::Status { .. }
            | FleetError::UnknownAssignment(_) => false,
            FleetError::Said { bad_query, .. } => *bad_query,
            FleetError::Refused { .. }
            | FleetError::Moved { .. }
            | FleetError::Page(_)
            | FleetError::NoAgents { .. }
            | FleetError::Renamed { .. }
            | FleetError::NoHostLabel { .. }
            | FleetError::Ambiguous { .. }
            | FleetError::TooShort { .. } => true,
        }
    }
}
