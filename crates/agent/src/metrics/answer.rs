//! Answers a request: checks the token, and chooses the format, the compression and the content.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, SERVER, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, mpsc};
use tokio::task;

use super::pending::ConnectionEntry;
use super::sums::PublishedSums;
use super::text::Dialect;
use super::{Metrics, page};

/// The most pages that are written at a time; further scrapes wait.
pub(super) const PAGES: usize = 4;

/// Counts of answers since the agent started.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Pages that were sent completely.
    pub(super) pages: AtomicU64,
    /// Requests without the correct token.
    pub(super) refused: AtomicU64,
}

/// The length of the pieces in which a page is sent, in bytes.
const PIECE: usize = 64 << 10;
/// The most pieces that wait for the client. Most pages have fewer, so writing them does not wait for the client.
const PIECES: usize = 16;

/// The data that all answers need.
pub(super) struct AnswerContext {
    metrics: Arc<Metrics>,
    token: Option<Vec<u8>>,
    counts: Arc<Counts>,
    pages: Arc<Semaphore>,
}

impl AnswerContext {
    pub(super) fn new(metrics: Arc<Metrics>, token: Option<Vec<u8>>, counts: Arc<Counts>) -> AnswerContext {
        AnswerContext { metrics, token, counts, pages: Arc::new(Semaphore::new(PAGES)) }
    }
}

