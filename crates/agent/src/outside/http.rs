//! Fetches the page of the counter by HTTP, with limits on its time and size.

use std::fmt::{self, Display, Formatter};
use std::io::ErrorKind;
use std::str::FromStr;
use std::time::Duration;

use ureq::http::{Uri, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Error};

/// The longest page that is accepted, in bytes.
const LONGEST: u64 = 16 << 20;
/// Requests the text format of Prometheus rather than OpenMetrics or the binary format.
const ACCEPT: &str = "text/plain;version=0.0.4, text/plain";

/// The URL of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Uri);

impl Display for Endpoint {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Endpoint {
    type Err = String;

    /// Parses `http://HOST[:PORT][/PATH]`, or the same with https.
    fn from_str(url: &str) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|error| format!("{error}; write http://HOST:PORT/metrics"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("the URL must begin with http:// or https://".to_owned());
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        // Colons inside the brackets of an IPv6 address do not introduce a port.
        let has_port = authority.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
        match uri.host() {
            None | Some("") => Err("the URL names no host".to_owned()),
            _ if authority.contains('@') => Err("the URL must not contain a user name or password".to_owned()),
            _ if has_port && uri.port_u16().is_none() => {
                Err("the port of the URL is not a number from 0 to 65535".to_owned())
            }
            _ => Ok(Endpoint(uri)),
        }
    }
}

/// Fetches pages, each over a new connection.
pub(super) struct Client(Agent);

impl Client {
    /// Creates a client. A page that takes longer than `timeout` is an error.
    pub(super) fn new(timeout: Duration) -> Client {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .max_redirects_will_error(false)
            // An idle connection would occupy the application between two pages.
            .max_idle_connections(0)
            .proxy(None)
            .tls_config(tls)
            .user_agent(concat!("steady/", env!("CARGO_PKG_VERSION")));
        Client(config.build().new_agent())
    }

    /// Fetches the text of a page. Invalid UTF-8 is replaced.
    pub(super) fn get(&self, endpoint: &Endpoint) -> Result<String, String> {
        let request = self.0.get(&endpoint.0).header(header::ACCEPT, ACCEPT).header(header::CONNECTION, "close");
        let mut response = request.call().map_err(message)?;
        if response.status() != 200 {
            return Err(format!("the server answers with status {}", response.status()));
        }
        let page = response.body_mut().with_config().limit(LONGEST).read_to_vec().map_err(message)?;
        Ok(String::from_utf8_lossy(&page).into_owned())
    }
}

fn message(error: Error) -> String {
    match error {
        Error::StatusCode(code) => format!("the server answers with status {code}"),
        Error::Timeout(_) => "the server takes too long to answer".to_owned(),
        Error::BodyExceedsLimit(_) => "the page is longer than 16 MiB".to_owned(),
        Error::HostNotFound => "the host name cannot be resolved".to_owned(),
        Error::Protocol(error) => format!("the server does not answer by HTTP: {error}"),
        Error::Io(error) => match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "the server takes too long to answer".to_owned(),
            ErrorKind::ConnectionRefused => "no server listens there (connection refused)".to_owned(),
            ErrorKind::UnexpectedEof => "the page ends too early".to_owned(),
            _ => error.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read() {
        for right in ["http://localhost:8000/metrics?a=b", "http://10.0.0.1/", "http://[::1]:9100/m", "https://[::1]/m"]
        {
            assert_eq!(right.parse::<Endpoint>().unwrap().to_string(), right);
        }
        for wrong in [
            "ftp://x/",
            "x",
            "/x",
            "http://",
            "http://x:y/",
            "http://x:/",
            "http://u@x/",
            "http://x/a b",
            "http://x:99999/",
        ] {
            assert!(wrong.parse::<Endpoint>().is_err(), "{wrong}");
        }
    }

    /// The time for answers that end. On a busy machine they may take long.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Fetches a page from a server that sends these bytes, and then closes the connection or keeps it open.
    fn answered(answer: &[u8], closes: bool, longest: Duration) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/metrics", listener.local_addr().unwrap()).parse().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                _ = stream.read(&mut [0; 1 << 10]).unwrap();
                // The client may have closed the connection already.
                _ = stream.write_all(answer);
                _ = closes || stream.read(&mut [0]).is_ok();
            });
            Client::new(longest).get(&endpoint)
        })
    }

    #[test]
    fn answers_are_complete_by_length_by_chunks_or_by_their_end() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n";
        let page = |answer: &str, closes| answered(answer.as_bytes(), closes, PATIENCE);
        assert_eq!(page("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false).unwrap(), "abc");
        assert_eq!(page("HTTP/1.0 200 OK\r\n\r\nabc", true).unwrap(), "abc");
        assert_eq!(page(&format!("{head}0\r\n\r\n"), false).unwrap(), "abcde");
        assert_eq!(answered(b"HTTP/1.0 200 OK\r\n\r\na\xffb", true, PATIENCE).unwrap(), "a\u{fffd}b");
        for (answer, closes, why) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc", true, "early"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc", false, "too long to answer"),
            ("HTTP/1.0 200 OK\r\n\r\nabc", false, "too long to answer"),
            (head, true, "early"),
            ("SSH-2.0\r\n\r\n", true, "HTTP"),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true, "404"),
            ("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", true, "301"),
        ] {
            let longest = if why == "too long to answer" { Duration::from_secs(2) } else { PATIENCE };
            let error = answered(answer.as_bytes(), closes, longest).unwrap_err();
            assert!(error.contains(why), "{answer}: {error}");
        }
    }

    #[test]
    fn pages_without_an_end_are_refused() {
        let mut answer = b"HTTP/1.0 200 OK\r\n\r\n".to_vec();
        answer.resize(LONGEST as usize + 100, b'x');
        assert_eq!(answered(&answer, true, PATIENCE).unwrap_err(), "the page is longer than 16 MiB");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_answer_makes_the_client_panic(answer in "(HTTP/1.1 200 OK\r\n)?(\\PC|\r\n|Content-Length: [0-9]{1,20}\r\n|Transfer-Encoding: chunked\r\n|[0-9a-f]{1,17}\r\n){0,9}") {
            _ = answered(answer.as_bytes(), true, PATIENCE);
        }
    }
}
