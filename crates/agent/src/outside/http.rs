//! One page by HTTP/1.1 from a server nearby, within a time and a size.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use steady_linux::clock;

/// Longer pages are refused.
const LONGEST: usize = 16 << 20;

/// Where a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The host, as it is named.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path with what follows it.
    pub path: String,
}

impl Endpoint {
    /// Reads `http://HOST[:PORT][/PATH]`.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or("it must begin with http://")?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |place| rest.split_at(place));
        if path.contains(|letter: char| letter.is_control() || letter == ' ') {
            return Err("its path has letters that no path has".to_owned());
        }
        // The colons of an address in brackets are no ports'.
        let port = authority.rfind(':').filter(|place| !authority[*place..].contains(']'));
        let (host, port) = match port {
            Some(place) => (&authority[..place], authority[place + 1..].parse().map_err(|_| "its port is no number")?),
            None => (authority, 80),
        };
        if host.is_empty() || host.contains(|letter: char| letter.is_control() || letter == ' ' || letter == '@') {
            return Err("it names no host".to_owned());
        }
        Ok(Endpoint { host: host.to_owned(), port, path: path.to_owned() })
    }
}

/// The text of a page.
pub(super) fn get(endpoint: &Endpoint, patience: Duration) -> Result<String, String> {
    let begun = clock::monotonic();
    let left = || {
        let passed = Duration::from_nanos((clock::monotonic() - begun).0);
        patience.checked_sub(passed).filter(|left| !left.is_zero()).ok_or_else(too_slow)
    };
    let name = endpoint.host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (name, endpoint.port).to_socket_addrs().map_err(|error| error.to_string())?;
    let mut stream = Err("it has no address".to_owned());
    for address in addresses {
        stream = TcpStream::connect_timeout(&address, left()?).map_err(|error| said(&error));
        if stream.is_ok() {
            break;
        }
    }
    let mut stream = stream?;
    let Endpoint { host, port, path } = endpoint;
    let ask = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/plain;version=0.0.4, text/plain\r\nConnection: close\r\n\r\n"
    );
    stream.set_write_timeout(Some(left()?)).map_err(|error| said(&error))?;
    stream.write_all(ask.as_bytes()).map_err(|error| said(&error))?;
    let mut answer = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        if let Some(page) = complete(&answer, false)? {
            return Ok(page);
        }
        stream.set_read_timeout(Some(left()?)).map_err(|error| said(&error))?;
        let length = match stream.read(&mut piece) {
            Ok(0) => return complete(&answer, true)?.ok_or_else(|| "its answer ends too early".to_owned()),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(said(&error)),
        };
        answer.extend_from_slice(&piece[..length]);
        if answer.len() > LONGEST {
            return Err("its answer is longer than 16 MiB".to_owned());
        }
    }
}

fn too_slow() -> String {
    "it takes too long to answer".to_owned()
}

fn said(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => too_slow(),
        ErrorKind::ConnectionRefused => "nobody listens there".to_owned(),
        _ => error.to_string(),
    }
}

/// The text of an answer, if all of it is there; `is_over` says that no more will come.
fn complete(answer: &[u8], is_over: bool) -> Result<Option<String>, String> {
    let Some(end) = memchr::memmem::find(answer, b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&answer[..end]);
    let body = &answer[end + 4..];
    let mut lines = head.lines();
    let status = lines.next().unwrap_or("");
    let mut words = status.split(' ');
    if !words.next().unwrap_or("").starts_with("HTTP/1.") {
        return Err("it does not speak HTTP".to_owned());
    }
    if words.next() != Some("200") {
        let shown: String = status.chars().filter(|letter| !letter.is_control()).take(60).collect();
        return Err(format!("it answers '{shown}'"));
    }
    let header = |name: &str| {
        let found = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        found.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned()).next()
    };
    let page = if header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        joined(body)?
    } else if let Some(length) = header("content-length") {
        let length: usize = length.parse().map_err(|_| "its answer's length is no number")?;
        body.get(..length).map(<[u8]>::to_vec)
    } else {
        is_over.then(|| body.to_vec())
    };
    Ok(page.map(|page| String::from_utf8_lossy(&page).into_owned()))
}

/// What chunks hold together; `None` while the last one is missing.
fn joined(mut body: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut page = Vec::new();
    loop {
        let Some(end) = memchr::memmem::find(body, b"\r\n") else { return Ok(None) };
        let size = String::from_utf8_lossy(&body[..end]);
        let size = size.split(';').next().unwrap_or("").trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| "a chunk of its answer has no size")?;
        let chunk = &body[end + 2..];
        if size == 0 {
            return Ok(Some(page));
        }
        // A chunk ends with a line's end.
        let Some(rest) = size.checked_add(2).and_then(|size| chunk.get(size..)) else {
            return if size > LONGEST { Err("its answer is longer than 16 MiB".to_owned()) } else { Ok(None) };
        };
        page.extend_from_slice(&chunk[..size]);
        body = rest;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read() {
        let at = |url| Endpoint::parse(url).map(|end| (end.host, end.port, end.path));
        let is = |host: &str, port, path: &str| Ok((host.to_owned(), port, path.to_owned()));
        assert_eq!(at("http://localhost:8000/metrics?a=b"), is("localhost", 8_000, "/metrics?a=b"));
        assert_eq!(at("http://10.0.0.1"), is("10.0.0.1", 80, "/"));
        assert_eq!(at("http://[::1]:9100/m"), is("[::1]", 9_100, "/m"));
        assert_eq!(at("http://[::1]/m"), is("[::1]", 80, "/m"));
        for wrong in ["https://x/", "x", "http://", "http://x:y/", "http://u@x/", "http://x/a b", "http://x:99999/"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn answers_are_complete_by_length_by_chunks_or_by_their_end() {
        let page = |answer: &str, is_over| complete(answer.as_bytes(), is_over);
        let is = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(page("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false), is("abc"));
        assert_eq!(page("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc", false), Ok(None));
        assert_eq!(page("HTTP/1.0 200 OK\r\n\r\nabc", false), Ok(None));
        assert_eq!(page("HTTP/1.0 200 OK\r\n\r\nabc", true), is("abc"));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n";
        assert_eq!(page(chunked, false), Ok(None));
        assert_eq!(page(&format!("{chunked}0\r\n\r\n"), false), is("abcde"));
        for wrong in ["SSH-2.0\r\n\r\n", "HTTP/1.1 404 Not Found\r\n\r\n", &format!("{chunked}zz\r\n")] {
            assert!(page(wrong, true).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(answer in "(HTTP/1.1 200 OK\r\n)?(\\PC|\r\n|Content-Length: [0-9]{1,20}\r\n|Transfer-Encoding: chunked\r\n|[0-9a-f]{1,17}\r\n){0,9}") {
            let _ = (complete(answer.as_bytes(), false), complete(answer.as_bytes(), true));
        }
    }
}