/// Answers a request, if it has the token and its peer has not too many connections.
pub(super) async fn answer<B>(
    request: &Request<B>,
    context: &AnswerContext,
    entry: &ConnectionEntry,
) -> Response<Answer> {
    if !is_authorized(request.headers(), context.token.as_deref()) {
        context.counts.refused.fetch_add(1, Ordering::Relaxed);
        let refusal = line(StatusCode::UNAUTHORIZED, "A token is required: Authorization: Bearer TOKEN.\n");
        return with(refusal, WWW_AUTHENTICATE, "Bearer");
    }
    if !entry.start_answer() {
        return line(StatusCode::SERVICE_UNAVAILABLE, "This client has too many connections.\n");
    }
    let path = request.uri().path();
    if !matches!(path, "/" | "/metrics") {
        return line(StatusCode::NOT_FOUND, "Not found. The metrics are at /metrics.\n");
    }
    match *request.method() {
        Method::GET | Method::HEAD if path == "/" => {
            line(StatusCode::OK, "The metrics of steady agent are at /metrics.\n")
        }
        Method::GET | Method::HEAD => metrics(request, context).await,
        _ => with(line(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are allowed.\n"), ALLOW, "GET, HEAD"),
    }
}

/// Returns whether a request has the token, or none is required.
fn is_authorized(headers: &HeaderMap, token: Option<&[u8]>) -> bool {
    let Some(token) = token else { return true };
    let shown = headers.get(AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
    let (scheme, shown) = shown.split_at(shown.len().min(7));
    scheme.eq_ignore_ascii_case(b"bearer ") && shown.trim_ascii().ct_eq(token).into()
}

/// Returns a response that names this server, so that `steady release` recognises an agent that `--prometheus` names.
fn response(answer: Answer) -> Response<Answer> {
    with(Response::new(answer), SERVER, "steady-agent")
}

fn line(status: StatusCode, line: &'static str) -> Response<Answer> {
    let mut response = response(Answer::Line(Some(Bytes::from_static(line.as_bytes()))));
    *response.status_mut() = status;
    with(response, CONTENT_TYPE, "text/plain; charset=utf-8")
}

fn with(mut response: Response<Answer>, name: HeaderName, value: &'static str) -> Response<Answer> {
    response.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
    response
}

async fn metrics<B>(request: &Request<B>, context: &AnswerContext) -> Response<Answer> {
    // A client may send a header several times; its values are then one list (RFC 9110, section 5.3).
    let header = |name| {
        let lines = request.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
        lines.collect::<Vec<_>>().join(",")
    };
    let (dialect, is_compressed) = (dialect(&header(ACCEPT)), accepts_gzip(&header(ACCEPT_ENCODING)));
    let (sender, pieces) = mpsc::channel(PIECES);
    // The semaphore is never closed, so this does not fail. If it did, the answer would break off.
    if request.method() == Method::GET
        && let Ok(permit) = Arc::clone(&context.pages).acquire_owned().await
    {
        let sums = context.metrics.now();
        task::spawn_blocking(move || {
            // An error means that the client has closed the connection.
            let _ = write(&sums, dialect, is_compressed, sender);
            drop(permit);
        });
    }
    let response = response(Answer::Page { pieces, counts: Arc::clone(&context.counts), is_whole: false });
    let response = with(response, CONTENT_TYPE, dialect.content_type());
    if is_compressed { with(response, CONTENT_ENCODING, "gzip") } else { response }
}

/// Writes a page into pieces.
fn write(sums: &PublishedSums, dialect: Dialect, is_compressed: bool, sender: mpsc::Sender<Piece>) -> io::Result<()> {
    let pieces = Pieces { buffer: Vec::with_capacity(PIECE), sender };
    let pieces = if is_compressed {
        page::write(sums, dialect, GzEncoder::new(pieces, Compression::fast()))?.finish()?
    } else {
        page::write(sums, dialect, pieces)?
    };
    pieces.finish()
}

/// A piece of a page.
pub(super) enum Piece {
    Some(Bytes),
    /// The end of the page. A page without it is incomplete, and its connection ends with an error.
    End,
}

/// Sends bytes to the connection in pieces; waits for the client if too many pieces are queued.
struct Pieces {
    buffer: Vec<u8>,
    sender: mpsc::Sender<Piece>,
}

impl Pieces {
    fn pass(&self, piece: Piece) -> io::Result<()> {
        self.sender.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn finish(mut self) -> io::Result<()> {
        let last = std::mem::take(&mut self.buffer);
        self.pass(Piece::Some(last.into()))?;
        self.pass(Piece::End)
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > PIECE && !self.buffer.is_empty() {
            let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE));
            self.pass(Piece::Some(full.into()))?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The body of an answer.
pub(super) enum Answer {
    /// One line of text; `None` after it was sent.
    Line(Option<Bytes>),
    /// A page of metrics, which is sent while it is written.
    Page { pieces: mpsc::Receiver<Piece>, counts: Arc<Counts>, is_whole: bool },
}

impl Body for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Answer::Line(line) => Poll::Ready(line.take().map(|line| Ok(Frame::data(line)))),
            Answer::Page { is_whole: true, .. } => Poll::Ready(None),
            Answer::Page { pieces, counts, is_whole } => match ready!(pieces.poll_recv(context)) {
                Some(Piece::Some(bytes)) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Piece::End) => {
                    *is_whole = true;
                    counts.pages.fetch_add(1, Ordering::Relaxed);
                    Poll::Ready(None)
                }
                None => Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
            },
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Line(line) => SizeHint::with_exact(line.as_ref().map_or(0, |line| line.len() as u64)),
            Answer::Page { .. } => SizeHint::default(),
        }
    }
}

/// Returns the format for a value of `Accept`: the Prometheus text format, unless the client accepts OpenMetrics and
/// does not prefer plain text (RFC 9110, section 12.5.1).
pub(super) fn dialect(accept: &str) -> Dialect {
    let (mut open, mut classic) = (0.0_f64, 0.0_f64);
    for (name, parameters, quality) in choices(accept) {
        if name.eq_ignore_ascii_case("application/openmetrics-text") {
            let version = parameter(parameters, "version");
            if version.is_none_or(|version| version == "1.0.0") {
                open = open.max(quality);
            }
        } else if name.eq_ignore_ascii_case("text/plain") {
            classic = classic.max(quality);
        }
    }
    if open > 0.0 && open >= classic { Dialect::OpenMetrics } else { Dialect::Classic }
}

/// Returns whether a client with this value of `Accept-Encoding` accepts gzip.
pub(super) fn accepts_gzip(accept: &str) -> bool {
    choices(accept).any(|(name, _, quality)| name.eq_ignore_ascii_case("gzip") && quality > 0.0)
}

/// Splits the value of an `Accept` header into names, their parameters, and their quality from 0 (not acceptable) to 1.
fn choices(accept: &str) -> impl Iterator<Item = (&str, &str, f64)> {
    accept.split(',').map(|choice| {
        let (name, parameters) = choice.split_once(';').unwrap_or((choice, ""));
        let quality = parameter(parameters, "q").map_or(1.0, |quality| quality.parse().unwrap_or(0.0));
        (name.trim(), parameters, if (0.0..=1.0).contains(&quality) { quality } else { 0.0 })
    })
}

fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    let pairs = parameters.split(';').filter_map(|pair| pair.split_once('='));
    let mut found = pairs.filter(|(found, _)| found.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_complete_token_is_accepted() {
        let is_accepted = |header: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(AUTHORIZATION, header.parse().unwrap());
            }
            is_authorized(&headers, Some(b"secret"))
        };
        assert!(is_accepted(Some("Bearer secret")) && is_accepted(Some("bearer  secret ")));
        for wrong in [
            None,
            Some(""),
            Some("secret"),
            Some("Bearer"),
            Some("Bearer secre"),
            Some("Bearer secrets"),
            Some("Basic secret"),
        ] {
            assert!(!is_accepted(wrong), "{wrong:?}");
        }
        assert!(is_authorized(&HeaderMap::new(), None));
    }

    #[test]
    fn an_incomplete_page_ends_with_an_error() {
        let (sender, pieces) = mpsc::channel(PIECES);
        sender.try_send(Piece::Some(Bytes::from_static(b"half"))).ok().unwrap();
        drop(sender);
        let mut answer = Answer::Page { pieces, counts: Arc::default(), is_whole: false };
        let mut next = || Pin::new(&mut answer).poll_frame(&mut Context::from_waker(std::task::Waker::noop()));
        assert!(matches!(next(), Poll::Ready(Some(Ok(_)))));
        assert!(matches!(next(), Poll::Ready(Some(Err(_)))));
    }

    #[test]
    fn the_format_is_the_one_that_the_client_prefers() {
        use Dialect::{Classic, OpenMetrics};
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, expected) in [
            (prometheus, OpenMetrics),
            ("", Classic),
            ("*/*", Classic),
            ("text/html, application/xhtml+xml", Classic),
            ("Application/OpenMetrics-Text", OpenMetrics),
            ("application/openmetrics-text; version=\"1.0.0\"; charset=utf-8", OpenMetrics),
            ("application/openmetrics-text; version=0.0.1", Classic),
            ("application/openmetrics-text; q=0", Classic),
            ("application/openmetrics-text; q=x", Classic),
            ("application/openmetrics-text; q=0.4, text/plain; q=0.5", Classic),
            ("application/openmetrics-text;q=0.5,text/plain;q=0.5", OpenMetrics),
        ] {
            assert_eq!(dialect(accept), expected, "{accept}");
        }
    }

    #[test]
    fn gzip_is_used_if_the_client_accepts_it() {
        for (accept, expected) in
            [("gzip", true), ("deflate, GZIP;q=0.5", true), ("", false), ("gzip;q=0", false), ("identity", false)]
        {
            assert_eq!(accepts_gzip(accept), expected, "{accept}");
        }
    }

    proptest! {
        #[test]
        fn no_header_makes_the_parser_panic(accept in "(application/openmetrics-text|gzip|;|,|=|q|version|\"|[0-9.]{1,4}|\\PC){0,20}") {
            let _ = (dialect(&accept), accepts_gzip(&accept));
        }
    }
}
