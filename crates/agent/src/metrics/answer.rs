//! What a request is answered.

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
use super::{Metrics, accept, page};

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
    let (dialect, is_packed) = (accept::dialect(&header(ACCEPT)), accept::takes_gzip(&header(ACCEPT_ENCODING)));
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

#[cfg(test)]
mod tests {
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
}
