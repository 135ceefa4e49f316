//! The thread that answers scrapes. Whoever asks, however many and however slowly: there are so many connections at a
//! time, each for so long and for one request, and so many pages being written. When all places are taken, a connection
//! that has not asked yet makes room for a new one (`waiting.rs`).

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::record::AgentMetrics;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use super::Metrics;
use super::answer::{Counts, Desk, PAGES, answer};
use super::listen::{Acceptor, Door, ListenPlan};
use super::waiting::{Ticket, Waiting};

/// Connections at a time.
const CONNECTIONS: usize = 256;
/// How long a client may take to ask.
const ASKING: Duration = Duration::from_secs(2);
/// How long a connection may last in all.
const LASTING: Duration = Duration::from_secs(10);
/// What a connection has room for: no scrape's headers are longer.
const ROOM: usize = 16 << 10;
/// How long to wait where the system has no room for a connection.
const AGAIN: Duration = Duration::from_millis(100);
/// How long a page that is being written may hold up the end.
const LEAVING: Duration = Duration::from_secs(1);

/// The thread.
pub(crate) struct Server {
    url: String,
    counts: Arc<Counts>,
    /// It ends when this does.
    stop: oneshot::Sender<Infallible>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Begins, or says why it cannot.
    pub(crate) fn begin(plan: &ListenPlan, metrics: Arc<Metrics>) -> Result<Self, String> {
        let Door { token, tls } = plan.door()?;
        let at = plan.address.0;
        let said = |error| format!("--listen {at}: {error}");
        let listener = TcpListener::bind(at).map_err(said)?;
        listener.set_nonblocking(true).map_err(said)?;
        let url = url(listener.local_addr().map_err(said)?, tls.is_some());
        // The pages' threads are its own, so that one who writes holds up nobody who asks.
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(PAGES).build().map_err(said)?;
        let counts = Arc::new(Counts::default());
        let desk = Arc::new(Desk::new(metrics, token, Arc::clone(&counts)));
        let (stop, stopped) = oneshot::channel();
        let serve = move || serve(runtime, listener, tls, desk, stopped);
        let thread = thread::Builder::new().spawn(serve);
        let thread = thread.map_err(|error| format!("--listen {at}: a thread could not be started: {error}"))?;
        Ok(Server { url, counts, stop, thread })
    }

    /// Where it is, and how it goes.
    pub(crate) fn told(&self) -> AgentMetrics {
        AgentMetrics {
            url: self.url.clone(),
            scrapes: self.counts.pages.load(Ordering::Relaxed),
            refused: self.counts.refused.load(Ordering::Relaxed),
        }
    }

    /// Ends it.
    pub(crate) fn end(self) {
        drop(self.stop);
        // One that panicked has ended too.
        let _ = self.thread.join();
    }
}

fn url(address: SocketAddr, is_tls: bool) -> String {
    format!("{}://{address}/metrics", if is_tls { "https" } else { "http" })
}

/// Serves until it is to stop.
fn serve(
    runtime: Runtime,
    listener: TcpListener,
    tls: Option<Acceptor>,
    desk: Arc<Desk>,
    stopped: oneshot::Receiver<Infallible>,
) {
    runtime.spawn(async move {
        // It fails outside of a runtime only.
        if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
            accept(listener, tls, desk).await;
        }
    });
    let _ = runtime.block_on(stopped);
    runtime.shutdown_timeout(LEAVING);
}

async fn accept(listener: tokio::net::TcpListener, tls: Option<Acceptor>, desk: Arc<Desk>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let waiting = Waiting::default();
    loop {
        // None of a client's failures is one of this.
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(AGAIN).await;
            continue;
        };
        if places.available_permits() == 0 {
            waiting.close_one();
        }
        // Where all of them have asked, one of them ends within its deadline. Nobody closes the semaphore.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (tls, desk) = (tls.clone(), Arc::clone(&desk));
        let ticket = Arc::new(waiting.enter(peer.ip()));
        let of_task = Arc::clone(&ticket);
        let task = tokio::spawn(async move {
            let _place = place;
            let _ = timeout(LASTING, async {
                match tls {
                    None => converse(stream, desk, &of_task).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = timeout(ASKING, tls.accept(stream)).await {
                            converse(stream, desk, &of_task).await;
                        }
                    }
                }
            })
            .await;
        });
        ticket.is_served_by(task.abort_handle());
    }
}

/// One request and its answer.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, desk: Arc<Desk>, ticket: &Ticket) {
    let service = service_fn(|request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(answer(&request, &desk, ticket).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASKING)
        .keep_alive(false)
        .max_buf_size(ROOM)
        .serve_connection(TokioIo::new(stream), service);
    // What goes wrong on the way is the client's to see.
    let _ = connection.await;
}
