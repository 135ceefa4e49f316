//! One question to the store, and its answer.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::thread;
use std::time::Duration;

use ureq::http::{Response, StatusCode, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use crate::answer::{self, Series, Told};
use crate::grid::Grid;
use crate::{Address, FleetError};

/// Longer answers are not read to their end.
const LONGEST: u64 = 512 << 20;
/// So much of an answer is looked at for what it says, where it is no success.
const LONGEST_ERROR: u64 = 64 << 10;
/// Between a question that found nobody and the second try.
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// For which time something is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// The store's own present.
    Now,
    /// One moment, in seconds since 1970.
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
    /// Asks nothing yet.
    pub(crate) fn new(address: Address, headers: Vec<(String, String)>, timeout: Duration) -> Api {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // A token is not carried elsewhere, nor is a question.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .tls_config(tls)
            .user_agent(concat!("steady/", env!("CARGO_PKG_VERSION")))
            .build();
        Api { agent: config.new_agent(), address, headers, timeout }
    }

    /// Asks, and gives each series of the answer to `take`; what the store warns of.
    pub(crate) fn ask(&self, query: &str, when: When, take: &mut dyn FnMut(Series)) -> Result<Vec<String>, FleetError> {
        let response = match self.send(query, when) {
            Err(error) if !matches!(error, FleetError::TooSlow { .. }) => self.again(query, when),
            Ok(response) if response.status().is_server_error() => self.again(query, when),
            once => once,
        }?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refusal(response, query));
        }
        let (_, body) = response.into_parts();
        let mut reader = BufReader::with_capacity(64 << 10, body.into_with_config().limit(LONGEST).reader());
        match reader.fill_buf() {
            Ok(begin) if begin.trim_ascii_start().starts_with(b"<") => {
                return Err(FleetError::Page(self.address.to_string()));
            }
            Ok(_) => {}
            Err(error) => return Err(self.broken(&error.to_string(), error.kind(), query)),
        }
        let told = answer::read(reader, take).map_err(|error| self.unread(&error, query))?;
        match told.status.as_str() {
            "success" => Ok(told.warnings),
            "error" => Err(self.said(told, query)),
            _ => Err(FleetError::Nonsense { address: self.address.to_string(), why: "it has no status".to_owned() }),
        }
    }

    fn again(&self, query: &str, when: When) -> Result<Response<Body>, FleetError> {
        thread::sleep(BETWEEN_TRIES);
        self.send(query, when)
    }

    fn send(&self, query: &str, when: When) -> Result<Response<Body>, FleetError> {
        let timeout = format!("{}ms", self.timeout.as_millis());
        // VictoriaMetrics moves the points of a grid to what it has cached, unless it is asked not to.
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

    /// What an answer that is no success comes to.
    fn refusal(&self, response: Response<Body>, query: &str) -> FleetError {
        let address = self.address.to_string();
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
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
            Ok(told) if read.is_ok() && told.status == "error" => self.said(told, query),
            _ => FleetError::Status { address, status, is_page: text.trim_ascii_start().starts_with(b"<") },
        }
    }

    fn said(&self, told: Told, query: &str) -> FleetError {
        let bad_query = matches!(told.kind.as_str(), "bad_data" | "422" | "400");
        let (address, query) = (self.address.to_string(), query.to_owned());
        FleetError::Said { address, said: in_a_line(&told.error), query, bad_query }
    }

    fn unread(&self, error: &serde_json::Error, query: &str) -> FleetError {
        match error.io_error_kind() {
            Some(kind) => self.broken(&error.to_string(), kind, query),
            None if error.is_eof() => self.broken("it breaks off", ErrorKind::UnexpectedEof, query),
            None => FleetError::Nonsense { address: self.address.to_string(), why: error.to_string() },
        }
    }

    fn broken(&self, why: &str, kind: ErrorKind, query: &str) -> FleetError {
        match kind {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => self.too_slow(query),
            _ => FleetError::CutOff { address: self.address.to_string(), why: why.to_owned() },
        }
    }

    fn too_slow(&self, query: &str) -> FleetError {
        let (address, query) = (self.address.to_string(), query.to_owned());
        FleetError::TooSlow { address, seconds: self.timeout.as_secs_f64(), query }
    }
}

/// Why there was no connection.
fn why(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => "nobody listens there".to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::HostNotFound => "there is no host of that name".to_owned(),
        other => other.to_string(),
    }
}

/// What a store says, on one line of bounded length.
pub(crate) fn in_a_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|letter| !letter.is_control()).take(LONGEST).collect()
}
