//! What a request is answered: in which format, packed or not, and what.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, mpsc};
use tokio::task;

use super::sums::Sums;
use super::text::Dialect;
use super::waiting::Ticket;
use super::{Metrics, page};

/// Pages that are written at a time; more wait.
pub(super) const PAGES: usize = 4;

/// What was answered.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Pages, to their end.
    pub(super) pages: AtomicU64,
    /// Requests without the token.
    pub(super) refused: AtomicU64,
}

/// So long is a piece of a page that is passed on. So many may wait for the client: most pages are no longer, and are
/// then written without waiting for anybody.
const PIECE: usize = 64 << 10;
const PIECES: usize = 16;

/// What answers are made of.
pub(super) struct Desk {
    metrics: Arc<Metrics>,
    token: Option<Vec<u8>>,
    counts: Arc<Counts>,
    pages: Arc<Semaphore>,
}

impl Desk {
    pub(super) fn new(metrics: Arc<Metrics>, token: Option<Vec<u8>>, counts: Arc<Counts>) -> Desk {
        Desk { metrics, token, counts, pages: Arc::new(Semaphore::new(PAGES)) }
    }
}

/// Answers a request.
pub(super) async fn answer<B>(request: &Request<B>, desk: &Desk, ticket: &Ticket) -> Response<Answer> {
    if !may_see(request.headers(), desk.token.as_deref()) {
        desk.counts.refused.fetch_add(1, Ordering::Relaxed);
        let refusal = said(StatusCode::UNAUTHORIZED, "A token is asked for: Authorization: Bearer TOKEN.\n");
        return with(refusal, WWW_AUTHENTICATE, "Bearer");
    }
    if !ticket.has_asked() {
        return said(StatusCode::SERVICE_UNAVAILABLE, "This client has too many connections.\n");
    }
    let path = request.uri().path();
    if !matches!(path, "/" | "/metrics") {
        return said(StatusCode::NOT_FOUND, "There is /metrics here and nothing else.\n");
    }
    match *request.method() {
        Method::GET | Method::HEAD if path == "/" => {
            said(StatusCode::OK, "The metrics of steady agent are at /metrics.\n")
        }
        Method::GET | Method::HEAD => metrics(request, desk).await,
        _ => with(said(StatusCode::METHOD_NOT_ALLOWED, "Metrics are read, by GET.\n"), ALLOW, "GET, HEAD"),
    }
}

