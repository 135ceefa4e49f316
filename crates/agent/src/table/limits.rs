//! What bounds the table.

/// How many there may be of what services name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Services; more are left out.
    pub services: usize,
    /// Versions of a service; requests of more are left out.
    pub versions: usize,
    /// Routes of a service; more are folded into `(other)`.
    pub routes: usize,
    /// Classes of requests of a service; more are folded into `(other)`.
    pub classes: usize,
    /// Processes of a service; the least recently heard of are forgotten, which loses what their last request took.
    pub processes: usize,
    /// Rows of all services at a time; then they are written before their second is over.
    pub rows: usize,
    /// How long ago, in seconds, a request may have ended to be added to its own second.
    pub late_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            services: 20,
            versions: 24,
            routes: 200,
            classes: 16,
            processes: 2_000,
            rows: 50_000,
            late_seconds: 86_400,
        }
    }
}
