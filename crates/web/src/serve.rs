//! The thread of the interface: connections, TLS, and what the manager says.
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use axum::Router;
use axum::body::Bytes;
use connections::{Accepted, Arrival, Stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use keys::Identity;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, timeout};
use tracing::error;

use crate::events::{Hub, event};
use crate::limits;
use crate::model::{Command, Said, Snapshot};
use crate::page::page;
use crate::record::Record;
use crate::routes::{self, App, Peer, lock};
use crate::settings::Settings;

/// What the manager says.
#[derive(Debug)]
enum Fact {
    Snapshot(Box<Snapshot>),
    Said(Box<Said>),
    StandsBy,
}

/// The manager's side: it says what there is and never waits. What the interface has no room for is left out, which is said.
#[derive(Debug)]
pub struct Publisher {
    facts: Sender<Fact>,
    left_out: u64,
}

impl Publisher {
    /// What there is now.
    pub fn show(&mut self, snapshot: Snapshot) {
        if self.left_out > 0 {
            let text = format!(
                "{} events were more than the page could take, and are not in the history",
                self.left_out
            );
            let said = Said {
                time: snapshot.time,
                who: "the manager".to_owned(),
                what: "left out",
                text,
                warning: true,
                flow: None,
                frames: None,
            };
            if self.facts.try_send(Fact::Said(Box::new(said))).is_ok() {
                self.left_out = 0;
            }
        }
        // The next one says the same, and what has changed since.
        let _ = self.facts.try_send(Fact::Snapshot(Box::new(snapshot)));
    }

    /// Something has happened.
    pub fn say(&mut self, said: Said) {
        if self.facts.try_send(Fact::Said(Box::new(said))).is_err() {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// Another manager goes before this one.
    pub fn stand_by(&mut self) {
        let _ = self.facts.try_send(Fact::StandsBy);
    }
}

/// The interface; it ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts the interface on a thread of its own.
///
/// # Errors
/// The system has no thread or event loop for it.
pub fn start(settings: Settings) -> Result<(Publisher, Receiver<Command>, Running), String> {
    let (facts, heard) = channel(limits::AHEAD);
    let (commands, asked) = channel(limits::LISTENERS);
    let (stop, stopped) = oneshot::channel();
    let address = settings.access.address;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| format!("there is no event loop for the page: {error}"))?;
    let thread = std::thread::Builder::new().name("punctual-web".to_owned()).spawn(move || {
        if let Err(error) = runtime.block_on(run(settings, commands, heard, stopped)) {
            error!("the page is not served any more: {error}");
        }
    });
    let thread = thread.map_err(|error| format!("there is no thread for the page: {error}"))?;
    let publisher = Publisher { facts, left_out: 0 };
    Ok((publisher, asked, Running { address, stop: Some(stop), thread: Some(thread) }))
}

async fn run(
    settings: Settings,
    commands: Sender<Command>,
    heard: Receiver<Fact>,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(settings.listener)?;
    let app = Arc::new(App {
        access: settings.access,
        record: Mutex::new(Record::default()),
        hub: Mutex::new(Hub::default()),
        commands,
        page: page(),
        connections: 0.into(),
        denied: 0.into(),
        questions: 0.into(),
        next_question: tokio::sync::Mutex::new(None),
        nodes: OnceLock::new(),
        flows: Mutex::new((0, Bytes::new())),
    });
    let router = routes::router(&app);
    tokio::spawn(hear(Arc::clone(&app), heard));
    tokio::spawn(routes::keep_alive(Arc::clone(&app), limits::ALIVE));
    let (accepted, arrivals) = channel(1);
    tokio::select! {
        () = connections::accept(listener, settings.tls, "the page: clients", accepted) => {}
        () = serve(arrivals, app, router) => {}
        _ = stopped => {}
    }
    Ok(())
}

/// Takes down what the manager says, and tells those who listen.
async fn hear(app: Arc<App>, mut heard: Receiver<Fact>) {
    while let Some(fact) = heard.recv().await {
        let events = take_down(&mut lock(&app.record), fact);
        events.iter().for_each(|event| lock(&app.hub).tell(event));
        // Connections have their turn: one that keeps up must not fall behind because many things happen at once.
        tokio::task::yield_now().await;
    }
}

fn take_down(record: &mut Record, fact: Fact) -> Vec<Bytes> {
    match fact {
        Fact::Snapshot(snapshot) => {
            record.show(*snapshot);
            vec![event("state", None, &routes::state(record))]
        }
        Fact::StandsBy => {
            record.stand_by();
            vec![event("state", None, &routes::state(record))]
        }
        Fact::Said(said) => {
            let before = record.last;
            record.say(*said);
            record.history(before).map(|entry| event("history", Some(entry.number), entry)).collect()
        }
    }
}

async fn serve(mut arrivals: Receiver<Accepted>, app: Arc<App>, router: Router) {
    while let Some(accepted) = arrivals.recv().await {
        // A client that speaks no TLS, or shows a certificate of another authority, is no event.
        let Accepted::Arrived(Arrival { stream, peer, shown }) = accepted else { continue };
        if app.connections.fetch_add(1, Ordering::Relaxed) >= limits::CONNECTIONS {
            app.connections.fetch_sub(1, Ordering::Relaxed);
            turn_away(stream);
            continue;
        }
        let peer = Peer { address: peer, role: shown.and_then(|shown| Identity::shown_by(&shown)) };
        let (app, router) = (Arc::clone(&app), router.clone());
        tokio::spawn(async move {
            converse(Patient::new(stream), peer, router).await;
            app.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// There are too many connections.
fn turn_away(mut stream: Stream) {
    const WORDS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 87\r\nConnection: close\r\n\r\n\
        {\"error\":\"too many connections\",\"place\":\"connection\",\"action\":\"ask again in a moment\"}\n";
    tokio::spawn(async move {
        // It fits into the buffer of the socket.
        let said = async {
            stream.write_all(WORDS).await?;
            stream.shutdown().await
        };
        let _ = timeout(limits::BETWEEN, said).await;
    });
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer, router: Router) {
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        routes.call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits::HEADING);
    builder.max_buf_size(limits::HEAD).max_headers(limits::HEADERS);
    // A peer that goes, is too slow or says nonsense is no event.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// A stream whose peer takes what it is sent within [`limits::TAKING`], or is left.
struct Patient<S> {
    stream: S,
    /// When it has waited for too long, while it does.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    const fn new(stream: S) -> Self {
        Self { stream, until: None }
    }

    /// Waits no longer than it may for what is not ready.
    fn within<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.until = None;
            return polled;
        }
        let until = self
            .until
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limits::TAKING)));
        match until.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.within(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.within(context, polled)
    }
}