/// Whether a client has shown the token, where one is asked for.
fn may_see(headers: &HeaderMap, token: Option<&[u8]>) -> bool {
    let Some(token) = token else { return true };
    let shown = headers.get(AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
    let (scheme, shown) = shown.split_at(shown.len().min(7));
    scheme.eq_ignore_ascii_case(b"bearer ") && shown.trim_ascii().ct_eq(token).into()
}

fn said(status: StatusCode, line: &'static str) -> Response<Answer> {
    let mut response = Response::new(Answer::Line(Some(Bytes::from_static(line.as_bytes()))));
    *response.status_mut() = status;
    with(response, CONTENT_TYPE, "text/plain; charset=utf-8")
}

fn with(mut response: Response<Answer>, name: HeaderName, value: &'static str) -> Response<Answer> {
    response.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
    response
}

async fn metrics<B>(request: &Request<B>, desk: &Desk) -> Response<Answer> {
    // A client may like this on one line of its head and that on another.
    let header = |name| {
        let lines = request.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
        lines.collect::<Vec<_>>().join(",")
    };
    let (dialect, is_packed) = (dialect(&header(ACCEPT)), takes_gzip(&header(ACCEPT_ENCODING)));
    let (sender, pieces) = mpsc::channel(PIECES);
    // Without a place its pieces end at once, and with them the connection; but nobody closes these places.
    if request.method() == Method::GET
        && let Ok(place) = Arc::clone(&desk.pages).acquire_owned().await
    {
        let sums = desk.metrics.now();
        task::spawn_blocking(move || {
            // Whoever is gone misses nothing.
            let _ = write(&sums, dialect, is_packed, sender);
            drop(place);
        });
    }
    let response = Response::new(Answer::Page { pieces, counts: Arc::clone(&desk.counts), is_whole: false });
    let response = with(response, CONTENT_TYPE, dialect.content_type());
    if is_packed { with(response, CONTENT_ENCODING, "gzip") } else { response }
}

/// Writes a page into pieces.
fn write(sums: &Sums, dialect: Dialect, is_packed: bool, sender: mpsc::Sender<Piece>) -> io::Result<()> {
    let pieces = Pieces { gathered: Vec::with_capacity(PIECE), sender };
    let pieces = if is_packed {
        page::write(sums, dialect, GzEncoder::new(pieces, Compression::fast()))?.finish()?
    } else {
        page::write(sums, dialect, pieces)?
    };
    pieces.finish()
}

/// A piece of a page.
pub(super) enum Piece {
    Some(Bytes),
    /// There is no more. One that breaks off without it must not be taken for a whole page.
    End,
}

/// Passes on what is written, and waits for who reads.
struct Pieces {
    gathered: Vec<u8>,
    sender: mpsc::Sender<Piece>,
}

impl Pieces {
    fn pass(&self, piece: Piece) -> io::Result<()> {
        self.sender.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn finish(mut self) -> io::Result<()> {
        let last = std::mem::take(&mut self.gathered);
        self.pass(Piece::Some(last.into()))?;
        self.pass(Piece::End)
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered.len() + bytes.len() > PIECE && !self.gathered.is_empty() {
            let full = std::mem::replace(&mut self.gathered, Vec::with_capacity(PIECE));
            self.pass(Piece::Some(full.into()))?;
        }
        self.gathered.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is sent.
pub(super) enum Answer {
    /// A line.
    Line(Option<Bytes>),
    /// A page, as it is written.
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

/// The format for a client with this `Accept`: the classic one, unless OpenMetrics is asked for and nothing of the
/// other is liked better.
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

/// Whether a client with this `Accept-Encoding` takes gzip.
pub(super) fn takes_gzip(accept: &str) -> bool {
    choices(accept).any(|(name, _, quality)| name.eq_ignore_ascii_case("gzip") && quality > 0.0)
}

/// What is named, with the text of its parameters, and how much it is liked: from 0, not at all, to 1.
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
    fn only_the_whole_token_opens() {
        let may = |header: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(AUTHORIZATION, header.parse().unwrap());
            }
            may_see(&headers, Some(b"secret"))
        };
        assert!(may(Some("Bearer secret")) && may(Some("bearer  secret ")));
        for wrong in [
            None,
            Some(""),
            Some("secret"),
            Some("Bearer"),
            Some("Bearer secre"),
            Some("Bearer secrets"),
            Some("Basic secret"),
        ] {
            assert!(!may(wrong), "{wrong:?}");
        }
        assert!(may_see(&HeaderMap::new(), None));
    }

    #[test]
    fn a_page_that_breaks_off_is_no_page() {
        let (sender, pieces) = mpsc::channel(PIECES);
        sender.try_send(Piece::Some(Bytes::from_static(b"half"))).ok().unwrap();
        drop(sender);
        let mut answer = Answer::Page { pieces, counts: Arc::default(), is_whole: false };
        let mut next = || Pin::new(&mut answer).poll_frame(&mut Context::from_waker(std::task::Waker::noop()));
        assert!(matches!(next(), Poll::Ready(Some(Ok(_)))));
        assert!(matches!(next(), Poll::Ready(Some(Err(_)))));
    }

    #[test]
    fn the_format_is_the_one_that_is_liked_best() {
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
    fn gzip_is_for_those_who_take_it() {
        for (accept, expected) in
            [("gzip", true), ("deflate, GZIP;q=0.5", true), ("", false), ("gzip;q=0", false), ("identity", false)]
        {
            assert_eq!(takes_gzip(accept), expected, "{accept}");
        }
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(accept in "(application/openmetrics-text|gzip|;|,|=|q|version|\"|[0-9.]{1,4}|\\PC){0,20}") {
            let _ = (dialect(&accept), takes_gzip(&accept));
        }
    }
}
