//! The thread that answers scrapes. The number of connections and of pages being written is limited. Each connection
//! has a time limit and serves one request. When all connections are in use, a new one replaces one that has not sent
//! its request yet (`pending.rs`).

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use super::Metrics;
use super::answer::{AnswerContext, Counts, PAGES, answer};
use super::listen::{Acceptor, Access, ListenPlan};
use super::pending::{ConnectionEntry, PendingConnections};
use crate::record::AgentMetrics;

/// The most connections at a time.
const CONNECTIONS: usize = 256;
/// The longest time until a client has sent its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest time of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// The buffer of a connection, in bytes; the header of a scrape is shorter.
const BUFFER: usize = 16 << 10;
/// The pause after the system could not accept a connection, for example for lack of file descriptors.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The longest time to wait for pages that are being written when the agent ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The thread that answers scrapes.
pub(crate) struct Server {
    url: String,
    counts: Arc<Counts>,
    /// The thread ends when this is dropped.
    stop: oneshot::Sender<Infallible>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Starts the thread. Returns the reason if it cannot listen as requested.
    pub(crate) fn start(plan: &ListenPlan, metrics: Arc<Metrics>) -> Result<Self, String> {
        let Access { token, tls } = plan.access()?;
        let at = plan.address.0;
        let failed = |error| format!("--listen {at}: {error}");
        let listener = TcpListener::bind(at).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let url = url(listener.local_addr().map_err(failed)?, tls.is_some());
        // Pages are written on the threads for blocking tasks, so that they do not delay other requests.
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(PAGES).build().map_err(failed)?;
        let counts = Arc::new(Counts::default());
        let context = Arc::new(AnswerContext::new(metrics, token, Arc::clone(&counts)));
        let (stop, stopped) = oneshot::channel();
        let serve = move || serve(runtime, listener, tls, context, stopped);
        let thread = thread::Builder::new().spawn(serve);
        let thread = thread.map_err(|error| format!("--listen {at}: a thread could not be started: {error}"))?;
        Ok(Server { url, counts, stop, thread })
    }

    /// Returns the URL, and counts of the answers.
    pub(crate) fn status(&self) -> AgentMetrics {
        AgentMetrics {
            url: self.url.clone(),
            scrapes: self.counts.pages.load(Ordering::Relaxed),
            refused: self.counts.refused.load(Ordering::Relaxed),
        }
    }

    /// Ends the thread, and waits for pages that are being written.
    pub(crate) fn end(self) {
        drop(self.stop);
        // An error means that the thread panicked, so it has ended too.
        let _ = self.thread.join();
    }
}

fn url(address: SocketAddr, is_tls: bool) -> String {
    format!("{}://{address}/metrics", if is_tls { "https" } else { "http" })
}

/// Answers scrapes until the sender of `stopped` is dropped.
fn serve(
    runtime: Runtime,
    listener: TcpListener,
    tls: Option<Acceptor>,
    context: Arc<AnswerContext>,
    stopped: oneshot::Receiver<Infallible>,
) {
    runtime.spawn(async move {
        // This fails only outside of a runtime.
        if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
            accept(listener, tls, context).await;
        }
    });
    let _ = runtime.block_on(stopped);
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
}

async fn accept(listener: tokio::net::TcpListener, tls: Option<Acceptor>, context: Arc<AnswerContext>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let pending = PendingConnections::default();
    loop {
        // The server continues after an error, which may come from the client.
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(RETRY_PAUSE).await;
            continue;
        };
        if permits.available_permits() == 0 {
            pending.close_one();
        }
        // If all connections have sent their request, one of them ends within its timeout. The semaphore is never
        // closed.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let (tls, context) = (tls.clone(), Arc::clone(&context));
        let entry = Arc::new(pending.add(peer.ip()));
        let of_task = Arc::clone(&entry);
        let task = tokio::spawn(async move {
            let _permit = permit;
            let _ = timeout(CONNECTION_TIMEOUT, async {
                match tls {
                    None => serve_request(stream, context, &of_task).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = timeout(REQUEST_TIMEOUT, tls.accept(stream)).await {
                            serve_request(stream, context, &of_task).await;
                        }
                    }
                }
            })
            .await;
        });
        entry.set_task(task.abort_handle());
    }
}

/// Serves one request, and then closes the connection.
async fn serve_request(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    context: Arc<AnswerContext>,
    entry: &ConnectionEntry,
) {
    let service = service_fn(|request| {
        let context = Arc::clone(&context);
        async move { Ok::<_, Infallible>(answer(&request, &context, entry).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .keep_alive(false)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    // Errors of the connection concern only the client.
    let _ = connection.await;
}
