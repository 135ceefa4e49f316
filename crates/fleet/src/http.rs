//! Sends a query to the store, and reads its answer.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::thread;
use std::time::Duration;

use ureq::http::{Response, StatusCode, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use crate::answer::{self, AnswerStatus, Series};
use crate::grid::Grid;
use crate::metrics::AGENT_SERVER;
use crate::{Address, FleetError};

/// The longest answer that is read, in bytes.
const LONGEST: u64 = 512 << 20;
/// The longest part of an error answer that is searched for a message, in bytes.
const LONGEST_ERROR: u64 = 64 << 10;
/// The pause before a failed query is sent a second time.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The time that a query is evaluated at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// The current time of the store.
    Now,
    /// One time, in seconds since 1970.
    Moment(u64),
    /// All points of a grid.
    Grid(Grid),
}

/// The API of a store.
pub(crate) struct Api {
    agent: Agent,
    address: Address,
    headers: Vec<(String, String)>,
    timeout: Duration,
}

impl Api {
    /// Creates a client of the API. It does not connect yet.
    pub(crate) fn new(address: Address, headers: Vec<(String, String)>, timeout: Duration) -> Api {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // A redirect might send a token to another server.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .tls_config(tls)
            .user_agent(concat!("steady/", env!("CARGO_PKG_VERSION")))
            .build();
        Api { agent: config.new_agent(), address, headers, timeout }
    }

    /// Sends a query, and passes each series of the answer to `take`. Returns the warnings of the store. A query that
    /// fails is sent a second time, except after a timeout.
    pub(crate) fn query(
        &self,
        query: &str,
        when: When,
        take: &mut dyn FnMut(Series),
    ) -> Result<Vec<String>, FleetError> {
        let response = match self.send(query, when) {
            Err(error) if !matches!(error, FleetError::TooSlow { .. }) => self.send_again(query, when),
            Ok(response) if response.status().is_server_error() => self.send_again(query, when),
            first => first,
        }?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.status_error(response, query));
        }
        let (_, body) = response.into_parts();
        let mut reader = BufReader::with_capacity(64 << 10, body.into_with_config().limit(LONGEST).reader());
        match reader.fill_buf() {
            Ok(begin) if begin.trim_ascii_start().starts_with(b"<") => {
                return Err(FleetError::Page(self.address.to_string()));
            }
            Ok(_) => {}
            Err(error) => return Err(self.read_error(&error.to_string(), error.kind(), query)),
        }
        let answered = answer::read(reader, take).map_err(|error| self.json_error(&error, query))?;
        match answered.status.as_str() {
            "success" => Ok(answered.warnings),
            "error" => Err(self.reported(answered, query)),
            _ => Err(FleetError::Invalid { address: self.address.to_string(), why: "it has no status".to_owned() }),
        }
    }

    fn send_again(&self, query: &str, when: When) -> Result<Response<Body>, FleetError> {
        thread::sleep(RETRY_PAUSE);
        self.send(query, when)
    }

    fn send(&self, query: &str, when: When) -> Result<Response<Body>, FleetError> {
        let timeout = format!("{}ms", self.timeout.as_millis());
        // Without `nocache`, VictoriaMetrics moves the points of a grid to those that it has cached.
        let mut form = vec![("query", query.to_owned()), ("timeout", timeout), ("nocache", "1".to_owned())];
        let path = match when {
            When::Now => "api/v1/query",
            When::Moment(second) => {
                form.push(("time", second.to_string()));
                "api/v1/query"
            }
            When::Grid(grid) => {
                let Grid { start, step, .. } = grid;
                form.extend(
                    [("start", start), ("end", grid.end()), ("step", step)]
                        .map(|(name, value)| (name, value.to_string())),
                );
                "api/v1/query_range"
            }
        };
        let mut request = self.agent.post(self.address.of(path));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.send_form(form).map_err(|error| match error {
            ureq::Error::Timeout(_) => self.too_slow(query),
            error => FleetError::Unreachable { address: self.address.to_string(), why: why(&error) },
        })
    }

    /// Converts an answer with an HTTP status other than success to an error.
    fn status_error(&self, response: Response<Body>, query: &str) -> FleetError {
        let address = self.address.to_string();
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        if head.headers.get(header::SERVER).is_some_and(|server| server == AGENT_SERVER) {
            return FleetError::IsAgent(address);
        }
        if matches!(head.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return FleetError::Refused { address, status };
        }
        if head.status.is_redirection() {
            let to = head.headers.get(header::LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
            return FleetError::Moved { address, status, to };
        }
        let mut text = Vec::new();
        let read = body.into_with_config().reader().take(LONGEST_ERROR).read_to_end(&mut text);
        match answer::read(&text[..], &mut |_| ()) {
            Ok(answered) if read.is_ok() && answered.status == "error" => self.reported(answered, query),
            _ => FleetError::Status { address, status, is_page: text.trim_ascii_start().starts_with(b"<") },
        }
    }

    fn reported(&self, answered: AnswerStatus, query: &str) -> FleetError {
        let bad_query = matches!(answered.kind.as_str(), "bad_data" | "422" | "400");
        let (address, query) = (self.address.to_string(), query.to_owned());
        FleetError::Reported { address, message: one_line(&answered.error), query, bad_query }
    }

    fn json_error(&self, error: &serde_json::Error, query: &str) -> FleetError {
        match error.io_error_kind() {
            Some(kind) => self.read_error(&error.to_string(), kind, query),
            None if error.is_eof() => self.read_error("the JSON is incomplete", ErrorKind::UnexpectedEof, query),
            None => FleetError::Invalid { address: self.address.to_string(), why: error.to_string() },
        }
    }

    fn read_error(&self, why: &str, kind: ErrorKind, query: &str) -> FleetError {
        match kind {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => self.too_slow(query),
            _ => FleetError::Incomplete { address: self.address.to_string(), why: why.to_owned() },
        }
    }

    fn too_slow(&self, query: &str) -> FleetError {
        let (address, query) = (self.address.to_string(), query.to_owned());
        FleetError::TooSlow { address, seconds: self.timeout.as_secs_f64(), query }
    }
}

/// Returns the reason why there is no connection.
fn why(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => {
            "no server listens there (connection refused)".to_owned()
        }
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::HostNotFound => "the host name cannot be resolved".to_owned(),
        other => other.to_string(),
    }
}

/// Returns a text of the store on one line of bounded length, without control characters.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|letter| !letter.is_control()).take(LONGEST).collect()
}
